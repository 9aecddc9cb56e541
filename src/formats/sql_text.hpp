// Reads the SQL of dumps, in the dialects of PostgreSQL, MySQL (also MariaDB) and SQLite: strings, comments, names, the
// ends of statements, the rows of INSERT, and literals. Start at TakeSql and RowLexer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/find_bytes.hpp"

namespace gpusort {

enum class SqlDialect : std::uint8_t { kUnknown, kPostgres, kMysql, kSqlite };

/// The state of the SQL parser at the beginning of a line: whether the line begins inside a string, a comment or a
/// statement.
struct SqlText {
  enum In : std::uint8_t { kNothing, kString, kEscapeString, kName, kBacktick, kBracket, kDollar, kComment };
  In in = kNothing;             ///< the string, quoted name or comment in which the line begins
  unsigned depth = 0;           ///< the number of comments, one inside the other, in which the line begins
  std::string tag;              ///< only with kDollar: the word $...$ that ends the string
  std::string delimiter;        ///< MySQL: the string that ends a statement, as set by DELIMITER; empty: a semicolon
  bool escapes = false;         ///< true: a backslash in '...' changes the meaning of the next byte
  bool escapes_before = false;  ///< the value of `escapes` before the last SET; another SET can restore it
  bool open = false;            ///< true: the line begins inside a statement
  /// True: the statement is a CREATE TRIGGER of SQLite, or contains BEGIN ATOMIC of PostgreSQL. Such a statement can
  /// contain semicolons.
  bool trigger = false;
  unsigned brackets = 0;  ///< PostgreSQL: the number of open brackets in the statement
  unsigned end = 0;       ///< the number of tokens of "; END", the end of a trigger, that were just read

  /// Returns true if a new statement can begin here, at the beginning of a line.
  bool between() const { return in == kNothing && !open && delimiter.empty(); }
  friend bool operator==(const SqlText&, const SqlText&) = default;
};

/// Removes the rest of the current SQL statement from `line`, or the whole line if the statement is longer.
/// - `text`: the parser's state, which is updated
/// - Returns true if an INSERT begins in the removed bytes, but after other bytes, such as a comment.
bool TakeSql(std::string_view& line, SqlDialect dialect, SqlText& text);

/// Returns the database system that wrote the dump, if `line` shows it. Otherwise returns kUnknown. `line` is a line
/// near the beginning of the dump.
SqlDialect DialectOfLine(std::string_view line);

inline constexpr std::string_view kSqlBlanks = " \t\r\n\v\f";
/// The byte order mark, with which a dump can begin.
inline constexpr std::string_view kSqlByteOrderMark = "\xEF\xBB\xBF";
bool IsSqlWordByte(char c);
/// TakeSqlText(), TakeSqlName() and TakeSqlWord() remove one token from the beginning of `text`. If the token is not
/// there, they return false and do not change `text`.
bool TakeSqlText(std::string_view& text, std::string_view what);
/// Removes a name from the beginning of `text`: a name in the quotes of any database system, or all bytes up to one of
/// `stops`. Stores the name in `name`, without quotes.
bool TakeSqlName(std::string_view& text, std::string_view stops, std::string& name);
/// Removes `word` from the beginning of `text`, where it may be in upper or lower case. `word` must be in lower case.
bool TakeSqlWord(std::string_view& text, std::string_view word);
/// Removes a string and its closing quote from the beginning of `text`. The opening quote must have been removed
/// already. Returns the value of the string, which may lie in the buffer `scratch`.
std::string_view TakeSqlString(std::string_view& text, char quote, SqlDialect dialect, bool escapes,
                               std::string& scratch);
/// Removes the beginning of a MySQL comment that contains SQL, such as "/*!40101 " or "/*M!100100 ", from the beginning
/// of `text`. Returns false if there is none.
bool TakeConditionalSql(std::string_view& text);
/// Removes white space from the beginning of `text`.
void SkipSqlSpaces(std::string_view& text);
/// Removes white space, and comments that begin with "--", from the beginning of `text`.
void SkipSqlBlanks(std::string_view& text);

/// The table and the columns that a COPY or INSERT statement names.
struct SqlTarget {
  std::string schema, table;
  std::vector<std::string> columns;
  std::string name() const { return schema.empty() ? table : schema + "." + table; }
};

/// The beginning of an INSERT or REPLACE, up to its first row.
struct InsertHead {
  enum Is : std::uint8_t { kNone, kUnfinished, kRows } is = kNone;
  std::size_t size = 0;  ///< the number of bytes before the first row, with white space up to the first newline
  SqlTarget target;
  bool replaces = false;  ///< REPLACE or IGNORE: of two rows with the same primary key, only one stays
  bool counts = false;    ///< OVERRIDING USER VALUE: the server numbers the rows, and ignores the numbers in them
};
/// Parses an INSERT at the beginning of `text`. If `text` is too short to tell, the result has `is` = kUnfinished.
InsertHead ParseInsertHead(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with the word INSERT or REPLACE.
bool BeginsInsert(std::string_view text);
/// Returns true if `text` begins with a row of an INSERT statement: with "(", or with ROW and "(". Sets `unfinished` to
/// true if `text` is too short to tell.
bool BeginsRow(std::string_view text, bool& unfinished);

/// Returns the end of the comment that begins at `p`. Returns `p` if no comment begins there, and null if [p, end) is
/// too short to tell.
const Byte* SkipSqlComment(const Byte* p, const Byte* end, SqlDialect dialect);

/// The white space and the comments before a statement.
struct LeadOfStatement {
  std::size_t size = 0;
  bool ended = false;  ///< false: the white space or comment may go on after the text
};
/// Finds the white space and the comments at the beginning of `text`, before a statement. If `lines` is true, they may
/// have several lines. Otherwise they end before the first newline.
LeadOfStatement SkipLead(std::string_view text, SqlDialect dialect, bool lines);

/// The bytes after a row of an INSERT statement: a comma before the next row, or the end of the statement.
struct AfterRow {
  enum Is : std::uint8_t { kUnfinished, kComma, kEnd } is = kUnfinished;
  /// The beginning of the next row or of the next statement.
  const Byte* stop = nullptr;
  bool sure = false;      ///< true: `stop` is final; false: more bytes could change it
  std::string_view tail;  ///< only with kEnd: the bytes between the row and the semicolon
};
/// Parses [p, end), the bytes after a row of an INSERT. AfterRow::is is kUnfinished if there are too few bytes.
AfterRow ParseAfterRow(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes);
/// Skips rows of an INSERT statement. Returns the beginning of the first row that is not skipped.
/// - `p`: the beginning of a row
/// - `separator`: the bytes between rows, such as ",\n". Empty: skips at most one row, and returns its end.
/// - `most`: the maximum number of rows to skip
/// - `rows`: set to the number of skipped rows. It can be smaller than possible, or 0.
const Byte* SkipRows(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, std::string_view separator,
                     std::uint64_t most, std::uint64_t& rows);
/// Returns the clause after the last row of an INSERT, such as "ON CONFLICT DO NOTHING". Removes comments, and replaces
/// white space by single blanks. `tail` is the part between the row and the semicolon. Two INSERT statements have the
/// same clause if the results are equal.
std::string ClauseOf(std::string_view tail, SqlDialect dialect);

/// Finds the end of a row of an INSERT statement: the ")" that matches the first "(". The bytes of the row may be
/// passed in several pieces.
struct RowLexer {
  enum In : std::uint8_t {
    kCode,
    kString,
    kEscape,
    kEscapedByte,
    kAfterEscape,
    kName,
    kNameEscaped,
    kNameEscapedByte,
    kBacktick,
    kBracket
  };
  In in = kCode;
  bool escape_string = false;  ///< true: the current string is an E'...' of PostgreSQL
  std::uint32_t depth = 0;     ///< the number of open brackets
  char last[2] = {0, 0};       ///< the last two bytes of the previous piece

  /// Reads the bytes [p, end) of a row. Returns:
  /// - the end of the row
  /// - `end`, if the row continues after it. `depth` is then not 0.
  /// - null, if a comment or a string $$...$$ begins at `bad`. A row must not have these.
  const Byte* Take(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, const Byte*& bad);
};

/// Returns the end of the value at `p` in a row of an INSERT: a pointer to the comma or bracket after the value.
/// - [p, end) must contain the rest of the row. The row must have no comments.
const Byte* ValueEnd(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes);

/// A value in a row of an INSERT statement.
struct SqlValue {
  /// The kind of the value. kHex: the value is written as X'...' or 0x..., and `text` has its hexadecimal digits.
  enum Is : std::uint8_t { kNull, kNumber, kText, kHex } is = kText;
  std::string_view text;  ///< lies in the parsed text or in a buffer, see ReadSqlValue()
  bool literal = true;    ///< true: a single literal; false: any other expression
};
/// Returns the value of the SQL literal `raw`. If `raw` is any other expression, the text of the result is `raw`
/// itself. The text of the result may lie in the buffer `scratch`.
SqlValue ReadSqlValue(std::string_view raw, SqlDialect dialect, bool escapes, std::string& scratch);

/// Returns true if a value of `row`, a row of an INSERT statement, can depend on earlier rows, for example because it
/// calls nextval or has a subquery. `escapes` is true if a backslash in a string is an escape character.
bool DependsOnRows(std::string_view row, SqlDialect dialect, bool escapes);

}  // namespace gpusort
