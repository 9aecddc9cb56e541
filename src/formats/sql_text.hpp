// Reads the SQL of dumps, in the dialects of PostgreSQL, MySQL (also MariaDB) and SQLite: strings, comments, names, the
// ends of statements, the rows of INSERT, literals, and CREATE TABLE. Start at TakeSql and RowLexer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/find_bytes.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

enum class SqlDialect : std::uint8_t { kUnknown, kPostgres, kMysql, kSqlite };

/// The state of a parser of SQL at the beginning of a line.
struct SqlText {
  enum In : std::uint8_t { kNothing, kString, kEscapeString, kName, kBacktick, kBracket, kDollar, kComment };
  In in = kNothing;      ///< the string, quoted name or comment around the line
  unsigned depth = 0;    ///< the number of comments around the line, one in another
  std::string tag;       ///< with kDollar: the $...$ that ends the string
  std::string delimiter; ///< MySQL: the text that ends a statement, after a line DELIMITER; empty: a semicolon
  bool escapes = false;  ///< a backslash in '...' changes the meaning of the next byte
  bool escapes_before = false;  ///< the value of `escapes` before the last SET, which a SET from a variable restores
  bool open = false;     ///< a statement goes on
  bool trigger = false;  ///< the statement is a CREATE TRIGGER of SQLite, which has semicolons inside
  unsigned end = 0;      ///< of "; END", with which a trigger ends: the number of tokens that were read last

  /// Returns true if a statement can begin.
  bool between() const { return in == kNothing && !open && delimiter.empty(); }
  friend bool operator==(const SqlText&, const SqlText&) = default;
};

/// Advances `text` over a line, or over the rest of a line.
void TakeSql(std::string_view line, SqlDialect dialect, SqlText& text);

/// Returns the dialect that a line at the beginning of a dump shows, or kUnknown.
SqlDialect DialectOfLine(std::string_view line);

inline constexpr std::string_view kSqlBlanks = " \t\r\n\v\f";
bool IsSqlWordByte(char c);
/// The following functions take a token off the front of `text`, and return false if there is no such token.
bool TakeSqlText(std::string_view& text, std::string_view what);
/// Takes a name: in quotes of any dialect, or all bytes up to one of `stops`.
bool TakeSqlName(std::string_view& text, std::string_view stops, std::string& name);
/// Takes `word`, given in lower case, in any case.
bool TakeSqlWord(std::string_view& text, std::string_view word);
/// Takes white space and comments that begin with "--".
void SkipSqlBlanks(std::string_view& text);

/// The name and the columns of a table, as a COPY or an INSERT gives them.
struct SqlTarget {
  std::string schema, table;
  std::vector<std::string> columns;
  std::string name() const { return schema.empty() ? table : schema + "." + table; }
};

/// The beginning of an INSERT or REPLACE, up to its first row.
struct InsertHead {
  enum Is : std::uint8_t { kNone, kUnfinished, kRows } is = kNone;
  std::size_t size = 0;  ///< the bytes before the row; white space after a newline belongs to the row
  SqlTarget target;
};
/// Parses an INSERT at the beginning of `text`. kUnfinished: `text` ends too early.
InsertHead ParseInsertHead(std::string_view text);
/// Returns true if `text` begins with the word INSERT or REPLACE.
bool BeginsInsert(std::string_view text);

/// The text after a row of INSERT.
struct AfterRow {
  /// kUnknown: the text has a comment, a backslash or a dollar sign at `stop`, and is not read.
  enum Is : std::uint8_t { kUnfinished, kComma, kEnd, kUnknown } is = kUnfinished;
  /// The end of the text between the row and the next row (kComma), or the end of the statement, with its newline.
  const Byte* stop = nullptr;
  bool sure = false;      ///< more bytes would not change `stop`
  std::string_view tail;  ///< with kEnd: the text before the semicolon
};
/// Parses the text after a row. Returns kUnfinished if [p, end) has no comma and no semicolon.
AfterRow ParseAfterRow(const Byte* p, const Byte* end);

/// Finds the end of a row of INSERT: "(" to the matching ")". A row may be given in parts.
struct RowLexer {
  enum In : std::uint8_t { kCode, kString, kEscape, kEscapedByte, kAfterEscape,
                         kName, kNameEscaped, kNameEscapedByte, kBacktick, kBracket };
  In in = kCode;
  bool escape_string = false;  ///< with kAfterEscape and the like: the string is E'...' of PostgreSQL
  std::uint32_t depth = 0;  ///< the number of open brackets
  char last[2] = {0, 0};       ///< the two bytes before the part

  /// Returns the end of the row, or `end` with `depth` > 0 if the row goes on. Returns null if a comment or a string
  /// between dollars begins at `bad`.
  const Byte* Take(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, const Byte*& bad);
};

/// Returns the end of the value at `p`: a comma or the bracket that closes the row. [p, end) must hold a whole row that
/// RowLexer accepts.
const Byte* ValueEnd(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes);

/// A value of an INSERT.
struct SqlValue {
  bool null = false;
  bool hex = false;       ///< the value is X'...' or 0x..., and `text` is the hexadecimal digits
  std::string_view text;  ///< refers to the value or to the scratch
};
/// Returns the value of the literal `raw`. An expression that is no literal is a value of its text.
SqlValue ReadSqlValue(std::string_view raw, SqlDialect dialect, bool escapes, std::string& scratch);

/// A table, as CREATE TABLE describes it.
struct SqlTable {
  struct Column {
    std::string name;
    ValueType type = ValueType::kText;
    bool generated = false;  ///< the value is computed, so that an INSERT without column names does not give it
  };
  std::string schema, table;
  std::vector<Column> columns;
  std::vector<std::string> primary;  ///< the columns of the primary key
};
/// Parses a statement that begins with CREATE TABLE. Returns null for any other text.
std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with CREATE TABLE.
bool BeginsCreateTable(std::string_view text);

}  // namespace gpusort
