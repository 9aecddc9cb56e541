// What the format of SQL dumps knows at a place of a dump: the dialect, the tables so far, and the rows that are sorted
// together. Only the files formats/sql_dump_*.cpp use this header.
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

inline constexpr std::size_t kMostStatement = std::size_t{1} << 14;  ///< the largest size of a COPY statement, in bytes
inline constexpr std::size_t kMostTable = std::size_t{1} << 20;      ///< the largest size of a CREATE TABLE, in bytes
/// The largest size of an UPDATE or a DELETE that is looked at, in bytes. With each line the statement is copied.
inline constexpr std::size_t kMostProgram = std::size_t{32} << 10;
/// The largest size of the text of an INSERT before its first row, in bytes.
inline constexpr std::size_t kMostHead = std::size_t{64} << 10;
/// The largest size of the text of an INSERT after a row, in bytes.
inline constexpr std::size_t kMostTail = std::size_t{1} << 20;
inline constexpr std::size_t kMostTables = 20;  ///< the largest number of tables that a message names

/// Sets the dialect and the meaning of a backslash that it has at the beginning of a dump.
void SetDialect(SqlDialect dialect, DumpState& dump);
/// Adds a name to a set that several DumpState objects may share. Returns false if the set has the name. Copies the set
/// only if another object shares it.
bool AddName(const std::string& name, std::shared_ptr<std::set<std::string>>& names);

/// Returns all that decides how SkipRows() reads a row: the dialect, and the meaning of a backslash.
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
