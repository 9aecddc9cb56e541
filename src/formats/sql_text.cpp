#include "formats/sql_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "formats/text_reader.hpp"
#include "formats/value_keys.hpp"

namespace gpusort {
namespace {

using namespace std::string_view_literals;

const Byte* AsBytes(std::string_view text) { return reinterpret_cast<const Byte*>(text.data()); }

/// Returns the end of the white space at the front of [p, end), or the byte after its first newline.
const Byte* SkipToRow(const Byte* p, const Byte* end) {
  while (p != end && IsSpace(static_cast<char>(*p)) && *p != '\n') ++p;
  return p != end && *p == '\n' ? p + 1 : p;
}

/// Returns the tag "$tag$" that begins at `at`, or an empty text.
std::string_view DollarTag(std::string_view line, std::size_t at) {
  if (at > 0 && (IsSqlWordByte(line[at - 1]) || line[at - 1] == '$')) return {};
  std::size_t end = at + 1;
  if (end < line.size() && IsDigit(line[end])) return {};
  while (end < line.size() && IsSqlWordByte(line[end])) ++end;
  return end < line.size() && line[end] == '$' ? line.substr(at, end + 1 - at) : std::string_view{};
}

/// Returns the byte after the quote that closes the string whose content begins at `at`. Two quotes in a row do not
/// close a string. If no quote closes the string, returns the end of the line and sets `closed` to false.
std::size_t CloseQuote(std::string_view line, std::size_t at, char quote, bool escapes, bool& closed) {
  closed = false;
  for (; at < line.size() && !closed; ++at) {
    if (escapes && line[at] == '\\') {
      ++at;
    } else if (line[at] == quote) {
      closed = at + 1 == line.size() || line[at + 1] != quote;
      if (!closed) ++at;
    }
  }
  return std::min(at, line.size());
}

bool BeginsTrigger(std::string_view text) {
  if (!TakeSqlWord(text, "create")) return false;
  SkipSqlSpaces(text);
  if (TakeSqlWord(text, "temp") || TakeSqlWord(text, "temporary")) SkipSqlSpaces(text);
  return TakeSqlWord(text, "trigger");
}

/// Handles a line with the command DELIMITER of MySQL's client. Returns false for any other line.
bool TakeDelimiter(std::string_view line, SqlText& text) {
  if (!TakeSqlWord(line, "delimiter")) return false;
  SkipSqlSpaces(line);
  // The client takes the first word, which can have quotes.
  const bool quoted = line.starts_with('\'') || line.starts_with('"');
  line = line.substr(0, quoted ? line.find(line[0], 1) : line.find_first_of(kSqlBlanks));
  if (quoted) line.remove_prefix(1);
  text.delimiter = line == ";" ? "" : std::string(line);
  text.in = SqlText::kNothing;
  text.open = false;
  return true;
}

}  // namespace

bool IsSqlWordByte(char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '_' || IsLetterOrDigit(c); }

namespace {

/// Reads the rest of a line of SQL, up to the end of the statement. Each Take function reads one token or a part of it.
class SqlLine {
 public:
  SqlLine(std::string_view line, SqlDialect dialect, SqlText& text)
      : line_(line),
        mysql_(dialect == SqlDialect::kMysql),
        postgres_(dialect == SqlDialect::kPostgres),
        sqlite_(dialect == SqlDialect::kSqlite),
        delimits_(!text.delimiter.empty()),
        text_(text) {}

  void Read() {
    while (at_ < line_.size() && !ended_) {
      switch (text_.in) {
        case SqlText::kString:
        case SqlText::kEscapeString:
        case SqlText::kName:
        case SqlText::kBacktick:
        case SqlText::kBracket:
          TakeQuoted();
          break;
        case SqlText::kDollar:
          TakeDollarString();
          break;
        case SqlText::kComment:
          TakeComment();
          break;
        case SqlText::kNothing:
          TakeCode();
      }
    }
  }
  /// The bytes after the statement. Empty if the statement goes on in the next line.
  std::string_view rest() const { return ended_ ? line_.substr(at_) : std::string_view{}; }
  /// See the result of TakeSql().
  bool inserts() const { return inserts_; }

 private:
  bool Is(std::string_view what) const { return line_.compare(at_, what.size(), what) == 0; }
  void SkipLine() { at_ = line_.size(); }

  void TakeQuoted() {
    const char quote = text_.in == SqlText::kName       ? '"'
                       : text_.in == SqlText::kBacktick ? '`'
                       : text_.in == SqlText::kBracket  ? ']'
                                                        : '\'';
    const bool escapes = text_.in == SqlText::kEscapeString || (text_.in == SqlText::kName && mysql_ && text_.escapes);
    bool closed = false;
    at_ = CloseQuote(line_, at_, quote, escapes, closed);
    if (closed) text_.in = SqlText::kNothing;
  }

  void TakeDollarString() {
    const std::size_t found = line_.find(text_.tag, at_);
    if (found == std::string_view::npos) return SkipLine();
    at_ = found + text_.tag.size();
    text_.in = SqlText::kNothing;
    text_.tag.clear();
  }

  void TakeComment() {
    at_ = line_.find_first_of("*/", at_);
    if (at_ == std::string_view::npos) return SkipLine();
    if (Is("*/") || (Is("/*") && postgres_)) {
      text_.depth += Is("/*") ? 1 : -1u;
      if (text_.depth == 0) text_.in = SqlText::kNothing;
      ++at_;
    }
    ++at_;
  }

  void TakeCode() {
    const char c = line_[at_];
    std::string_view rest = line_.substr(at_);
    if (IsSpace(c)) {
      ++at_;
    } else if (delimits_ && Is(text_.delimiter)) {
      at_ += text_.delimiter.size();
      text_.open = false;
      ended_ = true;
    } else if (Is("--") && (!mysql_ || rest.size() == 2 || IsSpace(rest[2]))) {
      SkipLine();
    } else if (c == '#' && mysql_) {
      SkipLine();
    } else if (mysql_ && TakeConditionalSql(rest)) {
      at_ = line_.size() - rest.size();
    } else if (mysql_ && Is("*/")) {
      at_ += 2;
    } else if (Is("/*")) {
      text_.in = SqlText::kComment;
      text_.depth = 1;
      at_ += 2;
    } else if (c == ';' && !delimits_) {
      TakeSemicolon();
    } else if (IsSqlWordByte(c)) {
      TakeWord();
    } else {
      TakeSign();
    }
  }

  void TakeSemicolon() {
    text_.open = text_.open && ((text_.trigger && text_.end != 2) || text_.brackets > 0);
    text_.end = 1;
    ++at_;
    ended_ = !text_.open;
  }

  /// Call this before a token of a statement. `end`: see SqlText::end.
  void NoteToken(unsigned end) {
    if (!text_.open) {
      text_.trigger = sqlite_ && BeginsTrigger(line_.substr(at_));
      text_.brackets = 0;
      inserts_ |= !delimits_ && BeginsInsert(line_.substr(at_)) && line_.find_first_not_of(kSqlBlanks) < at_;
    }
    text_.open = true;
    text_.end = end;
  }

  /// Takes a word, and the quote after the word E of PostgreSQL.
  void TakeWord() {
    const std::size_t from = at_;
    std::string_view rest = line_.substr(at_);
    const bool ends = text_.end == 1 && text_.open && TakeSqlWord(rest, "end");
    NoteToken(ends ? 2 : 0);
    if (postgres_ && TakeSqlWord(rest, "begin")) {  // BEGIN ATOMIC of a function ends with END
      SkipSqlSpaces(rest);
      text_.trigger |= TakeSqlWord(rest, "atomic");
    }
    while (at_ < line_.size() && (IsSqlWordByte(line_[at_]) || (line_[at_] == '$' && postgres_))) ++at_;
    if (postgres_ && at_ - from == 1 && Lower(line_[from]) == 'e' && Is("'")) {
      text_.in = SqlText::kEscapeString;
      ++at_;
    }
  }

  /// Takes the beginning of a string or of a quoted name, a bracket, or another byte that is not part of a word.
  void TakeSign() {
    NoteToken(0);
    const char c = line_[at_];
    const std::string_view tag = c == '$' && postgres_ ? DollarTag(line_, at_) : std::string_view{};
    ++at_;
    // As in psql, a semicolon in brackets ends no statement.
    if (c == '(' && postgres_) ++text_.brackets;
    if (c == ')' && text_.brackets > 0) --text_.brackets;
    if (c == '\'') text_.in = text_.escapes ? SqlText::kEscapeString : SqlText::kString;
    if (c == '"') text_.in = SqlText::kName;
    if (c == '`' && !postgres_) text_.in = SqlText::kBacktick;
    if (c == '[' && sqlite_) text_.in = SqlText::kBracket;
    if (!tag.empty()) {
      text_.in = SqlText::kDollar;
      text_.tag = tag;
      at_ += tag.size() - 1;
    }
  }

  const std::string_view line_;
  const bool mysql_, postgres_, sqlite_;
  const bool delimits_;  ///< true: a semicolon ends no statement
  SqlText& text_;
  std::size_t at_ = 0;
  bool ended_ = false;  ///< true: the statement ends before `at_`
  bool inserts_ = false;
};

}  // namespace

bool TakeSql(std::string_view& rest_of_line, SqlDialect dialect, SqlText& text) {
  const std::string_view line = std::exchange(rest_of_line, {});
  const bool mysql = dialect == SqlDialect::kMysql;
  if (mysql && (text.in == SqlText::kNothing || text.in == SqlText::kComment) && TakeDelimiter(line, text)) {
    return false;
  }
  SqlLine reader(line, dialect, text);
  reader.Read();
  rest_of_line = reader.rest();
  return reader.inserts();
}

SqlDialect DialectOfLine(std::string_view line) {
  constexpr std::size_t kMost = 200;
  const std::string lower = LowerText(line.substr(0, kMost));
  const auto begins = [&](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&](std::string_view text) { return lower.starts_with(text); });
  };
  // Adminer and Navicat write dumps of several databases, and name the database.
  if (begins({"-- adminer", " source server type", "source server type"})) {
    const auto names = [&](std::string_view name) { return lower.find(name) != lower.npos; };
    return names("mysql") || names("mariadb") ? SqlDialect::kMysql
           : names("postgresql")              ? SqlDialect::kPostgres
           : names("sqlite")                  ? SqlDialect::kSqlite
                                              : SqlDialect::kUnknown;
  }
  if (begins({"-- postgresql database", "\\", "set statement_timeout", "set standard_conforming", "set client_encoding",
              "copy ", "select pg_catalog."})) {
    return SqlDialect::kPostgres;
  }
  // Only MySQL has comments that begin with #.
  if (begins({"-- mysql ", "-- mysqldump", "-- mariadb ", "-- dump created by mysql", "-- phpmyadmin", "/*!", "/*m!",
              "set names", "set sql_mode", "set foreign_key_checks", "set unique_checks", "lock tables", "delimiter ",
              "use `", "-- mydumper", "#"})) {
    return SqlDialect::kMysql;
  }
  if (begins({"pragma ", "begin transaction;", "-- file generated with sqlitestudio"})) return SqlDialect::kSqlite;
  return !line.starts_with("--") && line.find('`') != line.npos ? SqlDialect::kMysql : SqlDialect::kUnknown;
}

bool TakeSqlText(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

bool TakeSqlName(std::string_view& text, std::string_view stops, std::string& name) {
  name.clear();
  const char open = text.empty() ? '\0' : text[0];
  if (open != '"' && open != '`' && open != '[' && open != '\'') {
    const std::size_t size = std::min(text.find_first_of(stops), text.size());
    name = text.substr(0, size);
    text.remove_prefix(size);
    return size > 0;
  }
  bool closed = false;
  const char quote = open == '[' ? ']' : open;
  const std::size_t end = CloseQuote(text, 1, quote, false, closed);
  if (!closed) return false;
  for (std::size_t at = 1; at + 1 < end; ++at) {
    name += text[at];
    if (text[at] == quote) ++at;
  }
  text.remove_prefix(end);
  return true;
}

bool TakeSqlWord(std::string_view& text, std::string_view word) {
  if (text.size() < word.size() || !IsWord(text.substr(0, word.size()), word)) return false;
  if (text.size() > word.size() && (IsSqlWordByte(text[word.size()]) || text[word.size()] == '$')) return false;
  text.remove_prefix(word.size());
  return true;
}

void SkipSqlBlanks(std::string_view& text) {
  do {
    SkipSqlSpaces(text);
    if (!text.starts_with("--")) return;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  } while (!text.empty());
}

bool BeginsInsert(std::string_view text) { return TakeSqlWord(text, "insert") || TakeSqlWord(text, "replace"); }

void SkipSqlSpaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSqlBlanks), text.size()));
}

bool TakeConditionalSql(std::string_view& text) {
  std::string_view rest = text;
  if (!TakeSqlText(rest, "/*!") && !TakeSqlText(rest, "/*M!")) return false;
  const std::string_view version = rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  // No server has this version. mariadb-dump begins with such a comment: "/*M!999999\\- enable the sandbox mode */".
  if (version == "999999") return false;
  text = rest.substr(version.size());
  return true;
}

const Byte* SkipSqlComment(const Byte* p, const Byte* end, SqlDialect dialect) {
  const bool mysql = dialect == SqlDialect::kMysql;
  if (p == end || (*p != '-' && *p != '/' && *p != '#') || (*p == '#' && !mysql)) return p;
  if (*p != '#') {
    if (p + 1 == end) return nullptr;
    if (p[1] != (*p == '-' ? '-' : '*')) return p;
    if (*p == '-' && mysql) {
      if (p + 2 == end) return nullptr;
      if (!IsSpace(static_cast<char>(p[2]))) return p;
    }
  }
  if (*p != '/') {
    const Byte* const newline = FindByte(p, end, '\n');
    return newline == end ? nullptr : newline + 1;
  }
  unsigned depth = 1;
  for (p += 2; depth > 0; p += 2) {
    for (;; ++p) {
      p = FindAny(p, end, '*', '/');
      if (end - p < 2) return nullptr;
      if (*p == '*' && p[1] == '/') break;
      if (*p == '/' && p[1] == '*' && dialect == SqlDialect::kPostgres) break;
    }
    depth += *p == '*' ? -1u : 1;
  }
  return p;
}

LeadOfStatement SkipLead(std::string_view text, SqlDialect dialect, bool lines) {
  const Byte* const begin = AsBytes(text);
  const Byte* const end = begin + text.size();
  LeadOfStatement lead;
  const Byte* p = begin + (text.starts_with(kSqlByteOrderMark) ? kSqlByteOrderMark.size() : 0);
  for (;;) {
    while (p != end && IsSpace(static_cast<char>(*p)) && (lines || *p != '\n')) ++p;
    lead.size = static_cast<std::size_t>(p - begin);
    lead.ended = p != end;
    if (p == end || (!lines && *p == '\n')) return lead;
    const std::string_view rest = text.substr(lead.size);
    // A comment of MySQL may hold SQL, which is no comment.
    std::string_view code = rest;
    if (dialect == SqlDialect::kMysql &&
        (TakeConditionalSql(code) || (rest.size() < 4 && "/*M!"sv.starts_with(rest)))) {
      lead.ended = rest.size() >= 4 || rest == "/*!";
      return lead;
    }
    const Byte* const next = SkipSqlComment(p, end, dialect);
    lead.ended = next != nullptr;
    if (next == p || next == nullptr) return lead;
    if (!lines && std::find(p, next, Byte{'\n'}) != next) return lead;
    p = next;
  }
}

bool BeginsRow(std::string_view text, bool& unfinished) {
  constexpr std::string_view kWord = "row";
  const std::string_view word = text.substr(0, kWord.size());
  if (IsWord(word, kWord.substr(0, word.size()))) {
    text.remove_prefix(word.size());
    SkipSqlSpaces(text);
    if (word.size() < kWord.size()) text = {};
  }
  unfinished = text.empty();
  return text.starts_with('(');
}

InsertHead ParseInsertHead(std::string_view text, SqlDialect dialect) {
  constexpr std::string_view kStops = " .,()\";'`\t\r\n\v\f";
  const std::string_view all = text;
  InsertHead head;
  const auto stop = [&](bool unfinished) {
    head.is = unfinished ? InsertHead::kUnfinished : InsertHead::kNone;
    return head;
  };
  if (all.size() < "replace"sv.size()) {
    return stop(IsWord(all, "insert"sv.substr(0, all.size())) || IsWord(all, "replace"sv.substr(0, all.size())));
  }
  if (!BeginsInsert(text)) return stop(false);
  head.replaces = !IsWord(text.substr(0, 6), "insert");
  text.remove_prefix(head.replaces ? "replace"sv.size() : 6);
  for (bool more = true; more;) {
    SkipSqlSpaces(text);
    more = false;
    for (const std::string_view word : {"low_priority"sv, "delayed"sv, "high_priority"sv, "ignore"sv, "into"sv}) {
      const bool taken = TakeSqlWord(text, word);
      head.replaces |= taken && word == "ignore";
      more |= taken;
    }
    if (!TakeSqlWord(text, "or")) continue;
    SkipSqlSpaces(text);
    more = true;
    for (const std::string_view word : {"replace"sv, "ignore"sv, "abort"sv, "fail"sv, "rollback"sv}) {
      head.replaces |= TakeSqlWord(text, word) && (word == "replace" || word == "ignore");
    }
  }
  const auto take_name = [&](std::string& name) {
    SkipSqlSpaces(text);
    const bool quoted = !text.empty() && (text[0] == '"' || text[0] == '`' || text[0] == '[' || text[0] == '\'');
    const bool taken = TakeSqlName(text, kStops, name);
    if (!quoted && dialect == SqlDialect::kPostgres) name = LowerText(name);
    SkipSqlSpaces(text);
    return taken && !text.empty();
  };
  // A name in quotes without its end, or a name at the end of `text`, may go on.
  const auto may_go_on = [&] {
    return text.empty() || text[0] == '"' || text[0] == '`' || text[0] == '[' || text[0] == '\'';
  };
  if (!take_name(head.target.table)) return stop(may_go_on());
  while (TakeSqlText(text, ".")) {
    head.target.schema = std::exchange(head.target.table, {});
    if (!take_name(head.target.table)) return stop(may_go_on());
  }
  if (dialect == SqlDialect::kMysql && TakeSqlWord(text, "partition")) {
    std::string name;
    SkipSqlSpaces(text);
    if (!TakeSqlText(text, "(")) return stop(text.empty());
    do {
      if (!take_name(name)) return stop(may_go_on());
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return stop(text.empty());
    SkipSqlSpaces(text);
  }
  if (TakeSqlText(text, "(")) {
    do {
      if (!take_name(head.target.columns.emplace_back())) return stop(may_go_on());
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return stop(text.empty());
    SkipSqlSpaces(text);
  }
  if (TakeSqlWord(text, "overriding")) {
    for (const std::string_view word : {"system"sv, "user"sv, "value"sv}) {
      SkipSqlSpaces(text);
      head.counts |= TakeSqlWord(text, word) && word == "user";
    }
    SkipSqlSpaces(text);
  }
  if (!TakeSqlWord(text, "values") && !TakeSqlWord(text, "value")) {
    return stop(text.size() < "overriding"sv.size());
  }
  const Byte* const from = AsBytes(text);
  const Byte* const row = SkipToRow(from, from + text.size());
  head.size = static_cast<std::size_t>(text.data() - all.data()) + static_cast<std::size_t>(row - from);
  SkipSqlSpaces(text);
  bool unfinished = false;
  if (!BeginsRow(text, unfinished)) return stop(unfinished);
  head.is = InsertHead::kRows;
  return head;
}

const Byte* RowLexer::Take(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, const Byte*& bad) {
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  const Byte* const begin = p;
  const auto before = [&](const Byte* at, std::ptrdiff_t back) {
    return at - begin >= back ? static_cast<char>(at[-back]) : last[2 - (back - (at - begin))];
  };
  bad = nullptr;
  while (p != end) {
    switch (in) {
      case kCode: {
        p = mysql      ? FindAny(p, end, '\'', '"', '`', '(', ')', '-', '/', '*', '#')
            : postgres ? FindAny(p, end, '\'', '"', '(', ')', '-', '/', '*', '$')
                       : FindAny(p, end, '\'', '"', '`', '[', '(', ')', '-', '/', '*');
        if (p == end) break;
        const auto c = static_cast<char>(*p);
        switch (c) {
          case '\'': {
            const bool prefixed = postgres && Lower(before(p, 1)) == 'e' && !IsSqlWordByte(before(p, 2));
            escape_string = prefixed;
            in = escapes || prefixed ? kEscape : kString;
            break;
          }
          case '"':
            in = mysql && escapes ? kNameEscaped : kName;
            break;
          case '`':
            in = kBacktick;
            break;
          case '[':
            in = kBracket;
            break;
          case '(':
            ++depth;
            break;
          case ')':
            if (--depth == 0) return p + 1;
            break;
          default:  // a comment takes two bytes
            if (c == '#' || c == '$' || (c == '-' && before(p, 1) == '-') || (c == '*' && before(p, 1) == '/')) {
              bad = p;
              return nullptr;
            }
        }
        ++p;
        break;
      }
      case kString:
        p = FindByte(p, end, '\'');
        if (p == end) break;
        in = kCode;
        ++p;
        break;
      case kEscape:
        p = FindAny(p, end, '\'', '\\');
        if (p == end) break;
        in = *p == '\\' ? kEscapedByte : escape_string && !escapes ? kAfterEscape : kCode;
        ++p;
        break;
      case kEscapedByte:
        in = kEscape;
        ++p;
        break;
      case kAfterEscape:
        in = *p == '\'' ? kEscape : kCode;
        if (in == kEscape) ++p;
        break;
      case kName:
        p = FindByte(p, end, '"');
        if (p == end) break;
        in = kCode;
        ++p;
        break;
      case kNameEscaped:
        p = FindAny(p, end, '"', '\\');
        if (p == end) break;
        in = *p == '\\' ? kNameEscapedByte : kCode;
        ++p;
        break;
      case kNameEscapedByte:
        in = kNameEscaped;
        ++p;
        break;
      case kBacktick:
      case kBracket:
        p = FindByte(p, end, in == kBacktick ? '`' : ']');
        if (p == end) break;
        in = kCode;
        ++p;
        break;
    }
  }
  if (end - begin >= 2) last[0] = static_cast<char>(end[-2]);
  if (end - begin == 1) last[0] = last[1];
  if (end != begin) last[1] = static_cast<char>(end[-1]);
  return end;
}

namespace {

/// Returns the byte after the quote that closes the string or name whose content begins at `p`.
const Byte* SkipQuoted(const Byte* p, const Byte* end, unsigned char quote, bool escapes) {
  for (;;) {
    p = escapes ? FindAny(p, end, quote, '\\') : FindByte(p, end, quote);
    if (p == end) return end;
    const bool pair = *p == '\\' || (end - p > 1 && p[1] == quote);
    if (!pair) return p + 1;
    p += std::min<std::ptrdiff_t>(2, end - p);
  }
}

}  // namespace

#if defined(__SSE2__)
namespace {

/// 64 bytes of SQL. Each function returns one bit per byte.
class Bytes64 {
 public:
  explicit Bytes64(const Byte* p) {
    for (unsigned i = 0; i < 4; ++i) part_[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
  }
  /// Returns which bytes are one of `wanted`.
  template <typename... Wanted>
  std::uint64_t Are(Wanted... wanted) const {
    return Bits([&](__m128i part) { return (... | _mm_cmpeq_epi8(part, _mm_set1_epi8(wanted))); });
  }
  /// Returns which bytes are ASCII letters.
  std::uint64_t AreLetters() const {
    return Bits([](__m128i part) {
      const __m128i lower = _mm_or_si128(part, _mm_set1_epi8(0x20));
      return _mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)) & _mm_cmplt_epi8(lower, _mm_set1_epi8('z' + 1));
    });
  }

 private:
  template <typename Test>
  std::uint64_t Bits(const Test& test) const {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < 4; ++i) {
      found |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(test(part_[i])))} << 16 * i;
    }
    return found;
  }

  __m128i part_[4];
};

/// Returns the bytes that a backslash makes literal. `carry` is true if the last byte before these makes the first one
/// literal, and is set for the next bytes.
std::uint64_t Literal(std::uint64_t backslashes, bool& carry) {
  std::uint64_t literal = 0, bit = 1;
  if (carry) {
    literal = 1;
    backslashes &= ~bit;
  }
  carry = false;
  while (backslashes != 0) {
    const unsigned at = static_cast<unsigned>(std::countr_zero(backslashes));
    if (at == 63) {
      carry = true;
      break;
    }
    bit = std::uint64_t{2} << at;
    literal |= bit;
    backslashes &= ~bit & (backslashes - 1);
  }
  return literal;
}

/// Returns for each bit whether the number of bits up to it is odd.
std::uint64_t OddBits(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace
#endif

const Byte* SkipRows(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes, std::string_view separator,
                     std::uint64_t most, std::uint64_t& rows) {
  rows = 0;
#if defined(__SSE2__)
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  if (separator.find_first_not_of(", \t\r\n") != separator.npos) return p;
  const bool lines = separator.ends_with('\n');
  const Byte* open = p;  // the "(" of the next row
  while (open != end && IsSpace(static_cast<char>(*open))) ++open;
  if (open == end || *open != '(') return p;
  bool in_row = false, literal_carry = false;
  std::uint64_t string_carry = 0, minus_carry = 0, letter_carry = 0, word_carry = 0, dot_carry = 0;
  for (const Byte* block = open; end - block >= 64; block += 64) {
    const Bytes64 bytes(block);
    std::uint64_t quotes = bytes.Are('\'');
    if (escapes) quotes &= ~Literal(bytes.Are('\\'), literal_carry);
    const std::uint64_t strings = OddBits(quotes) ^ string_carry;
    string_carry = (strings >> 63) != 0 ? ~std::uint64_t{0} : 0;
    const std::uint64_t code = ~strings & ~quotes;
    const std::uint64_t minus = bytes.Are('-') & code;
    std::uint64_t other = bytes.Are('"', '`', '/', '[', '\\') | (minus & (minus << 1 | minus_carry));
    minus_carry = minus >> 63;
    if (mysql) {
      // A variable may be set (@a := @a + 1), NEXT VALUE FOR has two words with a blank between them, and s.nextval has
      // a letter after a dot.
      const std::uint64_t dots = bytes.Are('.') & code;
      const std::uint64_t letters = bytes.AreLetters() & code, blanks = bytes.Are(' ', '\t', '\n', '\r') & code;
      const std::uint64_t words = blanks & (letters << 1 | letter_carry);  // the first blank after a word
      other |= bytes.Are('#', ':', '@') | ((words << 1 | word_carry) & (letters | blanks));
      other |= letters & (dots << 1 | dot_carry);
      dot_carry = dots >> 63;
      letter_carry = letters >> 63;
      word_carry = words >> 63;
    }
    if (postgres) {
      other |= bytes.Are('$');
      // The quote of an E'...' string, whose escapes are read elsewhere.
      const std::uint64_t opens = quotes & strings;
      const bool before = block != open && Lower(static_cast<char>(block[-1])) == 'e';
      if ((opens & (bytes.Are('e', 'E') << 1 | (before ? 1 : 0))) != 0) return p;
    }
    if ((other & code) != 0) {
      // Rows before the first such byte are whole.
      const unsigned at = static_cast<unsigned>(std::countr_zero(other & code));
      end = std::min(end, block + at);
    }
    for (std::uint64_t brackets = bytes.Are('(', ')') & code; brackets != 0; brackets &= brackets - 1) {
      const Byte* const bracket = block + std::countr_zero(brackets);
      if (bracket >= end) return p;
      if (*bracket == '(') {
        if (in_row || bracket != open) return p;
        in_row = true;
        continue;
      }
      if (!in_row) return p;
      in_row = false;
      const Byte* const next = bracket + 1;
      if (separator.empty()) {
        rows = 1;
        return next;
      }
      const auto room = static_cast<std::size_t>(end - next);
      if (room <= separator.size() || std::memcmp(next, separator.data(), separator.size()) != 0) return p;
      open = next + separator.size();
      while (lines && open != end && IsSpace(static_cast<char>(*open))) ++open;
      if (open == end || *open != '(') return p;
      p = next + separator.size();
      if (++rows == most) return p;
    }
    if ((other & code) != 0) return p;
  }
#else
  (void)end, (void)dialect, (void)escapes, (void)separator, (void)most;
#endif
  return p;
}

AfterRow ParseAfterRow(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes) {
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  AfterRow after;
  const Byte* const begin = p;
  // A comma that comes first is between two rows. Another comma is part of a clause, such as ON DUPLICATE KEY UPDATE.
  bool first = true;
  for (;;) {
    while (p != end && IsSpace(static_cast<char>(*p))) ++p;
    if (p == end) return after;
    const auto c = static_cast<char>(*p);
    if (c == ';' || (c == ',' && first)) break;
    if (const Byte* const next = SkipSqlComment(p, end, dialect); next != p) {
      if (next == nullptr) return after;
      p = next;
      continue;
    }
    first = false;
    if (c == '\'' || c == '"' || (c == '`' && !postgres) || (c == '[' && dialect == SqlDialect::kSqlite)) {
      const bool prefixed = postgres && c == '\'' && p - begin >= 2 && Lower(static_cast<char>(p[-1])) == 'e' &&
                            !IsSqlWordByte(static_cast<char>(p[-2]));
      const bool escaped = c == '\'' ? escapes || prefixed : c == '"' && mysql && escapes;
      p = SkipQuoted(p + 1, end, c == '[' ? ']' : *p, escaped);
      continue;
    }
    if (c == '$' && postgres && (p == begin || !IsSqlWordByte(static_cast<char>(p[-1])))) {
      const std::string_view rest = Text(p, end);
      std::size_t size = 1;
      while (size < rest.size() && IsSqlWordByte(rest[size])) ++size;
      if (size == rest.size()) return after;
      if (rest[size] == '$') {
        const std::size_t close = rest.find(rest.substr(0, size + 1), size + 1);
        if (close == rest.npos) return after;
        p += close + size + 1;
        continue;
      }
    }
    ++p;
  }
  const bool comma = *p == ',';
  after.is = comma ? AfterRow::kComma : AfterRow::kEnd;
  after.tail = Text(begin, p);
  if (comma) {
    // Comments before the next row belong to the text between the two rows.
    const Byte* stop = SkipToRow(p + 1, end);
    for (;;) {
      const Byte* at = stop;
      while (at != end && IsSpace(static_cast<char>(*at))) ++at;
      const Byte* const next = SkipSqlComment(at, end, dialect);
      after.sure = at != end && next != nullptr;
      after.stop = stop;
      if (next == at || next == nullptr) return after;
      stop = SkipToRow(next, end);
    }
  }
  // The statement ends with its line if only comments follow there.
  const Byte* stop = after.stop = p + 1;
  for (;;) {
    while (stop != end && IsSpace(static_cast<char>(*stop)) && *stop != '\n') ++stop;
    const Byte* const next = SkipSqlComment(stop, end, dialect);
    after.sure = stop != end && next != nullptr;
    if (!after.sure) return after;
    const std::string_view comment = Text(stop, next);
    const bool ends_line = *stop == '\n' || (comment.ends_with('\n') && !comment.starts_with("/*"));
    if (ends_line) after.stop = next == stop ? stop + 1 : next;
    const bool is_code = next == stop || comment.starts_with("/*!") || comment.starts_with("/*M!");
    if (ends_line || is_code || comment.find('\n') != comment.npos) return after;
    stop = next;
  }
}

std::string ClauseOf(std::string_view tail, SqlDialect dialect) {
  std::string clause;
  const Byte* const end = AsBytes(tail) + tail.size();
  for (const Byte* p = AsBytes(tail); p != end;) {
    const Byte* const next = SkipSqlComment(p, end, dialect);
    if (next == nullptr) break;
    if (next != p && (Text(p, next).starts_with("/*!") || Text(p, next).starts_with("/*M!"))) {
      clause += Text(p, next);
      p = next;
    } else if (next != p || IsSpace(static_cast<char>(*p))) {
      p = next != p ? next : p + 1;
      if (!clause.empty() && clause.back() != ' ') clause += ' ';
    } else if (*p == '\'' || *p == '"' || *p == '`') {
      // White space in quoted strings is kept.
      const Byte* const stop = SkipQuoted(p + 1, end, *p, true);
      clause += Text(p, stop);
      p = stop;
    } else {
      clause += static_cast<char>(*p++);
    }
  }
  while (clause.ends_with(' ')) clause.pop_back();
  return clause;
}

const Byte* ValueEnd(const Byte* p, const Byte* end, SqlDialect dialect, bool escapes) {
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  const Byte* const begin = p;
  unsigned depth = 0;
  for (;; ++p) {
    p = FindAny(p, end, '\'', '"', '`', ',', '(', ')', '[', ']');
    if (p == end) return end;
    switch (*p) {
      case '\'': {
        const bool prefixed = postgres && p != begin && Lower(static_cast<char>(p[-1])) == 'e' &&
                              (p - begin == 1 || !IsSqlWordByte(static_cast<char>(p[-2])));
        p = SkipQuoted(p + 1, end, '\'', escapes || prefixed) - 1;
        break;
      }
      case '"':
        p = SkipQuoted(p + 1, end, '"', mysql && escapes) - 1;
        break;
      case '`':
        if (!postgres) p = SkipQuoted(p + 1, end, '`', false) - 1;
        break;
      case '[':
        if (postgres) ++depth;
        if (dialect == SqlDialect::kSqlite) p = SkipQuoted(p + 1, end, ']', false) - 1;
        break;
      case ']':
        if (postgres && depth > 0) --depth;
        break;
      case '(':
        ++depth;
        break;
      case ')':
        if (depth == 0) return p;
        --depth;
        break;
      default:
        if (depth == 0) return p;
    }
  }
}

bool DependsOnRows(std::string_view row, SqlDialect dialect, bool escapes) {
  static constexpr std::string_view kCalls[] = {"nextval",        "currval",           "lastval",      "setval",
                                                "last_insert_id", "last_insert_rowid", "uuid_short",   "row_count",
                                                "found_rows",     "changes",           "total_changes"};
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  const Byte* const begin = AsBytes(row);
  const Byte* const end = begin + row.size();
  const auto calls = [&](std::string_view word) { return std::ranges::count(kCalls, LowerText(word)) > 0; };
  /// Removes a name, which may be in quotes, from the front of `rest`.
  const auto take_name = [](std::string_view& rest) {
    std::string name;
    SkipSqlSpaces(rest);
    TakeSqlName(rest, " .,()+-*/%|&<>=!;'\t\r\n\v\f", name);
    return LowerText(name);
  };
  for (const Byte* p = begin; (p = FindAny(p, end, '\'', '"', '`', '(', ':', '.', '@', 'v', 'V')) != end;) {
    const auto before = static_cast<std::size_t>(p - begin);
    if (*p == '\'' || *p == '"' || *p == '`') {
      const bool prefixed = postgres && *p == '\'' && before > 0 && Lower(row[before - 1]) == 'e';
      const Byte* const close =
          SkipQuoted(p + 1, end, *p, *p == '\'' ? escapes || prefixed : *p == '"' && mysql && escapes);
      const std::string_view quoted = close - p < 2 ? "" : Text(p + 1, close - 1);
      p = close;
      std::string_view rest = row.substr(static_cast<std::size_t>(close - begin));
      SkipSqlSpaces(rest);
      if (rest.starts_with('(') && calls(quoted)) return true;
      continue;
    }
    std::string_view rest = row.substr(before);
    if (*p == ':') {
      if (mysql && rest.starts_with(":=")) return true;
    } else if (*p == '.') {  // s.nextval in the mode of Oracle
      rest.remove_prefix(1);
      const std::string name = take_name(rest);
      if (mysql && (name == "nextval" || name == "currval" || name == "lastval")) return true;
    } else if (*p == '@') {  // a variable of the server, such as @@identity
      if (mysql && TakeSqlText(rest, "@@")) {
        std::string name = take_name(rest);
        if ((name == "session" || name == "local") && TakeSqlText(rest, ".")) name = take_name(rest);
        if (name == "identity" || name == "last_insert_id" || name == "insert_id") return true;
      }
    } else if (*p != '(') {  // NEXT VALUE FOR, or PREVIOUS VALUE FOR
      const bool word = (before == 0 || !IsSqlWordByte(row[before - 1])) && TakeSqlWord(rest, "value");
      SkipSqlSpaces(rest);
      if (word && TakeSqlWord(rest, "for")) return true;
    } else {
      std::size_t stop = before;
      while (stop > 0 && IsSpace(row[stop - 1])) --stop;
      std::size_t word = stop;
      while (word > 0 && IsSqlWordByte(row[word - 1])) --word;
      if (calls(row.substr(word, stop - word))) return true;
      rest.remove_prefix(1);
      SkipSqlSpaces(rest);
      if (TakeSqlWord(rest, "select") || TakeSqlWord(rest, "with")) return true;
    }
    ++p;
  }
  return false;
}

namespace {

void AppendCharacter(std::uint32_t code, std::string& text) {
  char bytes[4];
  text.append(bytes, PutUtf8(code, bytes));
}

/// Removes up to `most` digits from the front of `text` and returns their number.
unsigned TakeDigits(std::string_view& text, unsigned base, unsigned most) {
  unsigned number = 0;
  for (; most > 0 && !text.empty(); --most, text.remove_prefix(1)) {
    const int digit = HexDigit(text[0]);
    if (digit < 0 || digit >= static_cast<int>(base)) break;
    number = number * base + static_cast<unsigned>(digit);
  }
  return number;
}

/// Removes an escape sequence, whose backslash was already removed, from the front of `text`. Appends its meaning to
/// `out`.
void TakeEscaped(std::string_view& text, SqlDialect dialect, std::string& out) {
  const bool mysql = dialect == SqlDialect::kMysql;
  const char code = text[0];
  const std::string_view codes = mysql ? "bnrt0Z" : "bnrtfv", bytes = mysql ? "\b\n\r\t\0\x1A"sv : "\b\n\r\t\f\v"sv;
  if (const std::size_t known = codes.find(code); known != codes.npos) {
    out += bytes[known];
    text.remove_prefix(1);
  } else if (!mysql && code >= '0' && code <= '7') {
    out += static_cast<char>(TakeDigits(text, 8, 3) & 0xFF);
  } else if (!mysql && text.size() > 1 && code == 'x' && HexDigit(text[1]) >= 0) {
    text.remove_prefix(1);
    out += static_cast<char>(TakeDigits(text, 16, 2));
  } else if (!mysql && text.size() > 4 && code == 'u') {
    text.remove_prefix(1);
    AppendCharacter(TakeDigits(text, 16, 4), out);
  } else {
    out += code;
    text.remove_prefix(1);
  }
}

}  // namespace

std::string_view TakeSqlString(std::string_view& text, char quote, SqlDialect dialect, bool escapes,
                               std::string& scratch) {
  const auto* const p = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = p + text.size();
  const auto end_byte = static_cast<Byte>(quote);
  const Byte* const stop = escapes ? FindAny(p, end, end_byte, '\\') : FindByte(p, end, end_byte);
  auto size = static_cast<std::size_t>(stop - p);
  if (stop == end || (*stop != '\\' && (stop + 1 == end || stop[1] != end_byte))) {
    const std::string_view value = text.substr(0, size);
    text.remove_prefix(std::min(text.size(), size + 1));
    return value;
  }
  scratch.assign(text.substr(0, size));
  text.remove_prefix(size);
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c == '\\' && escapes && !text.empty()) {
      TakeEscaped(text, dialect, scratch);
    } else if (c == quote) {
      if (!TakeSqlText(text, std::string_view(&quote, 1))) break;
      scratch += quote;
    } else {
      size = std::min(text.find_first_of(quote == '"' ? "\"\\" : "'\\"), text.size());
      scratch += c;
      scratch += text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  return scratch;
}

namespace {

/// Evaluates the calls with which SQLite writes text that has control characters: replace('a\nb','\n',char(10)), also
/// nested, and unistr('a\u000ab').
bool ReadCall(std::string_view raw, std::string& scratch) {
  std::string string;
  if (TakeSqlText(raw, "unistr('")) {
    std::string_view text = TakeSqlString(raw, '\'', SqlDialect::kSqlite, false, string);
    std::string out;
    while (!text.empty()) {
      const char c = text[0];
      text.remove_prefix(1);
      if (c != '\\' || text.empty())
        out += c;
      else if (TakeSqlText(text, "u"))
        AppendCharacter(TakeDigits(text, 16, 4), out);
      else if (TakeSqlText(text, "\\"))
        out += '\\';
    }
    scratch = out;
    return raw == ")";
  }
  unsigned calls = 0;
  while (TakeSqlText(raw, "replace(")) ++calls;
  if (calls == 0 || !TakeSqlText(raw, "'")) return false;
  std::string value(TakeSqlString(raw, '\'', SqlDialect::kSqlite, false, string));
  for (; calls > 0; --calls) {
    if (!TakeSqlText(raw, ",'")) return false;
    const std::string from(TakeSqlString(raw, '\'', SqlDialect::kSqlite, false, string));
    if (!TakeSqlText(raw, ",char(")) return false;
    std::string to;
    unsigned code = 0;
    while (!raw.empty() && IsDigit(raw[0])) {
      code = code * 10 + static_cast<unsigned>(raw[0] - '0');
      raw.remove_prefix(1);
    }
    AppendCharacter(code, to);
    if (!TakeSqlText(raw, "))") || from.empty()) return false;
    if (calls > 1 && raw.empty()) return false;
    for (std::size_t at = 0; (at = value.find(from, at)) != value.npos; at += to.size()) {
      value.replace(at, from.size(), to);
    }
  }
  scratch = value;
  return raw.empty();
}

}  // namespace

SqlValue ReadSqlValue(std::string_view raw, SqlDialect dialect, bool escapes, std::string& scratch) {
  SkipSqlSpaces(raw);
  raw = raw.substr(0, raw.find_last_not_of(kSqlBlanks) + 1);
  const bool mysql = dialect == SqlDialect::kMysql;
  if (raw.empty()) return {SqlValue::kText, raw, false};
  if (raw[0] == '\'' || (mysql && raw[0] == '"')) {
    const char quote = raw[0];
    raw.remove_prefix(1);
    const std::string_view text = TakeSqlString(raw, quote, dialect, escapes, scratch);
    return {SqlValue::kText, text, raw.empty()};
  }
  if (IsDigit(raw[0]) || raw[0] == '-') {
    const bool hex = raw.size() > 2 && raw[0] == '0' && Lower(raw[1]) == 'x';
    return {hex ? SqlValue::kHex : SqlValue::kNumber, raw.substr(hex ? 2 : 0), !hex || mysql};
  }
  if (raw.size() == 4 && IsWord(raw, "null")) return {SqlValue::kNull, {}};
  std::string_view rest = raw;
  if (mysql && raw[0] == '_') {  // a character set, as in _binary 'a'
    while (!rest.empty() && IsSqlWordByte(rest[0])) rest.remove_prefix(1);
    const bool converts = !IsWord(raw.substr(0, raw.size() - rest.size()), "_binary");
    SkipSqlSpaces(rest);
    if (!rest.empty() && (rest[0] == '\'' || rest[0] == '0' || Lower(rest[0]) == 'x')) {
      SqlValue value = ReadSqlValue(rest, dialect, escapes, scratch);
      value.literal = value.literal && !converts;
      return value;
    }
  } else if (raw.size() > 2 && raw[1] == '\'' && "xXeEnNbB"sv.find(raw[0]) != std::string_view::npos) {
    const char prefix = Lower(raw[0]);
    rest.remove_prefix(2);
    const std::string_view text = TakeSqlString(rest, '\'', dialect, escapes || prefix == 'e', scratch);
    const bool literal = rest.empty() && (prefix == 'x' || dialect == SqlDialect::kPostgres) && prefix != 'n';
    return {prefix == 'x' ? SqlValue::kHex : SqlValue::kText, text, literal};
  }
  if (dialect == SqlDialect::kSqlite && ReadCall(raw, scratch)) return {SqlValue::kText, scratch};
  return {SqlValue::kText, raw, false};
}

}  // namespace gpusort
