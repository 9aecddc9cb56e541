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
#include "formats/gap_key.hpp"
#include "formats/sql_dump_format.hpp"
#include "kernels/error.hpp"
#include "task/keyed_runs.hpp"

namespace gpusort {
namespace {

using namespace gpusort::testing;

using Records = std::vector<std::vector<std::byte>>;

/// A dump of PostgreSQL as records with sort keys, in the order of the dump.
struct ScannedDump {
  explicit ScannedDump(const std::string& text) : format(Spec()) {
    ScanState scan, state;
    if (format.Scan(Span(text), scan).last != text.size()) throw Error(ErrorCode::kInternal, "a record does not end");
    const auto encoder = format.MakeEncoder();
    KeyTally tally;
    for (RecordSpan rest = Span(text); !rest.empty();) {
      rest = rest.subspan(encoder->Append(rest, state, records.emplace_back(), tally));
    }
  }
  static const JobSpec& Spec() {
    static const JobSpec spec = [] {
      JobSpec made;
      made.source.inputs = {"dump.sql"};
      made.source.table.emplace();
      made.source.table->name = "pgdump";
      return made;
    }();
    return spec;
  }

  const SqlDumpFormat format;
  Records records;
};

void SortRecords(Records& records, const RecordLayout& layout) {
  std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) {
    return CompareRecords(RecordSpan(a), RecordSpan(b), layout) < 0;
  });
}

/// Returns the output for the records [begin, end) of `records`, which are sorted. They come in chunks of `chunk`
/// records.
std::string Fill(const Records& records, std::size_t begin, std::size_t end, const RecordLayout& layout,
                 std::size_t chunk, const std::string& front = {}) {
  GapFiller filler(std::uint64_t{1} << 20, front);
  std::string out;
  for (std::size_t i = begin; i < end; i += chunk) {
    std::vector<std::byte> bytes;
    for (std::size_t k = i; k < std::min(i + chunk, end); ++k) {
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

/// Sorts a dump of PostgreSQL as a job does it, in chunks of `chunk` records.
std::string Sort(const std::string& text, std::size_t chunk) {
  ScannedDump dump(text);
  SortRecords(dump.records, dump.format.layout());
  return Fill(dump.records, 0, dump.records.size(), dump.format.layout(), chunk);
}

/// Sorts a dump as tasks do it: in slices of `slice` records, and in parts that end after `ends` records.
std::string SortByTasks(const std::string& text, std::size_t slice, std::vector<std::size_t> ends, std::size_t chunk) {
  ScannedDump dump(text);
  const RecordLayout layout = dump.format.layout();
  DumpGaps gaps;
  for (std::size_t i = 0; i < dump.records.size(); i += slice) {
    Records run(dump.records.begin() + static_cast<std::ptrdiff_t>(i),
                dump.records.begin() + static_cast<std::ptrdiff_t>(std::min(i + slice, dump.records.size())));
    SortRecords(run, layout);
    DumpGaps of_run;
    KeyedRunReader reader(layout);
    for (const auto& record : run) reader.Take(record, &of_run);
    gaps.Add(DumpGaps::Load(of_run.Save()));
  }
  gaps = DumpGaps::Load(gaps.Save());
  SortRecords(dump.records, layout);
  std::ranges::sort(ends);
  ends.push_back(dump.records.size());
  std::string out;
  KeyedRunReader before(layout);
  for (std::size_t begin = 0; const std::size_t end : ends) {
    if (begin >= end) continue;
    const auto gaps_at = [&](std::size_t at) {
      return at == dump.records.size() ? nullptr : gaps.Find(PartOfDump(dump.records[at]));
    };
    GapFront front;
    const GapList* const here = gaps_at(begin);
    const DumpBefore counts = BeforePart(before.place(), PartOfDump(dump.records[begin]));
    if (OutputBytes(counts, here, gaps.texts) != out.size()) return "another place in the output";
    if (here != nullptr) front.list = *here;
    front.row = counts.rows;
    front.goes_on = gaps_at(end) != nullptr;
    out += Fill(dump.records, begin, end, layout, chunk, front.Save(gaps.texts));
    for (; begin < end; ++begin) before.Take(dump.records[begin]);
  }
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
  const std::size_t chunk = *rc::gen::inRange<std::size_t>(1, 20);
  RC_ASSERT(Sort(text, chunk) == want);
  const std::size_t records = ScannedDump(text).records.size();
  const auto ends = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, records + 1));
  RC_ASSERT(SortByTasks(text, *rc::gen::inRange<std::size_t>(1, 20), ends, chunk) == want);
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
