#include "formats/sql_dump_format.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/gap_key.hpp"
#include "formats/registry.hpp"
#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"
#include "formats/value_keys.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// The facts about rows that are sorted together: the rows of a COPY block or of INSERT statements. An object does not
/// change any more after a DumpState refers to it.
struct RowsPart {
  using Order = std::shared_ptr<const ValueKey>;

  std::string table;
  KeyColumns wanted;              ///< the columns of the user's keys
  std::vector<Order> by;          ///< for each key of the user, the order that the type of the column gives, or null
  KeyColumns primary;             ///< the columns of the primary key; empty: not known
  std::vector<Order> primary_by;  ///< the orders of the columns in `primary`
  std::vector<SqlTable::Column>
      key_columns;             ///< for each key of the user, or of `primary`: what is known of its column
  std::vector<Order> columns;  ///< the orders of all columns; null: as text
  /// A foreign key of the table names the table, and the dump does not turn the checks off.
  bool refers_to_itself = false;
  bool again = false;  ///< the table has rows in a part of the dump before this one
  /// Rows that are equal in a primary or unique key keep their order, so that REPLACE keeps the same one of them.
  bool keeps_winners = false;
  bool keyless = false;  ///< the table has no primary or unique key, so that REPLACE keeps all rows
  /// The columns whose values the server counts up, if they are missing or null, in ascending order.
  std::vector<std::size_t> counted;
  bool lacks_counted = false;  ///< the rows lack such a column, or the server ignores its values

  std::string head;  ///< the COPY statement, or the text of each INSERT before its first row
  // The following members are only for INSERT.
  bool decided = false;
  bool several = false;  ///< each row is a record, from the first statement with several rows on
  /// With `several`: how many statements with one row came before the first one with several rows.
  std::uint64_t singles = 0;
  std::string separator;     ///< the text after a row that most rows have; it belongs to the row
  bool ended = false;        ///< the following three members are known
  std::string tail;          ///< the text between the last row of the first statement and its semicolon
  std::string end;           ///< the text after the last row of the first statement, up to its newline
  bool ends_differ = false;  ///< a statement with one row ends in another way than the first one
  bool replaces = false;     ///< a statement says what happens to a row whose key exists

  /// Returns true if equal values of the order can be written in several ways, such as 1.0 and 1.00.
  static bool IsInexact(const Order& order) { return order != nullptr && order->rule().type != ValueType::kInt; }
};

namespace {

/// The tables that CREATE TABLE has described so far, the last one first.
struct TableList {
  TableList(std::shared_ptr<const SqlTable> last, std::shared_ptr<const TableList> others)
      : table(std::move(last)), before(std::move(others)) {}
  ~TableList() {
    // Long lists would need a deep stack if each entry destroyed the next one.
    std::shared_ptr<const TableList> rest = std::move(before);
    while (rest && rest.use_count() == 1) rest = std::exchange(const_cast<TableList&>(*rest).before, nullptr);
  }
  TableList(const TableList&) = delete;
  TableList& operator=(const TableList&) = delete;

  const std::shared_ptr<const SqlTable> table;
  std::shared_ptr<const TableList> before;
};

/// Adds a name to a set that several DumpState objects may share. Returns false if the set has the name. Copies the set
/// only if another object shares it.
bool AddName(const std::string& name, std::shared_ptr<std::set<std::string>>& names) {
  if (names != nullptr && names->contains(name)) return false;
  if (names == nullptr) {
    names = std::make_shared<std::set<std::string>>();
  } else if (names.use_count() > 1) {
    names = std::make_shared<std::set<std::string>>(*names);
  }
  names->insert(name);
  return true;
}

/// Returns whether the rows of a COPY statement with these options are written as pg_dump writes them.
bool AreUsualOptions(std::string_view text) {
  static constexpr std::string_view kUsual[] = {"with",  "format", "text", "freeze", "true",
                                                "false", "on",     "off",  "0",      "1"};
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\v\f(),'"), text.size()));
    if (text.empty()) return true;
    const auto taken = [&](std::string_view word) { return TakeSqlWord(text, word); };
    if (std::none_of(std::begin(kUsual), std::end(kUsual), taken)) return false;
  }
}

constexpr std::size_t kMostStatement = std::size_t{1} << 14;  ///< the largest size of a COPY statement, in bytes
constexpr std::size_t kMostTable = std::size_t{1} << 20;      ///< the largest size of a CREATE TABLE, in bytes
/// The largest size of an UPDATE or a DELETE that is looked at, in bytes. With each line the statement is copied.
constexpr std::size_t kMostProgram = std::size_t{32} << 10;
/// The largest size of the text of an INSERT before its first row, in bytes.
constexpr std::size_t kMostHead = std::size_t{64} << 10;
/// The largest size of the text of an INSERT after a row, in bytes.
constexpr std::size_t kMostTail = std::size_t{1} << 20;
constexpr std::size_t kMostTables = 20;  ///< the largest number of tables that a message names

}  // namespace

/// Settings that the dump has made for the statements after them.
struct Session {
  std::string schema;          ///< the schema or the database of tables that are named without one
  bool unchecked = false;      ///< the checks of foreign keys are turned off
  bool zero_is_value = false;  ///< MySQL: a counted column with the value 0 keeps it (NO_AUTO_VALUE_ON_ZERO)
  friend bool operator==(const Session&, const Session&) = default;
};

/// The state of the parser at the beginning of a line of a dump. An object is not changed after the next one is made.
struct DumpState {
  SqlDialect dialect = SqlDialect::kUnknown;
  SqlText text;
  std::vector<bool> named;                        ///< for each key: the dump has the table
  std::vector<std::string> seen;                  ///< the names of the first tables, for messages
  std::string statement;                          ///< the lines so far of a statement that may become a COPY
  std::string create;                             ///< the lines so far of a CREATE TABLE
  std::shared_ptr<const TableList> tables;        ///< the tables that CREATE TABLE has described so far
  std::shared_ptr<std::set<std::string>> filled;  ///< the tables of this database that had rows
  std::shared_ptr<const std::vector<SqlEnum>> enums;
  Session session;
  std::shared_ptr<const RowsPart> part;  ///< the rows that came last
  bool any = false;                      ///< there was a line
  bool gaps = false;                     ///< there was a part with gaps
  bool inserts = false;                  ///< there was an INSERT that was left in place
};

namespace {

/// Values of ScanState::mode. In a COPY block, the mode is kRows plus the mode of CopyFormat.
enum Mode : unsigned {
  kSql = 0,           ///< at the beginning of a line of SQL
  kRows = 1,          ///< in a COPY block
  kAfterInsert = 16,  ///< the same as kSql, directly after an INSERT with rows
  kFirstRow,  ///< in the first row of an INSERT, while it is not known if the statements of this part have several rows
  kLaterRow,  ///< in any other row
  kAfterFirstRow,  ///< after a row in the mode kFirstRow
  kAfterLaterRow,
  kNextRow,  ///< before a row, in a part of statements with several rows
  kGap,      ///< before a gap; only while keys are made
};

/// Returns the table after ALTER TABLE or CREATE UNIQUE INDEX.
std::shared_ptr<const SqlTable> Changed(const SqlTable& table, const SqlTableChange& change) {
  auto changed = std::make_shared<SqlTable>(table);
  std::vector<SqlTable::Column>& columns = changed->columns;
  changed->refers_to_itself |= change.refers_to_itself;
  changed->unique.insert(changed->unique.end(), change.unique.begin(), change.unique.end());
  columns.insert(columns.end(), change.added.begin(), change.added.end());
  for (SqlTable::Column& column : columns) {
    const auto is_column = [&](const std::string& name) { return IsSameSqlName(name, column.name); };
    for (const SqlTable::Column& retyped : change.retyped) {
      if (!is_column(retyped.name)) continue;
      column.type = retyped.type;
      column.loose = true;
      column.not_null = retyped.not_null;
    }
    column.counted |= std::ranges::any_of(change.counted, is_column);
  }
  if (change.moves_columns) {
    changed->complete = false;
    columns.clear();
    changed->primary.clear();
  }
  return changed;
}

SqlDialect DialectOfFormat(const std::string& name) {
  if (name == "mysqldump") return SqlDialect::kMysql;
  if (name == "sqlitedump") return SqlDialect::kSqlite;
  return name == "pgdump" ? SqlDialect::kPostgres : SqlDialect::kUnknown;
}

void SetDialect(SqlDialect dialect, DumpState& dump) {
  dump.dialect = dialect;
  dump.text.escapes = dump.text.escapes_before = dialect == SqlDialect::kMysql;
}

/// Follows USE and SET search_path, which choose the schema of tables that are named without one, and settings that
/// turn the checks of foreign keys off. Changes `session`.
void TakeSession(std::string_view line, SqlDialect dialect, Session& session) {
  constexpr std::size_t kMost = 1000;
  std::string_view rest = line;
  if (dialect == SqlDialect::kMysql && TakeSqlWord(rest, "use")) {
    SkipSqlBlanks(rest);
    TakeSqlName(rest, " ;\t\r\n", session.schema);
    return;
  }
  const bool conditional = dialect == SqlDialect::kMysql && rest.starts_with("/*!");
  if (!conditional && !TakeSqlWord(rest, "set") && !TakeSqlWord(rest, "pragma") && !TakeSqlWord(rest, "alter")) return;
  const std::string copy = LowerText(line.substr(0, kMost));
  const std::string_view lower = copy;
  // Returns the text after the last "NAME =" or "NAME TO".
  const auto value_of = [&](std::string_view name) {
    for (std::size_t end = lower.size(), at = 0; (at = lower.substr(0, end).rfind(name)) != lower.npos; end = at) {
      if (at > 0 && IsSqlWordByte(lower[at - 1])) continue;
      std::string_view value = lower.substr(at + name.size());
      SkipSqlBlanks(value);
      if (!TakeSqlText(value, "=") && !TakeSqlWord(value, "to")) continue;
      SkipSqlBlanks(value);
      return value;
    }
    return std::string_view();
  };
  const auto turn = [&](std::string_view name, std::initializer_list<std::string_view> off) {
    const std::string_view value = value_of(name);
    if (value.empty()) return;
    session.unchecked = std::ranges::any_of(off, [&](std::string_view text) { return value.starts_with(text); });
  };
  if (dialect == SqlDialect::kMysql) turn("foreign_key_checks", {"0", "off"});
  // mysqldump sets this mode once. Later modes are those of triggers, after which it comes back.
  if (dialect == SqlDialect::kMysql && value_of("sql_mode").find("no_auto_value_on_zero") != lower.npos) {
    session.zero_is_value = true;
  }
  if (dialect == SqlDialect::kSqlite) turn("foreign_keys", {"0", "off", "no", "false"});
  if (dialect != SqlDialect::kPostgres) return;
  turn("session_replication_role", {"replica", "'replica"});
  if (lower.find("disable trigger all") != lower.npos) session.unchecked = true;
  if (const std::string_view path = value_of("search_path"); !path.empty()) {
    std::string_view written = line.substr(static_cast<std::size_t>(path.data() - lower.data()));
    if (!TakeSqlName(written, " ,;\t\r\n", session.schema)) session.schema.clear();
  }
}

/// Follows the settings that decide what a backslash in a string means.
void TakeSetting(std::string_view line, SqlDialect dialect, SqlText& text) {
  if (dialect == SqlDialect::kPostgres) {
    constexpr std::string_view kSetting = "SET standard_conforming_strings = ";
    if (line.starts_with(kSetting)) text.escapes = line.substr(kSetting.size()).starts_with("off");
    return;
  }
  constexpr std::string_view kMode = "sql_mode";
  if (dialect == SqlDialect::kMysql && (line.starts_with("/*!") || IsWord(line.substr(0, 3), "set"))) {
    const std::string copy = LowerText(line);
    const std::string_view lower = copy;
    // The last assignment of the line counts. A variable such as @saved_sql_mode restores the value from before.
    for (std::size_t end = lower.size(), at = 0; (at = lower.substr(0, end).rfind(kMode)) != lower.npos; end = at) {
      if (at > 0 && (lower[at - 1] == '@' || IsSqlWordByte(lower[at - 1]))) continue;
      std::string_view value = lower.substr(at + kMode.size());
      SkipSqlBlanks(value);
      if (!TakeSqlText(value, "=")) continue;
      SkipSqlBlanks(value);
      const bool before = text.escapes;
      if (value.starts_with('@')) {
        text.escapes = text.escapes_before;
      } else {
        text.escapes = value.find("no_backslash_escapes") == value.npos;
      }
      text.escapes_before = before;
      return;
    }
  }
}

/// Returns true if the line can differ between two dumps of equal databases, because it has a random word or the time
/// of the dump.
bool IsVolatile(std::string_view line) {
  static constexpr std::string_view kLines[] = {
      "\\restrict ",      "\\unrestrict ",        "-- Dump completed",  "-- Started on ",
      "-- Completed on ", "-- Generation Time: ", "-- Dump created on "};
  return std::ranges::any_of(kLines, [&](std::string_view text) { return line.starts_with(text); });
}

/// Returns all that decides how SkipRows() reads a row: the dialect, and the meaning of a backslash.
unsigned PackRules(const DumpState& dump) {
  return static_cast<unsigned>(dump.dialect) << 1 | (dump.text.escapes ? 1 : 0);
}

std::uint64_t Pack(const RowLexer& lexer) {
  const auto byte = [](char c) { return static_cast<std::uint64_t>(static_cast<unsigned char>(c)); };
  return std::uint64_t{lexer.depth} << 32 | byte(lexer.last[0]) << 24 | byte(lexer.last[1]) << 16 |
         (lexer.escape_string ? 256u : 0u) | lexer.in;
}

RowLexer Unpack(std::uint64_t packed) {
  RowLexer lexer;
  lexer.depth = static_cast<std::uint32_t>(packed >> 32);
  lexer.last[0] = static_cast<char>(packed >> 24 & 0xFF);
  lexer.last[1] = static_cast<char>(packed >> 16 & 0xFF);
  lexer.escape_string = (packed & 256) != 0;
  lexer.in = static_cast<RowLexer::In>(packed & 255);
  return lexer;
}

const Byte* SkipSpace(const Byte* p, const Byte* end) {
  while (p != end && IsSpace(static_cast<char>(*p))) ++p;
  return p;
}

/// Returns true if the server counts up a value instead of storing this one. `zero_counts` is true if it does so for
/// the value 0.
bool IsCountedUp(const SqlValue& value, std::string_view text, SqlDialect dialect, bool zero_counts) {
  if (IsWord(text, "default") && !value.literal) return true;
  if (dialect == SqlDialect::kPostgres) return false;  // a null stays null
  if (value.is == SqlValue::kNull) return true;
  if (dialect != SqlDialect::kMysql) return false;
  if (text.empty() && !value.literal) return true;  // the row ()
  // Texts that are no numbers, and fractions, become 0.
  const std::string_view digits = value.is == SqlValue::kHex ? value.text : text;
  const std::size_t first = digits.find_first_not_of("0- ");
  const bool zero = first == digits.npos || (value.is != SqlValue::kHex && !IsDigit(digits[first]));
  return zero_counts && zero && (value.literal || text == "false");
}

/// Writes the key of a time of MySQL whose month or day is 0, such as 0000-00-00. Returns false for any other text.
bool PutZeroDate(const ValueKey* order, std::string_view text, FieldWriter& out) {
  constexpr std::string_view kForm = "0000-00-00";
  constexpr std::size_t kMonth = 5, kDay = 8;
  if (order == nullptr || order->rule().type != ValueType::kTimestamp || text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '-' ? text[i] != '-' : !IsDigit(text[i])) return false;
  }
  const bool no_month = text.substr(kMonth, 2) == "00";
  if (!no_month && text.substr(kDay, 2) != "00") return false;
  std::string first(text.substr(0, kForm.size()));
  if (no_month) first.replace(kMonth, 2, "01");
  const std::optional<Day> day = ParseDay(first.replace(kDay, 2, "01"));
  if (!day) return false;
  // The time comes after the last microsecond before the first day of the year or month: its fraction has more digits.
  std::string fraction = no_month ? "9999990" : "9999991";
  fraction += text.substr(kDay, 2);
  std::ranges::copy_if(text.substr(kForm.size()), std::back_inserter(fraction), IsDigit);
  fraction += '1';  // a fraction does not end with 0
  Instant instant;
  instant.seconds = day->days * std::int64_t{86400} - 1;
  instant.fraction = fraction;
  order->PutInstant(instant, out);
  return true;
}

constexpr const char* kCommentInRow =
    "a row of an INSERT has a comment or a string between dollars, which are not read there";

}  // namespace

SqlDumpFormat::SqlDumpFormat(const JobSpec& spec)
    : CopyFormat(spec),
      input_(spec.source.inputs.empty() ? "" : spec.source.inputs[0]),
      force_(spec.source.force_format),
      check_(spec.action == Action::kCheck),
      no_gaps_(!spec.source.ranges.empty() ? "by tasks: sort the dump in one process (gpusort INPUT OUTPUT)"
               : spec.order.merge          ? "with -m: leave out -m, as a dump has nothing to merge"
               : spec.target.verify        ? "with --verify-output: gpusort_check --against INPUT OUTPUT checks the "
                                             "output"
                                           : ""),
      strip_(table_.strip_volatile) {
  const auto refuse = [&](bool given, const std::string& what) {
    if (!given) return;
    throw Error(ErrorCode::kUsage, what + " with --format " + table_.name + ": a dump is put in order as a whole");
  };
  // With ranges, all inputs are parts of one dump.
  refuse(spec.source.inputs.size() > 1 && spec.source.ranges.empty(), "several inputs");
  refuse(spec.order.unique, "--unique");
  refuse(spec.order.top > 0, "--top");
  for (const ColumnKey& key : table_.keys) names_.push_back(ParseName(key));
  DumpState front;
  SetDialect(DialectOfFormat(table_.name), front);
  front_ = std::make_unique<const DumpState>(std::move(front));
  rules_ = PackRules(*front_);
  const auto make = [](ValueRule rule, auto& list) {
    for (unsigned type = 0; type <= static_cast<unsigned>(ValueType::kEnum); ++type) {
      rule.type = static_cast<ValueType>(type);
      const bool used = rule.type == ValueType::kText || rule.type >= ValueType::kInt;
      const bool labels = rule.type == ValueType::kEnum;
      list.push_back(used && !labels ? std::make_shared<const ValueKey>(rule) : nullptr);
    }
  };
  ValueRule rule;
  rule.descending = table_.reverse;
  make(rule, of_type_);
  of_key_.resize(table_.keys.size());
  for (std::size_t key = 0; key < table_.keys.size(); ++key) {
    if (!table_.keys[key].rule.typed) make(table_.keys[key].rule, of_key_[key]);
  }
}

SqlDumpFormat::~SqlDumpFormat() = default;

struct SqlDumpFormat::RowScratch : Scratch {
  std::vector<SqlValue> values;  ///< the literals of `fields`
  bool depends = false;          ///< a value of the row can depend on the rows before it
};

std::unique_ptr<TableFormat::Scratch> SqlDumpFormat::MakeScratch() const { return std::make_unique<RowScratch>(); }

const DumpState& SqlDumpFormat::StateOf(const ScanState& state) const { return state.dump ? *state.dump : *front_; }

DumpState& SqlDumpFormat::Change(ScanState& state) const {
  auto next = std::make_shared<DumpState>(StateOf(state));
  DumpState& dump = *next;
  state.dump = std::move(next);
  return dump;
}

SqlDumpFormat::Name SqlDumpFormat::ParseName(const ColumnKey& key) const {
  std::vector<std::string> parts;
  std::string_view rest = key.column;
  bool good = key.number == 0;
  do {
    good = good && TakeSqlName(rest, ".\"`", parts.emplace_back());
  } while (good && TakeSqlText(rest, "."));
  if (!good || !rest.empty() || parts.size() < 2 || parts.size() > 3) {
    FailKey(key, "a key of --format " + table_.name + " is TABLE.COLUMN or SCHEMA.TABLE.COLUMN");
  }
  if (parts.size() == 2) parts.insert(parts.begin(), "");
  return {parts[0], parts[1], parts[2]};
}

SqlDumpFormat::Statement SqlDumpFormat::ParseCopy(std::string_view text, SqlTarget& copy) {
  constexpr std::string_view kStops = " .,()\";\t\r\n\v\f";
  const auto end = [&] {  // a quoted name may have a newline
    return text.empty() || text[0] == '"' ? Statement::kUnfinished : Statement::kOther;
  };
  const auto take_name = [&](std::string& name) {
    SkipSqlBlanks(text);
    const bool quoted = text.starts_with('"');
    const bool taken = TakeSqlName(text, kStops, name);
    if (!quoted) name = LowerText(name);
    SkipSqlBlanks(text);
    return taken;
  };
  SkipSqlBlanks(text);
  if (!TakeSqlWord(text, "copy")) return Statement::kOther;
  if (!take_name(copy.table)) return end();
  while (TakeSqlText(text, ".")) {  // a database may precede the schema
    copy.schema = std::exchange(copy.table, {});
    if (!take_name(copy.table)) return end();
  }
  if (TakeSqlText(text, "(")) {
    do {
      if (!take_name(copy.columns.emplace_back())) return end();
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return end();
    SkipSqlBlanks(text);
  }
  if (TakeSqlWord(text, "with")) {  // versions before PostgreSQL 12 write this
    SkipSqlBlanks(text);
    if (!TakeSqlWord(text, "oids")) return end();
    copy.columns.insert(copy.columns.begin(), "oid");
    SkipSqlBlanks(text);
  }
  if (!TakeSqlWord(text, "from")) return end();
  SkipSqlBlanks(text);
  if (!TakeSqlWord(text, "stdin")) return end();
  const std::size_t options = text.find(';');
  if (options == std::string_view::npos) return Statement::kUnfinished;
  const bool usual = AreUsualOptions(text.substr(0, options));
  text.remove_prefix(options + 1);
  SkipSqlBlanks(text);
  return usual && text.empty() ? Statement::kCopy : Statement::kUnknownCopy;
}

void SqlDumpFormat::TakeLine(std::string_view line, std::uint64_t at, ScanState& state, KeyTally* tally) const {
  const DumpState& dump = StateOf(state);
  if (!dump.any && line.starts_with(kSqlByteOrderMark)) line.remove_prefix(kSqlByteOrderMark.size());
  SqlDialect dialect = dump.dialect;
  SqlText text = dump.text;
  // A line inside a comment or a string may begin with # in every dialect.
  if (dialect == SqlDialect::kUnknown && (text.in == SqlText::kNothing || !line.starts_with('#'))) {
    dialect = DialectOfLine(line);
    text.escapes = text.escapes_before = dialect == SqlDialect::kMysql;
  }
  const bool postgres = dialect == SqlDialect::kPostgres;
  std::string statement, create;
  bool insert = false;
  Session session = dump.session;
  SqlTarget copy;
  Statement is = Statement::kOther;
  if (!dump.statement.empty()) is = ParseCopy(statement = dump.statement + std::string(line), copy);
  if (is == Statement::kOther && text.in == SqlText::kNothing) {
    const std::string_view bare = line.substr(0, std::min(line.find_last_not_of(kSqlBlanks) + 1, line.size()));
    if (bare == "\\." && postgres && !force_) {
      throw BadRecord(at,
                      "this line ends the rows of a COPY that was not found: only COPY ... FROM stdin at the front "
                      "of a line is known; --force-format leaves such rows as they are");
    }
    if (line.starts_with('\\') && postgres) {  // a command of psql, whose quotes have another meaning
      if (line.starts_with("\\connect ") || line.starts_with("\\c ")) {
        // Statements can no longer name the tables of the previous database.
        DumpState& next = Change(state);
        next.tables = nullptr;
        next.enums = nullptr;
        next.filled = nullptr;
        next.session = {};
        next.part = nullptr;
      }
      return;
    }
    if (postgres && (is = ParseCopy(line, copy = {})) == Statement::kUnfinished) statement = line;
    std::string_view words = line;
    SkipSqlBlanks(words);
    insert = !dump.inserts && text.between() && gpusort::BeginsInsert(words);
  }
  if (is == Statement::kCopy) {
    BeginRows(copy, dump.statement + std::string(line), state);
    return;
  }
  if (is == Statement::kUnknownCopy && !force_) {
    throw BadRecord(at,
                    "the rows of this COPY have options that are not known, like those of CSV: only text with the "
                    "usual delimiter is sorted; --force-format leaves the rows as they are");
  }
  if (is != Statement::kUnfinished || statement.size() > kMostStatement) statement.clear();
  create = dump.create;
  std::vector<std::string> described;
  bool left = false;
  for (std::string_view rest = line; !rest.empty();) {  // each statement of the line
    const std::string_view from = rest;
    std::string_view words = from;
    if (text.between()) words.remove_prefix(SkipLead(from, dialect, true).size);
    if (text.in == SqlText::kNothing) {
      TakeSetting(words, dialect, text);
      if (!text.open) TakeSession(words, dialect, session);
    }
    const bool between = text.between();
    left |= between && from.size() < line.size() && gpusort::BeginsInsert(words);
    left |= TakeSql(rest, dialect, text);
    const std::string_view taken = from.substr(0, from.size() - rest.size());
    words.remove_suffix(std::min(words.size(), rest.size()));
    const auto describes = [&] {
      return BeginsCreateTable(words) || BeginsCreateType(words) || BeginsTableChange(words) || BeginsRowProgram(words);
    };
    if (!create.empty()) {
      create += taken;
    } else if (between && describes()) {
      create = words;
    }
    const bool program = !create.empty() && std::strchr("uUdD", create[0]) != nullptr;  // UPDATE or DELETE
    if (create.empty() || (text.open && create.size() <= (program ? kMostProgram : kMostTable))) continue;
    if (!text.open) described.push_back(std::move(create));
    create.clear();
  }
  if (left && tally != nullptr) tally->left_inserts.Note(line.substr(0, line.find_last_not_of(kSqlBlanks) + 1));
  if (dump.any && dialect == dump.dialect && text == dump.text && statement == dump.statement &&
      create == dump.create && described.empty() && !insert && session == dump.session) {
    return;
  }
  DumpState& next = Change(state);
  next.dialect = dialect;
  next.text = std::move(text);
  next.statement = std::move(statement);
  next.create = std::move(create);
  next.session = std::move(session);
  for (const std::string& one : described) Describe(one, next, tally);
  next.any = true;
  next.inserts |= insert || left;
}

void SqlDumpFormat::Describe(const std::string& statement, DumpState& dump, KeyTally* tally) const {
  static const std::vector<SqlEnum> none;
  if (std::optional<SqlEnum> type = ParseCreateEnum(statement, dump.dialect)) {
    auto enums = std::make_shared<std::vector<SqlEnum>>(dump.enums ? *dump.enums : none);
    enums->push_back(std::move(*type));
    dump.enums = std::move(enums);
    return;
  }
  const auto filled = [&](SqlTarget& target) {
    if (target.schema.empty()) target.schema = dump.session.schema;
    return dump.filled != nullptr && dump.filled->contains(target.name());
  };
  if (tally != nullptr) {
    if (std::optional<SqlTarget> target = ParseInsertTrigger(statement, dump.dialect); target && !filled(*target)) {
      tally->triggered_tables.insert(target->name());
    }
    if (dump.filled != nullptr && DependsOnOrder(statement, dump.dialect)) tally->order_statements.Note(statement);
  }
  std::shared_ptr<const SqlTable> table = ParseCreateTable(statement, dump.dialect, dump.enums ? *dump.enums : none);
  if (const std::optional<SqlTableChange> change = ParseTableChange(statement, dump.dialect)) {
    SqlTarget target = change->table;
    const SqlTable* const known = FindTable(target, dump);
    if (known != nullptr) table = Changed(*known, *change);
    if (const SqlTable* const part = change->attached.table.empty() ? nullptr : FindTable(change->attached, dump)) {
      auto attached = std::make_shared<SqlTable>(*part);
      attached->unique.emplace_back();  // a key that is not known
      dump.tables = std::make_shared<const TableList>(std::move(attached), dump.tables);
    }
    const bool has_rows = filled(target);
    // MySQL counts up values for null and 0 when a column becomes AUTO_INCREMENT.
    const auto numbers = [&](const std::string& name) {
      if (dump.dialect != SqlDialect::kMysql) return false;
      if (known == nullptr || !dump.session.zero_is_value) return true;
      return std::ranges::none_of(known->columns, [&](const SqlTable::Column& column) {
        return IsSameSqlName(column.name, name) && column.not_null;
      });
    };
    const bool numbers_rows = change->numbers_rows || std::ranges::any_of(change->counted, numbers);
    if (numbers_rows && has_rows && tally != nullptr) tally->renumbered_tables.Note(target.name());
    if (change->ignores && !change->unique.empty() && has_rows && tally != nullptr) {
      tally->replacing_inserts.Note(target.name());
    }
  }
  if (table == nullptr) return;
  if (table->schema.empty() && !dump.session.schema.empty()) {
    auto named = std::make_shared<SqlTable>(*table);
    named->schema = dump.session.schema;
    table = std::move(named);
  }
  if (!table->parents.empty()) table = WithParents(*table, dump);
  dump.tables = std::make_shared<const TableList>(std::move(table), dump.tables);
}

std::shared_ptr<const SqlTable> SqlDumpFormat::WithParents(const SqlTable& table, const DumpState& dump) {
  auto merged = std::make_shared<SqlTable>(table);
  merged->columns.clear();
  merged->parents.clear();
  const auto add = [&](const SqlTable::Column& column) {
    const auto found = std::ranges::find(merged->columns, column.name, &SqlTable::Column::name);
    if (found != merged->columns.end()) {
      *found = column;
    } else {
      merged->columns.push_back(column);
    }
  };
  for (const SqlTarget& parent : table.parents) {
    const SqlTable* const known = FindTable(parent, dump);
    merged->complete = merged->complete && known != nullptr && known->complete;
    if (known != nullptr) std::ranges::for_each(known->columns, add);
  }
  std::ranges::for_each(table.columns, add);
  return merged;
}

KeyColumns SqlDumpFormat::FindKeys(const SqlTarget& target, DumpState& dump) const {
  KeyColumns wanted;
  dump.named.resize(names_.size());
  const std::string table = target.name();
  if (dump.seen.size() < kMostTables && std::ranges::count(dump.seen, table) == 0) dump.seen.push_back(table);
  // An unquoted name of PostgreSQL is in lower case. Names of SQLite, and of columns of MySQL, have no case.
  const bool postgres = dump.dialect == SqlDialect::kPostgres, lite = dump.dialect == SqlDialect::kSqlite;
  const auto is = [&](const std::string& name, const std::string& in_dump, bool no_case) {
    return name == in_dump || (no_case ? IsSameSqlName(name, in_dump) : postgres && LowerText(name) == in_dump);
  };
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const Name& name = names_[key];
    if (!is(name.table, target.table, lite)) continue;
    if (!name.schema.empty() && !is(name.schema, target.schema, lite)) continue;
    auto found = std::ranges::find(target.columns, name.column);
    if (found == target.columns.end()) {
      found = std::ranges::find_if(target.columns,
                                   [&](const std::string& column) { return is(name.column, column, !postgres); });
    }
    if (found == target.columns.end()) {
      std::string columns;
      for (const std::string& column : target.columns) columns += (columns.empty() ? "" : ", ") + column;
      FailKey(table_.keys[key], "table " + EscapeName(table) +
                                    (columns.empty() ? " has no names of columns in the dump: give pg_dump "
                                                       "--column-inserts, or mysqldump --complete-insert"
                                                     : " has no such column (it has: " + EscapeName(columns) + ")"));
    }
    wanted.Add(static_cast<std::uint64_t>(found - target.columns.begin()), key);
    dump.named[key] = true;
  }
  return wanted;
}

void SqlDumpFormat::BeginRows(const SqlTarget& copy, std::string text, ScanState& state) const {
  DumpState& next = Change(state);
  next.text.in = SqlText::kNothing;
  next.text.open = false;
  next.statement.clear();
  next.create.clear();
  auto part = std::make_shared<RowsPart>(*MakePart(copy, next));
  part->head = std::move(text);
  next.part = std::move(part);
  state.mode = kRows;
  ++state.count;
}

void SqlDumpFormat::EndRows(ScanState& state) {
  state.mode = kSql;
  ++state.count;
}

SqlDumpFormat::Insert SqlDumpFormat::FindInsert(std::string_view text, ScanState& state) const {
  const DumpState* dump = &StateOf(state);
  Insert insert;
  if (text.empty() || !dump->text.between() || !dump->statement.empty()) return insert;
  const bool after = state.mode == kAfterInsert;
  const auto set_kind = [&](bool unfinished) {
    insert.is = unfinished ? InsertHead::kUnfinished : InsertHead::kRows;
    return insert;
  };
  // Statements that follow each other directly have no white space and no comment between them.
  if (!after || !text.starts_with(dump->part->head)) {
    if (Lower(text[0]) != 'i' && Lower(text[0]) != 'r' && !IsSpace(text[0]) && text[0] != '/' && text[0] != '-' &&
        text[0] != '#' && !text.starts_with(kSqlByteOrderMark.substr(0, text.size()))) {
      return insert;
    }
    const LeadOfStatement lead = SkipLead(text, dump->dialect, after);
    if (lead.size > kMostHead || (!lead.ended && text.size() > kMostHead)) return insert;
    if (!lead.ended && after) return set_kind(true);
    if (!lead.ended) {  // a comment, or the white space of a line, without its end: no INSERT is on this line
      if (text.find('\n') == text.npos) insert.is = InsertHead::kUnfinished;
      return insert;
    }
    insert.lead = lead.size;
    text.remove_prefix(lead.size);
  }
  if (after && text.starts_with(dump->part->head)) {
    // White space after the newline of a head belongs to the row.
    const std::size_t size = dump->part->head.size();
    std::size_t row = size;
    while (text[size - 1] == '\n' && row < text.size() && IsSpace(text[row])) ++row;
    bool unfinished = false;
    // Statements with one row and different ends cannot be sorted together with the text between two statements.
    const RowsPart& part = *dump->part;
    const bool parts = insert.lead > 0 && part.decided && !part.several && part.ends_differ;
    if (!parts && (BeginsRow(text.substr(row), unfinished) || unfinished)) {
      insert.size = size;
      insert.goes_on = true;
      return set_kind(unfinished);
    }
  }
  if (text.empty() || (Lower(text[0]) != 'i' && Lower(text[0]) != 'r')) return insert;
  InsertHead head = ParseInsertHead(text.substr(0, kMostHead), dump->dialect);
  insert.is = head.is == InsertHead::kUnfinished && text.size() >= kMostHead ? InsertHead::kNone : head.is;
  insert.size = head.size;
  insert.target = std::move(head.target);
  insert.replaces = head.replaces;
  insert.counts = head.counts;
  if (insert.is != InsertHead::kRows) return insert;
  if (dump->dialect == SqlDialect::kUnknown) {
    const SqlDialect dialect = DialectOfLine(text.substr(0, head.size));
    if (dialect == SqlDialect::kUnknown) {
      throw BadRecord(0,
                      "the dump does not show which program has written it: give --format mysqldump, pgdump or "
                      "sqlitedump");
    }
    SetDialect(dialect, Change(state));
  }
  return insert;
}

const SqlTable* SqlDumpFormat::FindTable(const SqlTarget& target, const DumpState& dump) {
  const std::string& schema = target.schema.empty() ? dump.session.schema : target.schema;
  for (const bool no_case : {false, true}) {
    const auto is = [&](const std::string& a, const std::string& b) { return no_case ? IsSameSqlName(a, b) : a == b; };
    for (const TableList* list = dump.tables.get(); list != nullptr; list = list->before.get()) {
      const SqlTable& table = *list->table;
      const bool in_schema = schema.empty() || table.schema.empty() || is(table.schema, schema);
      if (in_schema && is(table.table, target.table)) return &table;
    }
    if (dump.dialect == SqlDialect::kPostgres) break;
  }
  return nullptr;
}

std::shared_ptr<const RowsPart> SqlDumpFormat::MakePart(const SqlTarget& given, DumpState& dump) const {
  auto part = std::make_shared<RowsPart>();
  SqlTarget target = given;
  const SqlTable* const table = FindTable(target, dump);
  if (target.schema.empty()) target.schema = dump.session.schema;
  if (table != nullptr) target.table = table->table;
  // An INSERT without names of columns gives all columns.
  const bool named = !target.columns.empty() || (table != nullptr && table->complete);
  if (table != nullptr && table->complete && target.columns.empty()) {
    for (const SqlTable::Column& column : table->columns) {
      if (!column.generated) target.columns.push_back(column.name);
    }
  }
  const auto is_name = [&](const std::string& name) {
    return [&](const std::string& other) {
      return name == other || (dump.dialect != SqlDialect::kPostgres && IsSameSqlName(name, other));
    };
  };
  part->table = target.name();
  part->wanted = FindKeys(target, dump);
  part->again = !AddName(part->table, dump.filled);
  part->refers_to_itself = table != nullptr && table->refers_to_itself && !dump.session.unchecked;
  std::vector<const SqlTable::Column*> columns(target.columns.size());
  for (std::size_t i = 0; table != nullptr && i < columns.size(); ++i) {
    const auto found = std::ranges::find_if(table->columns, is_name(target.columns[i]), &SqlTable::Column::name);
    if (found != table->columns.end()) columns[i] = &*found;
  }
  for (std::size_t i = 0; table != nullptr && named && i < table->columns.size(); ++i) {
    if (!table->columns[i].counted || table->columns[i].generated) continue;
    const auto found = std::ranges::find(columns, &table->columns[i]);
    part->lacks_counted |= found == columns.end();
    if (found != columns.end()) part->counted.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  std::ranges::sort(part->counted);
  const auto order_of = [&](std::size_t column, const Orders& orders) -> RowsPart::Order {
    const ValueType type = columns[column] == nullptr ? ValueType::kText : columns[column]->type;
    if (type != ValueType::kEnum) return orders[static_cast<unsigned>(type)];
    ValueRule rule = orders[0]->rule();
    rule.type = type;
    rule.labels = columns[column]->labels;
    return std::make_shared<const ValueKey>(rule);
  };
  part->by.resize(names_.size());
  for (const KeyColumns::Wanted& wanted : part->wanted.by_column) {
    const Orders& orders = of_key_[wanted.key];
    if (table != nullptr && !orders.empty()) part->by[wanted.key] = order_of(wanted.column, orders);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool text = columns[i] == nullptr || columns[i]->type == ValueType::kText;
    part->columns.push_back(text ? nullptr : order_of(i, of_type_));
  }
  if (table == nullptr) return part;
  part->replaces = table->replaces;
  for (const std::string& name : table->primary) {
    const auto found = std::ranges::find_if(target.columns, is_name(name));
    if (found == target.columns.end()) {
      part->primary = {};
      break;
    }
    const auto column = static_cast<std::size_t>(found - target.columns.begin());
    part->primary.Add(column, part->primary.keys.size());
    part->primary_by.push_back(order_of(column, of_type_));
  }
  const bool keyed = !part->wanted.keys.empty();
  const std::vector<KeyColumns::Wanted>& keys = keyed ? part->wanted.by_column : part->primary.by_column;
  part->key_columns.resize(keyed ? names_.size() : part->primary.keys.size());
  for (const KeyColumns::Wanted& key : keys) {
    if (columns[key.column] != nullptr) part->key_columns[key.key] = *columns[key.column];
  }
  // Rows with equal values in the columns `names` have equal sort keys, if the sort has no other columns. Keys of the
  // user do not follow what SQLite converts and which bytes a server ignores.
  const auto has_keys = [&](const std::vector<std::string>& names) {
    return std::ranges::all_of(keys, [&](const KeyColumns::Wanted& key) {
      const SqlTable::Column* const column = columns[key.column];
      if (column == nullptr || column->loose) return false;
      if (keyed && (column->padding != SqlTable::Column::kNoPadding || column->affinity != SqlTable::Column::kNone ||
                    (part->by[key.key] == nullptr && table_.keys[key.key].rule.type != column->type))) {
        return false;
      }
      return std::ranges::any_of(names, is_name(target.columns[key.column]));
    });
  };
  part->keyless = table->complete && table->primary.empty() && table->unique.empty();
  part->keeps_winners = part->keyless || (!part->primary.keys.empty() && has_keys(table->primary) &&
                                          std::ranges::all_of(table->unique, has_keys));
  return part;
}

void SqlDumpFormat::BeginInsert(const Insert& insert, std::string_view text, ScanState& state) const {
  if (insert.goes_on) return;
  if (state.mode == kAfterInsert) ++state.count;
  DumpState& dump = Change(state);
  dump.any = true;
  auto part = std::make_shared<RowsPart>(*MakePart(insert.target, dump));
  part->head = text.substr(0, insert.size);
  part->replaces |= insert.replaces;
  part->lacks_counted |= insert.counts;
  dump.part = std::move(part);
}

void SqlDumpFormat::RefuseGaps() const {
  if (*no_gaps_ == '\0') return;
  throw Error(ErrorCode::kUsage, std::string("the rows of INSERT statements with several rows cannot be sorted ") +
                                     no_gaps_ +
                                     ", or write the dump with one row a statement (mysqldump "
                                     "--skip-extended-insert)");
}

void SqlDumpFormat::SplitPart(ScanState& state) const {
  const RowsPart& part = *StateOf(state).part;
  if (!part.decided || part.several || !part.ends_differ) return;
  auto next = std::make_shared<RowsPart>(part);
  next->decided = next->ended = next->ends_differ = false;
  next->again = true;
  ++state.count;
  Change(state).part = std::move(next);
}

void SqlDumpFormat::DecidePart(bool several, std::string_view separator, ScanState& state) const {
  const RowsPart& part = *StateOf(state).part;
  if (part.decided && part.several == several) return;
  if (several) RefuseGaps();
  auto next = std::make_shared<RowsPart>(part);
  if (part.decided) {
    next->singles = state.row;
  } else {
    // The head of a first statement with several rows is SQL before the rows, which are the next part.
    ++state.count;
    state.row = 0;
  }
  next->decided = true;
  next->several = several;
  next->separator = separator;
  DumpState& dump = Change(state);
  dump.gaps |= several;
  dump.part = std::move(next);
}

void SqlDumpFormat::EndInsert(const AfterRow& after, std::string_view end, std::uint64_t at, ScanState& state) const {
  state.mode = kAfterInsert;
  const DumpState& dump = StateOf(state);
  const RowsPart& part = *dump.part;
  const bool differs = part.ended && (part.several ? part.tail != after.tail : part.end != end);
  const bool other = !part.ended || part.tail != after.tail;
  const bool replaces = other && !part.replaces && SaysWhatConflictsDo(after.tail, dump.dialect);
  if (part.ended && (!differs || part.ends_differ) && !replaces) return;
  if (part.several && part.ended) {
    if (ClauseOf(part.tail, dump.dialect) == ClauseOf(after.tail, dump.dialect)) return;
    throw BadRecord(at,
                    "an INSERT ends in another way than the one before it, so that their rows cannot be sorted "
                    "together: write the dump with one row a statement");
  }
  auto next = std::make_shared<RowsPart>(part);
  next->ends_differ |= differs;
  next->replaces |= replaces;
  if (!part.ended) {
    next->ended = true;
    next->tail = after.tail;
    next->end = end;
  }
  Change(state).part = std::move(next);
}

std::string SqlDumpFormat::SaveState(const ScanState& state) const {
  const DumpState& dump = StateOf(state);
  std::ostringstream out;
  const auto put = [&](const std::string& text) { out << text.size() << ' ' << text << ' '; };
  out << state.mode << ' ' << state.count << ' ' << state.row << ' ' << unsigned(dump.dialect) << ' ';
  const SqlText& text = dump.text;
  out << unsigned{text.in} << ' ' << text.depth << ' ' << text.escapes << ' ' << text.escapes_before << ' ' << text.open
      << ' ' << text.trigger << ' ' << text.brackets << ' ' << text.end << ' ';
  put(text.tag);
  put(text.delimiter);
  put(dump.statement);
  put(dump.create);
  put(dump.session.schema);
  out << dump.session.unchecked << ' ' << dump.session.zero_is_value << ' ';
  const auto put_all = [&](const auto& texts) {
    out << texts.size() << ' ';
    for (const std::string& one : texts) put(one);
  };
  static const std::vector<SqlEnum> none;
  const std::vector<SqlEnum>& enums = dump.enums ? *dump.enums : none;
  out << enums.size() << ' ';
  for (const SqlEnum& type : enums) {
    put(type.schema);
    put(type.name);
    put_all(type.labels);
  }
  out << dump.any << ' ' << dump.gaps << ' ' << dump.inserts << ' ';
  std::vector<const SqlTable*> tables;
  for (const TableList* list = dump.tables.get(); list != nullptr; list = list->before.get()) {
    tables.push_back(list->table.get());
  }
  out << tables.size() << ' ';
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) {
    put((*table)->schema);
    put((*table)->table);
    out << (*table)->columns.size() << ' ';
    for (const SqlTable::Column& column : (*table)->columns) {
      put(column.name);
      out << static_cast<unsigned>(column.type) << ' ' << column.generated << ' ' << column.counted << ' '
          << column.not_null << ' ' << column.loose << ' ' << column.padding << ' '
          << static_cast<unsigned>(column.affinity) << ' ' << column.size << ' ' << static_cast<unsigned>(column.text)
          << ' ' << static_cast<std::uint64_t>(column.least) << ' ' << column.most << ' ' << column.year << ' ';
      put_all(column.labels);
    }
    put_all((*table)->primary);
    out << (*table)->unique.size() << ' ';
    for (const std::vector<std::string>& columns : (*table)->unique) put_all(columns);
    out << (*table)->refers_to_itself << ' ' << (*table)->replaces << ' ' << (*table)->complete << ' ';
  }
  // No one asks for the part after its rows. LoadState() could not make it again: the tables may have changed.
  const bool has_part = state.mode != kSql && dump.part != nullptr;
  out << has_part << ' ';
  if (has_part) {
    const RowsPart& part = *dump.part;
    put(part.head);
    out << part.again << ' ' << part.decided << ' ' << part.several << ' ' << part.singles << ' ' << part.ended << ' '
        << part.ends_differ << ' ' << part.replaces << ' ';
    put(part.separator);
    put(part.tail);
    put(part.end);
  }
  // MakePart() changes the following members, so that they come after the part.
  for (std::size_t key = 0; key < names_.size(); ++key) {
    out << (key < dump.named.size() && dump.named[key]) << ' ';
  }
  put_all(dump.seen);
  put_all(dump.filled != nullptr ? *dump.filled : std::set<std::string>());
  return out.str();
}

ScanState SqlDumpFormat::LoadState(const std::string& text) const {
  ScanState state;
  if (text.empty()) return state;
  DumpState dump;
  std::istringstream in(text);
  const auto number = [&] {
    std::uint64_t value = 0;
    in >> value;
    return value;
  };
  const auto name = [&] {
    std::string value(std::min<std::uint64_t>(number(), text.size()), '\0');
    in.get();
    in.read(value.data(), static_cast<std::streamsize>(value.size()));
    return value;
  };
  state.mode = static_cast<unsigned>(number());
  state.count = number();
  state.row = number();
  dump.dialect = static_cast<SqlDialect>(std::min<std::uint64_t>(number(), 3));
  dump.text.in = static_cast<SqlText::In>(number());
  dump.text.depth = static_cast<unsigned>(number());
  dump.text.escapes = number() != 0;
  dump.text.escapes_before = number() != 0;
  dump.text.open = number() != 0;
  dump.text.trigger = number() != 0;
  dump.text.brackets = static_cast<unsigned>(number());
  dump.text.end = static_cast<unsigned>(number());
  dump.text.tag = name();
  dump.text.delimiter = name();
  dump.statement = name();
  dump.create = name();
  dump.session.schema = name();
  dump.session.unchecked = number() != 0;
  dump.session.zero_is_value = number() != 0;
  const auto names = [&] {
    std::vector<std::string> all;
    for (std::uint64_t left = number(); left > 0 && in; --left) all.push_back(name());
    return all;
  };
  std::vector<SqlEnum> enums;
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    SqlEnum& type = enums.emplace_back();
    type.schema = name();
    type.name = name();
    type.labels = names();
  }
  if (!enums.empty()) dump.enums = std::make_shared<const std::vector<SqlEnum>>(std::move(enums));
  dump.any = number() != 0;
  dump.gaps = number() != 0;
  dump.inserts = number() != 0;
  for (std::uint64_t left = number(); left > 0 && in; --left) {
    auto table = std::make_shared<SqlTable>();
    table->schema = name();
    table->table = name();
    for (std::uint64_t columns = number(); columns > 0 && in; --columns) {
      SqlTable::Column& column = table->columns.emplace_back();
      column.name = name();
      column.type = static_cast<ValueType>(std::min<std::uint64_t>(number(), of_type_.size() - 1));
      column.generated = number() != 0;
      column.counted = number() != 0;
      column.not_null = number() != 0;
      column.loose = number() != 0;
      column.padding = static_cast<unsigned>(number());
      column.affinity = static_cast<SqlTable::Column::Affinity>(number());
      column.size = number();
      column.text = static_cast<SqlTable::Column::Text>(number());
      column.least = static_cast<std::int64_t>(number());
      column.most = number();
      column.year = number() != 0;
      column.labels = names();
      if (column.type == ValueType::kEnum && column.labels.empty()) column.type = ValueType::kText;
    }
    table->primary = names();
    for (std::uint64_t keys = number(); keys > 0 && in; --keys) table->unique.push_back(names());
    table->refers_to_itself = number() != 0;
    table->replaces = number() != 0;
    table->complete = number() != 0;
    dump.tables = std::make_shared<const TableList>(std::move(table), dump.tables);
  }
  if (number() != 0) {
    const std::string head = name();
    // The head of an INSERT was followed by a row.
    const InsertHead parsed = ParseInsertHead(head + "(", dump.dialect);
    SqlTarget copy;
    const bool insert = parsed.is == InsertHead::kRows;
    if ((insert || ParseCopy(head, copy) == Statement::kCopy) && in) {
      auto part = std::make_shared<RowsPart>(*MakePart(insert ? parsed.target : copy, dump));
      part->head = head;
      part->lacks_counted |= parsed.counts;
      part->again = number() != 0;
      part->decided = number() != 0;
      part->several = number() != 0;
      part->singles = number();
      part->ended = number() != 0;
      part->ends_differ = number() != 0;
      part->replaces = number() != 0;
      part->separator = name();
      part->tail = name();
      part->end = name();
      dump.part = std::move(part);
    } else {
      in.setstate(std::ios::failbit);
    }
  }
  dump.named.resize(names_.size());
  for (std::size_t key = 0; key < names_.size(); ++key) dump.named[key] = number() != 0;
  dump.seen = names();
  dump.filled = nullptr;
  for (const std::string& table : names()) AddName(table, dump.filled);
  if (state.mode != kSql && dump.part == nullptr) in.setstate(std::ios::failbit);
  if (!in) throw Error(ErrorCode::kIntegrity, "what is known of a place in a dump is damaged");
  if (dump.gaps) RefuseGaps();
  state.dump = std::make_shared<const DumpState>(std::move(dump));
  return state;
}

/// The results of calls of SkipRows() and CopyFormat::ScanRows() for a block of a dump. LookAhead() has made the calls
/// without the bytes before the block. A result is therefore used only where the parser comes to the place where the
/// call began, in the same state. A call there would give the same result.
struct KnownRows {
  /// Rows of an INSERT statement with several rows.
  struct Run {
    std::size_t begin, end;  ///< offsets in the block
    std::uint64_t rows;
  };
  unsigned rules = 0;     ///< see PackRules
  std::string separator;  ///< the text between the rows
  std::vector<Run> runs;  ///< in the order of their places

  /// Rows of a COPY block. The call has begun at offset `copy_begin` of the block, which is the beginning of a row; 0:
  /// no such call was made. It has returned offset `copy_end`. Offsets in `copy_ends` are those in the block, too.
  std::size_t copy_begin = 0, copy_end = 0;
  unsigned copy_mode = 0;  ///< the mode of CopyFormat after the call
  RecordFormat::Ends copy_ends;
};

/// Collects the ends of records, and stores the state after the last of them.
struct SqlDumpFormat::Marks {
  const Byte* origin;  ///< the first byte of the block; records that end before it are not added
  const KnownRows* known =
      nullptr;                 ///< rows that LookAhead() has skipped in the block that begins at `origin`, or null
  std::size_t next_known = 0;  ///< the index in `known` of the first run that was not passed yet
  Ends ends{};
  unsigned mode = kSql;
  std::uint64_t count = 0, row = 0;
  std::shared_ptr<const DumpState> dump{};

  void Add(const Byte* end, const ScanState& state) {
    if (end <= origin) return;
    ends.Add(end - origin);
    mode = state.mode;
    count = state.count;
    row = state.row;
    if (dump != state.dump) dump = state.dump;
  }
  /// Skips rows as gpusort::SkipRows(), or finds them in `known`.
  const Byte* SkipRows(const Byte* p, const Byte* end, const DumpState& dump, std::uint64_t& rows);
  /// Returns `known` if it has rows of a COPY block that begin at `p` or later. Otherwise returns null.
  const KnownRows* KnownCopy(const Byte* p) const {
    const bool usable = known != nullptr && known->copy_begin > 0 && origin + known->copy_begin >= p;
    return usable ? known : nullptr;
  }
  /// Returns the offset of `p` in the block, for messages.
  std::uint64_t At(const Byte* p) const { return p > origin ? static_cast<std::uint64_t>(p - origin) : 0; }
};

const Byte* SqlDumpFormat::Marks::SkipRows(const Byte* p, const Byte* end, const DumpState& dump, std::uint64_t& rows) {
  const std::string& separator = dump.part->separator;
  if (known != nullptr && known->rules == PackRules(dump) && known->separator == separator) {
    const std::vector<KnownRows::Run>& runs = known->runs;
    const auto at = static_cast<std::size_t>(p - origin);
    while (next_known < runs.size() && runs[next_known].begin < at) ++next_known;
    if (next_known < runs.size() && runs[next_known].begin == at) {
      rows = runs[next_known].rows;
      return origin + runs[next_known].end;
    }
  }
  return gpusort::SkipRows(p, end, dump.dialect, dump.text.escapes, separator, ~std::uint64_t{0}, rows);
}

RecordFormat::Guess SqlDumpFormat::LookAhead(RecordSpan block) const {
  // A place may only look like the end of a row. If no row ends within this many bytes after it, the place has failed.
  constexpr std::ptrdiff_t kTried = std::ptrdiff_t{64} << 10;
  constexpr unsigned kMostFailures = 16;
  constexpr std::ptrdiff_t kMostBetween = 256;  // the largest size of a separator that is found here, in bytes
  const Byte* const begin = AsBytes(block.data());
  const Byte* const end = begin + block.size();
  KnownRows known;
  known.rules = rules_.load(std::memory_order_relaxed);
  const auto dialect = static_cast<SqlDialect>(known.rules >> 1);
  const bool escapes = (known.rules & 1) != 0;
  unsigned failures = 0;
  for (const Byte* p = begin; failures < kMostFailures;) {
    const Byte* const open = FindByte(p, end, '(');
    if (open == end) break;
    p = open + 1;
    const Byte* comma = open;
    while (comma != begin && IsSpace(static_cast<char>(comma[-1]))) --comma;
    if (comma == begin || comma[-1] != ',' || (comma - begin > 1 && comma[-2] != ')')) continue;
    --comma;
    const AfterRow after =
        ParseAfterRow(comma, std::min(end, open + std::min(kMostBetween, end - open)), dialect, escapes);
    if (after.is != AfterRow::kComma || !after.sure) continue;
    const std::string_view separator = Text(comma, after.stop);
    if (known.runs.empty()) known.separator = separator;
    std::uint64_t rows = 0;
    if (separator == known.separator) {
      const Byte* const limit = after.stop + std::min(kTried, end - after.stop);
      SkipRows(after.stop, limit, dialect, escapes, separator, 1, rows);
    }
    if (rows == 0) {
      ++failures;
      continue;
    }
    const Byte* const stop = SkipRows(after.stop, end, dialect, escapes, separator, ~std::uint64_t{0}, rows);
    known.runs.push_back({static_cast<std::size_t>(after.stop - begin), static_cast<std::size_t>(stop - begin), rows});
    p = stop;
  }
  if (dialect == SqlDialect::kPostgres || dialect == SqlDialect::kUnknown) {
    const Byte* newline = FindByte(begin, end, '\n');
    while (newline != end && (newline == begin || newline[-1] == '\\')) newline = FindByte(newline + 1, end, '\n');
    if (newline != end) {
      CopyFormat::Mode mode = kStart;
      known.copy_begin = static_cast<std::size_t>(newline + 1 - begin);
      known.copy_end = static_cast<std::size_t>(ScanRows(begin, newline + 1, end, mode, known.copy_ends) - begin);
      known.copy_mode = mode;
    }
  }
  Guess guess;
  if (!known.runs.empty() || known.copy_begin > 0) guess.rows = std::make_shared<const KnownRows>(std::move(known));
  return guess;
}

/// Reads one line of SQL, or the beginning of an INSERT. Returns the end of what was read, or `p` if more bytes are
/// needed.
const Byte* SqlDumpFormat::ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  const std::string_view text = Text(p, end);
  const Insert insert = FindInsert(text, state);
  if (insert.is == InsertHead::kUnfinished) return p;
  if (insert.is == InsertHead::kRows) {
    const Byte* const head = p + insert.lead;
    if (insert.lead > 0 && !insert.goes_on) {
      // The text before the first statement of a part does not belong to the part.
      if (std::find(p, head, Byte{'\n'}) == head) {
        if (state.mode == kAfterInsert) ++state.count;
        state.mode = kSql;
        marks.Add(head, state);
        return head;
      }
    } else {
      BeginInsert(insert, text.substr(insert.lead), state);
      // A comment or an empty line between two statements has its place among the rows.
      if (insert.lead > 0) DecidePart(true, {}, state);
      const RowsPart& part = *StateOf(state).part;
      state.mode = part.decided && part.several ? kLaterRow : kFirstRow;
      state.lexer = 0;
      return SkipSpace(head + insert.size, end);
    }
  }
  const Byte* const newline = FindByte(p, end, '\n');
  if (newline == end) return p;
  if (state.mode == kAfterInsert) ++state.count;
  state.mode = kSql;
  TakeLine(Text(p, newline + 1), marks.At(p), state, nullptr);
  marks.Add(newline + 1, state);
  return newline + 1;
}

/// Scans up to `until` or farther. Returns the first byte that cannot be scanned before more bytes are known.
const Byte* SqlDumpFormat::ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks,
                                    ScanState& state) const {
  while (p < until) {
    switch (state.mode) {
      case kSql:
      case kAfterInsert: {
        const Byte* const next = ScanSql(p, end, marks, state);
        if (next == p) return p;
        p = next;
        break;
      }
      case kFirstRow:
      case kLaterRow: {
        const DumpState& dump = StateOf(state);
        if (state.lexer == 0) {  // at the beginning of a row
          std::uint64_t rows = 0;
          const Byte* const stop = SkipRows(p, end, dump.dialect, dump.text.escapes, {}, 1, rows);
          if (rows > 0) {
            state.mode = state.mode == kFirstRow ? kAfterFirstRow : kAfterLaterRow;
            p = stop;
            break;
          }
        }
        RowLexer lexer = Unpack(state.lexer);
        const Byte* bad = nullptr;
        const Byte* const next = lexer.Take(p, end, dump.dialect, dump.text.escapes, bad);
        if (bad != nullptr) throw BadRecord(marks.At(bad), kCommentInRow);
        state.lexer = Pack(lexer);
        if (lexer.depth > 0) return end;
        state.mode = state.mode == kFirstRow ? kAfterFirstRow : kAfterLaterRow;
        p = next;
        break;
      }
      case kAfterFirstRow:
      case kAfterLaterRow: {
        const DumpState& dump = StateOf(state);
        const AfterRow after = ParseAfterRow(p, end, dump.dialect, dump.text.escapes);
        if (after.is == AfterRow::kUnfinished || !after.sure) {
          if (static_cast<std::size_t>(end - p) <= kMostTail) return p;
          throw BadRecord(marks.At(p), "no comma and no semicolon follows a row of an INSERT");
        }
        const bool several = after.is == AfterRow::kComma;
        if (state.mode == kAfterFirstRow) {
          if (several) SplitPart(state);
          DecidePart(several, Text(p, after.stop), state);
        }
        ++state.row;
        if (several) {
          state.mode = kNextRow;
        } else {
          EndInsert(after, Text(p, after.stop), marks.At(p), state);
        }
        p = after.stop;
        marks.Add(p, state);
        break;
      }
      case kNextRow: {
        if (marks.ends.first > 0 && !StateOf(state).part->separator.empty()) {
          std::uint64_t rows = 0;
          p = marks.SkipRows(p, end, StateOf(state), rows);
          if (rows > 0) {
            state.row += rows;
            marks.Add(p, state);
            if (p >= until) return p;
          }
        }
        const Byte* const row = SkipSpace(p, end);
        if (row == end) return p;
        bool unfinished = false;
        if (!BeginsRow(Text(row, end), unfinished)) {
          if (unfinished) return p;
          throw BadRecord(marks.At(row), "no row follows a comma in an INSERT");
        }
        state.mode = kLaterRow;
        state.lexer = 0;
        p = row;
        break;
      }
      default: {
        Ends rows;
        auto mode = static_cast<CopyFormat::Mode>(state.mode - kRows);
        const KnownRows* const known = marks.KnownCopy(p);
        const Byte* const begin = known == nullptr ? end : marks.origin + known->copy_begin;
        const Byte* next = ScanRows(p, p, begin, mode, rows);
        if (known != nullptr && next == begin) {
          if (mode == kStart) {
            mode = static_cast<CopyFormat::Mode>(known->copy_mode);
            next = marks.origin + known->copy_end;
            for (const std::uint64_t record : {known->copy_ends.first, known->copy_ends.last}) {
              if (record > 0) rows.Add(marks.origin + record - p);
            }
          } else {
            next = ScanRows(p, begin, end, mode, rows);
          }
        }
        state.mode = kRows + unsigned{mode};
        if (rows.last > 0) {
          const unsigned now = std::exchange(state.mode, unsigned{kRows});
          if (marks.ends.first == 0) marks.Add(p + rows.first, state);
          marks.Add(p + rows.last, state);
          state.mode = now;
        }
        p = next;
        if (mode != kEnded) break;
        EndRows(state);
        marks.Add(p, state);
      }
    }
  }
  return p;
}

RecordFormat::Ends SqlDumpFormat::ScanBlock(RecordSpan bytes, ScanState& state, const KnownRows* known) const {
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  Marks marks{begin};
  const Byte* p = begin;
  if (!state.held.empty()) {
    // Appends bytes of the block to the bytes that were held back, until the scan reaches a state inside the block.
    std::string joined = std::exchange(state.held, {});
    const std::size_t held = joined.size();
    std::size_t taken = 0, at = 0;
    for (std::size_t more = std::size_t{16} << 10;; more *= 4) {
      more = std::min(more, bytes.size() - taken);
      joined.append(Text(begin + taken, begin + taken + more));
      taken += more;
      const auto* const front = reinterpret_cast<const Byte*>(joined.data());
      marks.origin = front + held;
      at = static_cast<std::size_t>(ScanText(front + at, front + joined.size(), front + held, marks, state) - front);
      if (at >= held || taken == bytes.size()) break;
    }
    if (at < held) {
      state.held = joined.substr(at);
    } else {
      p = begin + (at - held);
    }
    marks.origin = begin;
    if (at < held) p = end;
  }
  marks.known = known;
  p = ScanText(p, end, end, marks, state);
  if (const unsigned rules = PackRules(StateOf(state)); rules != rules_.load(std::memory_order_relaxed)) {
    rules_.store(rules, std::memory_order_relaxed);
  }
  if (p != end) state.held.assign(Text(p, end));
  Ends& ends = marks.ends;
  if (ends.last == 0) return ends;
  ends.state.mode = marks.mode >= kRows && marks.mode < kAfterInsert ? unsigned{kRows} : marks.mode;
  ends.state.count = marks.count;
  ends.state.row = marks.row;
  ends.state.dump = std::move(marks.dump);
  return ends;
}

std::uint64_t SqlDumpFormat::Finish(RecordSpan open, const ScanState& state) const {
  if (state.mode != kSql && state.mode != kAfterInsert) {
    const bool insert = state.mode > kAfterInsert;
    throw BadRecord(open.size(), "the dump ends inside the rows of table " + EscapeName(StateOf(state).part->table) +
                                     (insert ? ", in an INSERT" : ""));
  }
  // The scan has held back the last lines, because they could have been the beginning of an INSERT. Bytes of `open`
  // before these lines were scanned.
  ScanState last = state;
  std::string_view rest = state.held;
  while (!rest.empty()) {
    if (const Insert insert = FindInsert(rest, last); insert.is == InsertHead::kUnfinished) {
      const LeadOfStatement lead = SkipLead(rest, StateOf(last).dialect, true);
      if (lead.ended && gpusort::BeginsInsert(rest.substr(lead.size))) {
        throw BadRecord(open.size(), "the dump ends inside an INSERT");
      }
    }
    if (last.mode == kAfterInsert) last.mode = kSql;
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    TakeLine(line, 0, last, nullptr);
    if (last.mode == kRows) throw BadRecord(open.size(), "the dump ends inside the rows of a table");
    rest.remove_prefix(line.size());
  }
  const DumpState& dump = StateOf(last);
  const bool table = BeginsCreateTable(dump.create);
  if (dump.text.in != SqlText::kNothing || table || (dump.text.open && dump.text.brackets > 0)) {
    throw BadRecord(open.size(), table                               ? "the dump ends inside a CREATE TABLE"
                                 : dump.text.in != SqlText::kNothing ? "the dump ends inside a string, a quoted "
                                                                       "name or a comment"
                                                                     : "the dump ends inside brackets");
  }
  const bool empty = !dump.any && open.empty();
  if (dump.seen.empty() && !empty && !force_) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(input_) +
                    (dump.inserts ? ": its INSERT statements have no rows that are known (INSERT INTO TABLE VALUES "
                                    "(...) at the front of a line), so that nothing would be sorted"
                                  : ": this has no COPY block and no INSERT with rows, so that nothing would be "
                                    "sorted: it is no dump of a database, or one without rows (--schema-only, "
                                    "--no-data)") +
                    "; --force-format leaves it as it is");
  }
  for (std::size_t key = 0; key < names_.size(); ++key) {
    if (key < dump.named.size() && dump.named[key]) continue;
    std::string seen;
    for (const std::string& table : dump.seen) seen += (seen.empty() ? "" : ", ") + table;
    FailKey(table_.keys[key], "the dump has no rows of such a table (" +
                                  (seen.empty() ? "it has no rows" : "it has those of: " + EscapeName(seen)) +
                                  (dump.seen.size() == kMostTables ? ", ..." : "") + ")");
  }
  return open.size();
}

const Byte* SqlDumpFormat::RowEnd(const Byte* p, const Byte* end, const Byte* record, const DumpState& dump,
                                  bool& depends) const {
  depends = false;
  std::uint64_t rows = 0;
  const Byte* const simple = SkipRows(p, end, dump.dialect, dump.text.escapes, {}, 1, rows);
  if (rows > 0) return simple;
  RowLexer lexer;
  const Byte* bad = nullptr;
  const Byte* const stop = lexer.Take(p, end, dump.dialect, dump.text.escapes, bad);
  if (bad != nullptr) throw BadRecord(static_cast<std::uint64_t>(bad - record), kCommentInRow);
  if (lexer.depth > 0 || stop == p) throw Error(ErrorCode::kInternal, "records that end inside a row");
  depends = DependsOnRows(Text(p, stop), dump.dialect, dump.text.escapes);
  return stop;
}

/// Reads the columns of a row of an INSERT, one after the other.
class SqlDumpFormat::InsertColumns {
 public:
  /// `p` is at or before the "(" of the row, and `end` is after the ")".
  InsertColumns(const Byte* record, const Byte* p, const Byte* end, const DumpState& dump)
      : record_(record),
        begin_(p),
        end_(end),
        dialect_(dump.dialect),
        escapes_(dump.text.escapes),
        p_(FindByte(p, end, '(') + 1) {}
  bool more() const { return p_ < end_; }
  /// Returns the value of the column. Sets `value` to the literal. `order` is the order for its key; null: as text. The
  /// value can lie in `text`.
  Field Read(const ValueKey* order, std::string& text, SqlValue& value) {
    value = ReadSqlValue(Text(p_, Stop()), dialect_, escapes_, text);
    Field field{value.text, value.is == SqlValue::kNull ? Field::kNull : Field::kValue,
                static_cast<std::uint64_t>(p_ - record_)};
    if (value.is != SqlValue::kHex || (order != nullptr && order->rule().type == ValueType::kBytesHex)) return field;
    text.clear();
    for (std::size_t i = value.text.size() % 2; i + 1 < value.text.size(); i += 2) {
      text += static_cast<char>(HexDigit(value.text[i]) << 4 | HexDigit(value.text[i + 1]));
    }
    field.text = text;
    return field;
  }
  void Next() {
    p_ = Stop() + 1;
    stop_ = nullptr;
  }
  /// Returns false if the column, whose value the server may count up, is a number greater than 0. Takes less time than
  /// Read().
  bool MayBeCountedUp() const {
    const Byte* const value = SkipSpace(p_, end_);
    return value == end_ || *value < '1' || *value > '9';
  }
  /// Returns the text of the row.
  std::string_view row() const { return Text(begin_, end_); }

 private:
  const Byte* Stop() {
    if (stop_ == nullptr) stop_ = ValueEnd(p_, end_, dialect_, escapes_);
    return stop_;
  }

  const Byte *const record_, *const begin_, *const end_;
  const SqlDialect dialect_;
  const bool escapes_;
  const Byte* p_;
  const Byte* stop_ = nullptr;  ///< the end of the column, once it is known
};

/// Reads the columns of a row of a COPY block, one after the other.
class SqlDumpFormat::CopyColumns {
 public:
  CopyColumns(const SqlDumpFormat& format, const Byte* record, const Byte* end, std::string& scratch)
      : format_(format), record_(record), end_(end), scratch_(scratch), p_(record) {}
  bool more() const { return !ended_; }
  /// As InsertColumns::Read.
  Field Read(const ValueKey*, std::string& text, SqlValue& value) {
    Field field;
    stop_ = format_.ReadField(record_, p_, end_, field, text);
    value = {field.is == Field::kNull ? SqlValue::kNull : SqlValue::kText, field.text};
    return field;
  }
  void Next() {
    if (stop_ == nullptr) stop_ = format_.SkipField(p_, end_, scratch_);
    ended_ = stop_ == end_ || *stop_ == '\n';
    p_ = stop_ == end_ ? end_ : stop_ + 1;
    stop_ = nullptr;
  }
  bool MayBeCountedUp() const { return false; }
  std::string_view row() const { return Text(record_, end_); }
  /// Returns the end of the row.
  const Byte* RowEnd() const { return ended_ ? p_ : format_.RecordEnd(p_, end_); }

 private:
  const SqlDumpFormat& format_;
  const Byte *const record_, *const end_;
  std::string& scratch_;
  const Byte* p_;
  const Byte* stop_ = nullptr;  ///< the end of the column, if it was read
  bool ended_ = false;
};

template <typename Columns>
void SqlDumpFormat::PutRowKeys(Columns& columns, const DumpState& dump, Scratch& scratch, FieldWriter& out,
                               KeyTally& tally) const {
  const RowsPart& part = *dump.part;
  const bool keyed = !part.wanted.keys.empty();
  const KeyColumns& wanted = keyed ? part.wanted : part.primary;
  const bool all = wanted.keys.empty();
  const bool lite = dump.dialect == SqlDialect::kSqlite;
  const bool mysql = dump.dialect == SqlDialect::kMysql;
  const bool zero_counts = dump.dialect == SqlDialect::kMysql && !dump.session.zero_is_value;
  const bool depends = std::exchange(static_cast<RowScratch&>(scratch).depends, false);
  bool renumbered = depends || part.lacks_counted;
  std::vector<Field>& fields = scratch.fields;
  std::vector<std::string>& texts = scratch.texts;
  std::vector<SqlValue>& values = static_cast<RowScratch&>(scratch).values;
  fields.assign(keyed ? keys_.size() : wanted.keys.size(), {});
  values.assign(fields.size(), {});
  // A resize would move the texts to which `fields` refers.
  const std::size_t most = std::max(wanted.keys.size(), part.columns.size()) + 1;
  if (texts.size() < most) texts.resize(most);
  // Writes the key of a value. Returns false if it is no value of the type, which is ordered as null.
  const auto put = [&](const ValueKey* order, const Field& field) {
    if (order == nullptr) return PutWhole(field, out), true;
    if (field.is == Field::kValue && order->Put(field.text, out)) return true;
    if (mysql && field.is == Field::kValue && PutZeroDate(order, field.text, out)) return true;
    order->PutNull(out);
    return field.is != Field::kValue;
  };
  std::size_t next = 0;  // the index in `wanted`
  // Every row of COPY gives a value.
  auto counted = part.decided ? part.counted.begin() : part.counted.end();
  const auto wants = [&] { return all || next < wanted.by_column.size() || counted != part.counted.end(); };
  for (std::size_t column = 0; columns.more() && wants(); ++column) {
    if (counted != part.counted.end() && column == *counted) {
      ++counted;
      if (columns.MayBeCountedUp()) {
        SqlValue value;
        std::string buffer;
        const std::string_view text = columns.Read(nullptr, buffer, value).text;
        renumbered |= IsCountedUp(value, text, dump.dialect, zero_counts);
      }
    }
    if (all) {
      const auto& order = column < part.columns.size() ? part.columns[column] : nullptr;
      SqlValue value;
      const Field field = columns.Read(order.get(), texts[order != nullptr ? fields.size() + 1 : 0], value);
      bool known = true;
      if (lite) {
        PutLite(of_type_, value.is, field, true, out);
      } else {
        known = put(order.get(), field);
      }
      if (RowsPart::IsInexact(order) || !known) fields.push_back(field);
    }
    for (; next < wanted.by_column.size() && wanted.by_column[next].column == column; ++next) {
      const std::size_t key = wanted.by_column[next].key;
      const ValueKey* const order = !keyed                    ? part.primary_by[key].get()
                                    : part.by[key] != nullptr ? part.by[key].get()
                                                              : &keys_[key];
      fields[key] = columns.Read(order, texts[next], values[key]);
    }
    columns.Next();
  }
  // PostgreSQL: a row may have fewer values than the table has columns.
  renumbered |= counted != part.counted.end();
  if (renumbered) tally.renumbered_rows.Note(part.table);
  if (all) {
    // Rows whose values are all equal are ordered by the texts of the values.
    for (const Field& field : fields) PutWhole(field, out);
    return;
  }
  // A primary key of SQLite can be null in several rows, unless SQLite counts it up.
  bool has_null = false, odd = false;
  const bool may_replace = part.keeps_winners && !part.keyless && (!part.several || !part.ended || part.replaces);
  for (const std::size_t key : wanted.keys) {
    odd |= may_replace && (fields[key].is == Field::kMissing ||
                           !KeepsValue(part.key_columns[key], values[key], fields[key].text, dump.dialect));
    if (!keyed) {
      const unsigned padding = part.key_columns[key].padding;
      std::string_view& value = fields[key].text;
      while (!value.empty() && static_cast<unsigned char>(value.back()) == padding) value.remove_suffix(1);
      if (lite) {
        has_null |= values[key].is == SqlValue::kNull;
        PutLite(of_type_, values[key].is, fields[key], false, out);
      } else if (!put(part.primary_by[key].get(), fields[key])) {
        odd = true;
        PutWhole(fields[key], out);
      }
    } else if (lite && part.by[key] != nullptr && fields[key].is != Field::kMissing) {
      KeyTally::Column& seen = tally.columns[key];
      (fields[key].is == Field::kNull ? seen.nulls += 1 : seen.any = true);
      PutLite(of_key_[key], values[key].is, fields[key], false, out);
    } else if (mysql && fields[key].is == Field::kValue && PutZeroDate(part.by[key].get(), fields[key].text, out)) {
      tally.columns[key].any = true;
    } else {
      PutKey(key, fields[key], out, tally, part.by[key].get());
    }
  }
  if (odd) ++tally.odd_rows[part.table];
  if (has_null && part.counted.empty() && !part.lacks_counted) PutWhole({columns.row(), Field::kValue, 0}, out);
}

void SqlDumpFormat::PutLite(const Orders& orders, SqlValue::Is is, const Field& field, bool whole, FieldWriter& out) {
  // Null comes first, and last in descending order, unless the key says otherwise.
  constexpr unsigned kFirst = 0x20, kNumber = 0x40, kText = 0x50, kBlob = 0x60, kLast = 0xF0;
  const ValueKey& text = *orders[static_cast<unsigned>(ValueType::kText)];
  const ValueKey& number = *orders[static_cast<unsigned>(ValueType::kDecimal)];
  const bool reverse = text.rule().descending;
  if (is == SqlValue::kNull || field.is != Field::kValue) {
    return out.Put(text.rule().nulls_first.value_or(!reverse) ? kFirst : kLast);
  }
  const auto put_class = [&](unsigned code) {
    out.set_reverse(reverse);
    out.Put(code);
    out.set_reverse(false);
  };
  if (is == SqlValue::kNumber && keys::IsDecimal({field.text.data(), field.text.data() + field.text.size()})) {
    put_class(kNumber);
    number.Put(field.text, out);
    if (!whole) return;
    const bool plain = field.text.find_first_not_of("-0123456789") == field.text.npos;
    put_class(plain ? kNumber : kText);
    if (!plain) text.Put(field.text, out);
    return;
  }
  put_class(is == SqlValue::kHex ? kBlob : kText);
  text.Put(field.text, out);
}

/// Writes the key of a gap: its place among the rows, and the text that follows most rows.
void SqlDumpFormat::PutGap(const ScanState& state, Scratch& scratch, FieldWriter& out) const {
  const RowsPart& part = *StateOf(state).part;
  out.PutCount(state.count);
  GapKey key{};
  key.place = state.row - 1;
  key.separator = part.separator;
  if (part.singles > 0 && state.row == part.singles) {
    key.singles = part.singles;
    key.head = part.head;
    key.tail = part.end;
  }
  PutGapKey(key, out);
  scratch.mark = kGapMark;
  scratch.left_out = check_;
}

void SqlDumpFormat::TakeEnd(const AfterRow& after, const Byte* row_end, ScanState& state, KeyTally& tally) const {
  const bool replaced = StateOf(state).part->replaces;
  EndInsert(after, Text(row_end, after.stop), 0, state);
  const RowsPart& part = *StateOf(state).part;
  if (part.replaces && !replaced) NoteReplacing(part, tally);
}

void SqlDumpFormat::NoteReplacing(const RowsPart& part, KeyTally& tally) {
  tally.replaced_tables.insert(part.table);
  if (!part.keeps_winners) tally.replacing_inserts.Note(part.table);
}

const Byte* SqlDumpFormat::PutInsert(const Byte* begin, const Byte* end, const Insert& insert, ScanState& state,
                                     Scratch& scratch, FieldWriter& out, KeyTally& tally) const {
  const Byte* const head = begin + insert.lead;
  if (insert.lead > 0 && !insert.goes_on) {
    if (state.mode == kAfterInsert) ++state.count;
    state.mode = kSql;
    out.PutCount(state.count);
    return head;
  }
  BeginInsert(insert, Text(head, end), state);
  if (!insert.goes_on && StateOf(state).part->again) tally.parted_rows.Note(Text(head, head + insert.size));
  if (!insert.goes_on && StateOf(state).part->refers_to_itself) tally.self_references.Note(StateOf(state).part->table);
  if (!insert.goes_on) tally.filled_tables.insert(StateOf(state).part->table);
  if (const RowsPart& part = *StateOf(state).part; !insert.goes_on && part.replaces) NoteReplacing(part, tally);
  if (insert.lead > 0) DecidePart(true, {}, state);
  const Byte* const head_end = head + insert.size;
  if (const RowsPart& part = *StateOf(state).part; part.decided && part.several) {
    PutGap(state, scratch, out);
    state.mode = kNextRow;
    return head_end;
  }
  const DumpState& dump = StateOf(state);
  const Byte* const row = SkipSpace(head_end, end);
  bool& depends = static_cast<RowScratch&>(scratch).depends;
  const Byte* const row_end = RowEnd(row, end, begin, dump, depends);
  const AfterRow after = ParseAfterRow(row_end, end, dump.dialect, dump.text.escapes);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  if (after.is == AfterRow::kComma) {
    depends = false;  // the row is a record of its own, which comes next
    SplitPart(state);
    if (StateOf(state).part->again && !StateOf(state).part->decided && insert.goes_on) {
      tally.parted_rows.Note(Text(head, head_end));
    }
    const bool decided = StateOf(state).part->decided;
    if (!decided) out.PutCount(state.count);
    DecidePart(true, Text(row_end, after.stop), state);
    if (decided) PutGap(state, scratch, out);
    state.mode = kNextRow;
    return head_end;
  }
  DecidePart(false, {}, state);
  out.PutCount(state.count);
  out.Put(1);
  scratch.mark = kStatementMark | ((state.count & 2) != 0 ? kOddPart : 0);
  InsertColumns columns(begin, row, row_end, StateOf(state));
  PutRowKeys(columns, StateOf(state), scratch, out, tally);
  ++state.row;
  TakeEnd(after, row_end, state, tally);
  return after.stop;
}

const Byte* SqlDumpFormat::PutInsertRow(const Byte* begin, const Byte* end, ScanState& state, Scratch& scratch,
                                        FieldWriter& out, KeyTally& tally) const {
  const Byte* row_end = begin;
  if (state.mode == kNextRow) {
    const DumpState& dump = StateOf(state);
    const Byte* const row = SkipSpace(begin, end);
    const std::string& separator = dump.part->separator;
    std::uint64_t skipped = 0;
    const Byte* next = row;
    if (!separator.empty()) {
      next = SkipRows(row, end, dump.dialect, dump.text.escapes, separator, 1, skipped);
    }
    bool& depends = static_cast<RowScratch&>(scratch).depends;
    row_end = skipped > 0 ? next - separator.size() : RowEnd(row, end, begin, dump, depends);
    out.PutCount(state.count);
    out.Put(1);
    InsertColumns columns(begin, row, row_end, dump);
    PutRowKeys(columns, dump, scratch, out, tally);
    ++state.row;
    if (skipped > 0) {
      scratch.mark = kRowMark;
      return next;
    }
  }
  const DumpState& dump = StateOf(state);
  const AfterRow after = ParseAfterRow(row_end, end, dump.dialect, dump.text.escapes);
  if (after.is == AfterRow::kUnfinished) throw Error(ErrorCode::kInternal, "records that end inside an INSERT");
  const bool usual = after.is == AfterRow::kComma && Text(row_end, after.stop) == StateOf(state).part->separator;
  if (state.mode == kNextRow) {
    scratch.mark = usual ? kRowMark : kBareRowMark;
    if (!usual) state.mode = kGap;
    return usual ? after.stop : row_end;
  }
  PutGap(state, scratch, out);
  state.mode = kNextRow;
  if (after.is == AfterRow::kEnd) TakeEnd(after, row_end, state, tally);
  return after.stop;
}

std::uint64_t SqlDumpFormat::PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                     KeyTally& tally) const {
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  const std::string_view text = Text(begin, end);
  scratch.mark = 0;
  if (state.mode >= kNextRow) {
    return static_cast<std::uint64_t>(PutInsertRow(begin, end, state, scratch, out, tally) - begin);
  }
  if (state.mode == kSql || state.mode == kAfterInsert) {
    const Insert insert = FindInsert(text, state);
    // Lines before the first statement of a part are records of their own.
    const bool lines = insert.lead > 0 && !insert.goes_on && text.substr(0, insert.lead).find('\n') != text.npos;
    if (insert.is == InsertHead::kRows && !lines) {
      return static_cast<std::uint64_t>(PutInsert(begin, end, insert, state, scratch, out, tally) - begin);
    }
    if (state.mode == kAfterInsert) ++state.count;
    state.mode = kSql;
  }
  const bool ends_rows = state.mode != kSql && (text.starts_with("\\.\n") || text.starts_with("\\.\r\n"));
  if (ends_rows) EndRows(state);
  out.PutCount(state.count);
  if (state.mode != kSql) {
    CopyColumns columns(*this, begin, end, scratch.text);
    PutRowKeys(columns, StateOf(state), scratch, out, tally);
    return static_cast<std::uint64_t>(columns.RowEnd() - begin);
  }
  const Byte* const newline = FindByte(begin, end, '\n');
  const auto size = static_cast<std::size_t>(newline - begin) + (newline == end ? 0 : 1);
  const std::string_view line = text.substr(0, size);
  const SqlText& sql = StateOf(state).text;
  scratch.left_out = strip_ && sql.in == SqlText::kNothing && IsVolatile(line);
  std::string_view words = line;
  SkipSqlBlanks(words);
  if (sql.between() && gpusort::BeginsInsert(words)) {
    tally.left_inserts.Note(line.substr(0, line.find_last_not_of(kSqlBlanks) + 1));
  }
  if (!ends_rows) TakeLine(line, 0, state, &tally);
  if (state.mode == kRows) tally.filled_tables.insert(StateOf(state).part->table);
  if (state.mode == kRows && StateOf(state).part->again) tally.parted_rows.Note(line.substr(0, line.size() - 1));
  return size;
}

}  // namespace gpusort
