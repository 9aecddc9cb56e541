// Compares the formats of COPY text and OUTFILE with a parser that reads byte by byte: records and keys must be the
// same wherever blocks end.
#include "formats/copy_format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cut_records.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace std::string_literals;
using namespace gpusort::testing;
using Row = std::vector<std::optional<std::string>>;

JobSpec TableOptionsOf(const std::string& name, int quote, std::vector<ColumnKey> keys) {
  JobSpec spec;
  spec.source.table.emplace();
  spec.source.table->name = name;
  spec.source.table->delimiter = '\t';
  spec.source.table->quote = quote;
  spec.source.table->header = 0;
  spec.source.table->keys = std::move(keys);
  return spec;
}

struct Parsed {
  std::vector<Row> rows;
  std::vector<std::string> records;
  bool ended = false;  ///< true if a line \. ended the data
  bool bad = false;
};

/// Parses byte by byte. Collects the text of each field and its value at the same time.
Parsed ParseSlowly(const std::string& text, bool postgres, int quote) {
  static const std::map<char, char> kShort = {{'b', '\b'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}};
  Parsed parsed;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (parsed.ended) {
      parsed.bad = true;
      return parsed;
    }
    if (postgres && (text.compare(i, 3, "\\.\n") == 0 || text.compare(i, 4, "\\.\r\n") == 0)) {
      i = text.find('\n', i) + 1;
      parsed.ended = true;
      continue;
    }
    Row row(1);
    std::string value, raw;
    bool quoted = false, row_ended = false, may_return = false;
    const auto end_field = [&] {
      row.back() = !quoted && raw == "\\N" ? std::nullopt : std::optional(value);
      quoted = may_return = false;
      value.clear();
      raw.clear();
    };
    while (i < text.size() && !row_ended) {
      const char c = text[i];
      if (raw.empty() && !quoted && quote >= 0 && c == quote) {
        quoted = true;
        ++i;
        raw += c;
        continue;
      }
      if (c == '\\') {
        raw += c;
        if (++i == text.size()) {
          parsed.bad = true;
          return parsed;
        }
        char code = text[i++];
        raw += code;
        may_return = false;
        if (kShort.contains(code)) {
          value += kShort.at(code);
        } else if (postgres && code >= '0' && code <= '7') {
          std::string digits(1, code);
          while (digits.size() < 3 && i < text.size() && text[i] >= '0' && text[i] <= '7') digits += text[i++];
          value += static_cast<char>(std::stoi(digits, nullptr, 8));
        } else if (postgres && code == 'x' && i < text.size() && std::isxdigit(text[i])) {
          std::string digits(1, text[i++]);
          if (i < text.size() && std::isxdigit(text[i])) digits += text[i++];
          value += static_cast<char>(std::stoi(digits, nullptr, 16));
        } else if (postgres && (code == 'f' || code == 'v')) {
          value += code == 'f' ? '\f' : '\v';
        } else if (!postgres && (code == '0' || code == 'Z')) {
          value += code == '0' ? '\0' : '\x1A';
        } else {
          value += code;
        }
        continue;
      }
      if (quoted) {
        const std::string next = text.substr(i + 1, 2);
        if (c == quote && (next[0] == '\t' || next[0] == '\n' || next == "\r\n")) {
          i += next[0] == '\r' ? 2 : 1;
          row_ended = text[i++] == '\n';
          end_field();
          if (!row_ended) row.emplace_back();
          continue;
        }
        i += c == quote && next[0] == quote ? 2 : 1;
        value += c;
        continue;
      }
      ++i;
      if (c == '\t' || c == '\n') {
        if (c == '\n' && may_return) {
          value.pop_back();
          raw.pop_back();
        }
        end_field();
        row_ended = c == '\n';
        if (!row_ended) row.emplace_back();
        continue;
      }
      may_return = c == '\r';
      value += c;
      raw += c;
    }
    if (!row_ended) {
      parsed.bad = true;
      return parsed;
    }
    parsed.rows.push_back(row);
    parsed.records.push_back(text.substr(begin, i - begin));
  }
  return parsed;
}

std::string KeyOfRow(const Row& row, const std::vector<ColumnKey>& keys) {
  return KeyBytes([&](FieldWriter& out) {
    const auto put = [&](const ValueRule& rule, const std::optional<std::string>& value) {
      const ValueKey key(rule);
      if (!value || !key.Put(*value, out)) key.PutNull(out);
    };
    for (const ColumnKey& key : keys) put(key.rule, key.number <= row.size() ? row[key.number - 1] : std::nullopt);
    for (std::size_t i = 0; keys.empty() && i < row.size(); ++i) put({}, row[i]);
  });
}

const std::vector<std::vector<ColumnKey>> kKeys = {
    {},
    {TypedKey(1, ValueType::kText)},
    {TypedKey(3, ValueType::kInt, true), TypedKey(1, ValueType::kText), TypedKey(3, ValueType::kText)}};

void CheckAgainstParser(const std::string& name, int quote) {
  const std::string bytes = "aN\\\\\\\\\t\t\n\n\n\r.\"\"7x0nrZ"s;
  std::string text = *rc::gen::container<std::string>(rc::gen::elementOf(bytes));
  if (!text.empty()) text += '\n';  // the reader also adds a missing newline
  for (const std::vector<ColumnKey>& keys : kKeys) {
    const JobSpec spec = TableOptionsOf(name, quote, keys);
    const CopyFormat format(spec);
    const Parsed parsed = ParseSlowly(text, name == "pgcopy", quote);
    const CutInput cut = CutEverywhere(format, text, [](std::size_t) { RC_FAIL("cuts matter"); });
    RC_ASSERT(cut.error.empty() == !parsed.bad);
    if (parsed.bad) continue;
    RC_ASSERT(cut.records.size() == parsed.rows.size());
    RC_ASSERT(cut.trailer.empty() == !parsed.ended);
    RC_ASSERT(cut.text() == text);
    for (std::size_t i = 0; i < cut.records.size(); ++i) {
      RC_ASSERT(cut.records[i].body == parsed.records[i]);
      RC_ASSERT(cut.records[i].key == KeyOfRow(parsed.rows[i], keys));
    }
  }
}

RC_GTEST_PROP(CopyFormat, ReadsPgcopyAsASlowParser, ()) { CheckAgainstParser("pgcopy", -1); }
RC_GTEST_PROP(CopyFormat, ReadsMysqlAsASlowParser, ()) { CheckAgainstParser("mysql", -1); }
RC_GTEST_PROP(CopyFormat, ReadsEnclosedMysqlAsASlowParser, ()) { CheckAgainstParser("mysql", '"'); }

TEST(CopyFormat, SortsByTypedColumns) {
  const std::string rows = "b\t10\n\\N\t9\na\\\nb\t-1\n\t\\N\nc\tword\n";
  const auto sorted = [&](const std::string& text, const std::string& name, std::vector<ColumnKey> keys) {
    const JobSpec spec = TableOptionsOf(name, -1, std::move(keys));
    return Sorted(CutRecords(CopyFormat(spec), text, 7));
  };
  EXPECT_EQ(sorted(rows + "\\.\n", "pgcopy", {TypedKey(2, ValueType::kInt)}),
            "a\\\nb\t-1\n\\N\t9\nb\t10\n\t\\N\nc\tword\n\\.\n");
  EXPECT_EQ(sorted(rows, "mysql", {TypedKey(1, ValueType::kText)}), "\t\\N\na\\\nb\t-1\nb\t10\nc\tword\n\\N\t9\n");
}

TEST(CopyFormat, SaysWhatIsWrong) {
  const auto error = [](const std::string& text, const std::string& name, int quote) {
    const JobSpec spec = TableOptionsOf(name, quote, {});
    return CutRecords(CopyFormat(spec), text, text.size()).error;
  };
  EXPECT_NE(error("a\n\\.\nb\n", "pgcopy", -1).find("after the line \\."), std::string::npos);
  EXPECT_NE(error("\"a\nb\n", "mysql", '"').find("not closed"), std::string::npos);
  EXPECT_NE(error("a\\\n", "mysql", -1).find("after an escape"), std::string::npos);
  EXPECT_EQ(error("\\.\n", "mysql", -1), "");
  ColumnKey named;
  named.text = named.column = "id";
  const JobSpec spec = TableOptionsOf("pgcopy", -1, {named});
  EXPECT_THROW(CopyFormat{spec}, Error);
}

TEST(CopyFormat, CountsBadValuesWithTheirPlace) {
  const JobSpec spec = TableOptionsOf("pgcopy", -1, {TypedKey(2, ValueType::kInt)});
  const CutInput cut = CutRecords(CopyFormat(spec), "a\t1\nb\tx\nc\n", 100);
  EXPECT_EQ(cut.tally.columns[0].bad.count, 1);
  EXPECT_EQ(cut.tally.columns[0].bad.record, 1);
  EXPECT_EQ(cut.tally.columns[0].nulls, 1);
  EXPECT_EQ(cut.tally.columns[0].missing, 1);
  EXPECT_EQ(cut.tally.short_records, 1);
}

// A guess about a block changes neither the records nor the place of an error.
RC_GTEST_PROP(CopyFormat, FindsTheSameWithGuesses, ()) {
  std::string text;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    text += *rc::gen::element<std::string>("\\.\n", "\\.\r\n", "1\t2\n", "\n", "a\\\n", "\\", "b", "\"c\n\"\n");
  }
  const bool postgres = *rc::gen::arbitrary<bool>();
  const int quote = !postgres && *rc::gen::arbitrary<bool>() ? '"' : -1;
  const JobSpec spec = TableOptionsOf(postgres ? "pgcopy" : "mysql", quote, {});
  const CopyFormat format(spec);
  const auto size = *rc::gen::inRange<std::size_t>(1, 12);
  ScanState plain, guessed;
  for (std::size_t at = 0; at < text.size(); at += size) {
    const std::string block = text.substr(at, size);
    const auto scan = [&](ScanState& state, bool guess) -> std::string {
      try {
        const RecordFormat::Ends ends = guess ? format.ScanGuessed(Span(block), state, format.LookAhead(Span(block)))
                                              : format.Scan(Span(block), state);
        return std::to_string(ends.first) + " " + std::to_string(ends.last) + " " + std::to_string(state.mode);
      } catch (const BadRecord& bad) {
        return std::to_string(bad.at()) + bad.what();
      }
    };
    const std::string want = scan(plain, false);
    RC_ASSERT(scan(guessed, true) == want);
    if (want.find("more text") != want.npos) break;
  }
}

}  // namespace
}  // namespace gpusort
