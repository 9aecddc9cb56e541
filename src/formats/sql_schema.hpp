// Reads the statements of a dump that decide what a restore does with rows: CREATE TABLE, ALTER TABLE, CREATE TYPE,
// CREATE TRIGGER, UPDATE and others. They give the columns, the keys, and the values that the server changes or fills
// in. Start at SqlTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/sql_text.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// A type of PostgreSQL, from CREATE TYPE ... AS ENUM or CREATE DOMAIN.
struct SqlEnum {
  std::string schema, name;
  std::vector<std::string> labels;  ///< the words of the type, the least first; empty: the type is a domain
  bool counted = false;             ///< true: the type is a domain whose DEFAULT numbers rows, such as nextval
};
/// Parses CREATE TYPE or CREATE DOMAIN. Returns std::nullopt if no SqlEnum can describe the type.
std::optional<SqlEnum> ParseCreateEnum(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TYPE or CREATE DOMAIN.
bool BeginsCreateType(std::string_view text);

/// PostgreSQL: when a trigger or rule fires, or a foreign key is checked.
enum class SqlFires : std::uint8_t {
  kOfSession,  ///< by default: active unless the session turns it off (Session::unchecked)
  kNever,      ///< DISABLE
  kAlways,     ///< ENABLE ALWAYS or ENABLE REPLICA
};

/// A table, as CREATE TABLE describes it.
struct SqlTable {
  struct Column {
    std::string name;
    ValueType type = ValueType::kText;
    std::vector<std::string> labels;  ///< for an enum or a set: its words, the least first
    /// True: the server computes the value; an INSERT without column names has no value for this column.
    bool generated = false;
    bool counted = false;  ///< true: the server gives the next number to rows without a value
    /// True: a row with NULL or 0 in this column keeps this value. False: the server may replace it by the next number.
    bool only_default = false;
    bool not_null = false;
    /// True: the server treats some values as equal although their sort keys differ, such as 'a' and 'A', or 1.001 and
    /// 1.004 in a decimal(9,2).
    bool loose = false;
    /// The byte that the server ignores at the end of a string, such as the blank in char(n). kNoPadding: there is no
    /// such byte.
    unsigned padding = kNoPadding;
    static constexpr unsigned kNoPadding = 256;
    /// SQLite: the values that the column converts to another type. kNumber: strings that contain a number. kReal:
    /// strings that contain a number, and large integers. kText: numbers.
    enum Affinity : std::uint8_t { kNone, kNumber, kReal, kText } affinity = kNone;
    /// The maximum length of a value, such as 10 in varchar(10). 0: not known.
    /// - macaddr, macaddr8: the length of a complete address, 17 or 23
    std::uint64_t size = 0;
    bool in_bytes = false;  ///< true: `size` is in bytes; false: in characters
    /// MySQL: the strings that the column stores without a change. kBytes: all. kCharacters: valid UTF-8. kAscii:
    /// ASCII.
    enum Text : std::uint8_t { kBytes, kCharacters, kAscii } text = kBytes;
    /// The range of the integers that the column stores without a change. Both 0: not known.
    std::int64_t least = 0;
    std::uint64_t most = 0;
    bool year = false;  ///< MySQL: the type is YEAR; the server changes numbers that do not have four digits
  };
  std::string schema, table;
  std::vector<Column> columns;
  std::vector<std::string> primary;              ///< the columns of the primary key
  std::vector<std::vector<std::string>> unique;  ///< the columns of each other unique key
  bool refers_to_itself = false;                 ///< true: a foreign key of the table refers to the same table
  /// When the server checks the foreign key that refers to the same table.
  SqlFires checks = SqlFires::kOfSession;
  /// SQLite: a key has ON CONFLICT REPLACE or IGNORE. If an INSERT adds a row whose key exists already, only one of the
  /// two rows stays in the table.
  bool replaces = false;
  /// True: `columns` has all columns in the order of the table. False: columns may be missing or in another order.
  bool complete = true;
  std::vector<SqlTarget> parents;  ///< the tables whose columns come before those in `columns`
  /// True: the table has copies of the columns of its `parents` (LIKE, PARTITION OF). False: the table inherits the
  /// columns (INHERITS).
  bool copies = false;
  bool copies_defaults = true;  ///< false: the server does not number rows automatically in the copied columns
  SqlTarget partition_of;       ///< PostgreSQL: the table that this table is a partition of; empty: none
};
/// Parses a statement that begins with CREATE TABLE. Returns null for any other statement. `enums` must have the enum
/// types from the CREATE TYPE statements before it.
std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect,
                                                 const std::vector<SqlEnum>& enums);
/// Changes the type of `column` from enum or set to text if the column has no labels, or too many.
void RequireLabels(SqlTable::Column& column);
/// Returns true if the server certainly stores `value`, a value of an INSERT, in `column` without a change. `text` is
/// the value without quotes and escapes.
bool KeepsValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TABLE.
bool BeginsCreateTable(std::string_view text);
/// Returns true if `text` begins with ALTER TABLE or CREATE UNIQUE INDEX.
bool BeginsTableChange(std::string_view text);
/// A change that ALTER TABLE or CREATE UNIQUE INDEX makes to a table. Contains only the parts of the change for which
/// the order of the rows can matter.
struct SqlTableChange {
  SqlTarget table;
  std::vector<std::vector<std::string>> unique;  ///< the columns of each new unique or primary key; empty: not known
  bool refers_to_itself = false;                 ///< true: a new foreign key of the table refers to the same table
  bool moves_columns = false;                    ///< true: columns can get other names, types or places
  std::vector<SqlTable::Column> added;           ///< new columns, which come after the existing ones
  std::vector<SqlTable::Column> retyped;         ///< columns that get another type
  std::vector<std::string> counted;              ///< columns that the server numbers automatically from now on
  bool numbers_rows = false;                     ///< true: the server gives numbers to the existing rows of the table
  SqlTarget attached;                            ///< a table that becomes a partition of `table`, and gets its keys
  bool ignores = false;  ///< true (ALTER IGNORE): of rows with equal unique keys, only one stays
  /// PostgreSQL: a clause that turns triggers or rules of `table` on or off, such as DISABLE TRIGGER ALL.
  struct Switch {
    SqlFires fires = SqlFires::kOfSession;
    bool rule = false;  ///< true: the clause is for a rule; false: for triggers
    std::string name;   ///< the name of the trigger or rule; empty: all triggers
    bool keys = false;  ///< true: the clause also switches the triggers that check foreign keys
  };
  std::vector<Switch> switches;
};
/// Parses a statement that begins with ALTER TABLE or CREATE UNIQUE INDEX. Returns std::nullopt for any other
/// statement. Also returns std::nullopt if the order of the rows does not matter for the change.
std::optional<SqlTableChange> ParseTableChange(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TRIGGER, CREATE RULE, DROP, UPDATE, DELETE, MERGE or WITH.
bool BeginsRowProgram(std::string_view text);
/// A trigger or rule that fires when a row is inserted into `table`.
struct SqlTrigger {
  std::string name;
  SqlTarget table;
  bool exact = false;  ///< true: `table` is the exact name of the table, including upper and lower case
  bool rule = false;
  SqlFires fires = SqlFires::kOfSession;
};
/// Parses CREATE TRIGGER or CREATE RULE. Returns std::nullopt unless the trigger or rule fires for INSERT.
std::optional<SqlTrigger> ParseInsertTrigger(std::string_view text, SqlDialect dialect);
/// Parses DROP TRIGGER or DROP RULE. Returns std::nullopt for any other statement. Without an ON clause,
/// SqlTrigger::table has no table name.
std::optional<SqlTrigger> ParseDropTrigger(std::string_view text, SqlDialect dialect);
/// Returns true if the effect of `text` can depend on the order of a table's rows, such as DELETE FROM t LIMIT 5.
/// - `text`: a statement; false unless it is UPDATE, DELETE, MERGE, WITH ... or CREATE TABLE ... SELECT
/// - is_key(): must return true if no two rows of `table` have equal values in `column`
bool DependsOnOrder(std::string_view text, SqlDialect dialect,
                    const std::function<bool(const SqlTarget& table, const std::string& column)>& is_key);
/// Returns true if `a` and `b` are equal, or differ only in the upper or lower case of ASCII letters.
bool IsSameSqlName(std::string_view a, std::string_view b);
/// Returns true if `tail` contains ON CONFLICT or ON DUPLICATE KEY. `tail` is the part between the last row of an
/// INSERT and its semicolon.
bool SaysWhatConflictsDo(std::string_view tail, SqlDialect dialect);

}  // namespace gpusort
