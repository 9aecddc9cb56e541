#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "formats/formats.hpp"
#include "kernels/error.hpp"
#include "sort_files.hpp"

namespace gpusort {
namespace {

RecordSpan SpanOf(const std::string& text) { return std::as_bytes(std::span(text)); }

struct Dialect {
  char delimiter = ',';
  char quote = '"';  // 0: no quotes
  char escape = 0;   // 0: quotes are doubled
  char comment = 0;  // 0: no comments
};

struct Record {
  std::string bytes;
  std::vector<std::optional<std::string>> fields;  // std::nullopt is a null
  bool glued = false;                              // true if text follows a quoted part that contains a newline
};

// A simple parser that reads byte by byte. Returns std::nullopt if a quote is left open.
std::optional<std::vector<Record>> ParseSlowly(const std::string& text, const Dialect& dialect) {
  std::vector<Record> records;
  std::size_t at = 0;
  while (at < text.size()) {
    Record record;
    const std::size_t begin = at;
    while (dialect.comment != 0 && at < text.size() && text[at] == dialect.comment) {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    for (bool more = at < text.size(); more;) {
      std::string field;
      bool quoted = false;
      if (dialect.quote != 0 && at < text.size() && text[at] == dialect.quote) {
        quoted = true;
        for (++at;;) {
          if (at >= text.size()) return std::nullopt;
          if (dialect.escape != 0 && text[at] == dialect.escape) {
            if (at + 1 >= text.size()) return std::nullopt;
            field += text[at + 1];
            at += 2;
          } else if (text[at] != dialect.quote) {
            field += text[at++];
          } else if (at + 1 < text.size() && text[at + 1] == dialect.quote) {
            field += dialect.quote;
            at += 2;
          } else {
            ++at;
            break;
          }
        }
      }
      const bool lines = field.find('\n') != std::string::npos;
      std::string rest;
      while (at < text.size() && text[at] != dialect.delimiter && text[at] != '\n') rest += text[at++];
      more = at < text.size() && text[at] == dialect.delimiter;
      if (!more && at < text.size() && !rest.empty() && rest.back() == '\r') rest.pop_back();
      if (at < text.size()) ++at;
      record.glued |= lines && !rest.empty();
      field += rest;
      if (!quoted && (field.empty() || field == "\\N")) {
        record.fields.emplace_back();
      } else {
        record.fields.emplace_back(field);
      }
    }
    record.bytes = text.substr(begin, at - begin);
    records.push_back(std::move(record));
  }
  return records;
}

JobSpec MakeOptions(const Dialect& dialect, std::vector<std::string> more) {
  std::vector<std::string> args{"--format", "csv", "--no-header", "--delimiter", std::string(1, dialect.delimiter)};
  args.insert(args.end(), {"--quote", dialect.quote == 0 ? std::string("none") : std::string(1, dialect.quote)});
  if (dialect.escape != 0) args.insert(args.end(), {"--escape", std::string(1, dialect.escape)});
  if (dialect.comment != 0) args.insert(args.end(), {"--comment", std::string(1, dialect.comment)});
  args.insert(args.end(), more.begin(), more.end());
  args.insert(args.end(), {"in", "out"});
  return testing::Parse(args);
}

Dialect AnyDialect() {
  Dialect dialect;
  dialect.delimiter = *rc::gen::element(',', ';');
  dialect.quote = *rc::gen::element('"', '\'', '\0');
  if (dialect.quote != 0) dialect.escape = *rc::gen::element('\0', '\\');
  dialect.comment = *rc::gen::element('\0', '#');
  return dialect;
}

/// Returns any bytes, or mostly well-formed CSV that is longer than one step of the scan.
std::string AnyCsv() {
  if (*rc::gen::arbitrary<bool>()) {
    const auto tokens = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>(",", ",", "\n", "\r\n", "word", "another word", "\"\"", "\"in, quotes\"",
                                      "\"line\nline\"", "\"a \"\"b\"\"\"", "5\""));
    std::string text;
    for (const std::string& token : tokens) text += token;
    return text;
  }
  return *rc::gen::container<std::string>(
      rc::gen::element('a', 'N', ',', ',', ';', '"', '"', '\'', '\\', '\n', '\n', '\r', '#', '\0'));
}

RC_GTEST_PROP(CsvFormat, FindsWhatAPlainParserFindsHoweverBlocksAreCut, ()) {
  const Dialect dialect = AnyDialect();
  std::string text = AnyCsv();
  if (!text.empty()) text += '\n';
  const JobSpec spec = MakeOptions(dialect, {"-k", "#2", "-k", "#1:nocase:desc", "-k", "#2:text:nulls-first"});
  const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
  const TableFormat& format = *made;
  const std::optional<std::vector<Record>> expected = ParseSlowly(text, dialect);

  // Find the ends of records in blocks of any sizes.
  std::vector<std::size_t> ends;
  ScanState state;
  std::size_t last = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, text.size() - at + 1);
    const RecordFormat::Ends found = format.Scan(SpanOf(text).subspan(at, size), state);
    RC_ASSERT((found.first == 0) == (found.last == 0));
    if (found.first > 0) ends.push_back(at + found.first);
    if (found.last > 0) ends.push_back(last = at + found.last);
    at += size;
  }
  const RecordSpan open = SpanOf(text).subspan(last);
  if (!expected) {
    RC_ASSERT_THROWS_AS(format.Finish(open, state), BadRecord);
    return;
  }
  std::size_t end = 0, found = 0;
  std::vector<std::byte> keyed;
  RecordSpan rest = SpanOf(text);
  for (const Record& record : *expected) {
    end += record.bytes.size();
    if (found < ends.size() && ends[found] < end) RC_FAIL("an end inside a record");
    while (found < ends.size() && ends[found] == end) ++found;

    // Check each record with its keys.
    ScanState none;
    KeyTally tally;
    std::vector<std::byte> out, key;
    RC_ASSERT(format.MakeEncoder()->Append(rest, none, out, tally) == record.bytes.size());
    rest = rest.subspan(record.bytes.size());
    FieldWriter writer(key);
    writer.Begin(1000000);
    std::size_t k = 0;
    for (const std::size_t column : {1u, 0u, 1u}) {
      const ValueKey value(spec.source.table->keys[k++].rule);
      if (column < record.fields.size() && record.fields[column]) {
        RC_ASSERT(value.Put(*record.fields[column], writer));
      } else {
        value.PutNull(writer);
      }
    }
    writer.End();
    const RecordSpan head = RecordSpan(out).subspan(2, key.size());
    RC_ASSERT(std::equal(head.begin(), head.end(), key.begin(), key.end()));
    const std::span<std::byte> body = DropKeys(out, format.layout());
    RC_ASSERT(std::string(reinterpret_cast<const char*>(body.data()), body.size()) == record.bytes);
  }
  RC_ASSERT(found == ends.size());
  // Comments after the last record are not records.
  const bool comments = !expected->empty() && expected->back().fields.empty();
  RC_ASSERT(format.Finish(open, state) == (comments ? 0 : open.size()));
}

RC_GTEST_PROP(CsvFormat, CountsRecordsThatDoNotFitTheHeader, ()) {
  const Dialect dialect = AnyDialect();
  std::string text = AnyCsv();
  if (!text.empty()) text += '\n';
  const std::optional<std::vector<Record>> records = ParseSlowly(text, dialect);
  RC_PRE(records.has_value());
  const std::vector<std::vector<std::string>> keys{{}, {"-k", "#1"}, {"-k", "#2"}};
  JobSpec spec = MakeOptions(dialect, *rc::gen::elementOf(keys));
  spec.source.table->header = 1;
  const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
  TableFormat& format = *made;
  const std::string header = std::string("a") + dialect.delimiter + "b\n";
  format.ReadHeader(SpanOf(header));
  KeyTally tally;
  std::vector<std::byte> out;
  std::uint64_t others = 0, glued = 0, first = 0;
  RecordSpan rest = SpanOf(text);
  for (const Record& record : *records) {
    ScanState state;
    if (record.fields.size() != 2 && others++ == 0) first = record.fields.size();
    glued += record.glued;
    RC_ASSERT(format.MakeEncoder()->Append(rest, state, out, tally) == record.bytes.size());
    ++tally.record;
    rest = rest.subspan(record.bytes.size());
  }
  RC_ASSERT(tally.other_width.count == others);
  RC_ASSERT(tally.first_width == first);
  RC_ASSERT(tally.glued.count == glued);
}

TEST(CsvFormat, RefusesKeysWithoutAnyValue) {
  const auto what = [](const std::string& text, std::vector<std::string> args) -> std::string {
    args.insert(args.begin(), {"--format", "csv"});
    args.insert(args.end(), {"in", "out"});
    const JobSpec spec = testing::Parse(args);
    const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
    TableFormat& format = *made;
    const std::string header = "a,b\n";
    format.ReadHeader(SpanOf(header));
    KeyTally sum;
    for (RecordSpan rest = SpanOf(text); !rest.empty();) {  // a tally for each record, as each piece has one
      KeyTally tally;
      ScanState state;
      std::vector<std::byte> out;
      rest = rest.subspan(format.MakeEncoder()->Append(rest, state, out, tally));
      tally.record = 1;
      sum.Add(tally);
    }
    try {
      RefuseNoValues(spec, sum);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(what("", {"-k", "a"}), "");
  EXPECT_EQ(what(",1\n2,\n", {"-k", "a", "-k", "b"}), "");
  EXPECT_EQ(what(",1\n,2\n", {"-k", "b", "-k", "a"}),
            "in: column 'a' is null in all 2 records; --force-format sorts them anyway");
  EXPECT_EQ(what("x,1\ny,2\n,3\nx,4\nz,5\nw,6\n", {"-k", "a:int"}),
            "in: column 'a': none of its 5 values is of the type int: 'x', 'y', 'z'; --force-format sorts them anyway");
  EXPECT_EQ(what("x,1\n", {"-k", "a:int"}),
            "in: column 'a': its only value is not of the type int: 'x'; --force-format sorts them anyway");
  EXPECT_EQ(what("x,1\n7,2\n", {"-k", "a:int"}), "");
  EXPECT_NE(what("\"1,5\",1\n", {"-k", "a:decimal"}).find("give the type :decimal --decimal-point ','"),
            std::string::npos);
}

TEST(CsvFormat, KnowsItsColumnsByTheNamesInTheHeader) {
  const auto resolve = [](const std::string& key, const std::string& header) -> std::string {
    const JobSpec spec = testing::Parse({"--format", "csv", "-k", key, "in", "out"});
    const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
    TableFormat& format = *made;
    try {
      EXPECT_EQ(format.HeaderBytes(SpanOf(header + "x,y\n"), true), header.size());
      format.ReadHeader(SpanOf(header));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(resolve("b", "\xEF\xBB\xBF\"a\nx\",b\r\n"), "");
  EXPECT_EQ(resolve("\"a:b\":int", "\"a:b\",c\n"), "");
  EXPECT_NE(resolve("bb", "a,b,c\n").find("3 columns: 'b', 'a', 'c'); did you mean"), std::string::npos);
  EXPECT_NE(resolve("NAME", "a,Name,c\n").find("did you mean Name?"), std::string::npos);
  EXPECT_NE(resolve("a", "a;b\n").find("is it --delimiter ';'?"), std::string::npos);
  EXPECT_NE(resolve("a", "a,b,a\n").find("#1 or #3"), std::string::npos);
  EXPECT_EQ(resolve("#2", "a,b,a\n"), "");
  EXPECT_EQ(resolve("\"\"", "a,\n"), "");
  EXPECT_NE(resolve("#4", "a,b,a\n").find("there is no column 4"), std::string::npos);
}

TEST(CsvFormat, RefusesAHeaderThatDoesNotEnd) {
  const JobSpec spec = testing::Parse({"--format", "csv", "in", "out"});
  const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
  const TableFormat& format = *made;
  const std::string open = "a,\"b\nc,d\n";
  EXPECT_EQ(format.HeaderBytes(SpanOf(open), false), std::nullopt);
  EXPECT_THROW(format.HeaderBytes(SpanOf(open), true), BadRecord);
  EXPECT_EQ(format.HeaderBytes(SpanOf("a,b"), true), 3u);
}

TEST(CsvFormat, SaysWhatIsWrongIfItShallBeStrict) {
  const auto what = [](const std::string& record, std::vector<std::string> args) -> std::string {
    args.insert(args.begin(), {"--format", "csv", "--no-header"});
    args.insert(args.end(), {"in", "out"});
    const JobSpec spec = testing::Parse(args);
    const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
    const TableFormat& format = *made;
    ScanState state;
    KeyTally tally;
    std::vector<std::byte> out;
    try {
      format.MakeEncoder()->Append(SpanOf(record), state, out, tally);
    } catch (const BadRecord& error) {
      return std::to_string(error.at()) + " " + error.what();
    }
    return "";
  };
  EXPECT_EQ(what("a,\"b\"c\n", {"-k", "#2"}), "");
  EXPECT_EQ(what("a,\"b\"c\n", {"-k", "#2", "--strict"}), "5 there is text after a closing quote");
  EXPECT_EQ(what("a,b\n", {"-k", "#3"}), "");
  EXPECT_EQ(what("a,b\n", {"-k", "#3", "--strict"}), "0 it has no column '3', which is a key");
  EXPECT_EQ(what("a,b\n", {"-k", "#2:int", "--strict"}), "2 column '2': 'b' is no int");
}

TEST(PrefixedLines, AreTheSameHoweverFewBytesAreSeen) {
  const PrefixedLines lines{{"#", "@@"}, '\n'};
  const std::pair<std::string, std::size_t> texts[] = {
      {"", 0},           {"#", 1},        {"@", 0},     {"a\n#b\n", 0}, {"#a\n@@b\n@c\n#d\n", 7},
      {"#a\n\n#b\n", 3}, {"#\n##\n#", 6}, {"@@\n@", 3}, {"#a\n@@", 5}};
  for (const auto& [text, bytes] : texts) {
    const RecordSpan all = std::as_bytes(std::span(text));
    EXPECT_EQ(lines.BytesOf(all, true), bytes) << text;
    for (std::size_t seen = 0; seen <= text.size(); ++seen) {
      const std::optional<std::uint64_t> found = lines.BytesOf(all.first(seen), false);
      EXPECT_TRUE(!found || found == bytes) << text << ", " << seen << " bytes";
      EXPECT_TRUE(found || seen <= bytes + 1) << text << ", " << seen << " bytes";
    }
  }
  EXPECT_EQ(PrefixedLines().BytesOf(std::as_bytes(std::span(texts[4].first)), false), 0u);
}

TEST(PrefixedLines, MayFollowAByteOrderMark) {
  RecordLayout layout;
  layout.delimiter = '\n';
  const PlainFormat format(layout, 0, {"#"});
  const std::pair<std::string, std::size_t> texts[] = {{"\xEF\xBB\xBF#a\nb\n", 6}, {"\xEF\xBB\xBF#a", 5},
                                                       {"\xEF\xBB\xBFz\n#a\n", 0}, {"\xEF\xBB\xBF", 0},
                                                       {"\xEF\xBB#a\n", 0},        {"#\n\xEF\xBB\xBF#a\n", 2}};
  for (const auto& [text, bytes] : texts) {
    const RecordSpan all = std::as_bytes(std::span(text));
    EXPECT_EQ(format.HeaderBytes(all, true), bytes) << text;
    for (std::size_t seen = 0; seen <= text.size(); ++seen) {
      const std::optional<std::uint64_t> found = format.HeaderBytes(all.first(seen), false);
      EXPECT_TRUE(!found || found == bytes) << text << ", " << seen << " bytes";
    }
  }
}

}  // namespace
}  // namespace gpusort
