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
  In in = kNothing;       ///< the string, quoted name or comment that the line begins in
  unsigned depth = 0;     ///< how deep comments are nested there
  std::string tag;        ///< with kDollar: the text $...$ that ends the string
  std::string delimiter;  ///< MySQL: the text that ends a statement, if a line DELIMITER has set it; empty: a semicolon
  bool escapes = false;   ///< true: a backslash in '...' changes the meaning of the next byte
  bool escapes_before = false;  ///< the value of `escapes` before the last SET, which a SET from a variable restores
  bool open = false;            ///< true: a statement has begun and not ended
  /// True: the statement is a CREATE TRIGGER of SQLite, or contains BEGIN ATOMIC of PostgreSQL. A semicolon does not
  /// end such a statement.
  bool trigger = false;
  unsigned brackets = 0;  ///< PostgreSQL: the number of open brackets in the statement
  unsigned end = 0;       ///< a trigger ends with "; END": how many of these tokens were just read

  /// Returns true if a new statement can begin at the beginning of the line.
  bool between() const { return in == kNothing && !open && delimiter.empty(); }
  friend bool operator==(const SqlText&, const SqlText&) = default;
};

/// Updates `text`, the parser's state, for the front of `line`, which is a line or the rest of one: up to the end of
/// the statement, or the whole line. Removes these bytes from `line`. Returns true if an INSERT begins after other
/// text.
bool TakeSql(std::string_view& line, SqlDialect dialect, SqlText& text);

/// Returns the database that wrote the dump, if `line`, a line near the beginning of the dump, shows it. Otherwise
/// returns kUnknown.
SqlDialect DialectOfLine(std::string_view line);

inline constexpr std::string_view kSqlBlanks = " \t\r\n\v\f";
inline constexpr std::string_view kSqlByteOrderMark = "\xEF\xBB\xBF";  ///< can be the first bytes of a dump
bool IsSqlWordByte(char c);
/// TakeSqlText(), TakeSqlName() and TakeSqlWord() remove one token from the front of `text`. If there is no such token,
/// they return false and leave `text` as it is.
bool TakeSqlText(std::string_view& text, std::string_view what);
/// Removes a name from the front of `text`: a name in quotes of any database, or all bytes up to one of `stops`.
bool TakeSqlName(std::string_view& text, std::string_view stops, std::string& name);
/// Removes `word` from the front of `text`, where it may be in upper or lower case. `word` must be in lower case.
bool TakeSqlWord(std::string_view& text, std::string_view word);
/// Removes a string with its closing quote from the front of `text`. The opening quote was already removed. Returns the
/// value of the string, which may lie in `scratch`.
std::string_view TakeSqlString(std::string_view& text, char quote, SqlDialect dialect, bool escapes,
                               std::string& scratch);
/// Removes the beginning of a comment of MySQL that holds SQL, such as "/*!40101 " or "/*M!100100 ", from the front of
/// `text`. Returns false if there is none.
bool TakeConditionalSql(std::string_view& text);
/// Removes white space from the front of `text`.
void SkipSqlSpaces(std::string_view& text);
/// Removes white space, and comments that begin with "--", from the front of `text`.
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
  std::size_t size = 0;  ///< the number of bytes before the first row; white space after a newline belongs to the row
  SqlTarget target;
  bool replaces = false;  ///< REPLACE or IGNORE: of two rows with the same primary key, only one stays
  bool counts = false;    ///< OVERRIDING USER VALUE: the server counts up values although the rows give some
};
/// Parses an INSERT at the beginning of `text`. The member `is` of the result is kUnfinished if `text` is too short to
/// tell.
InsertHead ParseInsertHead(std::string_view text, SqlDialect dialect);
/// Returns true if `text` begins with the word INSERT or REPLACE.
bool BeginsInsert(std::string_view text);
/// Returns true if `text` begins with a row of an INSERT statement: with "(", or with ROW and "(". Sets `unfinished` if
/// `text` is too short to tell.
bool BeginsRow(std::string_view text, bool& unfinished);

/// Returns the end of the comment that begins at `p`, or `p` if no comment begins there, or null if [p, end) is too
/// short to tell.
const Byte* SkipSqlComment(const Byte* p, const Byte* end, SqlDialect dialect);

/// The white space and the comments before a statement.
struct LeadOfStatement {
  std::size_t size = 0;
  bool ended = false;  ///< false: the text ends in white space or in a comment, which may go on
};
/// Finds the white space and the comments at the beginning of `text`, before a statement. `lines` is true if they may
/// have several lines. Otherwise they end before the first newline.
LeadOfStatement SkipLead(std::string_view text, SqlDialect dialect, bool lines);

/// The text that follows a row of an INSERT statement: a comma before the next row, or the end of the statement.
struct AfterRow {
  enum Is : std::uint8_t { kUnfinished, kComma, kEnd } is = kUnfinished;
  /// The end of the text that follows the row. A comma (`is` is kComma): the next row begins there, after comments. The
  /// end of the statement (`is` is kEnd): the next statement begins there, after comments and the newline.
  const Byte* stop = nullptr;
  bool sure = false;      ///< true: further bytes could not change `stop`
  std::string_view tail;  ///< with kEnd: the text between the row and the semicolon
};
/// Parses the text [p, end) after a row of an INSERT statement. The result has `is` = kUnfinished if the text has
/// neither a comma nor a semicolon.
AfterRow ParseAfterRow(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes);
/// Skips at most `most` whole rows of an INSERT statement, faster than RowLexer. The first row begins at `p`. Stops
/// before a row that needs RowLexer, for example because of inner brackets or names in quotes, and before a row that is
/// not followed by `separator` and another row. Returns the place after the last `separator`, and sets `rows` to the
/// number of skipped rows. If `separator` is empty, skips one row and nothing after it.
const Byte* SkipRows(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, std::string_view separator,
                     std::uint64_t most, std::uint64_t& rows);
/// Returns the clause after the last row of an INSERT, such as "ON CONFLICT DO NOTHING", without comments and with
/// single blanks. `tail` is the text between the row and the semicolon. Two INSERT statements end in the same way if
/// these texts are equal.
std::string ClauseOf(std::string_view tail, SqlDialect dialect);

/// Finds the end of a row of an INSERT statement: the ")" that matches the first "(". The bytes of the row may be given
/// in several pieces.
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
  bool escape_string = false;  ///< with kAfterEscape and similar states, true: the string is an E'...' of PostgreSQL
  std::uint32_t depth = 0;     ///< the number of open brackets
  char last[2] = {0, 0};       ///< the last two bytes of the part before

  /// Reads the bytes [p, end) of a row. Returns the end of the row. If the row goes on after `end`, returns `end`;
  /// `depth` is then not 0, because a bracket is open. If a comment or a string between dollar signs ($$...$$) begins,
  /// which is not supported in a row, returns null and sets `bad` to its place.
  const Byte* Take(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, const Byte*& bad);
};

/// Returns the end of the value of a row that begins at `p`: a pointer to the comma or the bracket after it. [p, end)
/// must contain the rest of the row. The row must be one that RowLexer accepts, because this function does not know
/// comments.
const Byte* ValueEnd(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes);

/// A value of a row of an INSERT statement.
struct SqlValue {
  /// The kind of the value. kHex: the value is written as X'...' or 0x..., and `text` has the hexadecimal digits.
  enum Is : std::uint8_t { kNull, kNumber, kText, kHex } is = kText;
  std::string_view text;  ///< lies in the parsed text or in the buffer `scratch`
  bool literal = true;    ///< false: another expression, or more than one literal
};
/// Returns the value of the SQL literal `raw`. If `raw` is another expression, the value is its text. The text of the
/// result may lie in the buffer `scratch`.
SqlValue ReadSqlValue(std::string_view raw, SqlDialect dialect, bool escapes, std::string& scratch);

/// Returns true if values of `row`, a row of an INSERT statement, can depend on the rows before it. The row then has a
/// query, sets a variable, has NEXT VALUE FOR or s.nextval, or calls a function such as nextval or LAST_INSERT_ID.
bool DependsOnRows(std::string_view row, SqlDialect dialect, bool escapes);

}  // namespace gpusort
