// Sorts dumps with statements of several rows, and compares them with a model: the rows of neighbouring statements of
// one table are sorted, and each statement keeps its number of rows and its text around the rows.
#include "runs/gap_filler.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cut_records.hpp"
#include "formats/sql_dump_format.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace gpusort::testing;

/// Sorts a dump of PostgreSQL as a job does it, in chunks of `chunk` records.
std::string Sort(const std::string& text, std::size_t chunk) {
  JobSpec spec;
  spec.source.inputs = {"dump.sql"};
  spec.source.table.emplace();
  spec.source.table->name = "pgdump";
  const SqlDumpFormat format(spec);
  ScanState scan, state;
  if (format.Scan(Span(text), scan).last != text.size()) return "a record does not end";
  const auto encoder = format.MakeEncoder();
  std::vector<std::vector<std::byte>> records;
  KeyTally tally;
  for (RecordSpan rest = Span(text); !rest.empty();) {
    rest = rest.subspan(encoder->Append(rest, state, records.emplace_back(), tally));
  }
  const RecordLayout layout = format.layout();
  std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) {
    return CompareRecords(RecordSpan(a), RecordSpan(b), layout) < 0;
  });
  GapFiller filler(std::uint64_t{1} << 20);
  std::string out;
  for (std::size_t i = 0; i < records.size(); i += chunk) {
    std::vector<std::byte> bytes;
    for (std::size_t k = i; k < std::min(i + chunk, records.size()); ++k) {
      bytes.insert(bytes.end(), records[k].begin(), records[k].end());
    }
    StrippedRecords stripped;
    const std::string rows = String(StripGaps(bytes, layout, stripped));
    std::uint64_t at = 0;
    for (const GapEdit& edit : filler.Take(stripped)) {
      out += rows.substr(at, edit.offset - edit.removed - at) + (edit.text == nullptr ? "" : *edit.text);
      at = edit.offset;
    }
    out += rows.substr(at);
  }
  filler.Finish();
  return out;
}

RC_GTEST_PROP(GapFiller, KeepsTheStatements, ()) {
  std::string text, want;
  struct Statement {
    std::string before;  ///< SQL, or a comment or an empty line, before the statement
    std::string table;
    std::vector<std::string> rows, commas;
  };
  std::vector<Statement> statements;
  for (int count = *rc::gen::inRange(1, 12); count > 0; --count) {
    Statement statement;
    statement.before =
        *rc::gen::element<std::string>("", "", "", "", "", "SELECT 1;\n", "\n-- it's\n", "  ", "/* a */\n");
    statement.table = *rc::gen::element<std::string>("t", "t", "t", "u");
    for (int rows = *rc::gen::element(1, 1, 1, 2, 3, 5); rows > 0; --rows) {
      statement.rows.push_back("(" + std::to_string(*rc::gen::inRange(0, 30)) + "," +
                               *rc::gen::element<std::string>("'a'", "'\t\n\x01\x02'", "'\x1D'", "NULL") + ")");
      statement.commas.push_back(*rc::gen::element<std::string>(",", ",", ",\n"));
    }
    statements.push_back(std::move(statement));
  }
  for (std::size_t i = 0; i < statements.size();) {
    std::size_t end = i + 1;
    while (end < statements.size() && statements[end].before != "SELECT 1;\n" &&
           statements[end].table == statements[i].table) {
      ++end;
    }
    std::vector<std::string> rows;
    for (std::size_t k = i; k < end; ++k) rows.insert(rows.end(), statements[k].rows.begin(), statements[k].rows.end());
    const auto value = [](const std::string& row) {
      const std::size_t comma = row.find(',');
      const std::string second = row.substr(comma + 1);
      return std::pair(row.substr(1, comma - 1), std::pair(second == "NULL)", second));
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const std::string& a, const std::string& b) { return value(a) < value(b); });
    std::size_t next = 0;
    for (; i < end; ++i) {
      const auto write = [&](std::string& out, bool sorted) {
        out += statements[i].before + "INSERT INTO " + statements[i].table + " VALUES ";
        for (std::size_t k = 0; k < statements[i].rows.size(); ++k) {
          out += sorted ? rows[next++] : statements[i].rows[k];
          out += k + 1 < statements[i].rows.size() ? statements[i].commas[k] : ";\n";
        }
      };
      write(text, false);
      write(want, true);
    }
  }
  RC_ASSERT(Sort(text, *rc::gen::inRange<std::size_t>(1, 20)) == want);
}

TEST(GapFiller, RefusesTooManyGaps) {
  GapFiller filler(64);
  StrippedRecords records;
  for (unsigned i = 0; i < 40; ++i) {
    std::string key("\x01\0\0\0\0\0\0\0\0\0\0\0\x01,", 14);
    key[9] = static_cast<char>(2 * i);
    records.gaps.push_back({key, ";\n"});
  }
  records.runs = {{StrippedRecords::Run::kGaps, false, 40}};
  EXPECT_THROW(filler.Take(records), Error);
}

}  // namespace
}  // namespace gpusort
