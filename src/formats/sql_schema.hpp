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
  bool counted = false;             ///< true: the type is a domain with a DEFAULT such as nextval
};
/// Parses a statement that begins with CREATE TYPE or CREATE DOMAIN. Returns std::nullopt if it makes neither an enum
/// type nor a domain with a DEFAULT such as nextval.
std::optional<SqlEnum> ParseCreateEnum(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TYPE or CREATE DOMAIN.
bool BeginsCreateType(std::string_view text);

/// PostgreSQL: when a trigger or rule fires, or a foreign key is checked.
enum class SqlFires : std::uint8_t {
  kOfSession,  ///< unless the session turns this off: see Session::unchecked
  kNever,      ///< DISABLE
  kAlways,     ///< ENABLE ALWAYS, and ENABLE REPLICA, as a dump does not say whether it is loaded by a replica
};

/// A table, as CREATE TABLE describes it.
struct SqlTable {
  struct Column {
    std::string name;
    ValueType type = ValueType::kText;
    std::vector<std::string> labels;  ///< for an enum: its words, the least first
    bool generated = false;           ///< the server computes the value; an INSERT without column names leaves it out
    bool counted = false;             ///< the server gives the next number to rows without a value
    /// The server only does so for the word DEFAULT and for rows without a value, because the column has a DEFAULT such
    /// as nextval.
    bool only_default = false;
    bool not_null = false;
    /// The server treats some values as equal although their sort keys differ, such as 'a' and 'A', or 1.001 and 1.004
    /// in a decimal(9,2).
    bool loose = false;
    /// The byte that the server ignores at the end of a text, such as the blank in char(n). kNoPadding: there is no
    /// such byte.
    unsigned padding = kNoPadding;
    static constexpr unsigned kNoPadding = 256;
    /// SQLite: which values the column converts. kNumber: texts that are numbers. kReal: texts that are numbers, and
    /// large integers. kText: numbers.
    enum Affinity : std::uint8_t { kNone, kNumber, kReal, kText } affinity = kNone;
    /// The largest size of a text, in characters, or in bytes if `in_bytes` is true. The server cuts off longer texts.
    /// 0: not known. For MAC addresses: the size of a complete address.
    std::uint64_t size = 0;
    bool in_bytes = false;  ///< true: `size` is in bytes; false: it is in characters
    /// MySQL: which bytes of a text the server can change. kBytes: none. kCharacters: bytes that are not UTF-8. kAscii:
    /// all bytes that are not ASCII.
    enum Text : std::uint8_t { kBytes, kCharacters, kAscii } text = kBytes;
    /// The smallest and the largest integer that the column can store. The server changes other integers. Both 0: not
    /// known.
    std::int64_t least = 0;
    std::uint64_t most = 0;
    bool year = false;  ///< MySQL: the type is YEAR; the server changes numbers that do not have four digits
  };
  std::string schema, table;
  std::vector<Column> columns;
  std::vector<std::string> primary;              ///< the columns of the primary key
  std::vector<std::vector<std::string>> unique;  ///< the columns of each other unique key
  bool refers_to_itself = false;                 ///< true: a foreign key of the table refers to the same table
  SqlFires checks = SqlFires::kOfSession;        ///< when the server checks that foreign key
  /// SQLite: a key has ON CONFLICT REPLACE or IGNORE. If an INSERT adds a row whose key exists already, only one of the
  /// two rows stays in the table.
  bool replaces = false;
  /// True: `columns` are all columns, in their order. False: there can be other columns, or the order can be another
  /// one.
  bool complete = true;
  std::vector<SqlTarget> parents;  ///< the tables whose columns come before those in `columns`
  /// True: the columns of the parents are copies (LIKE, PARTITION OF), whose rows are ordered as texts, and the keys of
  /// the parents are unique keys of the table. False: PostgreSQL's INHERITS.
  bool copies = false;
  bool copies_defaults = true;  ///< false: the server does not number rows in the copied columns
  SqlTarget partition_of;       ///< PostgreSQL: the table that this one is a partition of, if it is one
};
/// Parses a statement that begins with CREATE TABLE. Returns null for any other text. `enums` must have the enum types
/// from the CREATE TYPE statements before it.
std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect,
                                                 const std::vector<SqlEnum>& enums);
/// Returns true if the server certainly stores `value`, a value of an INSERT, in `column` without a change. If so,
/// values with different sort keys are also different for the server, unless Column::loose is true. `text` is the value
/// without the escapes of a literal.
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
  bool numbers_rows = false;                     ///< true: the server gives numbers to the rows that the table has
  SqlTarget attached;                            ///< a table that becomes a partition of `table`, and gets its keys
  bool ignores = false;  ///< true (ALTER IGNORE): of rows with equal unique keys, only one stays
  /// PostgreSQL: DISABLE or ENABLE of triggers and rules of `table`.
  struct Switch {
    SqlFires fires = SqlFires::kOfSession;
    bool rule = false;
    std::string name;   ///< empty: all triggers
    bool keys = false;  ///< true: also the triggers that check foreign keys
  };
  std::vector<Switch> switches;
};
/// Parses a statement that begins with ALTER TABLE or CREATE UNIQUE INDEX. Returns std::nullopt for any other text.
/// Also returns std::nullopt if the order of the rows does not matter for the change.
std::optional<SqlTableChange> ParseTableChange(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TRIGGER, CREATE RULE, DROP, UPDATE or DELETE.
bool BeginsRowProgram(std::string_view text);
/// A trigger or a rule that a row of INSERT starts.
struct SqlTrigger {
  std::string name;
  SqlTarget table;
  bool exact = false;  ///< the dump describes the table, whose name `table` has in the same case
  bool rule = false;
  SqlFires fires = SqlFires::kOfSession;
};
/// Parses a CREATE TRIGGER or CREATE RULE. Returns the trigger or rule if INSERT starts it, otherwise std::nullopt.
std::optional<SqlTrigger> ParseInsertTrigger(std::string_view text, SqlDialect dialect);
/// Returns the trigger or rule that `text` removes. Without ON, its table has the schema of the trigger but no name.
std::optional<SqlTrigger> ParseDropTrigger(std::string_view text, SqlDialect dialect);
/// Returns true if the result of the statement `text` can depend on the order of the rows in a table. `text` must be an
/// UPDATE, a DELETE, or a CREATE TABLE that contains a SELECT; the result is false for other statements. The statement
/// must also have one of these: nextval, an assignment to a variable (:=), row_number, ctid, rowid, AUTO_INCREMENT, or
/// LIMIT without ORDER BY. `is_key` returns true if a column alone is a unique key of a table, so that a condition
/// COLUMN = VALUE chooses at most one row.
bool DependsOnOrder(std::string_view text, SqlDialect dialect,
                    const std::function<bool(const SqlTarget& table, const std::string& column)>& is_key);
/// Returns true if `a` and `b` are equal, or differ only in the upper or lower case of ASCII letters.
bool IsSameSqlName(std::string_view a, std::string_view b);
/// Returns true if `tail` contains ON CONFLICT or ON DUPLICATE KEY, which say what happens to a row whose key exists
/// already. `tail` is the text between the last row of an INSERT and its semicolon.
bool SaysWhatConflictsDo(std::string_view tail, SqlDialect dialect);

}  // namespace gpusort
