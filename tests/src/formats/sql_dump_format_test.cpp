// Builds dumps of known parts: which lines belong to which part must be the same wherever blocks end, and rows must go
// to the right places.
#include "formats/sql_dump_format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cut_records.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace gpusort::testing;

JobSpec DumpOptions(std::vector<ColumnKey> keys, const std::string& format = "pgdump") {
  JobSpec spec;
  spec.source.inputs = {"dump.sql"};
  spec.source.table.emplace();
  spec.source.table->name = format;
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
        "copy t (a, b) from stdin;\n", "  Copy\tt(a,b)\tFrom STDIN ; -- it's\n",
        "COPY d.public.t (a, b) WITH OIDS FROM stdin;\n",
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

// Reads the records one by one. The state before each of them is saved and loaded. `state` is the state at the end.
CutInput CutWithSavedStates(const SqlDumpFormat& format, std::string rest, ScanState& state) {
  CutInput cut;
  while (!rest.empty()) {
    state = format.LoadState(format.SaveState(state));
    ScanState scan = state;
    const std::string record = rest.substr(0, format.Scan(Span(rest), scan).first);
    RC_ASSERT(!record.empty());
    KeyPiece(format, Span(record), state, cut);
    rest.erase(0, record.size());
  }
  return cut;
}

RC_GTEST_PROP(SqlDumpFormat, GoesOnFromAnyState, ()) {
  const std::string setting = *rc::gen::element<std::string>("", "SET standard_conforming_strings = off;\n");
  const std::string table = *rc::gen::element<std::string>("", "CREATE TABLE t (a numeric, b int PRIMARY KEY);\n",
                                                           "CREATE TABLE t (a numeric, b int);\n");
  const std::string rest = setting + table + AnyDump().text;
  std::vector<ColumnKey> keys = {TypedKey("t.b", ValueType::kInt), TypedKey("\"a b\".b", ValueType::kText, true)};
  keys[0].rule.typed = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) keys.clear();
  JobSpec spec = DumpOptions(keys);
  spec.source.force_format = true;  // old strings may hide a COPY
  const SqlDumpFormat format(spec);
  const CutInput cut = CutRecords(format, rest, rest.size());
  ScanState state;
  CutInput again = CutWithSavedStates(format, rest, state);
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
  EXPECT_NE(SortedDump({TypedKey("nobody.id", ValueType::kInt)}).find("public.t, other.t, public.A.b"),
            std::string::npos);
  EXPECT_NE(SortedDump({TypedKey("t.idx", ValueType::kInt)}).find("it has: id, name"), std::string::npos);
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

TEST(SqlDumpFormat, RefusesADumpWithoutRows) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_NE(ErrorOf("SELECT 1;\nINSERT INTO t SELECT 1;\n").find("INSERT statements have no rows"), std::string::npos);
  EXPECT_EQ(ErrorOf("  insert into t values ('\ncopy t from stdin;\n');\n"), "");
  for (const std::string text : {"a,b\n1,2\n", "\n", "CREATE TABLE t (a int);\n", "no line end"}) {
    EXPECT_NE(ErrorOf(text).find("no COPY block"), std::string::npos) << text;
    EXPECT_EQ(ErrorOf(text, true), "") << text;
  }
  EXPECT_EQ(ErrorOf("COPY t (a) FROM stdin;\n\\.\nINSERT INTO t VALUES (1);\n"), "");
  EXPECT_EQ(ErrorOf("INSERT INTO t VALUES (1);\n"), "");
  EXPECT_NE(ErrorOf("INSERT INTO t VALUES (1),\n").find("ends inside the rows of table t"), std::string::npos);
  EXPECT_NE(ErrorOf("INSERT INTO t VALUES (1 /* ) */);\n").find("a comment"), std::string::npos);
  EXPECT_NE(ErrorOf("INSERT INTO t VALUES (1 -- )\n);\n").find("a comment"), std::string::npos);
  EXPECT_NE(ErrorOf("INSERT INTO t VALUES ($$)$$);\n").find("between dollars"), std::string::npos);
  EXPECT_NE(ErrorOf("INSERT INTO t VALUES (1),(2);\nINSERT INTO t VALUES (1),(2) ON CONFLICT DO NOTHING;\n")
                .find("ends in another way"),
            std::string::npos);
}

TEST(SqlDumpFormat, RefusesRowsThatItWouldLeaveUnsorted) {
  const std::string rows = "2\n1\n\\.\n";
  for (const std::string copy : {"COPY t (a) FROM stdin WITH (FORMAT csv);\n", "copy t from stdin delimiter ',';\n",
                                 "COPY t FROM stdin (HEADER);\n", "COPY t FROM stdin; SELECT 1;\n"}) {
    EXPECT_NE(ErrorOf(copy + rows).find("options"), std::string::npos) << copy;
    EXPECT_EQ(ErrorOf(copy + rows, true), "") << copy;
  }
  for (const std::string copy :
       {"BEGIN; COPY t (a) FROM stdin;\n", "\\copy t from stdin\n", "/* */ COPY t FROM stdin;\n"}) {
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

// --- INSERT --------------------------------------------------------------------------------------------------------

/// A dump of INSERT statements and other SQL, and the records that it must have.
struct Inserts {
  std::string text;
  std::vector<std::string> records;
};

std::string AnyLiteral(const std::string& format) {
  static const std::vector<std::string> kAny = {"1",
                                                "-2.5e3",
                                                "NULL",
                                                "'a'",
                                                "''",
                                                "'it''s'",
                                                "'),('",
                                                "'; INSERT INTO t VALUES (1);'",
                                                "'--'",
                                                "'/*'",
                                                "'a\nINSERT INTO t VALUES(9);\n'",
                                                "X'0aFF'",
                                                "f(1, ')')"};
  static const std::vector<std::string> kMysql = {R"('it\'s')", R"('\\')",    R"("a'\"b")", R"(_binary 'x\'),(\\')",
                                                  "0x41",       R"('\0\n\Z')"};
  static const std::vector<std::string> kPostgres = {R"(E'it\'s')", R"(E'\\')",   R"('\')",   R"(e'\'''),(')",
                                                     "B'01'",       R"(type'\')", "'a'::text"};
  static const std::vector<std::string> kSqlite = {R"('\')", R"(replace('a\nb','\n',char(10)))", R"("x'y")", "[a'b]",
                                                   R"(unistr('\u000a'))"};
  std::vector<std::string> all = kAny;
  const auto& more = format == "mysqldump" ? kMysql : format == "pgdump" ? kPostgres : kSqlite;
  all.insert(all.end(), more.begin(), more.end());
  return *rc::gen::elementOf(all);
}

const Byte* SkipBlanks(const Byte* p, const Byte* end) {
  while (p != end && (*p == ' ' || *p == '\n' || *p == '\t')) ++p;
  return p;
}

Inserts AnyInserts(const std::string& format) {
  Inserts dump;
  const auto add = [&](const std::string& record) {
    dump.text += record;
    dump.records.push_back(record);
  };
  std::string last_head, last_comma, last_end;
  bool several_part = false, after = false, same_ends = true;
  for (int statements = *rc::gen::inRange(1, 8); statements > 0; --statements) {
    if (*rc::gen::inRange(0, 4) == 0) {
      add(*rc::gen::element<std::string>("SELECT 1;\n", "INSERT INTO t SELECT 1;\n", "SELECT '\n",
                                         "CREATE TABLE t (a int PRIMARY KEY, b text);\n", "UPDATE t SET a = 1;\r\n"));
      if (dump.records.back() == "SELECT '\n") {
        add("INSERT INTO t VALUES (1);\n");
        add("';\n");
      }
      after = false;
    }
    const std::string table = *rc::gen::element<std::string>("t", "t", "\"a b\"", "u");
    const std::string words =
        *rc::gen::element<std::string>(" VALUES ", " VALUES\n", " (a, \"b)\") values ", " VALUES");
    const std::string head = "INSERT INTO " + table + words;
    const std::string comma = *rc::gen::element<std::string>(",", ",\n\t", ", ");
    const std::string end = *rc::gen::element<std::string>(";\n", ";\r\n", " ;\n");
    const auto rows = *rc::gen::inRange<std::size_t>(1, 4);
    std::vector<std::string> tuples;
    for (std::size_t i = 0; i < rows; ++i) {
      tuples.push_back("(" + AnyLiteral(format) + "," + AnyLiteral(format) + ")");
    }
    bool goes_on = after && head == last_head;
    std::string lead =
        *rc::gen::element<std::string>("", "", "", "", "\n", "  ", "-- it's\n\n", "/* a\n; */ ", " -- b\n", "/* a; */");
    // Statements with one row and different ends are not sorted together with several rows, or with a lead.
    if (!several_part && !same_ends && (rows > 1 || !lead.empty())) goes_on = false;
    if (!goes_on && lead.starts_with("/* a\n")) lead.clear();
    const bool switches = rows > 1 || (goes_on && !lead.empty());
    if (!goes_on) {
      several_part = rows > 1;
      last_comma = comma;
      last_end = end;
      same_ends = true;
      // Lines before the first statement are records, and so is the text before it on its line.
      std::string rest = lead;
      for (std::size_t newline = 0; (newline = rest.find('\n')) != rest.npos;) {
        add(rest.substr(0, newline + 1));
        rest.erase(0, newline + 1);
      }
      if (!rest.empty()) add(rest);
    } else if (switches && !several_part) {
      several_part = true;
      last_comma = rows > 1 && lead.empty() ? comma : "none";
    }
    same_ends = same_ends && end == last_end;
    last_head = head;
    after = true;
    if (!several_part) {
      add(head + tuples[0] + end);
      continue;
    }
    add((goes_on ? lead : "") + head);
    std::string front;  // white space after a newline belongs to the next row
    for (std::size_t i = 0; i < rows; ++i) {
      const std::string row = front + tuples[i];
      front.clear();
      if (i + 1 == rows) {
        add(row);
        add(end);
        continue;
      }
      const std::size_t newline = comma.find('\n');
      const std::string separator = comma.substr(0, newline == comma.npos ? newline : newline + 1);
      front = comma.substr(separator.size());
      if (comma == last_comma) {
        add(row + separator);
      } else {
        add(row);
        add(separator);
      }
    }
  }
  return dump;
}

void CheckInserts(const std::string& name) {
  const Inserts dump = AnyInserts(name);
  JobSpec spec = DumpOptions({}, name);
  spec.source.force_format = true;
  const CutInput cut = CutEverywhere(SqlDumpFormat(spec), dump.text, [](std::size_t) { RC_FAIL("cuts matter"); });
  RC_ASSERT(cut.error == "");
  RC_ASSERT(cut.text() == dump.text);
  std::vector<std::string> records;
  for (const CutRecord& record : cut.records) records.push_back(record.body);
  RC_ASSERT(records == dump.records);
}
RC_GTEST_PROP(SqlDumpFormat, FindsRowsOfMysql, ()) { CheckInserts("mysqldump"); }
RC_GTEST_PROP(SqlDumpFormat, FindsRowsOfPostgres, ()) { CheckInserts("pgdump"); }
RC_GTEST_PROP(SqlDumpFormat, FindsRowsOfSqlite, ()) { CheckInserts("sqlitedump"); }

RC_GTEST_PROP(SqlDumpFormat, LosesNothingOfAnyInserts, ()) {
  static const std::vector<std::string> kPieces = {"'",
                                                   "\"",
                                                   "`",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   ")",
                                                   ",",
                                                   ";",
                                                   "\n",
                                                   "\\",
                                                   "a",
                                                   "E",
                                                   "-",
                                                   "/",
                                                   "*",
                                                   " ",
                                                   "INSERT INTO t VALUES (",
                                                   "\nINSERT INTO t VALUES (1);\n",
                                                   "(1),(2);\n",
                                                   "DELIMITER ;;\n",
                                                   "CREATE TABLE t(a int",
                                                   "CREATE TRIGGER x BEGIN ",
                                                   "END;",
                                                   "/*!",
                                                   "COPY t FROM stdin;\n1\n\\.\n"};
  std::string text;
  for (const std::size_t which :
       *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, kPieces.size()))) {
    text += kPieces[which];
  }
  text.resize(std::min<std::size_t>(text.size(), 250));
  text += "\n";
  const std::string name = *rc::gen::element<std::string>("mysqldump", "pgdump", "sqlitedump", "sqldump");
  JobSpec spec = DumpOptions({}, name);
  spec.source.force_format = *rc::gen::arbitrary<bool>();
  const CutInput cut = CutEverywhere(SqlDumpFormat(spec), text, [](std::size_t) { RC_FAIL("cuts matter"); });
  if (cut.error.empty()) RC_ASSERT(cut.text() == text);
}

// SkipRows must find the same rows as RowLexer, or fewer.
RC_GTEST_PROP(SqlDumpFormat, SkipsWholeRows, ()) {
  const std::string format = *rc::gen::element<std::string>("mysqldump", "pgdump", "sqlitedump");
  const SqlDialect dialect = format == "mysqldump" ? SqlDialect::kMysql
                             : format == "pgdump"  ? SqlDialect::kPostgres
                                                   : SqlDialect::kSqlite;
  const bool escapes = dialect == SqlDialect::kMysql;
  const std::string separator = *rc::gen::element<std::string>(",", ", ", ",\n", "");
  const bool plain = *rc::gen::arbitrary<bool>();
  std::string text;
  std::vector<std::size_t> begins;
  for (int rows = *rc::gen::inRange(1, 30); rows > 0; --rows) {
    const std::string other = *rc::gen::element<std::string>(",", ", ", ",\n", " ,", ",\n\t");
    begins.push_back(text.size());
    text += "(" + std::string(*rc::gen::inRange<std::size_t>(0, 70), '7') + "," + AnyLiteral(format) + "," +
            *rc::gen::element<std::string>("'a\\\\b'", "-1", "'it''s'", "NULL") + ")" +
            (!separator.empty() && (plain || *rc::gen::inRange(0, 10) > 0) ? separator : other);
  }
  text.resize(text.size() - *rc::gen::inRange<std::size_t>(0, 20) % text.size());
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  const std::uint64_t most = *rc::gen::element<std::uint64_t>(1, 3, 1000);
  std::uint64_t rows = 0;
  const Byte* const stop = SkipRows(begin, end, dialect, escapes, separator, most, rows);
  RC_ASSERT(rows <= (separator.empty() ? 1 : most));
  const Byte* p = begin;
  for (std::uint64_t i = 0; i < rows; ++i) {
    RowLexer lexer;
    const Byte* bad = nullptr;
    const Byte* const row_end = lexer.Take(SkipBlanks(p, end), end, dialect, escapes, bad);
    RC_ASSERT(bad == nullptr);
    RC_ASSERT(lexer.depth == 0u);
    p = row_end;
    if (separator.empty()) continue;
    const AfterRow after = ParseAfterRow(row_end, end, dialect, escapes);
    RC_ASSERT(after.is == AfterRow::kComma);
    RC_ASSERT(Text(row_end, after.stop) == separator);
    p = after.stop;
  }
  RC_ASSERT(p == stop);
}

TEST(SqlDumpFormat, SkipsMostRows) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "(" + std::to_string(i) + ",'it\\'s; ),(',-1.5),";
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  std::uint64_t rows = 0;
  SkipRows(begin, begin + text.size(), SqlDialect::kMysql, true, ",", ~std::uint64_t{0}, rows);
#if defined(__SSE2__)
  EXPECT_GT(rows, 95u);
#endif
}

/// Returns a dump of statements with many rows.
std::string AnyLongInserts(const std::string& format) {
  std::string text;
  for (int statements = *rc::gen::inRange(1, 6); statements > 0; --statements) {
    text += *rc::gen::element<std::string>("", "", "", "\n", "-- it's\n", "SET sql_mode = 'NO_BACKSLASH_ESCAPES';\n",
                                           "SET sql_mode = '';\n");
    text += *rc::gen::element<std::string>("INSERT INTO t VALUES ", "INSERT INTO t VALUES ", "INSERT INTO u VALUES\n");
    const std::string separator = *rc::gen::element<std::string>(",", ",", ", ", ",\n", ",\n\t", " ,");
    const auto rows = *rc::gen::inRange(1, 40);
    for (int row = 0; row < rows; ++row) {
      text += "(" + std::to_string(row) + "," + AnyLiteral(format) + "," +
              *rc::gen::element<std::string>("-1", "'it''s'", "'(1),(2),(3)'", "'),(''),('", "NULL",
                                             "'a long text with many words, which fills more than one block of bytes'");
      text += ")";
      if (row + 1 < rows) text += *rc::gen::inRange(0, 30) > 0 ? separator : ", /* a */";
    }
    text += *rc::gen::element<std::string>(";\n", ";\n", ";\r\n", "\n;\n");
  }
  return text;
}

// Any blocks give the same ends of records and the same states, whether they are looked at ahead or not.
RC_GTEST_PROP(SqlDumpFormat, FindsTheSameRowsAhead, ()) {
  const std::string name = *rc::gen::element<std::string>("mysqldump", "pgdump", "sqlitedump", "sqldump");
  const std::string text =
      *rc::gen::element<std::string>("-- MySQL dump 10.13\n", "-- PostgreSQL database dump\n") + AnyLongInserts(name);
  JobSpec spec = DumpOptions({}, name);
  spec.source.force_format = true;
  const SqlDumpFormat format(spec);
  ScanState state, guessed;
  for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
    size = *rc::gen::element<std::size_t>(10, 64, 200, 500, 2000, 5000);
    const std::string block = text.substr(at, size);
    const auto scan = [&](ScanState& before, bool guesses) -> std::string {
      try {
        const RecordFormat::Ends ends = guesses ? format.ScanGuessed(Span(block), before, format.LookAhead(Span(block)))
                                                : format.Scan(Span(block), before);
        return std::to_string(ends.first) + " " + std::to_string(ends.last) + " " + format.SaveState(ends.state);
      } catch (const BadRecord& bad) {
        return std::to_string(bad.at()) + " " + bad.what();
      }
    };
    RC_ASSERT(scan(guessed, true) == scan(state, false));
    RC_ASSERT(format.SaveState(guessed) == format.SaveState(state));
    RC_ASSERT(guessed.held == state.held);
    RC_ASSERT(guessed.lexer == state.lexer);
  }
}

TEST(SqlDumpFormat, FindsRowsAheadInEachBlock) {
  std::string text = "-- MySQL dump 10.13\nINSERT INTO t VALUES ";
  for (int i = 0; i < 1000; ++i) {
    text += "(" + std::to_string(i) + ",'it\\'s; ),(',-1.5)" + (i % 50 == 49 ? ";\nINSERT INTO t VALUES " : ",");
  }
  const SqlDumpFormat format(DumpOptions({}, "mysqldump"));
  for (std::size_t at = 0; at + 500 < text.size(); at += 500) {
    EXPECT_NE(format.LookAhead(Span(text.substr(at, 500))).rows, nullptr) << at;
  }
}

std::string SortedInserts(const std::string& text, std::vector<ColumnKey> keys, const std::string& format) {
  const JobSpec spec = DumpOptions(std::move(keys), format);
  const CutInput cut = CutRecords(SqlDumpFormat(spec), text, 11);
  return cut.error.empty() ? Sorted(cut) : cut.error;
}

ColumnKey Untyped(const std::string& column) {
  ColumnKey key = TypedKey(column, ValueType::kText);
  key.rule.typed = false;
  return key;
}

TEST(SqlDumpFormat, SortsByThePrimaryKeyWithItsTypes) {
  const std::string table =
      "CREATE TABLE `t` (\n  `s` varchar(9) DEFAULT ',(' COMMENT 'it\\'s',\n  `id` int(11) NOT NULL,\n"
      "  `n` decimal(9,2),\n  PRIMARY KEY (`id`,`s`(10)),\n  KEY `s` (`s`)\n);\n";
  const std::string a = "INSERT INTO `t` VALUES ('b',10,9.5);\n", b = "INSERT INTO `t` VALUES ('a',9,NULL);\n",
                    c = "INSERT INTO `t` VALUES ('c',9,10);\n";
  EXPECT_EQ(SortedInserts(table + a + c + b, {}, "mysqldump"), table + b + c + a);
  EXPECT_EQ(SortedInserts(table + c + a + b, {Untyped("t.n")}, "mysqldump"), table + a + c + b);
  EXPECT_EQ(SortedInserts(table + c + a + b, {TypedKey("t.id", ValueType::kText)}, "mysqldump"), table + a + c + b);
  EXPECT_EQ(SortedInserts(table + c + a + b, {}, "sqldump"), table + b + c + a);
  EXPECT_NE(SortedInserts(table + a, {Untyped("t.none")}, "mysqldump").find("it has: s, id, n"), std::string::npos);
  EXPECT_NE(SortedInserts(a, {Untyped("t.id")}, "mysqldump").find("no names of columns"), std::string::npos);
  // Without a column of the primary key, all columns are the key.
  const std::string d = "INSERT INTO `t` (`n`, `id`) VALUES (2,8);\n",
                    e = "INSERT INTO `t` (`n`, `id`) VALUES (1,9);\n";
  EXPECT_EQ(SortedInserts(table + d + e, {}, "mysqldump"), table + e + d);
}

// Rows of COPY have the same keys as rows of INSERT.
TEST(SqlDumpFormat, SortsRowsOfCopyByTheTypesOfCreateTable) {
  const auto sorts = [](const std::string& create, const std::string& copy, const std::vector<std::string>& rows,
                        const std::vector<ColumnKey>& keys = {}) {
    std::string want = create + copy, given = want;
    for (const std::string& row : rows) want += row;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) given += *row;
    EXPECT_EQ(SortedInserts(given + "\\.\n", keys, "pgdump"), want + "\\.\n") << copy;
  };
  // The primary key, which a CREATE TABLE before the rows names.
  sorts("CREATE TABLE t (\n  s text,\n  id int,\n  PRIMARY KEY (id)\n);\n", "COPY t (s, id) FROM stdin;\n",
        {"c\t-1\n", "b\t9\n", "a\t10\n"});
  sorts("CREATE TABLE t (s text, id int PRIMARY KEY);\n", "COPY t FROM stdin;\n", {"b\t9\n", "a\t10\n"});
  // All columns with their types, and then by their texts. Nulls and values that are not of the type come last.
  const std::string all = "CREATE TABLE public.t (\n    n numeric,\n    at timestamp without time zone\n);\n";
  const std::string copy = "COPY public.t (n, at) FROM stdin;\n";
  sorts(all, copy,
        {"-Infinity\t\\N\n", "9.0\t2026-01-01 00:00:00\n", "9.00\t2026-01-01 00:00:00\n", "9\t2026-01-01 00:00:00.5\n",
         "10\tinfinity\n", "10\t\\N\n", "x\t2026-01-01 00:00:00\n", "\\N\t2026-01-02 00:00:00\n"});
  // A key of the user takes the type, unless it has one.
  sorts(all, copy, {"9\t\\N\n", "10\t\\N\n"}, {Untyped("t.n")});
  sorts(all, copy, {"10\t\\N\n", "9\t\\N\n"}, {TypedKey("t.n", ValueType::kText)});
  sorts("CREATE TYPE public.mood AS ENUM ('sad', 'ok');\nCREATE TABLE t (m public.mood);\n", "COPY t (m) FROM stdin;\n",
        {"sad\n", "ok\n", "\\N\n"}, {Untyped("t.m")});
  // Without a CREATE TABLE, the columns are text.
  sorts("", copy, {"10\ta\n", "9\ta\n"});
}

TEST(SqlDumpFormat, FindsTablesWhoseNamesAreWrittenInOtherWays) {
  const auto sorts = [](const std::string& create, const std::string& insert, const std::string& format,
                        std::vector<ColumnKey> keys) {
    const std::string a = insert + " VALUES (10);\n", b = insert + " VALUES (9);\n";
    EXPECT_EQ(SortedInserts(create + a + b, std::move(keys), format), create + b + a) << insert;
  };
  sorts("CREATE TABLE IF NOT EXISTS 'f_content'(id INTEGER PRIMARY KEY, c0);\n", "INSERT INTO f_content", "sqlitedump",
        {});
  sorts("CREATE TABLE t(ID INTEGER, PRIMARY KEY(id));\n", "INSERT INTO 'T'", "sqlitedump", {Untyped("T.Id")});
  sorts("CREATE TABLE t (id int PRIMARY KEY);\n", "INSERT INTO `T`", "mysqldump", {Untyped("t.ID")});
  sorts("CREATE TABLE T (ID int PRIMARY KEY);\n", "INSERT INTO public.t", "pgdump", {Untyped("public.T.id")});
  sorts("CREATE TABLE t (id int PRIMARY KEY);\n", "INSERT INTO t (ID)", "pgdump", {});
  sorts("USE `a`;\nCREATE TABLE t (id int);\nUSE b;\nCREATE TABLE t (id text);\nUSE `a`;\n", "INSERT INTO t",
        "mysqldump", {Untyped("a.t.id")});
  sorts(
      "SET search_path = a, pg_catalog;\nCREATE TABLE t (id int);\nSET search_path = b;\nCREATE TABLE t (id text);\n"
      "SET search_path = a;\n",
      "INSERT INTO t", "pgdump", {Untyped("a.t.id")});
  // The tables of another database are out of reach.
  EXPECT_EQ(SortedInserts("CREATE TABLE t (a int, id int PRIMARY KEY);\n\\connect b\nINSERT INTO t VALUES (1, 2);\n"
                          "INSERT INTO t VALUES (2, 1);\n",
                          {}, "pgdump"),
            "CREATE TABLE t (a int, id int PRIMARY KEY);\n\\connect b\nINSERT INTO t VALUES (1, 2);\n"
            "INSERT INTO t VALUES (2, 1);\n");
}

TEST(SqlDumpFormat, OrdersEnumsByTheirLabels) {
  const std::string rows[] = {"INSERT INTO t VALUES ('sad');\n", "INSERT INTO t VALUES ('ok');\n",
                              "INSERT INTO t VALUES ('happy');\n"};
  const std::string mysql = "CREATE TABLE t (m enum('sad','ok','happy') NOT NULL, PRIMARY KEY (m));\n";
  EXPECT_EQ(SortedInserts(mysql + rows[2] + rows[1] + rows[0], {}, "mysqldump"), mysql + rows[0] + rows[1] + rows[2]);
  const std::string postgres =
      "CREATE TYPE public.mood AS ENUM (\n    'sad',\n    'ok',\n    'happy'\n);\nCREATE TABLE t (\n    m "
      "public.mood\n);\n";
  EXPECT_EQ(SortedInserts(postgres + rows[2] + rows[1] + rows[0], {Untyped("t.m")}, "pgdump"),
            postgres + rows[0] + rows[1] + rows[2]);
  const std::string array = "CREATE TYPE mood AS ENUM ('sad', 'ok');\nCREATE TABLE t (m mood[]);\n";
  EXPECT_EQ(SortedInserts(array + rows[0] + rows[1], {Untyped("t.m")}, "pgdump"), array + rows[1] + rows[0]);
}

// Values that only MySQL has: dates without a month or a day, and the text that it stores for an unknown label.
TEST(SqlDumpFormat, OrdersValuesThatOnlyMysqlHas) {
  const auto sorts = [](const std::string& type, const std::vector<std::string>& values) {
    const std::string create = "CREATE TABLE t (a " + type + ", b int);\n";
    std::string sorted, reversed;
    for (const std::string& value : values) {
      const std::string row = "INSERT INTO t VALUES (" + value + ",1);\n";
      sorted += row;
      reversed = row + reversed;
    }
    for (const std::vector<ColumnKey>& keys : {std::vector<ColumnKey>(), {Untyped("t.a")}}) {
      EXPECT_EQ(SortedInserts(create + reversed, keys, "mysqldump"), create + sorted) << type;
    }
  };
  sorts("date", {"'0000-00-00'", "'0000-00-01'", "'0000-01-00'", "'0000-01-01'", "'2019-12-31'", "'2020-00-00'",
                 "'2020-00-01'", "'2020-01-00'", "'2020-01-01'", "'2020-01-31'", "'2020-02-00'", "'2020-02-01'"});
  sorts("datetime(6)", {"'0000-00-00 00:00:00.000000'", "'2019-12-31 23:59:59.999999'", "'2020-00-00 00:00:00.000000'",
                        "'2020-00-00 10:00:00.000000'", "'2020-00-00 10:00:00.500000'", "'2020-01-00 00:00:00.000000'",
                        "'2020-01-01 00:00:00.000000'"});
  sorts("enum('b','a')", {"''", "'b'", "'a'"});
  sorts("enum('b','','a')", {"'b'", "''", "'a'"});
  sorts("inet6", {"'::1'", "'::ffff:1.2.3.4'", "'2001:db8::9'", "'2001:db8::10'"});
}

TEST(SqlDumpFormat, OrdersValuesAsSqlite) {
  std::string dump = "CREATE TABLE t(id FLOATING POINT PRIMARY KEY);\n", sorted = dump;
  for (const std::string value : {"X'00'", "'x'", "10", "1.5", "NULL", "-2.5", "9", "'10'", "1e10", "X'ff'"}) {
    dump += "INSERT INTO t VALUES(" + value + ");\n";
  }
  for (const std::string value : {"NULL", "-2.5", "1.5", "9", "10", "1e10", "'10'", "'x'", "X'00'", "X'ff'"}) {
    sorted += "INSERT INTO t VALUES(" + value + ");\n";
  }
  EXPECT_EQ(SortedInserts(dump, {}, "sqlitedump"), sorted);
  EXPECT_EQ(SortedInserts(dump, {Untyped("t.id")}, "sqlitedump"), sorted);
}

// A primary key of SQLite can be null in several rows, whose order must not depend on the order in the dump.
TEST(SqlDumpFormat, OrdersRowsWithoutAPrimaryKey) {
  const std::string a = "INSERT INTO t VALUES(NULL,'a');\n", b = "INSERT INTO t VALUES(NULL,'b');\n";
  const std::string table = "CREATE TABLE t(id text PRIMARY KEY, s);\n";
  EXPECT_EQ(SortedInserts(table + b + a, {}, "sqlitedump"), table + a + b);
  EXPECT_EQ(SortedInserts(table + a + b, {}, "sqlitedump"), table + a + b);
  // SQLite numbers these rows in their order.
  const std::string counted = "CREATE TABLE t(id INTEGER PRIMARY KEY, s);\n";
  EXPECT_EQ(SortedInserts(counted + b + a, {}, "sqlitedump"), counted + b + a);
}

TEST(SqlDumpFormat, ReadsStatementsThatAreWrittenInOtherWays) {
  const auto sorts = [](const std::string& format, const std::string& text, const std::string& want) {
    EXPECT_EQ(SortedInserts(text, {}, format), want);
  };
  sorts("mysqldump", "INSERT INTO t PARTITION (p0) VALUES (3);\nINSERT INTO t PARTITION (p0) VALUES (2);\n",
        "INSERT INTO t PARTITION (p0) VALUES (2);\nINSERT INTO t PARTITION (p0) VALUES (3);\n");
  sorts("mysqldump", "INSERT INTO t VALUES ROW(3);\nINSERT INTO t VALUES ROW (2);\n",
        "INSERT INTO t VALUES ROW (2);\nINSERT INTO t VALUES ROW(3);\n");
  sorts("mysqldump",
        "INSERT INTO t VALUES (3) ON DUPLICATE KEY UPDATE s='it\\'s; x', t=1;\nINSERT INTO t VALUES (2) /* b; */; # c\n"
        "INSERT INTO t VALUES (1) -- ;\n;\n",
        "INSERT INTO t VALUES (1) -- ;\n;\nINSERT INTO t VALUES (2) /* b; */; # c\n"
        "INSERT INTO t VALUES (3) ON DUPLICATE KEY UPDATE s='it\\'s; x', t=1;\n");
  sorts("pgdump",
        "INSERT INTO t VALUES (3) ON CONFLICT (a) DO UPDATE SET s = $$a;b$$;\nINSERT INTO t VALUES (2) "
        "ON CONFLICT (a) DO UPDATE SET s = E'\\';';\n",
        "INSERT INTO t VALUES (2) ON CONFLICT (a) DO UPDATE SET s = E'\\';';\nINSERT INTO t VALUES (3) ON CONFLICT (a) "
        "DO UPDATE SET s = $$a;b$$;\n");
}

TEST(SqlDumpFormat, WarnsOfTablesThatReferToThemselves) {
  const auto warns = [](const std::string& text, const std::string& format) {
    const JobSpec spec = DumpOptions({}, format);
    const CutInput cut = CutRecords(SqlDumpFormat(spec), text, 11);
    EXPECT_EQ(cut.error, "");
    return cut.tally.self_references.count;
  };
  const std::string rows = "INSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1);\n";
  const std::string mysql = "CREATE TABLE `t` (a int, CONSTRAINT x FOREIGN KEY (a) REFERENCES `t` (a));\n";
  const std::string off = "/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;\n";
  EXPECT_EQ(warns(mysql + rows, "mysqldump"), 1u);
  EXPECT_EQ(warns(off + mysql + rows, "mysqldump"), 0u);
  EXPECT_EQ(warns(off + "SET FOREIGN_KEY_CHECKS=1;\n" + mysql + rows, "mysqldump"), 1u);
  EXPECT_EQ(warns("CREATE TABLE t (a int REFERENCES u);\n" + rows, "pgdump"), 0u);
  const std::string postgres = "CREATE TABLE public.t (a int);\n";
  EXPECT_EQ(
      warns(postgres + "ALTER TABLE ONLY public.t\n  ADD FOREIGN KEY (a) REFERENCES public.t(a);\n" + rows, "pgdump"),
      1u);
  EXPECT_EQ(warns(postgres + rows, "pgdump"), 0u);
}

// Without a key, rows are ordered by all columns, also by values that are not of their column's type.
TEST(SqlDumpFormat, OrdersValuesThatAreNoIntegers) {
  const std::string table = "CREATE TABLE t (f tinyint(1), s text);\n";
  const std::string rows[] = {"INSERT INTO t VALUES (7,'b');\n", "INSERT INTO t VALUES (false,'b');\n",
                              "INSERT INTO t VALUES (true,'b');\n"};
  const std::string sorted = SortedInserts(table + rows[0] + rows[1] + rows[2], {}, "mysqldump");
  EXPECT_EQ(SortedInserts(table + rows[2] + rows[1] + rows[0], {}, "mysqldump"), sorted);
  EXPECT_LT(sorted.find(rows[1]), sorted.find(rows[2]));
}

TEST(SqlDumpFormat, WarnsOfRowsThatReplaceOthers) {
  const auto warns = [](const std::string& text, const std::vector<ColumnKey>& keys, const std::string& format) {
    const JobSpec spec = DumpOptions(keys, format);
    const CutInput cut = CutRecords(SqlDumpFormat(spec), text, 11);
    EXPECT_EQ(cut.error, "");
    return cut.tally.conflict_tables.count;
  };
  const std::string table = "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b));\n";
  const std::string rows = "REPLACE INTO t (a, b, c) VALUES (2,1,1);\nREPLACE INTO t (a, b, c) VALUES (1,1,1);\n";
  EXPECT_EQ(warns(table + rows, {}, "mysqldump"), 0u);
  // A later statement says what happens to a row whose key exists.
  EXPECT_EQ(warns("INSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1) ON CONFLICT DO NOTHING;\n", {}, "pgdump"), 1u);
  EXPECT_EQ(
      warns("INSERT INTO t VALUES (2) ON CONFLICT DO NOTHING;\nINSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET "
            "a = 1;\n",
            {}, "pgdump"),
      1u);
  EXPECT_EQ(warns(table + rows, {Untyped("t.b")}, "mysqldump"), 0u);
  EXPECT_EQ(warns(table + rows, {Untyped("t.b"), Untyped("t.c")}, "mysqldump"), 1u);
  EXPECT_EQ(warns(rows, {}, "mysqldump"), 1u);
  // A table without keys keeps all rows.
  const std::string keyless = "CREATE TABLE t (a int, b int, c int, KEY (a));\n";
  EXPECT_EQ(warns(keyless + rows, {}, "mysqldump"), 0u);
  EXPECT_EQ(warns(keyless + rows, {Untyped("t.b")}, "mysqldump"), 0u);
  EXPECT_EQ(warns(keyless + "ALTER TABLE t ADD UNIQUE (a);\n" + rows, {}, "mysqldump"), 1u);
  EXPECT_EQ(warns(keyless + "ALTER TABLE t RENAME COLUMN a TO d;\n" + rows, {}, "mysqldump"), 1u);
  EXPECT_EQ(warns("CREATE TABLE t LIKE u;\n" + rows, {}, "mysqldump"), 1u);
  // A partition gets the keys of its table.
  EXPECT_EQ(
      warns("CREATE TABLE p (a int PRIMARY KEY) PARTITION BY RANGE (a);\nCREATE TABLE t (a int);\nALTER TABLE ONLY p "
            "ATTACH PARTITION t FOR VALUES FROM (0) TO (9);\nINSERT INTO t VALUES (1) ON CONFLICT DO NOTHING;\n",
            {}, "pgdump"),
      1u);
  const auto partition = [&](const std::string& of_table, const std::string& of_partition, const std::string& later) {
    return warns("CREATE TABLE p (a int" + of_table + ", b int) PARTITION BY RANGE (a);\nCREATE TABLE t (a int" +
                     of_partition + ", b int);\nALTER TABLE ONLY p ATTACH PARTITION t FOR VALUES FROM (0) TO (9);\n" +
                     later + "INSERT INTO t VALUES (1,2) ON CONFLICT DO NOTHING;\n",
                 {}, "pgdump");
  };
  EXPECT_EQ(partition("", "", ""), 0u);
  EXPECT_EQ(partition("", " PRIMARY KEY", ""), 0u);
  EXPECT_EQ(partition(" PRIMARY KEY", " PRIMARY KEY", ""), 0u);
  EXPECT_EQ(partition("", "", "ALTER TABLE p ADD PRIMARY KEY (a);\n"), 1u);
  EXPECT_EQ(partition("", " PRIMARY KEY", "ALTER TABLE p ADD UNIQUE (b);\n"), 1u);
  EXPECT_EQ(warns("INSERT IGNORE INTO t VALUES (1);\n", {}, "mysqldump"), 1u);
  const std::string conflict = "INSERT INTO t VALUES (1,1,1) ON CONFLICT DO NOTHING;\n";
  EXPECT_EQ(warns(conflict + conflict, {}, "pgdump"), 1u);
  EXPECT_EQ(warns(table + conflict + conflict, {}, "pgdump"), 0u);
  EXPECT_EQ(warns("INSERT INTO t VALUES (1),(2)\nON DUPLICATE KEY UPDATE a = VALUES(a);\n", {}, "mysqldump"), 1u);
  EXPECT_EQ(warns("INSERT OR REPLACE INTO t VALUES (1);\n", {}, "sqlitedump"), 1u);
  EXPECT_EQ(warns("INSERT INTO t VALUES (1);\n", {}, "sqlitedump"), 0u);
  // A statement after the first one that ends in another way.
  EXPECT_EQ(warns("INSERT INTO t VALUES (3);\nINSERT INTO t VALUES (2); -- a\nINSERT INTO t VALUES (1) ON CONFLICT DO "
                  "NOTHING;\nINSERT INTO t VALUES (0) ON CONFLICT DO NOTHING;\n",
                  {}, "pgdump"),
            1u);
  // The order of rows decides which row stays if another key than the primary key is unique.
  const auto replaces = [&](const std::string& create, const std::string& format = "mysqldump",
                            const std::vector<ColumnKey>& keys = {}, const std::string& after = "") {
    return warns("CREATE TABLE t (" + create + ");\n" + after + "REPLACE INTO t VALUES (1,2),(3,4);\n", keys, format);
  };
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int"), 0u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int UNIQUE"), 1u);
  EXPECT_EQ(replaces("a int, b int, PRIMARY KEY (a), UNIQUE KEY `x` (b)"), 1u);
  EXPECT_EQ(replaces("a int, b int, PRIMARY KEY (a), UNIQUE KEY `x` USING BTREE (b, a)"), 0u);
  EXPECT_EQ(replaces("a int, b int, PRIMARY KEY (a, b), CONSTRAINT x UNIQUE (b)"), 1u);
  EXPECT_EQ(replaces("a int, b int, PRIMARY KEY (a, b), UNIQUE (b)", "mysqldump", {Untyped("t.b")}), 0u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int", "sqlitedump", {}, "CREATE UNIQUE INDEX i ON t (b);\n"), 1u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int", "sqlitedump", {}, "CREATE INDEX i ON t (b);\n"), 0u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int", "mysqldump", {}, "ALTER TABLE t ADD UNIQUE KEY i (b);\n"), 1u);
  // Texts that differ in their bytes can be equal for the server.
  EXPECT_EQ(replaces("a varchar(9) PRIMARY KEY, b int"), 1u);
  EXPECT_EQ(replaces("a varchar(9) COLLATE utf8mb4_bin NOT NULL, b int, PRIMARY KEY (a)"), 0u);
  EXPECT_EQ(replaces("a varbinary(9), b int, PRIMARY KEY (a)"), 0u);
  EXPECT_EQ(replaces("a varbinary(9), b int, PRIMARY KEY (a(3))"), 1u);
  EXPECT_EQ(replaces("a text PRIMARY KEY, b int", "sqlitedump"), 0u);
  EXPECT_EQ(replaces("a text COLLATE NOCASE PRIMARY KEY, b int", "sqlitedump"), 1u);
  EXPECT_EQ(replaces("a enum('x', 'y') PRIMARY KEY, b int"), 1u);
  EXPECT_EQ(replaces("a decimal(9,2) PRIMARY KEY, b int"), 1u);
  EXPECT_EQ(replaces("a int KEY, b int"), 0u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int UNIQUE KEY"), 1u);
  // The collation of the table is that of its columns.
  for (const std::string options : {" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", " charset binary"}) {
    const auto binary = [&](const std::string& column) {
      return warns(
          "CREATE TABLE t (a " + column + " PRIMARY KEY, b int)" + options + ";\nREPLACE INTO t VALUES (1,2);\n", {},
          "mysqldump");
    };
    EXPECT_EQ(binary("varchar(9)"), 0u);
    EXPECT_EQ(binary("varchar(9) CHARACTER SET latin1"), 1u);
    EXPECT_EQ(binary("varchar(9) COLLATE utf8mb4_general_ci"), 1u);
    EXPECT_EQ(binary("varchar(9) CHARACTER SET latin1 COLLATE latin1_bin"), 0u);
  }
  const auto conflicts = [&](const std::string& create, const std::vector<ColumnKey>& keys = {}) {
    return warns(create + "INSERT INTO t VALUES (1,2) ON CONFLICT DO NOTHING;\n", keys, "pgdump");
  };
  EXPECT_EQ(conflicts("CREATE TABLE t (a character varying(9) PRIMARY KEY, b int);\n"), 0u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a character(9) PRIMARY KEY, b int);\n"), 0u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a character(9) PRIMARY KEY, b int);\n", {Untyped("t.a")}), 1u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a public.citext PRIMARY KEY, b int);\n"), 1u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a text COLLATE public.nocase PRIMARY KEY, b int);\n"), 1u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a text COLLATE pg_catalog.\"C\" PRIMARY KEY, b int);\n"), 0u);
  EXPECT_EQ(conflicts("CREATE TABLE t (a int PRIMARY KEY, b int, EXCLUDE USING gist (b WITH =));\n"), 1u);
  EXPECT_EQ(conflicts("CREATE TABLE t (LIKE u INCLUDING ALL, a int PRIMARY KEY);\n"), 1u);
  // Keys that come later, also on the line of CREATE TABLE.
  for (const std::string change :
       {"ALTER TABLE t ADD c varchar(9) UNIQUE;\n", "ALTER TABLE t ADD COLUMN c int, ADD UNIQUE (b);\n",
        "alter ignore table t add (c int unique, d varchar(9));\n", "/* a */ ALTER TABLE t ADD UNIQUE INDEX i (b);\n",
        "CREATE OR REPLACE UNIQUE INDEX i ON t (b);\n", "SELECT 1; CREATE UNIQUE INDEX i ON t (b);\n",
        "/*!50100 ALTER TABLE t ADD UNIQUE (b) */;\n"}) {
    EXPECT_EQ(replaces("a int PRIMARY KEY, b int", "mysqldump", {}, change), 1u) << change;
  }
  EXPECT_EQ(warns("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE UNIQUE INDEX i ON t (b);\n" + conflict, {},
                  "sqlitedump"),
            1u);
  EXPECT_EQ(replaces("a int PRIMARY KEY, b int", "mysqldump", {}, "ALTER TABLE t ADD INDEX (b), DROP KEY x;\n"), 0u);
  // SQLite: a key that says what happens.
  const auto lite = [&](const std::string& create, const std::vector<ColumnKey>& keys = {}) {
    return warns("CREATE TABLE t(" + create + ");\nINSERT INTO t VALUES(1,2);\nINSERT INTO t VALUES(3,2);\n", keys,
                 "sqlitedump");
  };
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY, b UNIQUE ON CONFLICT REPLACE"), 1u);
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY, b, UNIQUE (b) ON  CONFLICT IGNORE"), 1u);
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY ON CONFLICT REPLACE, b"), 0u);
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY ON CONFLICT REPLACE, b", {Untyped("t.b")}), 1u);
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY, b NOT NULL ON CONFLICT REPLACE UNIQUE"), 0u);
  EXPECT_EQ(lite("a INTEGER PRIMARY KEY, b UNIQUE ON CONFLICT ABORT"), 0u);
  // The words may have any white space between them, and may come after a long comment.
  EXPECT_EQ(warns("INSERT INTO t VALUES (1) ON\n  CONFLICT DO NOTHING;\n", {}, "pgdump"), 1u);
  EXPECT_EQ(warns("INSERT INTO t VALUES (1) /*" + std::string(2000, 'x') + "*/ on\tduplicate key update a = 1;\n", {},
                  "mysqldump"),
            1u);
  EXPECT_EQ(warns("INSERT INTO t VALUES (1) /* on conflict */;\n", {}, "pgdump"), 0u);
}

/// Sorts the dump and returns its tally. Expects that the rows get the order `want`: each row is given by its first
/// digit. If `want` is empty, the order is not checked.
KeyTally TallyOf(const std::string& text, const std::string& format, const std::string& want = "") {
  const JobSpec spec = DumpOptions({}, format);
  const CutInput cut = CutRecords(SqlDumpFormat(spec), text, 11);
  EXPECT_EQ(cut.error, "");
  const std::string sorted = Sorted(cut);
  std::string rows;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1] == '(' && sorted[i] >= '0' && sorted[i] <= '9') rows += sorted[i];
  }
  if (!want.empty()) {
    EXPECT_EQ(rows, want) << text;
  }
  return cut.tally;
}

// Keys that the server converts to the type of their column can be equal to others.
TEST(SqlDumpFormat, WarnsOfKeysThatAreNoValuesOfTheirType) {
  const auto count = [](const std::string& type, const std::string& value, const std::string& format,
                        const std::vector<ColumnKey>& keys = {}) {
    const bool postgres = format == "pgdump";
    const std::string head = postgres ? "INSERT INTO t VALUES (" : "REPLACE INTO t VALUES (";
    const std::string dump = "CREATE TABLE t (a " + type + (type.ends_with(")STRICT") ? "" : " PRIMARY KEY)") + ";\n" +
                             head + value + (postgres ? ") ON CONFLICT DO NOTHING;\n" : ");\n");
    const JobSpec spec = DumpOptions(keys, format);
    const KeyTally tally = CutRecords(SqlDumpFormat(spec), dump, 11).tally;
    EXPECT_EQ(tally.conflict_tables.count, 0u) << type;
    return tally.odd_keys().count;
  };
  EXPECT_EQ(count("INTEGER", "' 1'", "sqlitedump"), 1u);
  EXPECT_EQ(count("INTEGER", "1", "sqlitedump"), 0u);
  EXPECT_EQ(count("INT", "'a'", "sqlitedump"), 0u);
  EXPECT_EQ(count("TEXT", "1", "sqlitedump"), 1u);
  EXPECT_EQ(count("TEXT", "'1'", "sqlitedump"), 0u);
  EXPECT_EQ(count("", "'1'", "sqlitedump"), 0u);
  // Numbers of SQLite that can be equal as float.
  EXPECT_EQ(count("REAL", "0.1", "sqlitedump"), 0u);
  EXPECT_EQ(count("REAL", "0.10000000000000001", "sqlitedump"), 1u);
  EXPECT_EQ(count("REAL", "9007199254740993", "sqlitedump"), 1u);
  EXPECT_EQ(count("INTEGER", "9007199254740993", "sqlitedump"), 0u);
  EXPECT_EQ(count("ANY", "'1'", "sqlitedump"), 1u);
  EXPECT_EQ(count("ANY PRIMARY KEY)STRICT", "'1'", "sqlitedump"), 0u);
  for (const std::string value : {"0x10", "true", "+1", "1+1", "random()", "NULL"}) {
    EXPECT_EQ(count("INT", value, "sqlitedump"), 1u) << value;
  }
  EXPECT_EQ(count("BLOB", "X'00'", "sqlitedump"), 0u);
  // MySQL cuts values that are too large, if the mode of SQL or IGNORE allows that, and converts others.
  struct Case {
    const char* type;
    std::vector<const char*> kept, odd;
  };
  const Case mysql[] = {
      {"int",
       {"1", "'1'", "-2147483648", "2147483647", "007"},
       {"1.4", "2147483648", "0x31", "1+1", "true", "+1", "NULL"}},
      {"tinyint(1)", {"127"}, {"128", "-129"}},
      {"smallint unsigned", {"65535"}, {"65536", "-1"}},
      {"mediumint", {"8388607"}, {"8388608"}},
      {"bigint(20) unsigned", {"18446744073709551615"}, {"18446744073709551616", "100000000000000000000000"}},
      {"bigint", {"-9223372036854775808"}, {"9223372036854775808"}},
      {"year(4)", {"2024", "0000", "'2024'"}, {"24", "'24'", "0"}},
      {"varbinary(2)",
       {"'ab'", "0x6162", "X'61'", "_binary 'ab'"},
       {"'abc'", "0x616263", "CONCAT('a','b')", "'a' 'b'", "98"}},
      {"binary(2)", {"'ab'"}, {"'abc'"}},
      {"varchar(2) COLLATE utf8mb4_bin", {"'\xC3\xA9\xC3\xA9'"}, {"'abc'", "_latin1'a'", "'\xC3'", "b'1100010'"}},
      {"varchar(9) COLLATE latin1_bin", {"'ab'"}, {"'\xC3\xA9'"}},
  };
  const Case postgres[] = {
      {"integer", {"1", "'-1'"}, {"1.4", "' 1'", "1 + 1"}},
      {"oid", {"4294967295"}, {"'-1'"}},
      {"character varying(2)", {"'ab'", "E'a\\b'", "'\xC3\xA9\xC3\xA9'"}, {"'ab '", "7", "'a'::text", "lower('A')"}},
      {"name",
       {"'ab'"},
       {"'0123456789012345678901234567890123456789012345678901234567890123'",
        // 63 characters in 65 bytes
        "'0123456789012345678901234567890123456789012345678901234567890\xC3\xA9\xC3\xA9'"}},
      {"macaddr", {"'08:00:2b:01:02:03'"}, {"'08002b:010203'"}},
      {"macaddr8", {"'08:00:2b:ff:fe:01:02:03'"}, {"'08:00:2b:01:02:03'"}},
      {"boolean", {"true", "'f'"}, {"1 > 2"}},
      {"date", {"'2026-01-31'", "'0044-03-15 BC'"}, {"'01/02/2026'", "'20260131'", "'today'"}},
      {"bytea", {"'\\x61'"}, {"'ab'"}},
      {"uuid", {"'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"}, {"gen_random_uuid()"}},
      {"inet", {"'1.2.3.4/8'"}, {"inet '1.2.3.4'"}},
  };
  for (const std::string format : {"mysqldump", "pgdump"}) {
    for (const Case& one : format == "pgdump" ? std::span<const Case>(postgres) : mysql) {
      for (const std::vector<ColumnKey>& keys : {std::vector<ColumnKey>(), {Untyped("t.a")}}) {
        const bool padded =
            std::string(one.type).find("_bin") != std::string::npos || std::string(one.type) == "binary(2)";
        if (!keys.empty() && padded) continue;  // such keys of the user always give a warning
        for (const char* const value : one.kept)
          EXPECT_EQ(count(one.type, value, format, keys), 0u) << one.type << value;
        for (const char* const value : one.odd)
          EXPECT_EQ(count(one.type, value, format, keys), 1u) << one.type << value;
      }
    }
  }
  // Values that a server keeps in other columns say nothing, and neither do those of other statements.
  for (const std::string rows : {"('0000-00-00', 1);\n", "('', 1);\n"}) {
    EXPECT_EQ(TallyOf("CREATE TABLE t (a date, b int, PRIMARY KEY (a));\nINSERT INTO t VALUES " + rows, "mysqldump")
                  .odd_keys()
                  .count,
              0u);
  }
  // The end of the last statement says what happens to rows of the first.
  EXPECT_EQ(
      TallyOf("CREATE TABLE t (a int, PRIMARY KEY (a));\nINSERT INTO t VALUES (1.2), (2) ON DUPLICATE KEY UPDATE a = "
              "3;\n",
              "mysqldump")
          .odd_keys()
          .count,
      1u);
}

// A text that the server pads is equal to the text without the padding, so that such rows keep their order.
TEST(SqlDumpFormat, IgnoresBytesThatTheServerIgnores) {
  const auto keeps = [](const std::string& type, const std::string& a, const std::string& b,
                        const std::string& format) {
    const std::string create = "CREATE TABLE t (a " + type + " PRIMARY KEY);\n";
    const std::string one = "INSERT INTO t VALUES (" + a + ");\n", two = "INSERT INTO t VALUES (" + b + ");\n";
    return SortedInserts(create + two + one, {}, format) == create + two + one &&
           SortedInserts(create + one + two, {}, format) == create + one + two;
  };
  EXPECT_TRUE(keeps("char(9)", "'a'", "'a  '", "pgdump"));
  EXPECT_FALSE(keeps("varchar(9)", "'a'", "'a  '", "pgdump"));
  EXPECT_TRUE(keeps("varchar(9) COLLATE utf8mb4_bin", "'a'", "'a '", "mysqldump"));
  EXPECT_FALSE(keeps("varchar(9) COLLATE utf8mb4_0900_bin", "'a'", "'a '", "mysqldump"));
  EXPECT_FALSE(keeps("varchar(9) COLLATE utf8mb4_nopad_bin", "'a'", "'a '", "mysqldump"));
  EXPECT_TRUE(keeps("binary(9)", "0x61", "0x6100", "mysqldump"));
}

// Rows are ordered by the columns that they have, whatever CREATE TABLE calls the columns.
TEST(SqlDumpFormat, KnowsTheColumnsOfTables) {
  const auto sorts = [](const std::string& format, const std::string& create, const std::string& a,
                        const std::string& b, std::vector<ColumnKey> keys = {}) {
    const std::string one = "INSERT INTO t VALUES (" + a + ");\n", two = "INSERT INTO t VALUES (" + b + ");\n";
    EXPECT_EQ(SortedInserts(create + two + one, std::move(keys), format), create + one + two) << create;
  };
  for (const std::string name : {"key", "index", "fulltext", "spatial", "period", "exclude"}) {
    for (const std::string format : {"sqlitedump", "pgdump"}) {
      sorts(format, "CREATE TABLE t(" + name + " int, id int PRIMARY KEY, c int);\n", "3,9,2", "2,10,1");
      sorts(format, "CREATE TABLE t(" + name + " int, id int PRIMARY KEY, c int);\n", "3,10,1", "2,9,2",
            {Untyped("t.c")});
    }
  }
  sorts("mysqldump",
        "CREATE TABLE t(`key` int, KEY x (id), id int, period int, PERIOD FOR SYSTEM_TIME (a, b), c int);\n", "3,9,2,9",
        "2,10,1,10", {Untyped("t.c")});
  // A type of the user whose name begins like another one is text.
  sorts("pgdump", "CREATE TABLE t(a decision, b interlude, c int);\n", "'a','b',2", "'b','a',1");
  // The columns of parents come first.
  const std::string parent = "CREATE TABLE public.p (\n    a integer,\n    b integer\n);\n";
  sorts("pgdump", parent + "CREATE TABLE public.t (\n    c integer\n)\nINHERITS (public.p);\n", "3,1,9", "2,1,10",
        {Untyped("t.c")});
  sorts("pgdump", parent + "CREATE TABLE t (\n    c integer, b integer NOT NULL\n)\nINHERITS (public.p);\n", "3,9,1",
        "2,10,1", {Untyped("t.b")});
  const auto error = [](const std::string& create) {
    return SortedInserts(create + "INSERT INTO t VALUES (1,2);\n", {Untyped("t.c")}, "pgdump");
  };
  EXPECT_NE(error("CREATE TABLE t (c integer) INHERITS (none);\n").find("no names of columns"), std::string::npos);
  EXPECT_NE(error("CREATE TABLE t (LIKE u, c integer);\n").find("no names of columns"), std::string::npos);
  const auto alters = [&](const std::string& what) {
    return error("CREATE TABLE t (d integer, c int);\nALTER TABLE t " + what + ";\n").find("no names of columns") !=
           std::string::npos;
  };
  for (const std::string what : {"RENAME d TO e", "DROP COLUMN d", "ADD PRIMARY KEY (c), DROP d"})
    EXPECT_TRUE(alters(what));
  for (const std::string what : {"OWNER TO x", "ALTER first SET DEFAULT nextval('x')", "DROP CONSTRAINT y",
                                 "ALTER c DROP DEFAULT, ADD UNIQUE (d)"}) {
    EXPECT_FALSE(alters(what)) << what;
  }
  // A column that gets another type before the rows has the order of that type.
  for (const std::string what : {"ALTER b TYPE text", "ALTER COLUMN b SET DATA TYPE text USING b::text"}) {
    sorts("pgdump", "CREATE TABLE t (a int, b int);\nALTER TABLE t ADD c int, " + what + ";\n", "1,'10',7", "1,'9',6");
  }
  sorts("pgdump", "CREATE TABLE t (a text, b text);\nALTER TABLE ONLY t ALTER COLUMN a TYPE bigint;\n", "9,2", "10,1");
  sorts("mysqldump", "CREATE TABLE t (a int PRIMARY KEY, b int);\nALTER TABLE t MODIFY COLUMN a varchar(9);\n",
        "'10',2", "'9',1");
  sorts("mysqldump", "CREATE TABLE t (a int PRIMARY KEY, b int);\nALTER TABLE t CHANGE a A varchar(9) NOT NULL;\n",
        "'10',2", "'9',1");
  sorts("pgdump", "CREATE TABLE t (a int);\nALTER TABLE t ADD COLUMN IF NOT EXISTS c int;\n", "2,9", "1,10",
        {Untyped("t.c")});
  // A computed column that was added has no value in a row.
  sorts("sqlitedump",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b);\nALTER TABLE t ADD COLUMN c AS (b);\n"
        "ALTER TABLE t ADD COLUMN d;\nALTER TABLE t ADD COLUMN e;\n",
        "5,'x',1,9", "1,'a',2,8", {Untyped("t.d")});
}

// What is known of a table that has ended does not depend on the tables after it.
TEST(SqlDumpFormat, LoadsStatesAfterTheSchemaHasChanged) {
  const std::string dumps[] = {
      "USE a;\nCREATE TABLE t (id int);\nINSERT INTO t VALUES (1);\nUSE b;\nCREATE TABLE t (x int);\nSET @a = 1;\n",
      "SET search_path = a;\nCREATE TABLE t (id int);\nCOPY t FROM stdin;\n1\n\\.\nSET search_path = b;\n"
      "CREATE TABLE t (x int);\nSELECT 1;\n"};
  for (const std::string& dump : dumps) {
    const JobSpec spec = DumpOptions({Untyped("t.id")}, dump[0] == 'U' ? "mysqldump" : "pgdump");
    ScanState state;
    const CutInput cut = CutWithSavedStates(SqlDumpFormat(spec), dump, state);
    EXPECT_EQ(cut.error, "");
  }
}

TEST(SqlDumpFormat, WarnsOfTablesWhoseRowsStandInSeveralPlaces) {
  const std::string t = "INSERT INTO t VALUES (2);\n", u = "INSERT INTO u VALUES (1);\n";
  EXPECT_EQ(TallyOf(t + t + u + u, "mysqldump").parted_rows.count, 0u);
  EXPECT_EQ(TallyOf(t + u + t + u + t, "mysqldump").parted_rows.count, 3u);
  EXPECT_EQ(TallyOf(t + "SET @a = 1;\n" + t, "mysqldump").parted_rows.count, 1u);
  EXPECT_EQ(TallyOf("USE a;\n" + t + "USE b;\n" + t, "mysqldump").parted_rows.count, 0u);
  EXPECT_EQ(TallyOf(t + "\\connect b\n" + t, "pgdump").parted_rows.count, 0u);
  const std::string copy = "COPY t (a) FROM stdin;\n1\n\\.\n";
  EXPECT_EQ(TallyOf(copy + "COPY u (a) FROM stdin;\n1\n\\.\n", "pgdump").parted_rows.count, 0u);
  EXPECT_EQ(TallyOf(copy + copy, "pgdump").parted_rows.first, "COPY t (a) FROM stdin;");
  EXPECT_EQ(TallyOf(copy + t, "pgdump").parted_rows.count, 1u);
}

// Statements with one row and other ends are sorted among themselves. Statements with several rows, or with other text
// between them, cannot be sorted together with those.
TEST(SqlDumpFormat, SortsRowsApartWhereStatementsWithOneRowEndInOtherWays) {
  const std::string ends = "INSERT INTO t VALUES (9); -- a\nINSERT INTO t VALUES (8);\n";
  for (const std::string between : {"", "\n", "-- b\n"}) {
    const KeyTally tally =
        TallyOf(ends + between + "INSERT INTO t VALUES (3),(2);\nINSERT INTO t VALUES (1);\n", "pgdump", "89123");
    EXPECT_EQ(tally.parted_rows.count, 1u);
  }
  EXPECT_EQ(
      TallyOf(ends + "\nINSERT INTO t VALUES (3);\nINSERT INTO t VALUES (2);\n", "pgdump", "8923").parted_rows.count,
      1u);
}

// A value of a column that the server counts up is read beside the keys.
TEST(SqlDumpFormat, KeepsKeysWhileItReadsACountedColumn) {
  const std::string dump =
      "CREATE TABLE public.t (a text, code text DEFAULT 'A' || nextval('s'), b int);\nCOPY public.t (a, code, b) FROM "
      "stdin;\n";
  const std::string rows[] = {"a\\\\1\tz\\\\2\t1\n", "b\\\\1\ty\\\\2\t1\n", "c\\\\1\tx\\\\2\t1\n"};
  EXPECT_EQ(SortedInserts(dump + rows[2] + rows[1] + rows[0] + "\\.\n", {Untyped("t.a"), Untyped("t.b")}, "pgdump"),
            dump + rows[0] + rows[1] + rows[2] + "\\.\n");
}

// A server numbers rows without a value for such a column in the order in which it gets them.
TEST(SqlDumpFormat, WarnsOfRowsThatTheServerNumbers) {
  const auto count = [](const std::string& create, const std::string& rows, const std::string& format) {
    return TallyOf("CREATE TABLE t (" + create + ");\n" + rows, format).renumbered_rows.count;
  };
  const std::string mysql = "`id` int NOT NULL AUTO_INCREMENT, `s` text, PRIMARY KEY (`id`)";
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (1,'a'),(2,'b');\n", "mysqldump"), 0u);
  EXPECT_EQ(count(mysql, "INSERT INTO t (s) VALUES ('a'),('b');\n", "mysqldump"), 2u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (NULL,'a'),(DEFAULT,'b'),(0,'b'),(3,'b');\n", "mysqldump"), 3u);
  EXPECT_EQ(TallyOf("SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO';\nCREATE TABLE t (" + mysql +
                        ");\nINSERT INTO t VALUES (0,'a'),(1,'b');\n",
                    "mysqldump")
                .renumbered_rows.count,
            0u);
  EXPECT_EQ(count("id INTEGER PRIMARY KEY, s", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 1u);
  EXPECT_EQ(count("id INT PRIMARY KEY, s", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 0u);
  EXPECT_EQ(count("id INTEGER, s, PRIMARY KEY(ID)", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 1u);
  EXPECT_EQ(count("\"id\" \"integer\" NOT NULL, s, CONSTRAINT p PRIMARY KEY(\"id\" AUTOINCREMENT)",
                  "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"),
            1u);
  EXPECT_EQ(count("id INTEGER, s, PRIMARY KEY(id, s)", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 0u);
  EXPECT_EQ(count("id serial PRIMARY KEY, s", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 0u);
  EXPECT_EQ(count("id INT, s, PRIMARY KEY(id)", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 0u);
  EXPECT_EQ(count("id serial, s text", "INSERT INTO t (s) VALUES ('a');\n", "pgdump"), 1u);
  EXPECT_EQ(count("id int GENERATED ALWAYS AS IDENTITY, s text", "COPY t (s) FROM stdin;\na\n\\.\n", "pgdump"), 1u);
  EXPECT_EQ(count("id int DEFAULT nextval('x'), s text", "COPY t (id, s) FROM stdin;\n1\ta\n\\.\n", "pgdump"), 0u);
  // The column that the server counts up comes after the key.
  EXPECT_EQ(count("s varchar(9) PRIMARY KEY, id int AUTO_INCREMENT, KEY (id)",
                  "INSERT INTO t VALUES ('a',NULL),('b',NULL);\n", "mysqldump"),
            2u);
  EXPECT_EQ(count("id serial, n serial, s text", "INSERT INTO t (n, s) VALUES (1,'a');\n", "pgdump"), 1u);
  // The server counts up the values of a column from ALTER TABLE on.
  for (const std::string change : {"ALTER TABLE ONLY t ALTER COLUMN id SET DEFAULT nextval('t_id_seq'::regclass)",
                                   "ALTER TABLE t ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (\nSTART WITH 1)",
                                   "ALTER TABLE t ADD n serial", "ALTER TABLE t MODIFY id int AUTO_INCREMENT"}) {
    const std::string dump = "CREATE TABLE t (id int, s text);\n" + change + ";\nINSERT INTO t (s) VALUES ('a');\n";
    EXPECT_EQ(TallyOf(dump, change.find("AUTO") == change.npos ? "pgdump" : "mysqldump").renumbered_rows.count, 1u)
        << change;
  }
  // ALTER IGNORE keeps one of the rows that are there.
  EXPECT_EQ(
      TallyOf("INSERT INTO t VALUES (1);\nALTER IGNORE TABLE t ADD UNIQUE (a);\n", "mysqldump").conflict_tables.count,
      1u);
  EXPECT_EQ(TallyOf("INSERT INTO t VALUES (1);\nALTER TABLE t ADD UNIQUE (a);\n", "mysqldump").conflict_tables.count,
            0u);
  // Rows get numbers in a column that is added after them.
  for (const std::string change :
       {"ADD id serial PRIMARY KEY", "ADD COLUMN id int GENERATED BY DEFAULT AS IDENTITY",
        "ADD id int AUTO_INCREMENT KEY", "ADD COLUMN id bigint DEFAULT nextval('s'), OWNER TO x"}) {
    const std::string rows = "INSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1);\n";
    const std::string alter = "ALTER TABLE t " + change + ";\n";
    const std::string format = change.find("AUTO") == change.npos ? "pgdump" : "mysqldump";
    EXPECT_EQ(TallyOf(rows + alter, format).renumbered_tables.count, 1u) << change;
    EXPECT_EQ(TallyOf(alter + rows, format).renumbered_tables.count, 0u) << change;
  }
  const std::string filled = "INSERT INTO t VALUES (1);\nALTER TABLE t ADD ";
  EXPECT_EQ(TallyOf(filled + "(id SERIAL);\n", "mysqldump").renumbered_tables.count, 1u);
  EXPECT_EQ(TallyOf(filled + "(a decimal(3,1), `b` serial);\n", "mysqldump").renumbered_tables.count, 1u);
  EXPECT_EQ(TallyOf(filled + "(serial int, a int);\n", "mysqldump").renumbered_tables.count, 0u);
  // A column of MySQL that becomes AUTO_INCREMENT gets numbers for null and, without a mode of SQL, for 0.
  for (const std::string modify : {"MODIFY id int NOT NULL AUTO_INCREMENT", "CHANGE id id int AUTO_INCREMENT KEY",
                                   "MODIFY id SERIAL", "MODIFY id int SERIAL DEFAULT VALUE"}) {
    const auto numbers = [&](const std::string& mode, const std::string& column) {
      return TallyOf(mode + "CREATE TABLE t (id int" + column + ");\nINSERT INTO t VALUES (1);\nALTER TABLE t " +
                         modify + ";\n",
                     "mysqldump")
          .renumbered_tables.count;
    };
    const std::string mode = "SET SQL_MODE = \"NO_AUTO_VALUE_ON_ZERO\";\n";
    EXPECT_EQ(numbers("", " NOT NULL"), 1u);
    EXPECT_EQ(numbers(mode, ""), 1u);
    EXPECT_EQ(numbers(mode, " NOT NULL"), 0u);
    EXPECT_EQ(numbers(mode, " PRIMARY KEY"), 0u);
  }
  // A row of PostgreSQL may be shorter than the table, and several columns may be counted up.
  EXPECT_EQ(count("s text, id serial", "INSERT INTO t VALUES ('a');\nINSERT INTO t VALUES ('a', 1);\n", "pgdump"), 1u);
  EXPECT_EQ(count("a serial, b serial", "INSERT INTO t VALUES (DEFAULT, 1);\n", "pgdump"), 1u);
  EXPECT_EQ(count("a serial, b serial", "INSERT INTO t VALUES (1, DEFAULT);\n", "pgdump"), 1u);
  EXPECT_EQ(count("a int GENERATED ALWAYS AS IDENTITY", "INSERT INTO t OVERRIDING USER VALUE VALUES (1);\n", "pgdump"),
            1u);
  EXPECT_EQ(
      count("a int GENERATED ALWAYS AS IDENTITY", "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (1);\n", "pgdump"), 0u);
  // MySQL takes texts, fractions and false for 0.
  EXPECT_EQ(
      count(mysql, "INSERT INTO t VALUES ('','a'),('x','b'),(false,'c'),(0.2,'d'),(-0,'e'),(0x00,'f');\n", "mysqldump"),
      6u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES ('1','a'),(-1,'b'),(0x10,'c'),(007,'d'),(1+1,'e');\n", "mysqldump"), 0u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES ();\n", "mysqldump"), 1u);
  for (const std::string sequence :
       {"(NEXT VALUE FOR s)", "next value for `s`", "nextval(`s`)", "s.nextval", "(uuid_short())"}) {
    EXPECT_EQ(count("id int DEFAULT " + sequence + ", s text", "INSERT INTO t (s) VALUES ('a');\n", "mysqldump"), 1u);
  }
  EXPECT_EQ(count("id int COMMENT 'nextval', value int, s text", "INSERT INTO t (s) VALUES ('a');\n", "mysqldump"), 0u);
  // INTEGER PRIMARY KEY DESC is no name of the row's number.
  EXPECT_EQ(count("id INTEGER PRIMARY KEY DESC, s", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 0u);
  EXPECT_EQ(count("id INTEGER, s, PRIMARY KEY(id DESC)", "INSERT INTO t VALUES(NULL,'a');\n", "sqlitedump"), 1u);
  // Expressions that are 0.
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (b'0','a'),(1-1,'b'),(B'00','c'),(5 - 2 - 3,'d');\n", "mysqldump"), 4u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (b'10','a'),(2-1,'b'),(10 + 3,'c'),(12,'d');\n", "mysqldump"), 0u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (3*2,'a'),(2 * 3 - 5,'b'),(-2*2,'c');\n", "mysqldump"), 0u);
  EXPECT_EQ(count(mysql, "INSERT INTO t VALUES (3*0,'a'),(2*3-6,'b'),(1/3,'c'),(-1 - -1,'d');\n", "mysqldump"), 4u);
  // MariaDB stores a null in a column that has a DEFAULT, and numbers the others.
  for (const std::string sequence : {"DEFAULT nextval(`s`)", "DEFAULT (NEXT VALUE FOR s)"}) {
    EXPECT_EQ(count("id int " + sequence + ", s text", "INSERT INTO t VALUES (NULL,'a'),(0,'b');\n", "mysqldump"), 0u);
    EXPECT_EQ(count("id int " + sequence + ", s text", "INSERT INTO t VALUES (DEFAULT,'a');\n", "mysqldump"), 1u);
  }
  // Tables that are made from other tables and from domains.
  const std::string rows = "INSERT INTO u (s) VALUES ('a');\n";
  const auto copies = [&](const std::string& create, const std::string& format) {
    return TallyOf("CREATE TABLE t (id serial, s text, PRIMARY KEY (id));\n" + create + ";\n" + rows, format)
        .renumbered_rows.count;
  };
  EXPECT_EQ(copies("CREATE TABLE u LIKE t", "mysqldump"), 1u);
  EXPECT_EQ(copies("CREATE TABLE IF NOT EXISTS u (LIKE t)", "mysqldump"), 1u);
  EXPECT_EQ(copies("CREATE TABLE u (`like` int, s text)", "mysqldump"), 0u);
  EXPECT_EQ(copies("CREATE TABLE u (LIKE t INCLUDING DEFAULTS)", "pgdump"), 1u);
  EXPECT_EQ(copies("CREATE TABLE u (LIKE public.t INCLUDING ALL, x int)", "pgdump"), 1u);
  EXPECT_EQ(copies("CREATE TABLE u (LIKE t INCLUDING INDEXES EXCLUDING DEFAULTS)", "pgdump"), 0u);
  EXPECT_EQ(copies("CREATE TABLE u PARTITION OF t FOR VALUES FROM (1) TO (9)", "pgdump"), 1u);
  EXPECT_EQ(copies("CREATE DOMAIN d AS integer DEFAULT nextval('x');\nCREATE TABLE u (id d, s text)", "pgdump"), 1u);
  EXPECT_EQ(copies("CREATE DOMAIN d AS integer DEFAULT 3;\nCREATE TABLE u (id d, s text)", "pgdump"), 0u);
  // Rows of a copy are ordered as those of a table that the dump does not describe.
  const std::string copy = "CREATE TABLE t (id int PRIMARY KEY);\nCREATE TABLE u LIKE t;\n";
  EXPECT_EQ(SortedInserts(copy + "INSERT INTO `u` VALUES (9);\nINSERT INTO `u` VALUES (10);\n", {}, "mysqldump"),
            copy + "INSERT INTO `u` VALUES (10);\nINSERT INTO `u` VALUES (9);\n");
  // PostgreSQL keeps a null, and COPY has no DEFAULT.
  EXPECT_EQ(count("c text DEFAULT 'A' || nextval('x')", "COPY t (c) FROM stdin;\ndefault\n\\N\n\\.\n", "pgdump"), 0u);
}

// Triggers before the rows, and statements after them, can depend on the order of the rows.
TEST(SqlDumpFormat, WarnsOfStatementsThatDependOnTheOrderOfRows) {
  const std::string table = "CREATE TABLE t (id int, a text);\n";
  const std::string rows = "INSERT INTO t VALUES (2,'b');\nINSERT INTO t VALUES (1,'a');\n";
  const auto triggers = [&](const std::string& text, const std::string& format) {
    return TallyOf(text, format).triggered().count;
  };
  const std::string lite = "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO l(id) VALUES(new.id); END;\n";
  EXPECT_EQ(triggers(table + lite + rows, "sqlitedump"), 1u);
  EXPECT_EQ(triggers(table + rows + lite, "sqlitedump"), 0u);
  EXPECT_EQ(triggers(table + "CREATE TRIGGER x AFTER DELETE ON t BEGIN DELETE FROM l; END;\n" + rows, "sqlitedump"),
            0u);
  EXPECT_EQ(triggers(table + "CREATE TRIGGER x AFTER INSERT ON u BEGIN DELETE FROM l; END;\n" + rows, "sqlitedump"),
            0u);
  EXPECT_EQ(triggers(table + "CREATE DEFINER=`a`@`b` TRIGGER x BEFORE INSERT ON `t` FOR EACH ROW SET @n = 1;\n" + rows,
                     "mysqldump"),
            1u);
  EXPECT_EQ(
      triggers("CREATE TRIGGER x BEFORE INSERT OR UPDATE ON public.t EXECUTE FUNCTION f();\nCOPY public.t (id) FROM "
               "stdin;\n2\n1\n\\.\n",
               "pgdump"),
      1u);
  EXPECT_EQ(
      triggers(table + "CREATE RULE r AS ON INSERT TO t DO ALSO (DELETE FROM u; DELETE FROM v);\n" + rows, "pgdump"),
      1u);
  // Names of MySQL and SQLite may differ in case. If a dump has both tables, the trigger belongs to its own.
  const std::string other = "CREATE TRIGGER x AFTER INSERT ON T BEGIN DELETE FROM l; END;\n";
  EXPECT_EQ(triggers(table + other + rows, "sqlitedump"), 1u);
  EXPECT_EQ(triggers(other + rows, "sqlitedump"), 1u);
  const std::string row_trigger = "CREATE TRIGGER x BEFORE INSERT ON T FOR EACH ROW SET @n = 1;\n";
  EXPECT_EQ(triggers(table + row_trigger + rows, "mysqldump"), 1u);
  EXPECT_EQ(triggers("CREATE TABLE T (id int);\n" + table + row_trigger + rows, "mysqldump"), 0u);
  const std::string of_postgres = "CREATE TRIGGER x BEFORE INSERT ON T EXECUTE FUNCTION f();\n";
  EXPECT_EQ(triggers(table + of_postgres + rows, "pgdump"), 1u);
  EXPECT_EQ(triggers("CREATE TRIGGER x BEFORE INSERT ON \"T\" EXECUTE FUNCTION f();\n" + table + rows, "pgdump"), 0u);
  // Triggers that are gone, that are turned off, or in another database.
  EXPECT_EQ(triggers(table + lite + "DROP TRIGGER IF EXISTS x;\n" + rows, "sqlitedump"), 0u);
  EXPECT_EQ(triggers(table + lite + "DROP TRIGGER y;\n" + rows, "sqlitedump"), 1u);
  EXPECT_EQ(triggers(table + of_postgres + "DROP TRIGGER x ON t;\n" + rows, "pgdump"), 0u);
  const std::string replica = "SET session_replication_role = replica;\n";
  EXPECT_EQ(triggers(table + of_postgres + replica + rows, "pgdump"), 0u);
  EXPECT_EQ(triggers(table + of_postgres + replica + "SET session_replication_role = DEFAULT;\n" + rows, "pgdump"), 1u);
  EXPECT_EQ(triggers(table + of_postgres + "\\connect b\n" + table + rows, "pgdump"), 0u);
  EXPECT_EQ(triggers(table + rows + of_postgres + "\\connect b\n" + table + rows, "pgdump"), 0u);
  EXPECT_EQ(triggers(table + rows + lite + "SELECT 1;\n" + rows, "sqlitedump"), 1u);
  const auto depends = [&](const std::string& statement, const std::string& format) {
    EXPECT_EQ(TallyOf(table + statement + ";\n" + rows, format).order_statements.count, 0u) << statement;
    return TallyOf(table + rows + statement + ";\n", format).order_statements.count;
  };
  EXPECT_EQ(depends("UPDATE t SET id = nextval('s')", "pgdump"), 1u);
  EXPECT_EQ(depends("DELETE FROM t\nWHERE ctid = (SELECT min(ctid) FROM t)", "pgdump"), 1u);
  EXPECT_EQ(depends("CREATE TABLE u AS SELECT row_number() OVER () AS n, a FROM t", "pgdump"), 1u);
  EXPECT_EQ(depends("UPDATE t SET id = (@n := @n + 1)", "mysqldump"), 1u);
  EXPECT_EQ(depends("CREATE TABLE u (n int AUTO_INCREMENT PRIMARY KEY) SELECT a FROM t", "mysqldump"), 1u);
  EXPECT_EQ(depends("DELETE FROM t LIMIT 1", "mysqldump"), 1u);
  EXPECT_EQ(depends("CREATE TABLE u AS SELECT rowid AS n, a FROM t", "sqlitedump"), 1u);
  for (const std::string statement :
       {"DELETE FROM t ORDER BY id LIMIT 1", "UPDATE t SET a = 'limit' WHERE id = 1", "DELETE FROM t WHERE id > 3",
        "CREATE TABLE u (n int AUTO_INCREMENT PRIMARY KEY)", "CREATE TABLE u AS SELECT * FROM t",
        "CREATE ALGORITHM=UNDEFINED VIEW price_rules AS SELECT a FROM t LIMIT 5",
        "UPDATE t SET a = 1 WHERE rowid = 2"}) {
    EXPECT_EQ(depends(statement, "mysqldump"), 0u) << statement;
  }
  // A condition that chooses one row.
  const std::string keyed = "CREATE TABLE k (id int PRIMARY KEY, a text);\nINSERT INTO k VALUES (1,'b');\n";
  const auto limited = [&](const std::string& statement) {
    return TallyOf(keyed + statement + ";\n", "mysqldump").order_statements.count;
  };
  EXPECT_EQ(limited("UPDATE k SET a = 'c' WHERE id = 1 LIMIT 1"), 0u);
  EXPECT_EQ(limited("DELETE FROM `k` WHERE `k`.`id`=1 LIMIT 1"), 0u);
  EXPECT_EQ(limited("UPDATE k SET a = 'c' WHERE a = 'b' LIMIT 1"), 1u);
  EXPECT_EQ(limited("UPDATE k SET a = 'c' WHERE id = 1 OR a = 'b' LIMIT 1"), 1u);
  EXPECT_EQ(limited("UPDATE k SET a = 'c' WHERE id > 1 LIMIT 1"), 1u);
  EXPECT_EQ(depends("CREATE VIEW trigger_rules AS SELECT rowid, a FROM t LIMIT 5", "sqlitedump"), 0u);
  EXPECT_EQ(depends("CREATE OR REPLACE GLOBAL TEMPORARY TABLE u AS SELECT ctid, a FROM t", "pgdump"), 1u);
}

// After DELIMITER, the lines of a procedure or trigger are no statements of the dump.
TEST(SqlDumpFormat, LeavesTheBodiesOfProceduresAlone) {
  const std::string table = "CREATE TABLE t (a int, b int, PRIMARY KEY (a));\n";
  const auto body = [](const std::string& lines) {
    return "DELIMITER ;;\n-- a comment\nCREATE PROCEDURE p()\nBEGIN\n" + lines + "END ;;\nDELIMITER ;\n";
  };
  const std::string other = "  CREATE TEMPORARY TABLE t (a text, b int);\n", many = "  CREATE TABLE t (\n  c int\n);\n";
  const std::string rows = "INSERT INTO t VALUES (10,2);\n", first = "INSERT INTO t VALUES (9,3);\n";
  for (const std::string& lines : {other, many, std::string("ALTER TABLE t MODIFY a varchar(10);\n")}) {
    EXPECT_EQ(SortedInserts(table + body(lines) + rows + first, {}, "mysqldump"), table + body(lines) + first + rows);
    EXPECT_EQ(SortedInserts(table + body(lines) + rows + first, {Untyped("t.b")}, "mysqldump"),
              table + body(lines) + rows + first);
  }
  // Comments, strings and several statements in a line.
  const std::string create = "CREATE TABLE t (a int, b int, PRIMARY KEY (a))";
  for (const std::string& text :
       {"DELIMITER $$\n/* c */\n" + create + "$$\nDELIMITER ;\n",
        "DELIMITER $$\nSELECT 1$$ -- c\n" + create + "$$\nDELIMITER ;\n",
        "DELIMITER $$\n/* c\n$$\n*/ SELECT 1$$ " + create + "$$\nDELIMITER ; -- back\n",
        create + ";\nDELIMITER //\nCREATE PROCEDURE p()\nBEGIN\nSELECT '//', 1; -- see http://\n" + other +
            "END //  -- done\nDELIMITER ';'\n",
        create + ";\nDELIMITER ;;\nINSERT INTO t VALUES (1,1);;\nDELIMITER ;\n"}) {
    EXPECT_EQ(SortedInserts(text + rows + first, {}, "mysqldump"), text + first + rows) << text;
  }
  const std::string update = "UPDATE t\nSET b = (@i := @i + 1)";
  const auto depends = [&](const std::string& text) {
    return TallyOf(table + rows + text, "mysqldump").order_statements.count;
  };
  EXPECT_EQ(depends(body(update + ";\n")), 0u);
  EXPECT_EQ(depends("DELIMITER ;;\n" + update + ";;\nDELIMITER ;\n"), 1u);
  EXPECT_EQ(depends("DELIMITER ;;\n" + update + ";;\n" + update + ";;\nDELIMITER ;\n"), 2u);
  const std::string trigger =
      "DELIMITER ;;\nCREATE TRIGGER x\nBEFORE INSERT ON t\nFOR EACH ROW BEGIN\nSET @n = 1;\nEND ;;\n";
  EXPECT_EQ(TallyOf(table + trigger + "DELIMITER ;\n" + rows, "mysqldump").triggered().count, 1u);
  EXPECT_EQ(TallyOf(table + trigger + "CREATE PROCEDURE p()\nBEGIN\nDROP TRIGGER x;\nEND ;;\nDELIMITER ;\n" + rows,
                    "mysqldump")
                .triggered()
                .count,
            1u);
}

// In PostgreSQL, the names of triggers are names in a table, and DISABLE and ENABLE hold for the table.
TEST(SqlDumpFormat, FollowsTheTriggersOfEachTable) {
  const std::string a = "COPY public.a (id) FROM stdin;\n2\n1\n\\.\n",
                    b = "COPY public.b (id) FROM stdin;\n2\n1\n\\.\n";
  const auto make = [](const std::string& table) {
    return "CREATE TRIGGER audit BEFORE INSERT ON public." + table + " FOR EACH ROW EXECUTE FUNCTION f();\n";
  };
  const auto rule = [](const std::string& table) {
    return "CREATE RULE audit AS ON INSERT TO public." + table + " DO ALSO DELETE FROM l;\n";
  };
  const auto warned = [](const std::string& text, const std::string& format = "pgdump") {
    std::string names;
    for (const std::string& name : TallyOf(text, format).triggered_tables) names += name + " ";
    return names;
  };
  const std::string both = make("a") + make("b"), rules = rule("a") + rule("b");
  EXPECT_EQ(warned(both + a + b), "public.a public.b ");
  EXPECT_EQ(warned(both + "DROP TRIGGER audit ON public.a;\n" + a + b), "public.b ");
  EXPECT_EQ(warned(both + "DROP TRIGGER IF EXISTS audit ON public.b;\n" + a + b), "public.a ");
  EXPECT_EQ(warned(rules + "DROP RULE audit ON public.a;\n" + a + b), "public.b ");
  EXPECT_EQ(warned(make("a") + rule("a") + "DROP RULE audit ON public.a;\n" + a), "public.a ");
  EXPECT_EQ(warned(make("a") + "DROP TRIGGER \"Audit\" ON public.a;\n" + a), "public.a ");
  EXPECT_EQ(warned(make("a") + "DROP TRIGGER audit ON other.a;\n" + a), "public.a ");
  const auto alter = [](const std::string& table, const std::string& action) {
    return "ALTER TABLE public." + table + " " + action + ";\n";
  };
  const auto off = [&](const std::string& table) { return alter(table, "DISABLE TRIGGER ALL"); };
  const auto on = [&](const std::string& table) { return alter(table, "ENABLE TRIGGER ALL"); };
  EXPECT_EQ(warned(both + off("a") + a + b), "public.b ");
  EXPECT_EQ(warned(both + off("a") + a + on("a") + b), "public.b ");
  EXPECT_EQ(warned(both + off("a") + a + on("a") + a), "public.a ");
  EXPECT_EQ(warned(both + off("a") + a + on("a") + off("b") + b + on("b")), "");
  EXPECT_EQ(warned(both + off("a") + make("a") + a), "public.a ");
  EXPECT_EQ(warned(both + "ALTER TABLE ONLY public.a\n    DISABLE TRIGGER USER;\n" + a + b), "public.b ");
  EXPECT_EQ(warned(both + alter("a", "DISABLE TRIGGER audit, DISABLE TRIGGER x") + a + b), "public.b ");
  EXPECT_EQ(warned(both + alter("a", "DISABLE TRIGGER \"all\"") + a), "public.a ");
  EXPECT_EQ(warned(both + off("a") + "ALTER TABLE a ENABLE TRIGGER audit;\n" + a), "public.a ");
  EXPECT_EQ(warned(rules + off("a") + a), "public.a ");
  EXPECT_EQ(warned(rules + alter("a", "DISABLE RULE audit") + a + b), "public.b ");
  // The role of a replica.
  const std::string replica = "SET session_replication_role = replica;\n";
  EXPECT_EQ(warned(both + replica + a + b), "");
  EXPECT_EQ(warned(both + replica + "RESET session_replication_role;\n" + a), "public.a ");
  EXPECT_EQ(warned(both + "ALTER ROLE x SET session_replication_role = replica;\n" + a), "public.a ");
  for (const std::string when : {"ALWAYS", "REPLICA"}) {
    EXPECT_EQ(warned(both + alter("a", "ENABLE " + when + " TRIGGER audit") + replica + a + b), "public.a ");
    EXPECT_EQ(warned(rules + alter("a", "ENABLE " + when + " RULE audit") + replica + a + b), "public.a ");
  }
  // Foreign keys are checked by triggers.
  const std::string tree = "CREATE TABLE public.a (id int PRIMARY KEY, up int REFERENCES public.a);\n";
  const auto self = [&](const std::string& text) {
    return TallyOf(tree + text + "INSERT INTO public.a VALUES (1,1);\n", "pgdump").self_references.count;
  };
  EXPECT_EQ(self(""), 1u);
  EXPECT_EQ(self(off("a")), 0u);
  EXPECT_EQ(self(off("b")), 1u);
  EXPECT_EQ(self(off("a") + on("a")), 1u);
  EXPECT_EQ(self(alter("a", "DISABLE TRIGGER USER")), 1u);
  EXPECT_EQ(self(off("a") + alter("a", "ENABLE TRIGGER USER")), 0u);
  EXPECT_EQ(self(off("a") + alter("a", "ADD FOREIGN KEY (up) REFERENCES public.a (id)")), 1u);
  // MySQL: the name of a trigger is a name in the database.
  const std::string x = "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @n = 1;\n";
  const std::string rows = "INSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1);\n";
  EXPECT_EQ(warned("USE a;\n" + x + "DROP TRIGGER X;\n" + rows, "mysqldump"), "");
  EXPECT_EQ(warned("USE a;\n" + x + "DROP TRIGGER a.x;\n" + rows, "mysqldump"), "");
  EXPECT_EQ(warned("USE a;\n" + x + "DROP TRIGGER b.x;\n" + rows, "mysqldump"), "a.t ");
}

// A value that is computed from the rows before it can change when rows are sorted.
TEST(SqlDumpFormat, WarnsOfValuesThatDependOnOtherRows) {
  const auto count = [](const std::string& rows, const std::string& format) {
    return TallyOf("INSERT INTO t VALUES (1, " + rows + ");\n", format).renumbered_rows.count;
  };
  EXPECT_EQ(count("nextval('s')", "pgdump"), 1u);
  EXPECT_EQ(count("'a'), (2, ( SELECT max(a) FROM t)), (3, 'x'), (4, coalesce(currval('s'), 1)", "pgdump"), 2u);
  EXPECT_EQ(count("LAST_INSERT_ID()", "mysqldump"), 1u);
  EXPECT_EQ(count("last_insert_rowid()", "sqlitedump"), 1u);
  EXPECT_EQ(count("'nextval('), (2, E'\\'(select 1)'), (3, ARRAY[(1)]), (4, now()), (5, nextval", "pgdump"), 0u);
  EXPECT_EQ(count("\"nextval\" ('s')), (2, pg_catalog.nextval\n('s')", "pgdump"), 2u);
  EXPECT_EQ(count("@x:=@x+1), (2, @x := @x + 1), (3, ':='), (4, @x", "mysqldump"), 2u);
  EXPECT_EQ(
      count("NEXT VALUE FOR s), (2, next\n value  for `s`), (3, 'next value for s'), (4, a value for", "mysqldump"),
      3u);
  EXPECT_EQ(count("UUID_SHORT()", "mysqldump"), 1u);
  EXPECT_EQ(count("s.nextval), (2, `a`.`s` . currval), (3, 's.nextval'), (4, 1.5), (5, t.next", "mysqldump"), 2u);
  EXPECT_EQ(count("@@identity), (2, @@SESSION.last_insert_id), (3, @@version), (4, @a), (5, '@@identity'", "mysqldump"),
            2u);
  // Longer than the pieces in which rows are skipped.
  for (unsigned size = 40; size < 80; ++size) {
    EXPECT_EQ(
        count("'" + std::string(size, 'x') + "'), (2, s.nextval), (3, '" + std::string(99, 'y') + "'", "mysqldump"),
        1u);
  }
  // The first row of a statement with several rows says nothing about the next one.
  EXPECT_EQ(count("LAST_INSERT_ID()), (2, 'a'), (3, 'b'), (4, 'c'), (5, '" + std::string(100, 'x') + "'", "mysqldump"),
            1u);
  EXPECT_EQ(count("'it\\'s (select 1)'), (2, md5('x')), (3, _binary 'LAST_INSERT_ID()')", "mysqldump"), 0u);
  EXPECT_EQ(count("replace('(select\\n','\\n',char(10))", "sqlitedump"), 0u);
}

// The first lines of dumps of other programs show the database. Their comments can have quotes.
TEST(SqlDumpFormat, KnowsDumpsOfOtherPrograms) {
  const auto sorts = [](const std::string& front, const std::string& head, const std::string& comma,
                        const std::string& format = "sqldump") {
    TallyOf(front + head + "(10,'a')" + comma + "(9,'it''s');\n", format, "91");
  };
  const std::string mysql =
      "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `s` text,\n  PRIMARY KEY (`id`) USING BTREE\n);\n";
  const std::string other = "CREATE TABLE \"t\" (\n  \"id\" integer PRIMARY KEY,\n  \"s\" text\n)\n;\n";
  sorts("# ***\n# Sequel Pro SQL dump\n# Host: Bob's-MacBook (MySQL 5.7.20)\n\n" + mysql,
        "INSERT INTO `t` (`id`, `s`)\nVALUES\n\t", ",\n\t");
  sorts("/*\nSQLyog Ultimate v12.08\nMySQL - 5.7 : it's\n*/\n" + mysql, "insert  into `t`(`id`,`s`) values ", ",");
  sorts("-- ---\n-- Host:     it's\n-- HeidiSQL Version:  11\n/*!40101 SET NAMES utf8 */;\n" + mysql,
        "INSERT IGNORE INTO `t` (`id`, `s`) VALUES\n\t", ",\n\t");
  sorts("\xEF\xBB\xBF-- phpMyAdmin SQL Dump\n" + mysql, "INSERT INTO `t` (`id`, `s`) VALUES\n", ",\r\n");
  sorts("\xEF\xBB\xBF" + mysql, "INSERT INTO `t` VALUES\n", "\n,");
  sorts("-- Adminer 4.8.1 SQLite 3 3.34.1 dump\n" + other, "INSERT INTO \"t\" (\"id\", \"s\") VALUES\n", ",\n");
  sorts("-- Adminer 4.7.7 PostgreSQL dump\n" + other, "INSERT INTO \"t\" (\"id\", \"s\") VALUES\n", ",\n");
  sorts(
      "/*\n Navicat Premium Data Transfer\n\n Source Server         : it's\n Source Server Type    : PostgreSQL\n*/\n" +
          other,
      "INSERT INTO \"public\".\"t\" VALUES ", ", ");
  sorts("--\n-- File generated with SQLiteStudio v3.4.4 on Fri Nov 27 06:00:00 2026\n--\nPRAGMA foreign_keys = off;\n" +
            other,
        "INSERT INTO t (id, s) VALUES ", ";\nINSERT INTO t (id, s) VALUES ");
  // DBeaver and DataGrip do not show the database.
  sorts(mysql, "INSERT INTO shop.t (id,s) VALUES\n\t ", ",\n\t ", "mysqldump");
  sorts(other, "insert into public.t (id, s)\nvalues  ", ",\n        ", "pgdump");
  sorts("-- mysqldump-php https://github.com/ifsnop/mysqldump-php\n" + mysql, "INSERT INTO `t` VALUES ", ",");
  TallyOf("\xEF\xBB\xBFINSERT INTO t VALUES (2);\nINSERT INTO t VALUES (1);\n", "mysqldump", "12");
}

TEST(SqlDumpFormat, LeavesInsertsOfProgramsInPlace) {
  const std::string rows = "INSERT INTO t VALUES(2);\nINSERT INTO t VALUES(1);\n";
  const std::string sorted = "INSERT INTO t VALUES(1);\nINSERT INTO t VALUES(2);\n";
  const std::string trigger =
      "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN\n" + rows + "SELECT CASE WHEN 1 THEN 2 END;\n" + rows + "END;\n";
  EXPECT_EQ(SortedInserts(trigger + rows, {}, "sqlitedump"), trigger + sorted);
  const std::string delimiter =
      "DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER x BEGIN\n" + rows + "END */;;\nDELIMITER ;\n";
  EXPECT_EQ(SortedInserts(delimiter + rows, {}, "mysqldump"), delimiter + sorted);
  const std::string function = "CREATE FUNCTION f() AS $$\n" + rows + "$$;\n";
  EXPECT_EQ(SortedInserts(function + rows, {}, "pgdump"), function + sorted);
  const std::string atomic = "CREATE FUNCTION f() LANGUAGE sql\n    BEGIN ATOMIC\n " + rows + " " + rows + "END;\n";
  EXPECT_EQ(SortedInserts(atomic + rows, {}, "pgdump"), atomic + sorted);
  const std::string rule = "CREATE RULE r AS ON INSERT TO t DO ALSO (\n" + rows + rows + ");\n";
  EXPECT_EQ(SortedInserts(rule + rows, {}, "pgdump"), rule + sorted);
}

TEST(SqlDumpFormat, FollowsTheSettingsOfBackslashes) {
  const std::string set = "SET SQL_MODE='NO_BACKSLASH_ESCAPES';\n";
  const std::string rows = "INSERT INTO t VALUES ('b\\');\nINSERT INTO t VALUES ('a');\n";
  const std::string sorted = "INSERT INTO t VALUES ('a');\nINSERT INTO t VALUES ('b\\');\n";
  EXPECT_EQ(SortedInserts(set + rows, {}, "mysqldump"), set + sorted);
  EXPECT_EQ(SortedInserts(rows, {}, "sqlitedump"), sorted);
  EXPECT_NE(SortedInserts(rows, {}, "mysqldump").find("ends inside"), std::string::npos);
  EXPECT_NE(SortedInserts("INSERT INTO t VALUES (2);\n", {}, "sqldump").find("give --format"), std::string::npos);
}

/// Returns what --strip-volatile leaves of a dump.
std::string Stripped(const std::string& text, const std::string& name) {
  JobSpec spec = DumpOptions({}, name);
  spec.source.table->strip_volatile = true;
  const SqlDumpFormat format(spec);
  const auto encoder = format.MakeEncoder();
  std::string left;
  KeyTally tally;
  ScanState state;
  for (std::size_t at = 0; at < text.size();) {
    std::vector<std::byte> out;
    const std::string rest = text.substr(at);
    const std::uint64_t size = encoder->Append(Span(rest), state, out, tally);
    if (!out.empty()) left += rest.substr(0, size);
    at += size;
  }
  return left;
}

/// The lines that programs write with a random word or the time of the dump.
const std::string kVolatile[] = {
    "\\restrict abc\n",
    "\\unrestrict abc\n",
    "-- Started on 2026-11-27 06:00:00 UTC\n",
    "-- Completed on 2026-11-27 06:00:00\n",
    "-- TOC entry 215 (class 1259 OID 16620)\n",
    "-- Dependencies: 215 7\n",
    "-- Dump completed on 2026-11-27  6:00:00\n",
    "-- Dump completed\n",
    "-- Dump completed on: Fri, 27 Nov 2026 06:00:00 +0000\n",
    "-- Date: Fri, 27 Nov 2026 06:00:00 +0000\r\n",
    "-- Dump start time: Fri Nov  6 06:00:00 2026\n",
    "-- Dump end time: Fri Nov 27 06:00:00 2026\n",
    "-- Generation Time: Nov 27, 2026 at 06:00 AM\n",
    "-- Dump created on Fri Nov 27 06:00:00 2026 by PERL Cron-Script\n",
    "# Generation Time: 2026-11-27 06:00:00 +0000\n",
    "# Tempo de gera\xC3\xA7\xC3\xA3o: 2026-11-27 06:00:00 -0300\n",
    "-- File generated with SQLiteStudio v3.4.4 on Fri Nov 27 06:00:00 2026\n",
    "-- 2026-11-27 06:00:00\n",
    "-- 2026-11-27 06:00:00 UTC\n",
    "-- 2026-11-27 06:00:00.123456+00\n",
    "-- Data Pos: 74161\n",
    "-- File: 3345.dat\n",
};

TEST(SqlDumpFormat, StripsVolatileLines) {
  for (const std::string name : {"mysqldump", "pgdump", "sqlitedump"}) {
    for (const std::string& line : kVolatile) {
      // Not a comment in this dialect: the beginning of a statement, whose other lines stay, too.
      if ((line[0] == '\\' && name != "pgdump") || (line[0] == '#' && name != "mysqldump")) {
        EXPECT_EQ(Stripped(line + kVolatile[7] + "SELECT 1;\n", name), line + kVolatile[7] + "SELECT 1;\n") << line;
        continue;
      }
      EXPECT_EQ(Stripped("-- Host: x\n" + line + "SELECT 1;\n" + line, name), "-- Host: x\nSELECT 1;\n") << line;
    }
    // Other comments stay.
    for (const std::string line :
         {"-- Started on Monday\n", "-- Completed on request\n", "-- Date: unknown\n", "-- 2026-11-27\n",
          "-- 2026-11-27 06:00:00 rows of the night\n", "-- TOC entry 215\n", "-- Dependencies: none\n",
          "-- Data Pos: 74161 bytes\n", "-- Data Pos: \n", "-- File: notes.dat\n", "-- File: 3.dat.gz\n",
          "-- Dump completed tables\n", "# last: 2026-11-27 06:00:00\n", "-- Dump start time: noon\n", "#\n", "--\n"}) {
      EXPECT_EQ(Stripped(line, name), line);
    }
  }
}

// Databases store the lines inside of some statements.
TEST(SqlDumpFormat, StripsNoLineInsideOfAStatement) {
  const auto stays = [](const std::string& name, const std::string& before, const std::string& after) {
    for (const std::string& line : kVolatile) {
      const std::string text = before + line + after;
      EXPECT_EQ(Stripped(text, name), text);
    }
  };
  stays("sqlitedump", "CREATE TABLE t(a,\n", " b);\n");
  stays("sqlitedump", "CREATE TRIGGER x AFTER INSERT ON t BEGIN\nSELECT 1;\n", "END;\n");
  stays("sqlitedump", "SELECT 'a\n", "';\n");
  stays("mysqldump", "DELIMITER ;;\nCREATE PROCEDURE p() BEGIN\n", "END ;;\nDELIMITER ;\n");
  stays("mysqldump", "/*!50003 CREATE PROCEDURE p() BEGIN\n", "END */;\n");
  stays("mysqldump", "INSERT INTO `t` VALUES ('a\n", "');\n");
  stays("pgdump", "CREATE FUNCTION f() AS $_$\n", "$_$;\n");
  stays("pgdump", "CREATE FUNCTION f() LANGUAGE sql BEGIN ATOMIC\nSELECT 1;\n", "END;\n");
  stays("pgdump", "COPY t (a) FROM stdin;\n", "\\.\n");
  stays("pgdump", "/*\n", "*/\n");
}

// Navicat writes the time in the comment at the front of a dump.
TEST(SqlDumpFormat, StripsTheTimeOfNavicat) {
  const std::string head = "/*\n Navicat Premium Data Transfer\n\n Source Server Type    : MySQL\n\n", tail = "*/\n\n";
  for (const std::string date :
       {" Date: 27/11/2026 06:00:00\n", "Date: 2026-11-27 06:00:00\r\n", " Date: 08/02/2016 10:23:17 AM\n"}) {
    EXPECT_EQ(Stripped(head + date + tail, "sqldump"), head + tail);
    const std::string table = "CREATE TABLE `t` (a int);\n";
    EXPECT_EQ(Stripped(table + head + date + tail, "mysqldump"), table + head + date + tail);
    EXPECT_EQ(Stripped("CREATE TABLE t (a, " + head + date + "*/ b);\n", "sqlitedump"),
              "CREATE TABLE t (a, " + head + date + "*/ b);\n");
    EXPECT_EQ(Stripped(date, "mysqldump"), date);
  }
}

RC_GTEST_PROP(SqlDumpFormat, GoesOnFromAnyStateOfInserts, ()) {
  const std::string name = *rc::gen::element<std::string>("mysqldump", "pgdump", "sqlitedump");
  const std::string rest = AnyInserts(name).text;
  JobSpec spec = DumpOptions({}, name);
  spec.source.force_format = true;
  const SqlDumpFormat format(spec);
  const CutInput cut = CutRecords(format, rest, std::max<std::size_t>(1, rest.size()));
  ScanState state;
  const CutInput again = CutWithSavedStates(format, rest, state);
  RC_ASSERT(again.records == cut.records);
}

}  // namespace
}  // namespace gpusort
