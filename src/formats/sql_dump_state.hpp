// The state of the format of SQL dumps at one place of a dump: the dialect, the tables so far, and the rows that are
// sorted together. Only the files formats/sql_dump_*.cpp use this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/copy_format.hpp"
#include "formats/sql_schema.hpp"
#include "formats/sql_text.hpp"

namespace gpusort {

/// A group of rows that are sorted together: the rows of a COPY block or of INSERT statements. An object must not
/// change after a DumpState refers to it.
struct RowsPart {
  using Order = std::shared_ptr<const ValueKey>;

  std::string table;
  KeyColumns wanted;  ///< the columns of the user's keys
  /// For each key of the user: the order of the column's type in the dump; null: the key gives the order.
  std::vector<Order> by;
  KeyColumns primary;             ///< the columns of the primary key; empty: not known
  std::vector<Order> primary_by;  ///< for each column in `primary`: the order of its values by its type
  /// The column of each key of the user. If the user gave no keys: the columns of the primary key.
  std::vector<SqlTable::Column> key_columns;
  /// For each column of the table: the order of its values by its type; null: text.
  std::vector<Order> columns;
  /// True: a foreign key of the table refers to the same table, and the dump does not turn off the checks of foreign
  /// keys.
  bool refers_to_itself = false;
  bool again = false;  ///< true: the table also has rows earlier in the dump
  /// True: sorting does not change which of several rows with equal unique keys the server keeps.
  bool keeps_winners = false;
  bool keyless = false;  ///< true: the table has no primary or unique key
  /// The indices of the columns that the server numbers automatically (AUTO_INCREMENT), in ascending order. If a row
  /// has no value or null in such a column, the server stores the next number.
  std::vector<std::size_t> counted;
  std::vector<bool> only_default;  ///< for each column in `counted`: see SqlTable::Column
  bool triggered = false;          ///< true: the dump has made a trigger or rule of the table before these rows
  /// True: the rows have no value for a column that the server numbers automatically (AUTO_INCREMENT).
  bool lacks_counted = false;

  std::string head;  ///< the COPY statement, or the part of each INSERT before its first row
  // The following members are only for INSERT.
  bool decided = false;
  /// True: each row is a record, except in the first `singles` statements. False: each INSERT is a record.
  bool multi_row = false;
  /// Only if `multi_row` is true: the number of INSERT statements before the first row that is a record.
  std::uint64_t singles = 0;
  std::string separator;     ///< the bytes after most rows, such as a comma; it is part of the row's record
  bool ended = false;        ///< true: `tail` and `end` are known
  std::string tail;          ///< the bytes between the last row of the first statement and its semicolon
  std::string end;           ///< the bytes after the last row of the first statement, up to its newline
  bool ends_differ = false;  ///< true: not all statements with one row have the same `end`
  /// True: a statement says what happens to a row whose key already exists in the table, such as ON CONFLICT.
  bool replaces = false;

  /// Returns true if equal values can be written in several ways, such as 1.0 and 1.00.
  static bool IsInexact(const Order& order) { return order != nullptr && order->rule().type != ValueType::kInt; }
};

/// A list of the tables that CREATE TABLE has made so far, the last one first.
struct TableList {
  TableList(std::shared_ptr<const SqlTable> last, std::shared_ptr<const TableList> others)
      : table(std::move(last)), before(std::move(others)) {}
  ~TableList() {
    // Destroys the entries in a loop. If each entry destroyed the next one, a long list would need a deep stack.
    std::shared_ptr<const TableList> rest = std::move(before);
    while (rest && rest.use_count() == 1) rest = std::exchange(const_cast<TableList&>(*rest).before, nullptr);
  }
  TableList(const TableList&) = delete;
  TableList& operator=(const TableList&) = delete;

  const std::shared_ptr<const SqlTable> table;
  std::shared_ptr<const TableList> before;
};

/// The settings of the database session that statements of the dump have changed so far.
struct Session {
  std::string schema;          ///< the schema or database of tables whose names do not give one
  bool unchecked = false;      ///< true: the checks of foreign keys are turned off, in PostgreSQL also triggers
  bool zero_is_value = false;  ///< MySQL: 0 is stored, not replaced by a number (NO_AUTO_VALUE_ON_ZERO)
  friend bool operator==(const Session&, const Session&) = default;
};

/// The state of the parser at the beginning of a line of a dump. Several ScanState objects can share a DumpState. To
/// change it, call SqlDumpFormat::Change(), which makes a copy.
struct DumpState {
  SqlDialect dialect = SqlDialect::kUnknown;
  SqlText text;
  std::vector<bool> named;                        ///< for each key of the user: true if the dump has its table
  std::vector<std::string> seen;                  ///< the names of the first tables, for messages
  std::string statement;                          ///< the lines so far of a statement that may become a COPY
  std::string create;                             ///< the lines so far of a CREATE TABLE
  std::shared_ptr<const TableList> tables;        ///< the tables that CREATE TABLE has made so far
  std::shared_ptr<std::set<std::string>> filled;  ///< the tables of this database that had rows earlier in the dump
  std::shared_ptr<const std::vector<SqlEnum>> enums;
  std::shared_ptr<const std::vector<SqlTrigger>> triggers;  ///< the triggers and rules of this database
  Session session;
  std::shared_ptr<const RowsPart> part;  ///< the last group of rows
  bool any = false;                      ///< true: a line was read
  bool gaps = false;                     ///< true: a group of rows had gaps (bytes between rows)
  bool inserts = false;                  ///< true: the dump has an INSERT statement that is not sorted
};

/// The values of ScanState::mode. In a COPY block, it is kRows plus a value of CopyFormat::Mode.
enum Mode : unsigned {
  kSql = 0,           ///< at the beginning of a line of SQL
  kRows = 1,          ///< in a COPY block
  kAfterInsert = 16,  ///< at the beginning of a line of SQL, directly after an INSERT with rows
  /// In the first row of an INSERT statement. The whole statement may become one record.
  kFirstRow,
  kLaterRow,       ///< in a row of an INSERT that is not its first row
  kAfterFirstRow,  ///< after a row in the mode kFirstRow
  kAfterLaterRow,
  kNextRow,  ///< before the next row, in a group of INSERT statements with several rows
  kGap,      ///< before a gap (bytes between two rows); used only when sort keys are made
};

inline constexpr std::size_t kMostStatement = std::size_t{1} << 14;  ///< the maximum size of a COPY statement, in bytes
inline constexpr std::size_t kMostTable = std::size_t{1} << 20;      ///< the maximum size of a CREATE TABLE, in bytes
/// The maximum size of an UPDATE or DELETE statement in bytes. Longer statements are not parsed.
inline constexpr std::size_t kMostProgram = std::size_t{32} << 10;
/// The maximum size of the part of an INSERT before its first row, in bytes.
inline constexpr std::size_t kMostHead = std::size_t{64} << 10;
/// The maximum number of bytes between two rows of an INSERT, or after its last row.
inline constexpr std::size_t kMostTail = std::size_t{1} << 20;
inline constexpr std::size_t kMostTables = 20;  ///< the maximum number of tables that a message names

/// Sets the dialect of `dump`, and how this dialect treats a backslash in a string by default: as an escape character
/// (MySQL) or as an ordinary byte.
void SetDialect(SqlDialect dialect, DumpState& dump);
/// Adds `name` to the set `names`. Returns false if the set contains the name already. If other objects share the set,
/// replaces `names` by a copy first.
bool AddName(const std::string& name, std::shared_ptr<std::set<std::string>>& names);

/// Returns the dialect and the meaning of a backslash as one number. Both decide how SkipRows() reads a row.
inline unsigned PackRules(const DumpState& dump) {
  return static_cast<unsigned>(dump.dialect) << 1 | (dump.text.escapes ? 1 : 0);
}

inline const Byte* SkipSpace(const Byte* p, const Byte* end) {
  while (p != end && IsSpace(static_cast<char>(*p))) ++p;
  return p;
}

inline constexpr const char* kCommentInRow =
    "a row of an INSERT has a comment or a string between dollars, which are not read there";

}  // namespace gpusort
