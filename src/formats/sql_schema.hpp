// Reads the statements of a dump that say what a restore does with rows: CREATE TABLE, ALTER TABLE, CREATE TYPE,
// triggers, and UPDATE. They tell the columns, the keys, and the values that the server changes or counts up. Start at
// SqlTable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/sql_text.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// A type of PostgreSQL that CREATE TYPE ... AS ENUM describes.
struct SqlEnum {
  std::string schema, name;
  std::vector<std::string> labels;  ///< the least first
};
/// Parses a statement that begins with CREATE TYPE. Returns std::nullopt if it describes no enum.
std::optional<SqlEnum> ParseCreateEnum(std::string_view text, SqlDialect dialect);
bool BeginsCreateType(std::string_view text);

/// A table, as CREATE TABLE describes it.
struct SqlTable {
  struct Column {
    std::string name;
    ValueType type = ValueType::kText;
    std::vector<std::string> labels;  ///< with kEnum: the values, the least first
    bool generated = false;  ///< the value is computed, so that an INSERT without column names does not give it
    bool counted = false;    ///< the server counts up a value for rows that do not give one
    bool not_null = false;
    /// The server takes some values for equal that have different sort keys, such as 'a' and 'A', or 1.001 and 1.004 in
    /// a decimal(9,2).
    bool loose = false;
    /// The server ignores bytes of this value at the end of a text, as blanks in char(n). kNoPadding: it ignores none.
    unsigned padding = kNoPadding;
    static constexpr unsigned kNoPadding = 256;
    /// SQLite: the values that the column converts. kNumber: texts that are numbers. kReal: these, and large integers.
    /// kText: numbers.
    enum Affinity : std::uint8_t { kNone, kNumber, kReal, kText } affinity = kNone;
    /// The largest size of a text, in bytes or in characters. The server cuts longer texts. 0: not known. For MAC
    /// addresses: the size of a complete address.
    std::uint64_t size = 0;
    bool in_bytes = false;  ///< `size` does not count characters
    /// MySQL: what the server can change in a text. kBytes: nothing. kCharacters: bytes that are not UTF-8. kAscii: all
    /// that is not ASCII.
    enum Text : std::uint8_t { kBytes, kCharacters, kAscii } text = kBytes;
    /// The smallest and the largest integer. The server changes others. Both 0: not known.
    std::int64_t least = 0;
    std::uint64_t most = 0;
    bool year = false;  ///< MySQL: the server changes numbers that have not four digits
  };
  std::string schema, table;
  std::vector<Column> columns;
  std::vector<std::string> primary;              ///< the columns of the primary key
  std::vector<std::vector<std::string>> unique;  ///< the columns of each other unique key
  bool refers_to_itself = false;                 ///< a foreign key names this table
  /// SQLite: a key has ON CONFLICT REPLACE or IGNORE, so that of two rows with equal keys every INSERT keeps only one.
  bool replaces = false;
  /// False: there may be other columns, or they may have another order.
  bool complete = true;
  std::vector<SqlTarget> parents;  ///< PostgreSQL: the tables whose columns come before those in `columns`
};
/// Parses a statement that begins with CREATE TABLE. Returns null for any other text. `enums` has the enum types that
/// CREATE TYPE statements of the dump have described so far.
std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect,
                                                 const std::vector<SqlEnum>& enums);
/// Returns true if the server certainly stores a value of an INSERT in `column` without a change, so that it is not
/// equal to values with other sort keys. `text` is the value, without the escapes of a literal. Does not consider what
/// Column::loose tells.
bool KeepsValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TABLE.
bool BeginsCreateTable(std::string_view text);
/// Returns true if `text` begins with ALTER TABLE or CREATE UNIQUE INDEX.
bool BeginsTableChange(std::string_view text);
/// The change that ALTER TABLE or CREATE UNIQUE INDEX makes to a table, as far as it matters to the order of rows.
struct SqlTableChange {
  SqlTarget table;
  std::vector<std::vector<std::string>> unique;  ///< the columns of each unique or primary key; empty: not known
  bool refers_to_itself = false;                 ///< a foreign key names the table itself
  bool moves_columns = false;                    ///< the columns may get other names, types or places
  std::vector<SqlTable::Column> added;           ///< new columns, which come after the others
  std::vector<SqlTable::Column> retyped;         ///< columns that get another type
  std::vector<std::string> counted;              ///< columns whose values the server counts up from now on
  bool numbers_rows = false;                     ///< the rows of the table get values that the server counts up
  SqlTarget attached;                            ///< a table that becomes a partition, and gets the keys of `table`
  bool ignores = false;                          ///< ALTER IGNORE: of rows with equal unique keys, only one stays
};
/// Parses a statement that begins with ALTER TABLE or CREATE UNIQUE INDEX. Returns std::nullopt for any
/// other text, and if the change does not matter to the order of rows.
std::optional<SqlTableChange> ParseTableChange(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TRIGGER, CREATE RULE, UPDATE or DELETE.
bool BeginsRowProgram(std::string_view text);
/// Returns the table of a trigger or rule that a row of INSERT starts, if `text` makes one.
std::optional<SqlTarget> ParseInsertTrigger(std::string_view text, SqlDialect dialect);
/// Returns true if `text` is an UPDATE, a DELETE or a CREATE TABLE with SELECT whose result can depend on the order of
/// the rows in a table: it has nextval, a variable that it sets, row_number, ctid, rowid, AUTO_INCREMENT, or LIMIT
/// without ORDER BY.
bool DependsOnOrder(std::string_view text, SqlDialect dialect);
/// Returns true if `a` and `b` are equal, or differ only in upper and lower case of ASCII letters.
bool IsSameSqlName(std::string_view a, std::string_view b);
/// Returns true if `tail`, the text between the last row of an INSERT and its semicolon, says what happens to a row
/// whose key exists: it has ON CONFLICT or ON DUPLICATE KEY.
bool SaysWhatConflictsDo(std::string_view tail, SqlDialect dialect);

}  // namespace gpusort
