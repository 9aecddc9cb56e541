// Builds dumps of known parts: which lines belong to which part must be the same wherever blocks end, and rows must go
// to the right places.
#include "formats/sql_dump_format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cut_records.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace gpusort::testing;

JobSpec DumpOptions(std::vector<ColumnKey> keys) {
  JobSpec spec;
  spec.source.inputs = {"dump.sql"};
  spec.source.table.emplace();
  spec.source.table->name = "pgdump";
  spec.source.table->delimiter = '\t';
  spec.source.table->quote = -1;
  spec.source.table->keys = std::move(keys);
  return spec;
}

/// Pieces of SQL that begin and end outside of strings, comments and COPY blocks. Some contain the word COPY where it
/// does not begin a block.
const std::string kSql[] = {
    "--\n-- PostgreSQL database dump\n--\n\n",
    "\\restrict it's\n",
    "\\connect -reuse-previous=on \"dbname='o''brien\"\n",
    "SET standard_conforming_strings = on;\n",
    "COMMENT ON TABLE t IS 'it''s\nCOPY public.t (a, b) FROM stdin;\n\\.\n';\n",
    "COMMENT ON TABLE t IS E'\\'\nCOPY public.t (a, b) FROM stdin;\n';\n",
    "SELECT 'ends with \\';\n",
    "CREATE FUNCTION f() AS $_$\nCOPY public.t (a, b) FROM stdin;\n$$ ' \" /* $_$;\n",
    "SELECT a$b$c, 1;\n",
    "CREATE TABLE \"a\nCOPY public.t (a, b) FROM stdin;\n\"\"b\" (x int);\n",
    "/* one /* two */ '\nCOPY public.t (a, b) FROM stdin;\n\" $$ */\n",
    "SELECT 1; -- it's \" /* $$\n",
    "SELECT 4/2*3, 'x' COPY;\n",
    "COPY public.t (a, b) FROM 'stdin';\n",
    "COPY public.t (a, b) TO stdout;\n",
    "COPY public.t (a, b) FROM PROGRAM 'cat' WITH (FORMAT csv);\n",
    "CREATE TABLE x (\n  copy text,\n  copy2 text\n);\n",
    "CREATE TABLE x (a int,\ncopy text\n);\n",
    "copying FROM stdin;\n",
    "\n\r\n",
};

struct Dump {
  std::string text;
  std::vector<std::pair<std::size_t, std::string>> records;  ///< each with the number of its part
};

Dump AnyDump() {
  Dump dump;
  std::size_t part = 0;
  const auto add = [&](const std::string& record) {
    dump.text += record;
    dump.records.emplace_back(part, record);
  };
  const auto add_lines = [&](std::string lines) {
    while (!lines.empty()) {
      const std::size_t size = lines.find('\n') + 1;
      add(lines.substr(0, size));
      lines.erase(0, size);
    }
  };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    for (const std::size_t which :
         *rc::gen::container<std::vector<std::size_t>>(2, rc::gen::inRange<std::size_t>(0, std::size(kSql)))) {
      add_lines(kSql[which]);
    }
    add_lines(*rc::gen::element<std::string>(
        "COPY public.t (a, b) FROM stdin;\n", "COPY t  (a,b)  FROM stdin;\r\n",
        "COPY \"S.\"\"x\".\"a b\" (\"a \", b) FROM stdin;\n", "COPY public.none  FROM stdin;\n",
        "copy t (a, b) from stdin;\n", "  Copy\tt(a,b)\tFrom STDIN ; -- it's\n", "COPY d.public.t (a, b) WITH OIDS FROM stdin;\n",
        "COPY m\n  (a, -- it's \"\n   \"b;\nc\")\r\nFROM stdin\n\nWITH (FORMAT 'text', FREEZE on)\n;\n"));
    ++part;
    for (int rows = *rc::gen::inRange(0, 4); rows > 0; --rows) {
      add(*rc::gen::element<std::string>("\n", "a\tb\n", "\\\\.\n", "\\N\t2\n", "it's\t$$\n", "a\\\nb\t\\.\n",
                                         "COPY public.t (a, b) FROM stdin;\n", "\\.a\n"));
    }
    ++part;
    add(*rc::gen::element<std::string>("\\.\n", "\\.\r\n"));
  }
  return dump;
}

RC_GTEST_PROP(SqlDumpFormat, FindsTheRowsOfTables, ()) {
  const Dump dump = AnyDump();
  const JobSpec spec = DumpOptions({});
  const CutInput cut = CutEverywhere(SqlDumpFormat(spec), dump.text, [](std::size_t) { RC_FAIL("cuts matter"); });
  RC_ASSERT(cut.error == "");
  RC_ASSERT(cut.text() == dump.text);
  RC_ASSERT(cut.records.size() == dump.records.size());
  for (std::size_t i = 0; i < cut.records.size(); ++i) {
    RC_ASSERT(cut.records[i].body == dump.records[i].second);
    const std::string part = KeyBytes([&](FieldWriter& out) { out.PutCount(dump.records[i].first); });
    RC_ASSERT(cut.records[i].key.starts_with(part));
    const bool row = dump.records[i].first % 2 == 1;
    RC_ASSERT((cut.records[i].key.size() > part.size()) == row);
  }
}

RC_GTEST_PROP(SqlDumpFormat, GoesOnFromAnyState, ()) {
  std::string rest = *rc::gen::element<std::string>("", "SET standard_conforming_strings = off;\n") + AnyDump().text;
  JobSpec spec = DumpOptions({TypedKey("t.b", ValueType::kInt), TypedKey("\"a b\".b", ValueType::kText, true)});
  spec.source.force_format = true;  // old strings may hide a COPY
  const SqlDumpFormat format(spec);
  const CutInput cut = CutRecords(format, rest, rest.size());
  CutInput again;
  ScanState state;
  while (!rest.empty()) {
    state = format.LoadState(format.SaveState(state));
    ScanState scan = state;
    const std::string record = rest.substr(0, format.Scan(Span(rest), scan).first);
    RC_ASSERT(!record.empty());
    KeyPiece(format, Span(record), state, again);
    rest.erase(0, record.size());
  }
  try {
    format.Finish({}, format.LoadState(format.SaveState(state)));
  } catch (const Error& error) {
    again.error = error.what();
  }
  RC_ASSERT(again.records == cut.records);
  RC_ASSERT(again.error == cut.error);
}

TEST(SqlDumpFormat, RefusesADamagedState) {
  const JobSpec spec = DumpOptions({TypedKey("t.a", ValueType::kInt)});
  const SqlDumpFormat format(spec);
  ScanState state;
  format.Scan(Span("COPY public.t (a) FROM stdin;\n"), state);
  const std::string saved = format.SaveState(state);
  EXPECT_EQ(format.SaveState(format.LoadState(saved)), saved);
  EXPECT_THROW(format.LoadState(saved.substr(0, saved.size() / 2)), Error);
  EXPECT_THROW(format.LoadState("none"), Error);
}

RC_GTEST_PROP(SqlDumpFormat, LosesNothingOfAnyText, ()) {
  std::string text;
  for (const int which : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40))) {
    static const std::string kPieces[] = {"'",  "\"", "$",  "$a$",   "E'", "\\", "--",
                                          "/*", "*/", "\n", "\\.\n", "a",  "\r"};
    text += which < 13 ? kPieces[which] : which < 17 ? "\nCOPY t (a) FROM stdin;\n" : kSql[which % std::size(kSql)];
  }
  text.resize(std::min<std::size_t>(text.size(), 300));
  text += "\n";
  const JobSpec spec = DumpOptions({});
  const CutInput cut = CutEverywhere(SqlDumpFormat(spec), text, [](std::size_t) { RC_FAIL("cuts matter"); });
  if (cut.error.empty()) RC_ASSERT(cut.text() == text);
}

const std::string kDump =
    "SET x = 1;\n"
    "COPY public.t (id, name) FROM stdin;\n10\tb\n9\ta\n\\N\tc\n\\.\n"
    "\nSELECT 1;\n"
    "COPY other.t (id, name) FROM stdin;\n2\tz\n10\ty\n\\.\n"
    "COPY public.\"A.b\" (\"X\"\"y\") FROM stdin;\nq\np\n\\.\n"
    "-- end\n";

std::string SortedDump(std::vector<ColumnKey> keys) {
  const JobSpec spec = DumpOptions(std::move(keys));
  const CutInput cut = CutRecords(SqlDumpFormat(spec), kDump, 11);
  return cut.error.empty() ? Sorted(cut) : cut.error;
}

TEST(SqlDumpFormat, SortsRowsOfEachTable) {
  const std::string rest =
      "\\.\nCOPY public.\"A.b\" (\"X\"\"y\") FROM stdin;\np\nq\n\\.\n"
      "-- end\n";
  const std::string other = "\\.\n\nSELECT 1;\nCOPY other.t (id, name) FROM stdin;\n";
  const std::string front = "SET x = 1;\nCOPY public.t (id, name) FROM stdin;\n";
  EXPECT_EQ(SortedDump({}), front + "10\tb\n9\ta\n\\N\tc\n" + other + "10\ty\n2\tz\n" + rest);
  EXPECT_EQ(SortedDump({TypedKey("t.id", ValueType::kInt)}),
            front + "9\ta\n10\tb\n\\N\tc\n" + other + "2\tz\n10\ty\n" + rest);
  EXPECT_EQ(SortedDump({TypedKey("other.t.name", ValueType::kText), TypedKey("public.t.name", ValueType::kText, true),
                        TypedKey("\"A.b\".\"X\"\"y\"", ValueType::kText)}),
            front + "\\N\tc\n10\tb\n9\ta\n" + other + "10\ty\n2\tz\n" + rest);
}

TEST(SqlDumpFormat, RefusesKeysOfNoTable) {
  EXPECT_NE(SortedDump({TypedKey("nobody.id", ValueType::kInt)}).find("public.t, other.t, public.A.b"), std::string::npos);
  EXPECT_NE(SortedDump({TypedKey("t.ID", ValueType::kInt)}).find("it has: id, name"), std::string::npos);
  for (const std::string name : {"id", "a.b.c.d", "a..b", "\"a", "\"a\"b.c", ""}) {
    EXPECT_THROW(SortedDump({TypedKey(name, ValueType::kInt)}), Error) << name;
  }
  JobSpec spec = DumpOptions({});
  spec.source.inputs.push_back("another");
  EXPECT_THROW(SqlDumpFormat{spec}, Error);
}

TEST(SqlDumpFormat, RefusesADumpThatEndsInRows) {
  const JobSpec spec = DumpOptions({});
  const std::string text = "COPY public.t (id) FROM stdin;\n1\n";
  EXPECT_NE(CutRecords(SqlDumpFormat(spec), text, 5).error.find("rows of table public.t"), std::string::npos);
}

std::string ErrorOf(const std::string& text, bool force = false) {
  JobSpec spec = DumpOptions({});
  spec.source.force_format = force;
  return CutRecords(SqlDumpFormat(spec), text, 7).error;
}

TEST(SqlDumpFormat, RefusesADumpWithoutCopy) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_NE(ErrorOf("SELECT 1;\nINSERT INTO t VALUES (1);\n").find("INSERT statements"), std::string::npos);
  EXPECT_NE(ErrorOf("  insert into t values ('\ncopy t from stdin;\n');\n").find("INSERT statements"), std::string::npos);
  for (const std::string text : {"a,b\n1,2\n", "\n", "CREATE TABLE t (a int);\n", "no line end"}) {
    EXPECT_NE(ErrorOf(text).find("no COPY block"), std::string::npos) << text;
    EXPECT_EQ(ErrorOf(text, true), "") << text;
  }
  EXPECT_EQ(ErrorOf("COPY t (a) FROM stdin;\n\\.\nINSERT INTO t VALUES (1);\n"), "");
}

TEST(SqlDumpFormat, RefusesRowsThatItWouldLeaveUnsorted) {
  const std::string rows = "2\n1\n\\.\n";
  for (const std::string copy : {"COPY t (a) FROM stdin WITH (FORMAT csv);\n", "copy t from stdin delimiter ',';\n",
                                 "COPY t FROM stdin (HEADER);\n", "COPY t FROM stdin; SELECT 1;\n"}) {
    EXPECT_NE(ErrorOf(copy + rows).find("options"), std::string::npos) << copy;
    EXPECT_EQ(ErrorOf(copy + rows, true), "") << copy;
  }
  for (const std::string copy : {"BEGIN; COPY t (a) FROM stdin;\n", "\\copy t from stdin\n", "/* */ COPY t FROM stdin;\n"}) {
    EXPECT_NE(ErrorOf(copy + rows).find("ends the rows of a COPY"), std::string::npos) << copy;
    EXPECT_EQ(ErrorOf(copy + rows, true), "") << copy;
  }
}

TEST(SqlDumpFormat, ReadsOldStringsWithBackslashes) {
  const JobSpec spec = DumpOptions({});
  const std::string copy = "COPY t (a) FROM stdin;\n2\n1\n\\.\n";
  const std::string set = "SET standard_conforming_strings = off;\n";
  EXPECT_EQ(Sorted(CutRecords(SqlDumpFormat(spec), set + "SELECT '\\'';\n" + copy, 9)),
            set + "SELECT '\\'';\nCOPY t (a) FROM stdin;\n1\n2\n\\.\n");
}

}  // namespace
}  // namespace gpusort
