#include "formats/pgdump_format.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// The lexical state of SQL at the beginning of a line: the string, quoted name or comment that the line begins in.
struct SqlText {
  enum In : std::uint8_t { kNothing, kString, kEscapeString, kName, kDollar, kComment } in = kNothing;
  unsigned depth = 0;      ///< how deep comments are nested
  std::string tag;         ///< the text $...$ that ends kDollar
  bool conforming = true;  ///< true: a backslash in '...' has no special meaning

  friend bool operator==(const SqlText&, const SqlText&) = default;
};

bool IsWordByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || (c >= '0' && c <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

/// Returns the text "$tag$" at offset `at`, or an empty text if there is none.
std::string_view DollarTag(std::string_view line, std::size_t at) {
  if (at > 0 && (IsWordByte(line[at - 1]) || line[at - 1] == '$')) return {};
  std::size_t end = at + 1;
  if (end < line.size() && line[end] >= '0' && line[end] <= '9') return {};
  while (end < line.size() && IsWordByte(line[end])) ++end;
  return end < line.size() && line[end] == '$' ? line.substr(at, end + 1 - at) : std::string_view{};
}

/// Returns the byte after the quote that closes the text at `at`. Two quotes in a row close nothing. Returns the end of
/// the line if no quote closes the text.
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

/// Updates the lexical state `text` for one line.
void TakeSql(std::string_view line, SqlText& text) {
  std::size_t at = 0;
  const auto is = [&](std::string_view what) { return line.compare(at, what.size(), what) == 0; };
  while (at < line.size()) {
    bool closed = false;
    switch (text.in) {
      case SqlText::kString:
      case SqlText::kEscapeString:
      case SqlText::kName:
        at = CloseQuote(line, at, text.in == SqlText::kName ? '"' : '\'', text.in == SqlText::kEscapeString, closed);
        if (closed) text.in = SqlText::kNothing;
        break;
      case SqlText::kDollar: {
        const std::size_t found = line.find(text.tag, at);
        if (found == std::string_view::npos) return;
        at = found + text.tag.size();
        text.in = SqlText::kNothing;
        text.tag.clear();
        break;
      }
      case SqlText::kComment:
        at = line.find_first_of("*/", at);
        if (at == std::string_view::npos) return;
        if (is("/*") || is("*/")) {
          text.depth += is("/*") ? 1 : -1u;
          if (text.depth == 0) text.in = SqlText::kNothing;
          ++at;
        }
        ++at;
        break;
      case SqlText::kNothing: {
        at = line.find_first_of("'\"-/$", at);
        if (at == std::string_view::npos || is("--")) return;
        if (line[at] == '\'') {
          const bool escapes = at > 0 && (line[at - 1] | 0x20) == 'e' && (at == 1 || !IsWordByte(line[at - 2]));
          text.in = escapes || !text.conforming ? SqlText::kEscapeString : SqlText::kString;
        } else if (line[at] == '"') {
          text.in = SqlText::kName;
        } else if (is("/*")) {
          text.in = SqlText::kComment;
          text.depth = 1;
          ++at;
        } else if (const std::string_view tag = line[at] == '$' ? DollarTag(line, at) : std::string_view{};
                   !tag.empty()) {
          text.in = SqlText::kDollar;
          text.tag = tag;
          at += tag.size() - 1;
        }
        ++at;
      }
    }
  }
}

/// Removes a name from the front of `text`: a name in quotes, or bytes up to one of `stops`. Returns false if there is
/// none.
bool TakeName(std::string_view& text, std::string_view stops, std::string& name) {
  name.clear();
  if (!text.starts_with('"')) {
    const std::size_t size = std::min(text.find_first_of(stops), text.size());
    name = text.substr(0, size);
    text.remove_prefix(size);
    return size > 0;
  }
  bool closed = false;
  const std::size_t end = CloseQuote(text, 1, '"', false, closed);
  if (!closed) return false;
  for (std::size_t at = 1; at + 1 < end; ++at) {
    name += text[at];
    if (text[at] == '"') ++at;
  }
  text.remove_prefix(end);
  return true;
}

bool Take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Removes blanks, line ends and comments up to the end of a line.
void SkipBlanks(std::string_view& text) {
  do {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with("--")) return;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  } while (!text.empty());
}

/// Removes the word `word`, which is in lower case, from the front of `text`, where it may have any case. Another token
/// must follow it. Returns false if it is not there.
bool TakeWord(std::string_view& text, std::string_view word) {
  if (!IsWord(text.substr(0, word.size()), word)) return false;
  if (text.size() > word.size() && (IsWordByte(text[word.size()]) || text[word.size()] == '$')) return false;
  text.remove_prefix(word.size());
  return true;
}

/// Returns true if the options of a COPY statement leave the rows as pg_dump writes them.
bool AreUsualOptions(std::string_view text) {
  static constexpr std::string_view kUsual[] = {"with",  "format", "text", "freeze", "true",
                                                "false", "on",     "off",  "0",      "1"};
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\v\f(),'"), text.size()));
    if (text.empty()) return true;
    const auto taken = [&](std::string_view word) { return TakeWord(text, word); };
    if (std::none_of(std::begin(kUsual), std::end(kUsual), taken)) return false;
  }
}

constexpr std::size_t kMostStatement = std::size_t{1} << 14;  ///< the largest size of a COPY statement in bytes
constexpr std::size_t kMostTables = 20;  ///< the largest number of tables that a message shows

}  // namespace

/// The state before a line of a dump. An object does not change any more when the next one is made.
struct DumpPlace {
  SqlText text;
  std::string table;              ///< the table of the last rows
  KeyColumns wanted;              ///< the key columns of this table
  std::vector<bool> named;        ///< for each key: its table was found
  std::vector<std::string> seen;  ///< the names of the first tables
  std::string statement;          ///< the lines of a statement that is not complete and may be a COPY
  bool any = false;               ///< true: there was a line
  bool inserts = false;           ///< true: there was an INSERT
};

namespace {

/// The values of ScanState::mode: kSql outside of rows. In rows: the mode of CopyFormat::Scan plus kRows.
constexpr unsigned kSql = 0, kRows = 1;

const DumpPlace& PlaceOf(const ScanState& state) {
  static const DumpPlace front;
  return state.dump ? *state.dump : front;
}

}  // namespace

PgDumpFormat::PgDumpFormat(const JobSpec& spec)
    : CopyFormat(spec),
      input_(spec.source.inputs.empty() ? "" : spec.source.inputs[0]),
      force_(spec.source.force_format) {
  const auto refuse = [](bool given, const std::string& what) {
    if (given) throw Error(ErrorCode::kUsage, what + " with --format pgdump: a dump is put in order as a whole");
  };
  refuse(spec.source.inputs.size() > 1 && spec.source.ranges.empty(), "several inputs");  // ranges: of one dump
  refuse(spec.order.unique, "--unique");
  refuse(spec.order.top > 0, "--top");
  for (const ColumnKey& key : table_.keys) names_.push_back(ParseName(key));
}

PgDumpFormat::Name PgDumpFormat::ParseName(const ColumnKey& key) {
  std::vector<std::string> parts;
  std::string_view rest = key.column;
  bool good = key.number == 0;
  do {
    good = good && TakeName(rest, ".\"", parts.emplace_back());
  } while (good && Take(rest, "."));
  if (!good || !rest.empty() || parts.size() < 2 || parts.size() > 3) {
    FailKey(key, "a key of --format pgdump is TABLE.COLUMN or SCHEMA.TABLE.COLUMN");
  }
  if (parts.size() == 2) parts.insert(parts.begin(), "");
  return {parts[0], parts[1], parts[2]};
}

PgDumpFormat::Statement PgDumpFormat::ParseCopy(std::string_view text, Copy& copy) {
  constexpr std::string_view kStops = " .,()\";\t\r\n\v\f";
  const auto end = [&] {  // a quoted name may have a newline
    return text.empty() || text[0] == '"' ? Statement::kUnfinished : Statement::kOther;
  };
  const auto take_name = [&](std::string& name) {
    SkipBlanks(text);
    const bool taken = TakeName(text, kStops, name);
    SkipBlanks(text);
    return taken;
  };
  SkipBlanks(text);
  if (!TakeWord(text, "copy")) return Statement::kOther;
  if (!take_name(copy.table)) return end();
  while (Take(text, ".")) {  // a database may stand before the schema
    copy.schema = std::exchange(copy.table, {});
    if (!take_name(copy.table)) return end();
  }
  if (Take(text, "(")) {
    do {
      if (!take_name(copy.columns.emplace_back())) return end();
    } while (Take(text, ","));
    if (!Take(text, ")")) return end();
    SkipBlanks(text);
  }
  if (TakeWord(text, "with")) {  // until PostgreSQL 11
    SkipBlanks(text);
    if (!TakeWord(text, "oids")) return end();
    copy.columns.insert(copy.columns.begin(), "oid");
    SkipBlanks(text);
  }
  if (!TakeWord(text, "from")) return end();
  SkipBlanks(text);
  if (!TakeWord(text, "stdin")) return end();
  const std::size_t options = text.find(';');
  if (options == std::string_view::npos) return Statement::kUnfinished;
  const bool usual = AreUsualOptions(text.substr(0, options));
  text.remove_prefix(options + 1);
  SkipBlanks(text);
  return usual && text.empty() ? Statement::kCopy : Statement::kUnknownCopy;
}

void PgDumpFormat::TakeLine(std::string_view line, std::uint64_t at, ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  SqlText text = place.text;
  std::string statement;
  bool insert = false;
  Copy copy;
  Statement is = Statement::kOther;
  if (!place.statement.empty()) is = ParseCopy(statement = place.statement + std::string(line), copy);
  if (is == Statement::kOther && text.in == SqlText::kNothing) {
    const std::string_view bare = line.substr(0, std::min(line.find_last_not_of(kBlanks) + 1, line.size()));
    if (bare == "\\." && !force_) {
      throw BadRecord(at, "this line ends the rows of a COPY that was not found: only COPY ... FROM stdin at the front "
                          "of a line is known; --force-format leaves such rows as they are");
    }
    if (line.starts_with('\\')) return;  // psql's own: its quotes are others
    if ((is = ParseCopy(line, copy = {})) == Statement::kUnfinished) statement = line;
    std::string_view words = line;
    SkipBlanks(words);
    insert = !place.inserts && TakeWord(words, "insert");
    constexpr std::string_view kSetting = "SET standard_conforming_strings = ";
    if (line.starts_with(kSetting)) text.conforming = !line.substr(kSetting.size()).starts_with("off");
  }
  if (is == Statement::kCopy) return BeginRows(copy, state);
  if (is == Statement::kUnknownCopy && !force_) {
    throw BadRecord(at, "the rows of this COPY have options that are not known, like those of CSV: only text with the "
                        "usual delimiter is sorted; --force-format leaves the rows as they are");
  }
  if (is != Statement::kUnfinished || statement.size() > kMostStatement) statement.clear();
  TakeSql(line, text);
  if (place.any && text == place.text && statement == place.statement && !insert) return;
  DumpPlace next = place;
  next.text = std::move(text);
  next.statement = std::move(statement);
  next.any = true;
  next.inserts |= insert;
  state.dump = std::make_shared<const DumpPlace>(std::move(next));
}

void PgDumpFormat::BeginRows(const Copy& copy, ScanState& state) const {
  DumpPlace next = PlaceOf(state);
  next.text.in = SqlText::kNothing;
  next.statement.clear();
  next.table = copy.name();
  next.wanted = {};
  next.named.resize(names_.size());
  if (next.seen.size() < kMostTables) next.seen.push_back(next.table);
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const Name& name = names_[key];
    if (name.table != copy.table || (!name.schema.empty() && name.schema != copy.schema)) continue;
    const auto found = std::find(copy.columns.begin(), copy.columns.end(), name.column);
    if (found == copy.columns.end()) {
      std::string columns;
      for (const std::string& column : copy.columns) columns += (columns.empty() ? "" : ", ") + column;
      FailKey(table_.keys[key],
              "table " + EscapeName(next.table) + " has no such column (it has: " + EscapeName(columns) + ")");
    }
    next.wanted.Add(static_cast<std::uint64_t>(found - copy.columns.begin()), key);
    next.named[key] = true;
  }
  state.dump = std::make_shared<const DumpPlace>(std::move(next));
  state.mode = kRows;
  ++state.count;
}

void PgDumpFormat::EndRows(ScanState& state) {
  state.mode = kSql;
  ++state.count;
}

std::string PgDumpFormat::SaveState(const ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  std::ostringstream out;
  const auto put = [&](const std::string& text) { out << text.size() << ' ' << text << ' '; };
  out << state.mode << ' ' << state.count << ' ' << unsigned{place.text.in} << ' ' << place.text.depth << ' '
      << place.text.conforming << ' ';
  put(place.text.tag);
  put(place.table);
  put(place.statement);
  out << place.any << ' ' << place.inserts << ' ';
  for (std::size_t key = 0; key < names_.size(); ++key) {
    const auto& columns = place.wanted.by_column;
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return one.key == key; });
    out << (key < place.named.size() && place.named[key]) << ' '
        << (column == columns.end() ? 0 : column->column + 1) << ' ';
  }
  out << place.seen.size() << ' ';
  for (const std::string& table : place.seen) put(table);
  return out.str();
}

ScanState PgDumpFormat::LoadState(const std::string& text) const {
  ScanState state;
  if (text.empty()) return state;
  DumpPlace place;
  std::istringstream in(text);
  const auto number = [&] {
    std::uint64_t value = 0;
    in >> value;
    return value;
  };
  const auto name = [&] {
    std::string value(std::min<std::uint64_t>(number(), text.size()), '\0');
    in.get();
    in.read(value.data(), static_cast<std::streamsize>(value.size()));
    return value;
  };
  state.mode = static_cast<unsigned>(number());
  state.count = number();
  place.text.in = static_cast<SqlText::In>(number());
  place.text.depth = static_cast<unsigned>(number());
  place.text.conforming = number() != 0;
  place.text.tag = name();
  place.table = name();
  place.statement = name();
  place.any = number() != 0;
  place.inserts = number() != 0;
  for (std::size_t key = 0; key < names_.size(); ++key) {
    place.named.push_back(number() != 0);
    if (const std::uint64_t column = number(); column > 0) place.wanted.Add(column - 1, key);
  }
  for (std::uint64_t left = number(); left > 0 && in; --left) place.seen.push_back(name());
  if (!in) throw Error(ErrorCode::kIntegrity, "what is known of a place in a dump is damaged");
  state.dump = std::make_shared<const DumpPlace>(std::move(place));
  return state;
}

RecordFormat::Ends PgDumpFormat::Scan(RecordSpan bytes, ScanState& state) const {
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  Ends ends;
  for (const Byte* p = begin; p != end;) {
    if (state.mode == kSql) {
      const Byte* const newline = FindByte(p, end, '\n');
      const Byte* const next = newline == end ? end : newline + 1;
      std::string_view line = Text(p, next);
      std::string torn;
      const auto at = static_cast<std::uint64_t>(state.held.empty() ? p - begin : 0);
      p = next;
      if (!state.held.empty() || newline == end) state.held.append(line);
      if (newline == end) break;
      if (!state.held.empty()) line = torn = std::exchange(state.held, {});
      TakeLine(line, at, state);
      ends.Add(p - begin);
      continue;
    }
    auto mode = static_cast<Mode>(state.mode - kRows);
    p = ScanRows(begin, p, end, mode, ends);
    state.mode = kRows + mode;
    if (mode != kEnded) continue;
    EndRows(state);
    ends.Add(p - begin);
  }
  if (ends.last == 0) return ends;
  ends.state.mode = state.mode == kSql ? kSql : kRows;
  ends.state.count = state.count;
  ends.state.dump = state.dump;
  return ends;
}

std::uint64_t PgDumpFormat::Finish(RecordSpan open, const ScanState& state) const {
  const DumpPlace& place = PlaceOf(state);
  if (state.mode != kSql) {
    throw BadRecord(open.size(), "the dump ends inside the rows of table " + EscapeName(place.table));
  }
  const bool empty = !place.any && open.empty();
  if (place.seen.empty() && !empty && !force_) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(input_) + (place.inserts ? ": this has INSERT statements and no COPY block, so that nothing "
                                                      "would be sorted: give pg_dump without --inserts and "
                                                      "--column-inserts, or a dump of another program as CSV"
                                                    : ": this has no COPY block, so that nothing would be sorted: it "
                                                      "is no dump of pg_dump, or one without rows (--schema-only)") +
                    "; --force-format leaves it as it is");
  }
  for (std::size_t key = 0; key < names_.size(); ++key) {
    if (key < place.named.size() && place.named[key]) continue;
    std::string seen;
    for (const std::string& table : place.seen) seen += (seen.empty() ? "" : ", ") + table;
    FailKey(table_.keys[key], "the dump has no rows of such a table (" +
                                  (seen.empty() ? "it has no rows" : "it has those of: " + EscapeName(seen)) +
                                  (place.seen.size() == kMostTables ? ", ..." : "") + ")");
  }
  return open.size();
}

std::uint64_t PgDumpFormat::PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                    KeyTally& tally) const {
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  const std::string_view text(reinterpret_cast<const char*>(begin), records.size());
  const bool ends_rows = state.mode != kSql && (text.starts_with("\\.\n") || text.starts_with("\\.\r\n"));
  if (ends_rows) EndRows(state);
  out.PutCount(state.count);
  if (state.mode != kSql) {
    return static_cast<std::uint64_t>(PutRow(begin, end, PlaceOf(state).wanted, scratch, out, tally) - begin);
  }
  const Byte* const newline = FindByte(begin, end, '\n');
  const auto size = static_cast<std::size_t>(newline - begin) + (newline == end ? 0 : 1);
  if (!ends_rows) TakeLine(text.substr(0, size), 0, state);
  return size;
}

}  // namespace gpusort
