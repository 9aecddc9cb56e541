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

void SkipSpaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSqlBlanks), text.size()));
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

/// Removes the beginning of a comment of MySQL that holds SQL, such as "/*!40101 " or "/*M!100100 ", from the front of
/// `text`. Returns false if there is none.
bool TakeConditional(std::string_view& text) {
  std::string_view rest = text;
  if (!TakeSqlText(rest, "/*!") && !TakeSqlText(rest, "/*M!")) return false;
  const std::string_view version = rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  // No server has this version. mariadb-dump begins with such a comment: "/*M!999999\\- enable the sandbox mode */".
  if (version == "999999") return false;
  text = rest.substr(version.size());
  return true;
}

bool BeginsTrigger(std::string_view text) {
  if (!TakeSqlWord(text, "create")) return false;
  SkipSpaces(text);
  if (TakeSqlWord(text, "temp") || TakeSqlWord(text, "temporary")) SkipSpaces(text);
  return TakeSqlWord(text, "trigger");
}

/// Handles a line with the command DELIMITER of MySQL's client. Returns false for any other line.
bool TakeDelimiter(std::string_view line, SqlText& text) {
  if (!TakeSqlWord(line, "delimiter")) return false;
  SkipSpaces(line);
  line = line.substr(0, std::min(line.find_last_not_of(kSqlBlanks) + 1, line.size()));
  text.delimiter = line == ";" ? "" : std::string(line);
  text.in = SqlText::kNothing;
  text.open = false;
  return true;
}

}  // namespace

bool IsSqlWordByte(char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '_' || IsLetterOrDigit(c); }

bool TakeSql(std::string_view& rest_of_line, SqlDialect dialect, SqlText& text) {
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  const std::string_view line = std::exchange(rest_of_line, {});
  if (mysql && (text.in == SqlText::kNothing || text.in == SqlText::kComment) && TakeDelimiter(line, text))
    return false;
  if (!text.delimiter.empty()) return false;
  std::size_t at = 0;
  bool inserts = false;
  const auto is = [&](std::string_view what) { return line.compare(at, what.size(), what) == 0; };
  const auto token = [&](unsigned end) {
    if (!text.open) {
      text.trigger = dialect == SqlDialect::kSqlite && BeginsTrigger(line.substr(at));
      text.brackets = 0;
      inserts |= BeginsInsert(line.substr(at)) && line.find_first_not_of(kSqlBlanks) < at;
    }
    text.open = true;
    text.end = end;
  };
  while (at < line.size()) {
    bool closed = false;
    switch (text.in) {
      case SqlText::kString:
      case SqlText::kEscapeString:
      case SqlText::kName:
      case SqlText::kBacktick:
      case SqlText::kBracket: {
        const char quote = text.in == SqlText::kName       ? '"'
                           : text.in == SqlText::kBacktick ? '`'
                           : text.in == SqlText::kBracket  ? ']'
                                                           : '\'';
        const bool escapes = text.in == SqlText::kEscapeString || (text.in == SqlText::kName && mysql && text.escapes);
        at = CloseQuote(line, at, quote, escapes, closed);
        if (closed) text.in = SqlText::kNothing;
        break;
      }
      case SqlText::kDollar: {
        const std::size_t found = line.find(text.tag, at);
        if (found == std::string_view::npos) return inserts;
        at = found + text.tag.size();
        text.in = SqlText::kNothing;
        text.tag.clear();
        break;
      }
      case SqlText::kComment:
        at = line.find_first_of("*/", at);
        if (at == std::string_view::npos) return inserts;
        if (is("*/") || (is("/*") && postgres)) {
          text.depth += is("/*") ? 1 : -1u;
          if (text.depth == 0) text.in = SqlText::kNothing;
          ++at;
        }
        ++at;
        break;
      case SqlText::kNothing: {
        const char c = line[at];
        std::string_view rest = line.substr(at);
        if (IsSpace(c)) {
          ++at;
        } else if (is("--") && (!mysql || rest.size() == 2 || IsSpace(rest[2]))) {
          return inserts;
        } else if (c == '#' && mysql) {
          return inserts;
        } else if (mysql && TakeConditional(rest)) {
          at = line.size() - rest.size();
        } else if (mysql && is("*/")) {
          at += 2;
        } else if (is("/*")) {
          text.in = SqlText::kComment;
          text.depth = 1;
          at += 2;
        } else if (c == ';') {
          text.open = text.open && ((text.trigger && text.end != 2) || text.brackets > 0);
          text.end = 1;
          ++at;
          if (!text.open) {
            rest_of_line = line.substr(at);
            return inserts;
          }
        } else if (IsSqlWordByte(c)) {
          const std::size_t from = at;
          const bool ends = text.end == 1 && text.open && TakeSqlWord(rest, "end");
          token(ends ? 2 : 0);
          if (postgres && TakeSqlWord(rest, "begin")) {  // BEGIN ATOMIC of a function ends with END
            SkipSpaces(rest);
            text.trigger |= TakeSqlWord(rest, "atomic");
          }
          while (at < line.size() && (IsSqlWordByte(line[at]) || (line[at] == '$' && postgres))) ++at;
          if (postgres && at - from == 1 && Lower(c) == 'e' && at < line.size() && line[at] == '\'') {
            text.in = SqlText::kEscapeString;
            ++at;
          }
        } else {
          token(0);
          ++at;
          const std::string_view tag = c == '$' && postgres ? DollarTag(line, at - 1) : std::string_view{};
          // As in psql, a semicolon in brackets ends no statement.
          if (c == '(' && postgres) ++text.brackets;
          if (c == ')' && text.brackets > 0) --text.brackets;
          if (c == '\'') text.in = text.escapes ? SqlText::kEscapeString : SqlText::kString;
          if (c == '"') text.in = SqlText::kName;
          if (c == '`' && !postgres) text.in = SqlText::kBacktick;
          if (c == '[' && dialect == SqlDialect::kSqlite) text.in = SqlText::kBracket;
          if (!tag.empty()) {
            text.in = SqlText::kDollar;
            text.tag = tag;
            at += tag.size() - 1;
          }
        }
      }
    }
  }
  return inserts;
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
    SkipSpaces(text);
    if (!text.starts_with("--")) return;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  } while (!text.empty());
}

bool BeginsInsert(std::string_view text) { return TakeSqlWord(text, "insert") || TakeSqlWord(text, "replace"); }

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
    if (dialect == SqlDialect::kMysql && (TakeConditional(code) || (rest.size() < 4 && "/*M!"sv.starts_with(rest)))) {
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
    SkipSpaces(text);
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
    SkipSpaces(text);
    more = false;
    for (const std::string_view word : {"low_priority"sv, "delayed"sv, "high_priority"sv, "ignore"sv, "into"sv}) {
      const bool taken = TakeSqlWord(text, word);
      head.replaces |= taken && word == "ignore";
      more |= taken;
    }
    if (!TakeSqlWord(text, "or")) continue;
    SkipSpaces(text);
    more = true;
    for (const std::string_view word : {"replace"sv, "ignore"sv, "abort"sv, "fail"sv, "rollback"sv}) {
      head.replaces |= TakeSqlWord(text, word) && (word == "replace" || word == "ignore");
    }
  }
  const auto take_name = [&](std::string& name) {
    SkipSpaces(text);
    const bool quoted = !text.empty() && (text[0] == '"' || text[0] == '`' || text[0] == '[' || text[0] == '\'');
    const bool taken = TakeSqlName(text, kStops, name);
    if (!quoted && dialect == SqlDialect::kPostgres) name = LowerText(name);
    SkipSpaces(text);
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
    SkipSpaces(text);
    if (!TakeSqlText(text, "(")) return stop(text.empty());
    do {
      if (!take_name(name)) return stop(may_go_on());
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return stop(text.empty());
    SkipSpaces(text);
  }
  if (TakeSqlText(text, "(")) {
    do {
      if (!take_name(head.target.columns.emplace_back())) return stop(may_go_on());
    } while (TakeSqlText(text, ","));
    if (!TakeSqlText(text, ")")) return stop(text.empty());
    SkipSpaces(text);
  }
  if (TakeSqlWord(text, "overriding")) {
    for (const std::string_view word : {"system"sv, "user"sv, "value"sv}) {
      SkipSpaces(text);
      head.counts |= TakeSqlWord(text, word) && word == "user";
    }
    SkipSpaces(text);
  }
  if (!TakeSqlWord(text, "values") && !TakeSqlWord(text, "value")) {
    return stop(text.size() < "overriding"sv.size());
  }
  const Byte* const from = AsBytes(text);
  const Byte* const row = SkipToRow(from, from + text.size());
  head.size = static_cast<std::size_t>(text.data() - all.data()) + static_cast<std::size_t>(row - from);
  SkipSpaces(text);
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
    SkipSpaces(rest);
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
      SkipSpaces(rest);
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
      SkipSpaces(rest);
      if (word && TakeSqlWord(rest, "for")) return true;
    } else {
      std::size_t stop = before;
      while (stop > 0 && IsSpace(row[stop - 1])) --stop;
      std::size_t word = stop;
      while (word > 0 && IsSqlWordByte(row[word - 1])) --word;
      if (calls(row.substr(word, stop - word))) return true;
      rest.remove_prefix(1);
      SkipSpaces(rest);
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

/// Removes a string with its closing quote from the front of `text`. The opening quote was already removed. Returns the
/// value of the string, which may lie in `scratch`.
std::string_view TakeString(std::string_view& text, char quote, SqlDialect dialect, bool escapes,
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

/// Evaluates the calls with which SQLite writes text that has control characters: replace('a\nb','\n',char(10)), also
/// nested, and unistr('a\u000ab').
bool ReadCall(std::string_view raw, std::string& scratch) {
  std::string string;
  if (TakeSqlText(raw, "unistr('")) {
    std::string_view text = TakeString(raw, '\'', SqlDialect::kSqlite, false, string);
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
  std::string value(TakeString(raw, '\'', SqlDialect::kSqlite, false, string));
  for (; calls > 0; --calls) {
    if (!TakeSqlText(raw, ",'")) return false;
    const std::string from(TakeString(raw, '\'', SqlDialect::kSqlite, false, string));
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
  SkipSpaces(raw);
  raw = raw.substr(0, raw.find_last_not_of(kSqlBlanks) + 1);
  const bool mysql = dialect == SqlDialect::kMysql;
  if (raw.empty()) return {SqlValue::kText, raw, false};
  if (raw[0] == '\'' || (mysql && raw[0] == '"')) {
    const char quote = raw[0];
    raw.remove_prefix(1);
    const std::string_view text = TakeString(raw, quote, dialect, escapes, scratch);
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
    SkipSpaces(rest);
    if (!rest.empty() && (rest[0] == '\'' || rest[0] == '0' || Lower(rest[0]) == 'x')) {
      SqlValue value = ReadSqlValue(rest, dialect, escapes, scratch);
      value.literal = value.literal && !converts;
      return value;
    }
  } else if (raw.size() > 2 && raw[1] == '\'' && "xXeEnNbB"sv.find(raw[0]) != std::string_view::npos) {
    const char prefix = Lower(raw[0]);
    rest.remove_prefix(2);
    const std::string_view text = TakeString(rest, '\'', dialect, escapes || prefix == 'e', scratch);
    const bool literal = rest.empty() && (prefix == 'x' || dialect == SqlDialect::kPostgres) && prefix != 'n';
    return {prefix == 'x' ? SqlValue::kHex : SqlValue::kText, text, literal};
  }
  if (dialect == SqlDialect::kSqlite && ReadCall(raw, scratch)) return {SqlValue::kText, scratch};
  return {SqlValue::kText, raw, false};
}

namespace {

/// Returns true if `text` is a whole number between `least` and `most`.
bool IsIntegerIn(std::string_view text, std::int64_t least, std::uint64_t most) {
  const bool negative = TakeSqlText(text, "-");
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return false;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  constexpr std::size_t kMostDigits = 20;
  if (text.size() > kMostDigits) return false;
  std::uint64_t number = 0;
  for (const char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (number > (~std::uint64_t{0} - digit) / 10) return false;
    number = number * 10 + digit;
  }
  if (!negative) return number <= most;
  return number == 0 || (least < 0 && number <= std::uint64_t{0} - static_cast<std::uint64_t>(least));
}

/// Returns true if the server stores a text of MySQL without a change, as far as its characters and its size decide.
bool KeepsCharacters(const SqlTable::Column& column, std::string_view text) {
  std::uint64_t characters = text.size();
  if (column.text != SqlTable::Column::kBytes) {
    characters = 0;
    for (std::size_t at = 0; at < text.size(); ++characters) {
      std::uint32_t code = 0;
      const std::size_t size = DecodeUtf8(text.substr(at), code);
      if (size == 0 || (size > 1 && column.text == SqlTable::Column::kAscii)) return false;
      at += size;
    }
  }
  return column.size == 0 || characters <= column.size;
}

bool KeepsMysqlValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  switch (column.type) {
    case ValueType::kInt:
      if (value.is != SqlValue::kNumber && value.is != SqlValue::kText) return false;
      if (column.year) {
        constexpr unsigned kFirstYear = 1901, kLastYear = 2155;
        return text == "0000" || (text.size() == 4 && text[0] != '0' && IsIntegerIn(text, kFirstYear, kLastYear));
      }
      return IsIntegerIn(text, column.least, column.most);
    case ValueType::kText:
      return (value.is == SqlValue::kText || value.is == SqlValue::kHex) && KeepsCharacters(column, text);
    default:
      return true;  // see SqlTable::Column::loose
  }
}

bool KeepsPostgresValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  if (value.is != SqlValue::kText && value.is != SqlValue::kNumber) return value.is == SqlValue::kNull;
  switch (column.type) {
    case ValueType::kInt:
      return IsIntegerIn(text, column.least, column.most);
    case ValueType::kDecimal:
      return true;
    case ValueType::kDate:  // other forms than 2026-01-31 depend on a setting of the server
      return text.size() >= std::size("2026-01-31") - 1 && text.find_first_not_of("0123456789") == text.find('-') &&
             text.find('-') >= 4 && text.find_first_not_of("0123456789- BC") == text.npos;
    case ValueType::kMacAddress:
      return text.size() == column.size;
    case ValueType::kBytesHex:
      return value.is == SqlValue::kText && text.starts_with("\\x");
    case ValueType::kText:
      return value.is == SqlValue::kText && (column.size == 0 || text.size() <= column.size || [&] {  // characters
               const auto begins = [](char c) { return (c & 0xC0) != 0x80; };
               return !column.in_bytes &&
                      static_cast<std::uint64_t>(std::ranges::count_if(text, begins)) <= column.size;
             }());
    default:
      return value.is == SqlValue::kText;
  }
}

bool KeepsLiteValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text) {
  using Column = SqlTable::Column;
  const bool number = value.is == SqlValue::kNumber;
  if (value.is == SqlValue::kNull) return column.counted;
  if (column.affinity == Column::kText && number) return false;
  if (number) {
    if (!keys::IsDecimal({text.data(), text.data() + text.size()})) return false;
    // Numbers with more digits can be equal as float.
    constexpr std::size_t kExactDigits = 15, kIntegerDigits = 18;
    const bool whole = text.find_first_not_of("-0123456789") == text.npos;
    const std::size_t digits = static_cast<std::size_t>(std::ranges::count_if(text, IsDigit));
    return digits <= (whole && column.affinity != Column::kReal ? kIntegerDigits : kExactDigits);
  }
  if (column.affinity == Column::kNone || column.affinity == Column::kText || value.is == SqlValue::kHex) return true;
  SkipSpaces(text);
  text = text.substr(0, text.find_last_not_of(kSqlBlanks) + 1);
  return !keys::IsDecimal({text.data(), text.data() + text.size()});
}

}  // namespace

bool KeepsValue(const SqlTable::Column& column, const SqlValue& value, std::string_view text, SqlDialect dialect) {
  const bool known =
      value.literal || (column.type == ValueType::kBool && (IsWord(text, "true") || IsWord(text, "false")));
  if (!known) return false;
  if (dialect == SqlDialect::kMysql) return KeepsMysqlValue(column, value, text);
  return dialect == SqlDialect::kSqlite ? KeepsLiteValue(column, value, text) : KeepsPostgresValue(column, value, text);
}

namespace {

/// Reads the tokens of a CREATE TABLE.
class Tokens {
 public:
  Tokens(std::string_view text, SqlDialect dialect) : rest_(text), dialect_(dialect) { Next(); }

  enum Is : std::uint8_t { kEnd, kWord, kName, kString, kOther };
  Is is() const { return is_; }
  /// The token: a word in lower case, a name or a string without quotes, or a byte.
  const std::string& text() const { return text_; }
  /// The word as a name: as it is written, in PostgreSQL in lower case.
  const std::string& written() const { return written_; }
  bool is_name() const { return is_ == kWord || is_ == kName || (is_ == kString && dialect_ == SqlDialect::kSqlite); }
  bool Is(std::string_view word) const { return (is_ == kWord || is_ == kOther) && text_ == word; }
  bool Take(std::string_view word) {
    if (!Is(word)) return false;
    Next();
    return true;
  }
  void Next() {
    for (;;) {
      SkipSqlBlanks(rest_);
      if (dialect_ == SqlDialect::kMysql && (TakeConditional(rest_) || TakeSqlText(rest_, "*/"))) continue;
      if (dialect_ == SqlDialect::kMysql && rest_.starts_with('#')) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
        continue;
      }
      if (!rest_.starts_with("/*")) break;
      const std::size_t end = rest_.find("*/");
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
    }
    is_ = rest_.empty() ? kEnd : kOther;
    if (rest_.empty()) return;
    const char c = rest_[0];
    if (c == '"' || c == '`' || (c == '[' && dialect_ == SqlDialect::kSqlite)) {
      if (TakeSqlName(rest_, "", text_)) {
        is_ = kName;
        written_ = text_;
        return;
      }
      rest_ = {};
    } else if (c == '\'') {
      std::string scratch;
      rest_.remove_prefix(1);
      written_ = text_ = TakeString(rest_, '\'', dialect_, dialect_ == SqlDialect::kMysql, scratch);
      is_ = kString;
    } else if (IsSqlWordByte(c)) {
      std::size_t size = 1;
      while (size < rest_.size() && (IsSqlWordByte(rest_[size]) || rest_[size] == '$')) ++size;
      is_ = kWord;
      written_ = rest_.substr(0, size);
      text_ = LowerText(written_);
      if (dialect_ == SqlDialect::kPostgres) written_ = text_;
      rest_.remove_prefix(size);
    } else {
      text_ = std::string(1, c);
      rest_.remove_prefix(1);
    }
  }

 private:
  std::string_view rest_;
  const SqlDialect dialect_;
  enum Is is_ = kEnd;
  std::string text_, written_;
};

/// Returns the type of a column from the words of its type in CREATE TABLE, in lower case.
ValueType TypeOfWords(const std::string& words, SqlDialect dialect) {
  // Values of SQLite are ordered by their own types.
  if (dialect == SqlDialect::kSqlite) return ValueType::kText;
  const std::string_view first = std::string_view(words).substr(0, words.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (first == "enum" && dialect == SqlDialect::kMysql) return ValueType::kEnum;
  if (first == "interval") return ValueType::kInterval;
  if (is({"tinyint", "smallint", "mediumint", "middleint", "int", "integer", "bigint", "int1", "int2", "int3", "int4",
          "int8", "serial", "serial2", "serial4", "serial8", "bigserial", "smallserial", "year"})) {
    return ValueType::kInt;
  }
  if (is({"dec", "decimal", "numeric", "float", "float4", "float8", "double", "real", "fixed"})) {
    return ValueType::kDecimal;
  }
  if (is({"datetime", "timestamp", "timestamptz"})) return ValueType::kTimestamp;
  // A date of MySQL can have the month 0 or the day 0, which only keys of timestamps allow (PutZeroDate).
  if (first == "date") return dialect == SqlDialect::kMysql ? ValueType::kTimestamp : ValueType::kDate;
  if (is({"time", "timetz"})) return ValueType::kTime;
  if (dialect == SqlDialect::kMysql) return is({"inet4", "inet6"}) ? ValueType::kIp : ValueType::kText;
  if (is({"bool", "boolean"})) return ValueType::kBool;
  if (first == "uuid") return ValueType::kUuid;
  if (is({"inet", "cidr"})) return ValueType::kIp;
  if (is({"macaddr", "macaddr8"})) return ValueType::kMacAddress;
  if (is({"bit", "varbit"})) return ValueType::kBits;
  if (first == "bytea") return ValueType::kBytesHex;
  if (first == "oid") return ValueType::kInt;
  if (first == "money") return ValueType::kNumber;
  return ValueType::kText;
}

/// Returns what SQLite converts in a column of this type, given in lower case.
SqlTable::Column::Affinity AffinityOf(std::string_view type) {
  const auto has = [&](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&](std::string_view text) { return type.find(text) != type.npos; });
  };
  if (has({"int"})) return SqlTable::Column::kNumber;
  if (has({"char", "clob", "text"})) return SqlTable::Column::kText;
  if (type.empty() || has({"blob"})) return SqlTable::Column::kNone;
  return has({"real", "floa", "doub"}) ? SqlTable::Column::kReal : SqlTable::Column::kNumber;
}

/// Sets which values of a column of PostgreSQL or MySQL are equal: its members `loose` and `padding`. `type` has the
/// words of the type, in lower case, and `collation` the name of the collation, or an empty text. `sized` is true if
/// the type has a size, as in numeric(9,2).
void SetEquality(std::string_view type, bool sized, std::string_view collation, SqlDialect dialect,
                 SqlTable::Column& column) {
  const std::string_view first = type.substr(0, type.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (dialect == SqlDialect::kMysql) {
    switch (column.type) {
      case ValueType::kInt:
        return;
      case ValueType::kText: {
        const bool bytes = is({"varbinary", "binary"});
        const bool binary = collation.ends_with("_bin");
        const bool characters = is({"char", "varchar", "character", "nchar", "nvarchar", "text"});
        column.loose = !bytes && (!characters || (!binary && collation != "binary"));
        if (binary && !bytes) {
          column.text = collation.starts_with("utf8mb4_") ? SqlTable::Column::kCharacters : SqlTable::Column::kAscii;
        }
        // These collations ignore blanks at the end, but for two kinds.
        const bool pads =
            binary && collation.find("nopad") == collation.npos && collation.find("0900") == collation.npos;
        if (!bytes && pads) column.padding = ' ';
        if (first == "binary") column.padding = 0;
        return;
      }
      default:
        column.loose = true;
    }
    return;
  }
  switch (column.type) {
    case ValueType::kText: {
      const bool padded = is({"char", "character", "bpchar"}) && type.find("varying") == type.npos;
      if (padded) column.padding = ' ';
      static constexpr std::string_view kExact[] = {"", "default", "c", "posix", "ucs_basic", "pg_catalog"};
      column.loose = std::ranges::count(kExact, LowerText(collation)) == 0 ||
                     (!padded && !is({"text", "varchar", "character", "name"}));
      return;
    }
    case ValueType::kDecimal:
      column.loose = sized || !is({"numeric", "decimal", "dec"});
      return;
    case ValueType::kTimestamp:
    case ValueType::kTime:
    case ValueType::kInterval:
    case ValueType::kNumber:
      column.loose = true;
      return;
    default:
      return;
  }
}

/// Sets which values of a column of PostgreSQL or MySQL the server stores without a change: its members `size`,
/// `least`, `most` and `year`. `type` has the words of the type, in lower case, and `size` the number in brackets after
/// the type, or 0.
void SetLimits(std::string_view type, std::uint64_t size, bool is_unsigned, SqlTable::Column& column) {
  constexpr std::uint64_t kNameSize = 63, kMacSize = 17, kMac8Size = 23;
  const std::string_view first = type.substr(0, type.find(' '));
  const auto is = [&](std::initializer_list<std::string_view> texts) { return std::ranges::count(texts, first) > 0; };
  if (column.type == ValueType::kInt) {
    column.year = first == "year";
    const unsigned bits = is({"tinyint", "int1"})                                                             ? 8
                          : is({"smallint", "int2", "smallserial", "serial2"})                                ? 16
                          : is({"mediumint", "middleint", "int3"})                                            ? 24
                          : is({"bigint", "int8", "bigserial", "serial8"}) || (is({"serial"}) && is_unsigned) ? 64
                                                                                                              : 32;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
    const bool natural = is_unsigned || first == "oid";
    column.most = natural ? all : all >> 1;
    column.least = natural ? 0 : -static_cast<std::int64_t>(all >> 1) - 1;
  } else if (column.type == ValueType::kMacAddress) {
    column.size = first == "macaddr8" ? kMac8Size : kMacSize;
  } else if (column.type == ValueType::kText) {
    column.in_bytes = first == "name";
    column.size = column.in_bytes ? kNameSize : size;
    if (size == 0 && is({"char", "character", "nchar", "binary"}) && type.find("varying") == type.npos) column.size = 1;
  }
}

/// Reads the names of the columns of a key in brackets, as in PRIMARY KEY (a, b(10) DESC). Sets `whole` to false if
/// the key is not made of whole columns, so that rows with other values can have equal keys.
std::vector<std::string> TakeNames(Tokens& tokens, bool& whole) {
  std::vector<std::string> names;
  whole = tokens.Take("(");
  unsigned depth = whole ? 1 : 0;
  for (bool first = true; tokens.is() != Tokens::kEnd && depth > 0; tokens.Next()) {
    if (first && tokens.is_name()) names.push_back(tokens.written());
    whole = whole && !tokens.Is("(") && !tokens.Is("collate");
    first = tokens.Is(",") && depth == 1;
    depth += tokens.Is("(") ? 1 : tokens.Is(")") ? -1u : 0;
  }
  return names;
}

/// Reads the columns of a unique key. Returns no columns if the key is not made of whole columns.
std::vector<std::string> TakeUnique(Tokens& tokens) {
  while (tokens.is() != Tokens::kEnd && !tokens.Is("(")) tokens.Next();
  bool whole = false;
  std::vector<std::string> names = TakeNames(tokens, whole);
  if (!whole) names.clear();
  return names;
}

/// Finds out whether the server counts up the values of a column, from the tokens that describe the column.
class CountsUp {
 public:
  /// Call this for each token. Returns true for a word such as AUTO_INCREMENT, for a function such as nextval, for
  /// NEXT VALUE FOR and for MySQL's SERIAL DEFAULT VALUE.
  bool Sees(const Tokens& tokens) {
    static constexpr std::string_view kWords[] = {"auto_increment", "autoincrement",    "identity", "nextval",
                                                  "currval",        "lastval",          "setval",   "uuid_short",
                                                  "last_insert_id", "last_insert_rowid"};
    const bool after_value = std::exchange(value_, tokens.Is("value"));
    if (after_value && tokens.Is("for")) return true;
    const int serial = std::exchange(serial_, tokens.Is("serial") ? 1 : serial_ == 1 && tokens.Is("default") ? 2 : 0);
    if (serial == 2 && tokens.Is("value")) return true;
    if (tokens.is() == Tokens::kName) return tokens.text() == "nextval";
    return tokens.is() == Tokens::kWord && std::ranges::count(kWords, tokens.text()) > 0;
  }

 private:
  bool value_ = false;  ///< the last token was the word VALUE
  int serial_ = 0;      ///< how many of the words SERIAL DEFAULT the last tokens were
};

/// Returns true if a constraint or an index of a CREATE TABLE begins here, and not a column.
bool BeginsConstraint(const Tokens& tokens, SqlDialect dialect) {
  if (tokens.is() != Tokens::kWord) return false;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::count(words, tokens.text()) > 0;
  };
  if (is({"constraint", "primary", "unique", "foreign", "check"})) return true;
  const bool mysql = dialect == SqlDialect::kMysql, postgres = dialect == SqlDialect::kPostgres;
  // The following words can be names of columns in other databases, or before other words.
  if (is({"key", "index", "fulltext", "spatial"})) return mysql;
  if (is({"like"})) return postgres;
  Tokens next = tokens;
  next.Next();
  if (is({"period"})) return mysql && next.Is("for");
  return is({"exclude"}) && postgres && (next.Is("using") || next.Is("("));
}

}  // namespace

bool BeginsCreateTable(std::string_view text) {
  SkipSpaces(text);
  if (TakeConditional(text)) SkipSpaces(text);
  if (!TakeSqlWord(text, "create")) return false;
  for (;;) {
    SkipSpaces(text);
    if (TakeSqlWord(text, "table")) return true;
    bool any = false;
    for (const std::string_view word :
         {"global"sv, "local"sv, "temp"sv, "temporary"sv, "unlogged"sv, "foreign"sv, "or"sv, "replace"sv}) {
      any = any || TakeSqlWord(text, word);
    }
    if (!any) return false;
  }
}

bool BeginsCreateType(std::string_view text) {
  SkipSpaces(text);
  if (!TakeSqlWord(text, "create")) return false;
  SkipSpaces(text);
  return TakeSqlWord(text, "type");
}

bool BeginsTableChange(std::string_view text) {
  SkipSpaces(text);
  if (TakeConditional(text)) SkipSpaces(text);
  const auto take = [&](std::string_view word) {
    const bool taken = TakeSqlWord(text, word);
    SkipSpaces(text);
    return taken;
  };
  if (take("create")) return (!take("or") || take("replace")) && take("unique") && take("index");
  if (!take("alter")) return false;
  take("online");
  take("ignore");
  return take("table");
}

namespace {

/// Takes a name, and the names with dots before it. Returns false if there is none.
bool TakeDottedName(Tokens& tokens, std::string& schema, std::string& name) {
  schema.clear();
  for (bool more = true; more; more = tokens.Take(".")) {
    if (!name.empty()) schema = name;
    if (!tokens.is_name()) return false;
    name = tokens.written();
    tokens.Next();
  }
  return true;
}

/// Reads the names of tables in brackets, as in INHERITS (a, public.b).
void TakeParents(Tokens& tokens, std::vector<SqlTarget>& parents) {
  tokens.Next();
  while (tokens.Take(parents.empty() ? "(" : ",")) {
    SqlTarget parent;
    if (!TakeDottedName(tokens, parent.schema, parent.table)) parent = {};
    parents.push_back(std::move(parent));
  }
}

/// Takes the rest of a reference to another table. Returns true if that is `table` itself.
bool TakeReference(Tokens& tokens, const std::string& table) {
  std::string schema, name;
  return TakeDottedName(tokens, schema, name) && IsSameSqlName(name, table);
}

}  // namespace

bool BeginsRowProgram(std::string_view text) {
  SkipSpaces(text);
  if (TakeSqlWord(text, "update") || TakeSqlWord(text, "delete")) return true;
  if (!TakeSqlWord(text, "create")) return false;
  // MySQL allows DEFINER = 'user'@'host' here.
  constexpr std::size_t kMost = 300;
  const std::string lower = LowerText(text.substr(0, kMost));
  return lower.find("trigger") != lower.npos || lower.find("rule") != lower.npos;
}

std::optional<SqlTarget> ParseInsertTrigger(std::string_view text, SqlDialect dialect) {
  Tokens tokens(text, dialect);
  if (!tokens.Take("create")) return std::nullopt;
  while (!tokens.Is("trigger") && !tokens.Is("rule")) {
    const bool other = tokens.Is("table") || tokens.Is("(") || tokens.Is(";");
    if (other || tokens.is() == Tokens::kEnd) return std::nullopt;
    tokens.Next();
  }
  const bool rule = tokens.Is("rule");
  bool insert = false;
  for (; !tokens.Is(rule ? "to" : "on"); tokens.Next()) {
    if (tokens.is() == Tokens::kEnd) return std::nullopt;
    insert |= tokens.Is("insert");
  }
  tokens.Next();
  SqlTarget target;
  if (!insert || !TakeDottedName(tokens, target.schema, target.table)) return std::nullopt;
  return target;
}

bool DependsOnOrder(std::string_view text, SqlDialect dialect) {
  Tokens tokens(text, dialect);
  const bool creates = tokens.Is("create");
  if (!creates && !tokens.Is("update") && !tokens.Is("delete")) return false;
  if (creates) {
    // Only a table gets rows at once. Before TABLE come words such as OR REPLACE GLOBAL TEMPORARY.
    constexpr int kMostWords = 5;
    for (int word = 0; !tokens.Is("table"); ++word, tokens.Next()) {
      if (word > kMostWords || tokens.is() == Tokens::kEnd) return false;
    }
  }
  bool selects = false, limits = false, sorts = false, depends = false, colon = false;
  CountsUp counts_up;
  for (; tokens.is() != Tokens::kEnd; tokens.Next()) {
    selects |= tokens.Is("select");
    limits |= tokens.Is("limit");
    sorts |= tokens.Is("order");
    const bool postgres = dialect == SqlDialect::kPostgres;
    depends |= counts_up.Sees(tokens) && !(postgres && tokens.Is("identity"));
    depends |= tokens.Is("row_number") || (postgres && tokens.Is("ctid")) ||
               (dialect == SqlDialect::kSqlite && tokens.Is("rowid"));
    depends |= std::exchange(colon, tokens.Is(":")) && tokens.Is("=");
  }
  return (selects || !creates) && (depends || (limits && !sorts));
}

bool IsSameSqlName(std::string_view a, std::string_view b) { return LowerText(a) == LowerText(b); }

bool SaysWhatConflictsDo(std::string_view tail, SqlDialect dialect) {
  if (tail.find_first_of("oO") == tail.npos) return false;
  for (Tokens tokens(tail, dialect); tokens.is() != Tokens::kEnd;) {
    if (tokens.Take("on")) {
      if (tokens.Is("conflict") || tokens.Is("duplicate")) return true;
    } else {
      tokens.Next();
    }
  }
  return false;
}

std::optional<SqlEnum> ParseCreateEnum(std::string_view text, SqlDialect dialect) {
  if (!BeginsCreateType(text)) return std::nullopt;
  Tokens tokens(text, dialect);
  tokens.Next();
  tokens.Next();
  SqlEnum type;
  if (!TakeDottedName(tokens, type.schema, type.name)) return std::nullopt;
  if (!tokens.Take("as") || !tokens.Take("enum") || !tokens.Take("(")) return std::nullopt;
  for (; tokens.is() != Tokens::kEnd && !tokens.Is(")"); tokens.Next()) {
    if (tokens.is() == Tokens::kString) type.labels.push_back(tokens.text());
  }
  return type;
}

std::optional<SqlTableChange> ParseTableChange(std::string_view text, SqlDialect dialect) {
  if (!BeginsTableChange(text)) return std::nullopt;
  Tokens tokens(text, dialect);
  SqlTableChange change;
  const bool index = tokens.Is("create");
  const bool mysql = dialect == SqlDialect::kMysql;
  for (; tokens.is() != Tokens::kEnd && !tokens.Is(index ? "on" : "table"); tokens.Next()) {
    change.ignores |= !index && tokens.Is("ignore");
  }
  tokens.Next();
  for (const std::string_view word : {"if"sv, "exists"sv, "only"sv}) tokens.Take(word);
  if (!TakeDottedName(tokens, change.table.schema, change.table.table)) return std::nullopt;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return tokens.is() == Tokens::kWord && std::ranges::count(words, tokens.text()) > 0;
  };
  if (index) {
    change.unique.push_back(TakeUnique(tokens));
    return change;
  }
  while (tokens.is() != Tokens::kEnd && !tokens.Is(";")) {
    // The words of an action up to the name of a column, such as ADD COLUMN IF NOT EXISTS.
    const bool adds = tokens.Take("add"), alters = tokens.Take("alter"), drops = tokens.Take("drop");
    const bool changes = tokens.Take("change"), modifies = changes || tokens.Take("modify");
    change.moves_columns |= tokens.Is("rename");
    if (tokens.Take("attach") && tokens.Take("partition")) {
      TakeDottedName(tokens, change.attached.schema, change.attached.table);
    }
    const bool names_column = tokens.Take("column");
    for (const std::string_view word : {"if"sv, "not"sv, "exists"sv}) tokens.Take(word);
    const bool constraint = !names_column && (BeginsConstraint(tokens, dialect) || tokens.Is("partition"));
    const bool many = adds && tokens.Is("(");  // MySQL: ADD (a int, b int)
    change.moves_columns |= many || (drops && !constraint);
    SqlTable::Column column;
    if ((adds || alters || modifies) && !constraint && tokens.is_name()) {
      column.name = tokens.written();
      tokens.Next();
      if (changes && tokens.is_name()) {
        change.moves_columns |= !IsSameSqlName(column.name, tokens.written());
        tokens.Next();
      }
      if (alters && tokens.Take("set")) tokens.Take("data");
      const bool retypes = modifies || (alters && tokens.Take("type"));
      column.type = TypeOfWords(tokens.text(), dialect);
      if (column.type == ValueType::kEnum) column.type = ValueType::kText;
      column.loose = true;
      column.counted = (adds || modifies) && tokens.text().find("serial") != std::string::npos;
      if (adds) change.added.push_back(column);
      if (retypes) change.retyped.push_back(column);
    }
    bool counted = column.counted, not_null = false;
    CountsUp counts_up;
    for (unsigned depth = 0; tokens.is() != Tokens::kEnd && (depth > 0 || (!tokens.Is(",") && !tokens.Is(";")));) {
      if (tokens.Take("references")) {
        change.refers_to_itself |= TakeReference(tokens, change.table.table);
        continue;
      }
      const bool excludes = constraint && is({"exclude"});
      if (constraint && adds && (excludes || is({"unique", "primary"}))) {
        change.unique.push_back(TakeUnique(tokens));
        if (excludes) change.unique.back().clear();
        continue;
      }
      if (!constraint && is({"unique", "primary"})) change.unique.emplace_back();
      // PostgreSQL: SET DEFAULT nextval('x'), and ADD GENERATED ALWAYS AS IDENTITY.
      counted |= counts_up.Sees(tokens);
      if (tokens.Take("not")) {
        not_null |= tokens.Is("null");
        continue;
      }
      change.moves_columns |= depth == 0 && mysql && is({"first", "after"});
      depth += tokens.Is("(") ? 1 : tokens.Is(")") ? -1u : 0;
      const bool as = tokens.Is("as") && adds && !column.name.empty();
      tokens.Next();
      if (as && tokens.Is("(")) change.added.back().generated = true;
    }
    change.numbers_rows |= counted && (adds || (!change.retyped.empty() && !mysql));
    if (counted && !column.name.empty()) change.counted.push_back(column.name);
    if (adds && !change.added.empty() && !column.name.empty()) change.added.back().not_null = not_null;
    if (modifies && !change.retyped.empty()) change.retyped.back().not_null = not_null;
    if (!tokens.Take(",")) break;
  }
  const bool matters = !change.unique.empty() || change.refers_to_itself || change.moves_columns ||
                       !change.added.empty() || !change.retyped.empty() || !change.counted.empty() ||
                       change.numbers_rows || !change.attached.table.empty();
  return matters ? std::optional(std::move(change)) : std::nullopt;
}

std::shared_ptr<const SqlTable> ParseCreateTable(std::string_view text, SqlDialect dialect,
                                                 const std::vector<SqlEnum>& enums) {
  if (!BeginsCreateTable(text)) return nullptr;
  auto table = std::make_shared<SqlTable>();
  Tokens tokens(text, dialect);
  while (!tokens.Take("table") && tokens.is() != Tokens::kEnd) tokens.Next();
  for (const std::string_view word : {"if"sv, "not"sv, "exists"sv}) tokens.Take(word);
  if (!TakeDottedName(tokens, table->schema, table->table)) return nullptr;
  if (!tokens.Take("(")) return nullptr;
  std::vector<std::string> integers;  // the columns of the type INTEGER
  /// The words of the type of each column, and its collation. Without a value: that of the table.
  struct Text {
    std::string type;
    bool sized = false;
    std::uint64_t size = 0;
    bool is_unsigned = false;
    std::optional<std::string> collation;
  };
  std::vector<Text> texts;
  while (tokens.is() != Tokens::kEnd && !tokens.Is(")")) {
    static constexpr std::string_view kEndsType[] = {
        "not",   "null",       "default",   "primary", "unique",  "constraint",     "collate",       "character",
        "check", "references", "generated", "as",      "comment", "auto_increment", "autoincrement", "unsigned"};
    const bool constraint = BeginsConstraint(tokens, dialect);
    if (constraint && tokens.Is("like")) table->complete = false;
    // Keys of an other table, and EXCLUDE, are like unique keys of columns that are not known.
    if (constraint && (tokens.Is("like") || tokens.Is("exclude"))) table->unique.emplace_back();
    SqlTable::Column column;
    if (!constraint) {
      if (!tokens.is_name()) return nullptr;
      column.name = tokens.written();
      tokens.Next();
    }
    std::string type;
    std::vector<std::string> type_name;  // the parts of a name with dots
    bool in_type = !constraint, in_name = in_type, array = false;
    unsigned depth = 0;
    Text words;
    bool primary = false, descends = false, after_key = false;
    CountsUp counts_up;
    while (tokens.is() != Tokens::kEnd && (depth > 0 || (!tokens.Is(",") && !tokens.Is(")")))) {
      if (depth == 0 && tokens.Take("primary")) {
        in_type = false;
        if (!tokens.Take("key")) continue;
        primary = after_key = true;
        descends = tokens.Is("desc");
        if (!constraint) continue;
        // MySQL allows the kind of index here.
        while (tokens.is() == Tokens::kWord) tokens.Next();
        bool whole = false;
        table->primary = TakeNames(tokens, whole);
        if (!whole) table->unique.emplace_back();
        continue;
      }
      if (depth == 0 && tokens.Take("unique")) {
        in_type = false;
        after_key = true;
        if (!constraint) tokens.Take("key");
        table->unique.push_back(constraint ? TakeUnique(tokens) : std::vector<std::string>{column.name});
        continue;
      }
      // MySQL takes KEY for PRIMARY KEY.
      if (depth == 0 && !constraint && dialect == SqlDialect::kMysql && tokens.Take("key")) {
        in_type = false;
        primary = true;
        continue;
      }
      if (depth == 0 && tokens.Take("on")) {
        in_type = false;
        if (!tokens.Take("conflict")) continue;
        table->replaces |= after_key && (tokens.Is("replace") || tokens.Is("ignore"));
        continue;
      }
      if (depth == 0 && (tokens.Is("null") || tokens.Is("check"))) after_key = false;
      if (depth == 0 && tokens.Take("not")) {
        in_type = false;
        column.not_null |= tokens.Is("null");
        continue;
      }
      if (depth == 0 && tokens.Take("collate")) {
        in_type = false;
        words.collation = tokens.written();
        continue;
      }
      if (depth == 0 && !type.empty() && dialect == SqlDialect::kMysql &&
          (tokens.Is("charset") || tokens.Is("character"))) {
        in_type = false;
        if (tokens.Is("character")) tokens.Next();
        tokens.Next();
        if (!words.collation) words.collation = tokens.Is("binary") ? "binary" : "";
        continue;
      }
      if (depth == 0 && tokens.Take("references")) {
        in_type = false;
        table->refers_to_itself |= TakeReference(tokens, table->table);
        continue;
      }
      column.counted |= counts_up.Sees(tokens);
      in_name = in_name && (type_name.empty() ? tokens.is_name() : tokens.Take("."));
      if (in_name && tokens.is_name()) type_name.push_back(tokens.written());
      const bool as = depth == 0 && tokens.Is("as");
      const bool lite_name = tokens.is() == Tokens::kName && dialect == SqlDialect::kSqlite;
      in_type = in_type && (tokens.is() != Tokens::kName || lite_name) &&
                (std::ranges::count(kEndsType, tokens.text()) == 0 || (type.empty() && tokens.Is("character")));
      if (in_type && (tokens.is() == Tokens::kWord || lite_name) && depth == 0) {
        type += (type.empty() ? "" : " ") + LowerText(tokens.text());
      }
      if (in_type && tokens.is() == Tokens::kString && type == "enum") column.labels.push_back(tokens.text());
      array |= in_type && depth == 0 && (tokens.Is("[") || tokens.Is("array"));
      words.sized |= in_type && depth == 0 && tokens.Is("(");
      words.is_unsigned |= depth == 0 && (tokens.Is("unsigned") || tokens.Is("zerofill"));
      if (in_type && depth == 1 && words.size == 0 && tokens.is() == Tokens::kWord) {
        words.size = ParseDigits(tokens.text()).value_or(0);
      }
      depth += tokens.Is("(") ? 1 : tokens.Is(")") ? -1u : 0;
      tokens.Next();
      column.generated |= as && tokens.Is("(");
    }
    if (!constraint) {
      if (!array) column.type = TypeOfWords(type, dialect);
      for (const SqlEnum& known : enums) {
        if (array || type_name.empty() || known.name != type_name.back()) continue;
        if (type_name.size() > 1 && !known.schema.empty() && known.schema != type_name[type_name.size() - 2]) continue;
        column.type = ValueType::kEnum;
        column.labels = known.labels;
      }
      if (column.type == ValueType::kEnum && column.labels.empty()) column.type = ValueType::kText;
      // MySQL stores '' for words that are not in the list, and orders it first.
      if (dialect == SqlDialect::kMysql && !column.labels.empty() && std::ranges::count(column.labels, "") == 0) {
        column.labels.insert(column.labels.begin(), "");
      }
      if (primary) table->primary = {column.name};
      column.not_null |= primary;
      words.type = array ? "array" : type;
      if (dialect == SqlDialect::kMysql && type.find(" binary") != type.npos) words.collation = "_bin";
      if (dialect == SqlDialect::kMysql && type == "serial") table->unique.push_back({column.name});
      column.counted |=
          dialect != SqlDialect::kSqlite &&
          (type.starts_with("serial") || type.starts_with("bigserial") || type.starts_with("smallserial"));
      if (type == "integer" && !descends) integers.push_back(column.name);
      table->columns.push_back(std::move(column));
      texts.push_back(std::move(words));
    }
    tokens.Take(",");
  }
  // SQLite counts up a primary key that is one column of the type INTEGER.
  for (SqlTable::Column& column : table->columns) {
    const auto is_column = [&](const std::string& name) { return IsSameSqlName(name, column.name); };
    column.counted |= dialect == SqlDialect::kSqlite && table->primary.size() == 1 && is_column(table->primary[0]) &&
                      std::ranges::any_of(integers, is_column);
  }
  std::string collation;  // of the table
  bool strict = false;
  for (tokens.Take(")"); tokens.is() != Tokens::kEnd && !tokens.Is(";");) {
    strict |= tokens.Is("strict");
    const bool charset = tokens.Is("charset") || tokens.Is("character");
    if (dialect == SqlDialect::kPostgres && tokens.Is("inherits")) {
      TakeParents(tokens, table->parents);
    } else if (dialect == SqlDialect::kMysql && (charset || tokens.Is("collate"))) {
      if (tokens.Take("character"))
        tokens.Take("set");
      else
        tokens.Next();
      tokens.Take("=");
      if (!charset || tokens.Is("binary")) collation = tokens.text();
    }
    tokens.Next();
  }
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    SqlTable::Column& column = table->columns[i];
    const Text& words = texts[i];
    if (dialect == SqlDialect::kSqlite) {
      column.affinity = strict && words.type == "any" ? SqlTable::Column::kNone : AffinityOf(words.type);
      column.loose = words.collation && !IsSameSqlName(*words.collation, "binary");
    } else {
      const bool mysql = dialect == SqlDialect::kMysql;
      const std::string& own = words.collation ? *words.collation : mysql ? collation : "";
      SetEquality(words.type, words.sized, mysql ? LowerText(own) : own, dialect, column);
      SetLimits(words.type, words.size, words.is_unsigned || (mysql && words.type == "serial"), column);
    }
  }
  return table;
}

}  // namespace gpusort
