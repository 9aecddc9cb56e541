#include "check/table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace check {
namespace {

constexpr char kMark[] = "\xEF\xBB\xBF";

bool TakeText(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// Reads the text up to the closing quote into `name`. Two quotes stand for one. Returns false if there is no closing
/// quote.
bool TakeQuoted(std::string_view& text, char quote, std::string& name) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote && (i + 1 == text.size() || text[i + 1] != quote)) {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == quote) ++i;
    name += text[i];
  }
  return false;
}

/// Returns where a key's name ends: at a colon outside of quotes. Quotes enclose parts of a name: "my schema"."t".id
std::size_t NameEnd(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] != ':') {
    if (text[at] == '"' && (at == 0 || text[at - 1] == '.')) {
      std::string_view part = text.substr(at);
      std::string name;
      if (!TakeQuoted(part, '"', name)) return std::min(text.find(':'), text.size());
      at = text.size() - part.size();
    } else {
      ++at;
    }
  }
  return at;
}

// ---- Lines -------------------------------------------------------------------------------------------------------

class LineReader : public TableReader {
 public:
  using TableReader::TableReader;

 protected:
  void ReadHeader() override {
    for (std::uint64_t i = 0; i < table_.header && Peek() != kEnd; ++i) {
      TakeLine(header_, table_.line_end);
      header_ += table_.line_end;
    }
  }
  bool Read(Row& row) override {
    const bool any = TakeLine(row.bytes, table_.line_end);
    AddCell().text = row.bytes;
    return any;
  }
};

/// A reader of formats whose header consists of records with the names of the columns.
class HeadedReader : public TableReader {
 public:
  using TableReader::TableReader;

 protected:
  /// Reads the cells of a record. Returns false at the end of the data.
  virtual bool ReadRecord(std::string& bytes) = 0;
  /// Returns the last record of the header.
  std::string ReadHeaderRecords() {
    std::string record;
    for (std::uint64_t i = 0; i < table_.header; ++i) {
      record.clear();
      cell_count_ = 0;
      if (!ReadRecord(record)) break;
      header_ += record + "\n";
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cell_count_; ++i) names.push_back(cells_[i].text);
    Resolve(names);
    return record;
  }
};

// ---- CSV and TSV -------------------------------------------------------------------------------------------------

class CsvReader : public HeadedReader {
 public:
  using HeadedReader::HeadedReader;

 protected:
  void ReadHeader() override {
    TakeMark(header_);
    returns_ = ReadHeaderRecords().ends_with('\r');
  }
  bool Read(Row& row) override { return ReadRecord(row.bytes); }
  void GoOn(const TableReader& first, std::uint64_t place) override {
    TableReader::GoOn(first, place);
    returns_ = dynamic_cast<const CsvReader&>(first).returns_;
  }

 private:
  bool ReadRecord(std::string& bytes) override {
    cell_count_ = 0;
    while (Peek() != kEnd && Peek() == table_.comment) {
      TakeLine(bytes, '\n');
      bytes += '\n';
    }
    if (Peek() == kEnd) {
      trailer_ = bytes;
      return false;
    }
    int end = table_.delimiter;
    while (end == table_.delimiter) end = ReadCell(bytes);
    ended_ = end == '\n';
    if (ended_) {
      bytes.pop_back();
    } else if (returns_ && !bytes.ends_with('\r')) {
      bytes += '\r';  // the output also has this CR
    }
    return true;
  }

  /// Reads a cell. Returns the byte that ends it.
  int ReadCell(std::string& bytes) {
    Cell& cell = AddCell();
    const bool quoted = Peek() != kEnd && Peek() == table_.quote;
    if (quoted) {
      Take(bytes);
      for (;;) {
        int byte = Take(bytes);
        if (byte == table_.escape && table_.escape >= 0) {
          byte = Take(bytes);
        } else if (byte == table_.quote) {
          if (Peek() != table_.quote) break;
          Take(bytes);
        }
        if (byte == kEnd) Fail("a quote is opened and not closed");
        cell.text += static_cast<char>(byte);
      }
    }
    // Reads text without quotes, or text after the closing quote.
    const std::size_t from = cell.text.size();
    const int byte = TakeUpTo(bytes, cell.text, '\n', table_.delimiter);
    if (byte != table_.delimiter && cell.text.size() > from && cell.text.ends_with('\r')) cell.text.pop_back();
    cell.null = !quoted && (cell.text.empty() || IsNull(cell.text));
    return byte;
  }

  bool returns_ = false;  ///< whether the header ends in CR LF
};

// ---- JSON Lines --------------------------------------------------------------------------------------------------

struct Json {
  enum Kind { kNull, kString, kOther, kArray, kObject } kind = kNull;
  /// A string without its escapes; any other value as it is written.
  std::string text;
  /// The members of an object; the elements of an array have no names.
  std::vector<std::pair<std::string, Json>> members;
};

/// Appends the character as UTF-8.
void AddCharacter(std::uint32_t c, std::string& to) {
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  to += static_cast<char>(kLeads[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; --i) to += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
}

/// Parses one JSON value by recursion.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  /// Returns the value of the line, or std::nullopt if the line has only blanks.
  std::optional<Json> Parse() {
    SkipBlanks();
    if (at_ == text_.size()) return std::nullopt;
    Json value = ParseValue(0);
    SkipBlanks();
    if (at_ != text_.size()) Fail("more text after the value");
    return value;
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    throw BadTable(std::string("no JSON at byte ") + std::to_string(at_) + ": " + what);
  }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }
  void Expect(char c, const char* what) {
    SkipBlanks();
    if (Peek() != c) Fail(what);
    ++at_;
  }

  Json ParseValue(int depth) {
    if (depth > 1024) Fail("more than 1024 arrays and objects inside each other");
    SkipBlanks();
    const std::size_t from = at_;
    Json value;
    if (Peek() == '"') {
      value.kind = Json::kString;
      value.text = ParseString();
      return value;
    }
    if (Peek() == '{' || Peek() == '[') {
      ParseMembers(value, depth);
    } else {
      at_ = std::min(text_.find_first_of(" \t\n\r,]}", at_), text_.size());
      const std::string_view word = text_.substr(from, at_ - from);
      const bool number = !word.empty() && word.find_first_not_of("+-.0123456789eE") == word.npos;
      if (!number && word != "true" && word != "false" && word != "null") Fail("no value");
      value.kind = word == "null" ? Json::kNull : Json::kOther;
    }
    value.text = text_.substr(from, at_ - from);
    return value;
  }

  void ParseMembers(Json& value, int depth) {
    const bool object = text_[at_++] == '{';
    const char end = object ? '}' : ']';
    value.kind = object ? Json::kObject : Json::kArray;
    SkipBlanks();
    if (Peek() == end) {
      ++at_;
      return;
    }
    for (;;) {
      std::string name;
      if (object) {
        SkipBlanks();
        if (Peek() != '"') Fail("a member's name is missing");
        name = ParseString();
        Expect(':', "the ':' after a name is missing");
      }
      value.members.emplace_back(std::move(name), ParseValue(depth + 1));
      SkipBlanks();
      if (Peek() == ',') {
        ++at_;
        continue;
      }
      Expect(end, "an array or object is not closed");
      return;
    }
  }

  std::string ParseString() {
    std::string meant;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      if (text_[at_] != '\\') {
        meant += text_[at_++];
        continue;
      }
      constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
      const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      at_ += 2;
      if (letter == 'u') {
        AddCharacter(ParseUnits(), meant);
      } else if (const std::size_t found = kLetters.find(letter); found != kLetters.npos) {
        meant += kMeanings[found];
      } else {
        Fail("an escape that JSON does not have");
      }
    }
    if (at_ >= text_.size()) Fail("a string without an end");
    ++at_;
    return meant;
  }

  std::uint32_t ParseUnit() {
    std::uint32_t unit = 0;
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (error != std::errc{} || stop - digits.data() != 4) Fail("an escape without four hexadecimal digits");
    at_ += 4;
    return unit;
  }
  /// Reads a character of one or two UTF-16 escapes. Half of a surrogate pair becomes U+FFFD.
  std::uint32_t ParseUnits() {
    const std::uint32_t first = ParseUnit();
    if (first < 0xD800 || first > 0xDFFF) return first;
    const std::size_t behind = at_;
    if (first < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::uint32_t second = ParseUnit();
      if (second >= 0xDC00 && second <= 0xDFFF) return 0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00);
      at_ = behind;
    }
    return 0xFFFD;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

class JsonReader : public TableReader {
 public:
  JsonReader(const Table& table, Source source) : TableReader(table, std::move(source)) {
    for (std::size_t key = 0; key < table.keys.size(); ++key) {
      if (table.keys[key].number > 0)
        throw NoColumn("--key " + table.keys[key].text + ": JSON has no columns by number");
      paths_.push_back(ReadPath(table.keys[key]));
      columns_[key] = key;
    }
  }

 protected:
  void ReadHeader() override { TakeMark(header_); }
  bool Read(Row& row) override {
    if (!TakeLine(row.bytes, '\n')) return false;
    std::optional<Json> value;
    try {
      value = JsonParser(row.bytes).Parse();
    } catch (const BadTable& error) {
      Fail(error.what());
    }
    if (keys_.empty()) AddCell().text = row.bytes;
    for (const Path& path : paths_) {
      const Json* const found = value ? Follow(path, *value) : nullptr;
      Cell& cell = AddCell();
      cell.null = found == nullptr || found->kind == Json::kNull;
      if (found != nullptr) cell.text = found->text;
    }
    return true;
  }

 private:
  struct Step {
    std::optional<std::string> name;
    std::optional<std::uint64_t> element;
  };
  using Path = std::vector<Step>;

  static std::optional<std::uint64_t> Element(std::string_view text) {
    std::uint64_t element = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), element);
    if (error != std::errc{} || stop != text.data() + text.size() || (text.size() > 1 && text[0] == '0')) return {};
    return element;
  }

  static Path ReadPath(const Key& key) {
    Path path;
    std::string_view rest = key.column;
    const auto fail = [&] { throw NoColumn("--key " + key.text + ": give a path: a.b[0] or /a/b/0"); };
    if (!TakeText(rest, "$.") && rest.starts_with("$[")) rest.remove_prefix(1);
    if (rest.starts_with('/')) {
      while (TakeText(rest, "/")) {
        const std::string_view token = rest.substr(0, rest.find('/'));
        rest.remove_prefix(token.size());
        std::string name;
        for (std::size_t i = 0; i < token.size(); ++i) {
          if (token[i] != '~') {
            name += token[i];
          } else if (token.substr(++i, 1) == "0" || token.substr(i, 1) == "1") {
            name += token[i] == '0' ? '~' : '/';
          } else {
            fail();
          }
        }
        path.push_back({name, Element(token)});
      }
      return path;
    }
    do {
      if (TakeText(rest, "[")) {
        const std::string_view digits = rest.substr(0, rest.find(']'));
        path.push_back({{}, Element(digits)});
        rest.remove_prefix(digits.size());
        if (!path.back().element || !TakeText(rest, "]")) fail();
        continue;
      }
      if (!path.empty() && !TakeText(rest, ".")) fail();
      const std::string_view name = rest.substr(0, rest.find_first_of(".[]"));
      if (name.empty()) fail();
      path.push_back({std::string(name), {}});
      rest.remove_prefix(name.size());
    } while (!rest.empty());
    return path;
  }

  /// Returns the value at the path. If several members have the same name, the first one counts.
  static const Json* Follow(const Path& path, const Json& value) {
    const Json* at = &value;
    for (const Step& step : path) {
      const auto& members = at->members;
      if (at->kind == Json::kArray && step.element) {
        if (*step.element >= members.size()) return nullptr;
        at = &members[*step.element].second;
      } else if (at->kind == Json::kObject && step.name) {
        const auto found = std::find_if(members.begin(), members.end(),
                                        [&](const auto& member) { return member.first == *step.name; });
        if (found == members.end()) return nullptr;
        at = &found->second;
      } else {
        return nullptr;
      }
    }
    return at;
  }

  std::vector<Path> paths_;
};

}  // namespace

std::optional<std::string> FindMember(std::string_view line, std::string_view path) {
  std::optional<Json> value;
  try {
    value = JsonParser(line).Parse();
  } catch (const BadTable&) {
    return std::nullopt;
  }
  const Json* at = value ? &*value : nullptr;
  while (at != nullptr && !path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    const auto found = std::ranges::find(at->members, name, &std::pair<std::string, Json>::first);
    at = at->kind == Json::kObject && found != at->members.end() ? &found->second : nullptr;
  }
  if (at == nullptr || (at->kind != Json::kString && at->kind != Json::kOther)) return std::nullopt;
  return at->text;
}

namespace {

// ---- Tables as databases write them in text ------------------------------------------------------------------------

class CopyReader : public HeadedReader {
 public:
  using HeadedReader::HeadedReader;

 protected:
  void ReadHeader() override { ReadHeaderRecords(); }
  bool Read(Row& row) override {
    if (ReadRecord(row.bytes)) return true;
    trailer_ = row.bytes;
    if (Peek() != kEnd) Fail("there is more text after the line \\. that ends the data");
    return false;
  }

  bool postgres() const { return table_.name != "mysql"; }

  /// Reads the cells of a record. Returns false at the end of the data. `bytes` then has the line that ends the data,
  /// or nothing.
  bool ReadRecord(std::string& bytes) override {
    if (Peek() == kEnd) return false;
    int end = table_.delimiter;
    while (end == table_.delimiter) {
      end = Peek() != kEnd && Peek() == table_.quote ? ReadQuoted(bytes) : ReadCell(bytes);
    }
    ended_ = end == '\n';
    if (ended_) bytes.pop_back();
    return !postgres() || (bytes != "\\." && bytes != "\\.\r");
  }

 private:
  int ReadCell(std::string& bytes) {
    Cell& cell = AddCell();
    const std::size_t from = bytes.size();
    bool returns = false;  // whether the cell ends in a CR without an escape before it
    int byte = Take(bytes);
    for (; byte != kEnd && byte != '\n' && byte != table_.delimiter; byte = Take(bytes)) {
      returns = byte == '\r';
      if (byte == table_.escape) {
        TakeEscaped(bytes, cell.text);
      } else {
        cell.text += static_cast<char>(byte);
      }
    }
    std::string_view raw = std::string_view(bytes).substr(from);
    if (byte != kEnd) raw.remove_suffix(1);
    if (byte != table_.delimiter && returns) {
      raw.remove_suffix(1);
      cell.text.pop_back();
    }
    cell.null = (raw.size() == 2 && raw[0] == static_cast<char>(table_.escape) && raw[1] == 'N') || IsNull(raw);
    return byte;
  }

  /// Reads a cell in quotes. A quote only closes the cell before a delimiter or the end of the record.
  int ReadQuoted(std::string& bytes) {
    Cell& cell = AddCell();
    Take(bytes);
    for (;;) {
      const int byte = Take(bytes);
      if (byte == kEnd) Fail("a quote is opened and not closed");
      if (byte == table_.escape) {
        TakeEscaped(bytes, cell.text);
        continue;
      }
      if (byte == table_.quote) {
        if (Peek() == table_.delimiter || Peek() == '\n' || Peek() == kEnd) return Take(bytes);
        if (Peek() == table_.quote) {
          Take(bytes);
        } else if (Peek() == '\r') {
          Take(bytes);
          if (Peek() == '\n') return Take(bytes);
          cell.text.append(1, static_cast<char>(byte)).append("\r");
          continue;
        }
      }
      cell.text += static_cast<char>(byte);
    }
  }

  /// Reads the bytes after an escape.
  void TakeEscaped(std::string& bytes, std::string& text) {
    const int code = Take(bytes);
    if (code == kEnd) Fail("the input ends after an escape");
    constexpr std::string_view kBoth = "bnrt", kBothMean = "\b\n\r\t";
    if (const std::size_t found = kBoth.find(static_cast<char>(code)); found != kBoth.npos) {
      text += kBothMean[found];
    } else if (!postgres()) {
      text += code == '0' ? '\0' : code == 'Z' ? '\x1A' : static_cast<char>(code);
    } else if (code == 'f' || code == 'v') {
      text += code == 'f' ? '\f' : '\v';
    } else if (code >= '0' && code <= '7') {
      text += Digits(bytes, 8, 2, code - '0');
    } else if (code == 'x' && Digit(Peek()) < 16) {
      text += Digits(bytes, 16, 2, 0);
    } else {
      text += static_cast<char>(code);
    }
  }
  static int Digit(int c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
  }
  char Digits(std::string& bytes, int base, int most, int number) {
    for (; most > 0 && Digit(Peek()) < base; --most) number = number * base + Digit(Take(bytes));
    return static_cast<char>(number & 0xFF);
  }
};

// ---- COPY ... WITH (FORMAT binary)
// -----------------------------------------------------------------------------------

class CopyBinaryReader : public TableReader {
 public:
  using TableReader::TableReader;

 protected:
  void ReadHeader() override {
    if (Peek() == kEnd) return;
    TakeBytes(19, header_);
    if (std::memcmp(header_.data(), "PGCOPY\n\377\r\n", 11) != 0) Fail("it does not begin as COPY BINARY does");
    oids_ = (header_[12] & 1) != 0;
    TakeBytes(Number(header_.substr(15)), header_);
  }
  bool Read(Row& row) override {
    if (Peek() == kEnd) Fail("the trailer is missing");
    const std::uint64_t count = TakeNumber(2, row.bytes);
    if (count == 0xFFFF) {
      trailer_ = row.bytes;
      if (Peek() != kEnd) Fail("there are more bytes after the trailer");
      return false;
    }
    for (std::uint64_t i = 0; i < count + oids_; ++i) {
      const std::uint64_t size = TakeNumber(4, row.bytes);
      if (i < oids_) {
        TakeBytes(size, row.bytes);
        continue;
      }
      Cell& cell = AddCell();
      cell.null = size == 0xFFFFFFFF;
      if (!cell.null) TakeBytes(size, cell.text);
      row.bytes += cell.text;
    }
    return true;
  }
  Value ValueOf(const Rule& rule, const std::string& text) const override { return ReadBinaryValue(rule, text); }
  void GoOn(const TableReader& first, std::uint64_t place) override {
    TableReader::GoOn(first, place);
    oids_ = dynamic_cast<const CopyBinaryReader&>(first).oids_;
  }
  bool has_oids() const override { return oids_ != 0; }

 private:
  static std::uint64_t Number(const std::string& bytes) {
    std::uint64_t number = 0;
    for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
    return number;
  }
  void TakeBytes(std::uint64_t count, std::string& to) {
    if (!TableReader::TakeBytes(count, to)) Fail("the input ends inside a tuple or the header");
  }
  std::uint64_t TakeNumber(std::uint64_t bytes, std::string& to) {
    const std::size_t from = to.size();
    TakeBytes(bytes, to);
    return Number(to.substr(from));
  }

  std::uint64_t oids_ = 0;
};

// ---- The tables of a dump
// --------------------------------------------------------------------------------------------

/// What CREATE TABLE and CREATE TYPE say about the tables of a dump, and the keys that follow from that.
class Schema {
 protected:
  Schema(bool mysql, bool lite) { SetDialect(mysql, lite); }

  /// What a byte of SQL is in.
  struct Place {
    char quote = '\0';     ///< the byte that closes the string or name; '*' in a comment, '-' up to the end of the line
    bool escapes = false;  ///< a backslash makes the next byte literal
    bool literal = false;  ///< the next byte is literal
    char last = '\0', before = '\0';
    int depth = 0;
    int comments = 0;         ///< how many comments of PostgreSQL are open in a comment
    std::string dollars;      ///< the text that closes a string of PostgreSQL between dollars
    std::size_t opening = 0;  ///< how many bytes of the opening `dollars` are not read yet
  };

  /// Advances `place` over the byte `text[at]`. Returns true if the byte is neither in quotes nor in a comment.
  bool Step(Place& place, std::string_view text, std::size_t at) const {
    const char c = text[at];
    const char last = place.last, before = place.before;
    place.before = last;
    place.last = c;
    if (!place.dollars.empty()) {
      if (place.opening > 0) {
        --place.opening;
      } else if (text.substr(0, at + 1).ends_with(place.dollars)) {
        place.dollars.clear();
      }
      return false;
    }
    if (place.quote == '*' && postgres()) {
      const bool opens = last == '/' && c == '*', closes = last == '*' && c == '/';
      if (opens) ++place.comments;
      if (closes && place.comments == 0) place.quote = '\0';
      if (closes && place.comments > 0) --place.comments;
      if (opens || closes) place.last = '\0';
      return false;
    }
    if (place.quote != '\0') {
      if (place.literal) {
        place.literal = false;
      } else if (place.escapes && c == '\\') {
        place.literal = true;
      } else if (place.quote == '*' ? c == '/' && last == '*' : place.quote == '-' ? c == '\n' : c == place.quote) {
        place.quote = '\0';
        place.last = '\0';
        // A string that goes on after a doubled quote keeps its kind.
        place.literal = place.escapes && c == '\'' && at + 1 < text.size() && text[at + 1] == '\'';
        if (place.literal) place.quote = '\'';
      }
      return false;
    }
    if (c == '\'' || c == '"' || (c == '`' && !postgres()) || (c == '[' && lite_)) {
      const bool word = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_';
      const bool e = postgres() && (last == 'e' || last == 'E') && !word;
      place.quote = c == '[' ? ']' : c;
      place.escapes = (backslashes_ && (c == '\'' || c == '"')) || (e && c == '\'');
      return false;
    }
    if (c == '*' && last == '/') {
      place.quote = '*';
      place.last = '\0';  // the asterisk does not end the comment, too
    }
    if ((c == '-' && last == '-') || (c == '#' && mysql_)) place.quote = '-';
    if (place.quote != '\0') place.escapes = false;
    if (c == '$' && postgres()) {
      const std::size_t end = text.find('$', at + 1);
      if (end != text.npos && text.find_first_of(" \n", at) > end) {
        place.dollars = text.substr(at, end + 1 - at);
        place.opening = place.dollars.size() - 1;
      }
    }
    return place.quote == '\0' && place.dollars.empty();
  }
  bool postgres() const { return !mysql_ && !lite_; }

  static bool Begins(std::string_view text, std::string_view words) {
    return Lowered(text.substr(0, words.size())) == words;
  }

  /// Reads the last value that a line gives to sql_mode. A variable restores the mode from before the last change.
  void TakeMode(const std::string& line) {
    for (std::size_t at = line.size(); at > 0 && (at = line.rfind("sql_mode", at - 1)) != line.npos;) {
      const std::size_t value = line.find_first_not_of(" \t", at + 8);
      const bool variable = at > 0 && (line[at - 1] == '@' || line[at - 1] == '_');
      if (variable || value == line.npos || line[value] != '=') continue;
      const bool restores = line.find_first_not_of(" \t", value + 1) == line.find('@', value);
      const bool now = restores ? before_ : line.find("no_backslash_escapes", value) == line.npos;
      before_ = std::exchange(backslashes_, now);
      return;
    }
  }
  /// Sets the dialect of the dump.
  void SetDialect(bool mysql, bool lite) {
    mysql_ = backslashes_ = before_ = mysql;
    lite_ = lite;
  }
  /// Reads a statement that chooses another database or schema, or a mode of SQL.
  void TakeSession(std::string_view text) {
    if (postgres() && (text.starts_with("\\connect ") || text.starts_with("\\c "))) {
      tables_.clear();
      enums_.clear();
      schema_.clear();
    } else if (mysql_ && (Begins(text, "set ") || text.starts_with("/*!"))) {
      TakeMode(Lowered(text));
    } else if (mysql_ && Begins(text, "use ")) {
      text.remove_prefix(4);
      TakeAnyName(text, schema_);
    } else if (postgres() && Begins(text, "set search_path = ")) {
      text.remove_prefix(std::string_view("set search_path = ").size());
      TakeAnyName(text, schema_);
      if (schema_ == "''") schema_.clear();
    }
  }
  /// A column of a table, as CREATE TABLE describes it.
  struct Column {
    std::string name;
    Rule rule;
    bool generated = false;
    bool counted = false;  ///< SQLite counts up nulls of the column if the column is the primary key
    int padding = -1;      ///< the byte at the end of a text that the server ignores
  };
  struct Columns {
    std::string schema, name;
    std::vector<Column> columns;
    std::vector<std::string> primary;
  };
  bool Same(const std::string& a, const std::string& b) const { return postgres() ? a == b : Lowered(a) == Lowered(b); }
  /// Takes a name. PostgreSQL knows a name without quotes in lower case.
  bool TakeServerName(std::string_view& text, std::string& name) const {
    SkipSpace(text);
    const bool quoted = !text.empty() && std::string_view("\"`['").find(text[0]) != std::string_view::npos;
    if (!TakeAnyName(text, name)) return false;
    if (!quoted && postgres()) name = Lowered(name);
    SkipSpace(text);
    return true;
  }
  void TakeTableName(std::string_view& text, std::string& schema, std::string& name) const {
    schema = schema_;
    TakeServerName(text, name);
    while (TakeText(text, ".")) {
      schema = std::exchange(name, {});
      TakeServerName(text, name);
    }
  }
  const Columns* FindTable(const std::string& schema, const std::string& name) const {
    for (const bool exact : {true, false}) {
      for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
        const bool in_schema = schema.empty() || table->schema.empty() || Same(table->schema, schema);
        if (in_schema && (exact ? table->name == name : Same(table->name, name))) return &*table;
      }
    }
    return nullptr;
  }

  /// Returns the user's key for a column. A key without a type has the type that CREATE TABLE gives the column.
  const Key* WithType(const Key& key, const Columns* table, const std::string& name) {
    if (key.typed || table == nullptr) return &key;
    const auto column = std::ranges::find_if(table->columns, [&](const Column& one) { return Same(one.name, name); });
    if (column == table->columns.end()) return &key;
    Key with = key;
    with.rule = column->rule;
    with.rule.descending = key.rule.descending;
    with.rule.nulls_first = key.rule.nulls_first;
    with.rule.point = key.rule.point;
    with.rule.thousands = key.rule.thousands;
    std::deque<Key>& known = typed_keys_[&key];
    const auto same = std::ranges::find(known, with);
    return same != known.end() ? &*same : &known.emplace_back(std::move(with));
  }

  /// Sets the keys of a table that the user gave no key for: the columns of its primary key with their types, or all
  /// columns with their types and after them the texts of the columns whose equal values can have several texts.
  /// `whole` is the key of a column as text. The keys are `defaults_`, and their columns `default_columns_`.
  void SetDefaultKeys(const Columns* table, const std::vector<std::string>& columns, const Key& whole) {
    std::vector<Key> keys;
    default_columns_.clear();
    const auto find = [&](const std::string& name) -> const Column* {
      if (table == nullptr) return nullptr;
      const auto column = std::ranges::find_if(table->columns, [&](const Column& one) { return Same(one.name, name); });
      return column == table->columns.end() ? nullptr : &*column;
    };
    const auto add = [&](std::size_t index, const Column* column) {
      Key key = whole;
      key.text = key.column = columns[index];
      const bool descending = key.rule.descending;
      if (column != nullptr) {
        key.rule = column->rule;
        key.rule.descending = descending;
      }
      keys.push_back(key);
      default_columns_.push_back(index);
    };
    for (std::size_t i = 0; table != nullptr && i < table->primary.size(); ++i) {
      const auto column =
          std::ranges::find_if(columns, [&](const std::string& one) { return Same(one, table->primary[i]); });
      if (column == columns.end()) {
        keys.clear();
        default_columns_.clear();
        break;
      }
      const Column* const known = find(*column);
      add(static_cast<std::size_t>(column - columns.begin()), known);
      if (known != nullptr) keys.back().rule.padding = known->padding;
      counts_up_ = known != nullptr && known->counted && table->primary.size() == 1;
    }
    has_primary_ = !keys.empty();
    for (std::size_t i = 0; !has_primary_ && i < columns.size(); ++i) add(i, find(columns[i]));
    for (std::size_t i = 0; !has_primary_ && i < columns.size(); ++i) {
      const Type type = keys[i].rule.type;
      if (type != Type::kText && type != Type::kInt) add(i, nullptr);
    }
    std::deque<std::vector<Key>>& known = default_keys_[columns];
    const auto same = std::ranges::find(known, keys);
    defaults_ = same != known.end() ? &*same : &known.emplace_back(std::move(keys));
  }

  /// A word, a name in quotes, a string, or another byte of SQL. Comments are not tokens.
  struct Token {
    enum Is { kWord, kName, kString, kOther } is = kOther;
    std::string text;     ///< a word in lower case, a name or a string without its quotes, or a byte
    std::string written;  ///< a word as the server knows it as a name
    bool Is(std::string_view word) const { return (is == kWord || is == kOther) && text == word; }
  };
  using Tokens = std::vector<Token>;
  /// Divides SQL into tokens. Comments of MySQL that hold SQL are read as SQL.
  Tokens TokensOf(std::string_view text) const {
    Tokens tokens;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view rest = text.substr(at);
      const char c = rest[0];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at;
      } else if (mysql_ && HoldsSql(rest)) {
        at = std::min(text.find_first_not_of("0123456789", at + (rest[2] == 'M' ? 4 : 3)), text.size());
      } else if (mysql_ && rest.starts_with("*/")) {
        at += 2;
      } else if (BeginsComment(rest)) {
        at += CommentSize(rest);
      } else if (std::string_view("\"`['").find(c) != std::string_view::npos && (c != '`' || !postgres()) &&
                 (c != '[' || lite_)) {
        Token& token = tokens.emplace_back();
        token.is = c == '\'' ? Token::kString : Token::kName;
        for (++at; at < text.size(); ++at) {
          if (c == '\'' && backslashes_ && text[at] == '\\' && at + 1 < text.size()) {
            ++at;
          } else if (text[at] == (c == '[' ? ']' : c)) {
            if (c == '[' || at + 1 == text.size() || text[at + 1] != c) break;
            ++at;
          }
          token.text += text[at];
        }
        ++at;
        token.written = token.text;
      } else if (IsWordByte(c)) {
        Token& token = tokens.emplace_back();
        token.is = Token::kWord;
        while (at < text.size() && (IsWordByte(text[at]) || text[at] == '$')) token.written += text[at++];
        token.text = Lowered(token.written);
        if (postgres()) token.written = token.text;
      } else {
        tokens.push_back({Token::kOther, std::string(1, c), {}});
        ++at;
      }
    }
    return tokens;
  }
  /// Reads tokens one after the other. After the last token, all further tokens are empty.
  class Reader {
   public:
    explicit Reader(const Tokens& tokens) : tokens_(tokens) {}
    bool done() const { return at_ >= tokens_.size(); }
    const Token& token() const {
      static const Token none;
      return done() ? none : tokens_[at_];
    }
    const Token& after() const {
      static const Token none;
      return at_ + 1 < tokens_.size() ? tokens_[at_ + 1] : none;
    }
    bool Is(std::string_view word) const { return token().Is(word); }
    bool Take(std::string_view word) {
      if (!Is(word)) return false;
      ++at_;
      return true;
    }
    void Skip(std::initializer_list<std::string_view> words) {
      for (const std::string_view word : words) Take(word);
    }
    bool TakeName(std::string& name) {
      if (done() || token().is == Token::kOther) return false;
      name = token().written;
      ++at_;
      return true;
    }
    void Next() { ++at_; }

   private:
    const Tokens& tokens_;
    std::size_t at_ = 0;
  };
  static bool IsWordByte(char c) {
    return static_cast<unsigned char>(c) >= 0x80 || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  }
  static bool HoldsSql(std::string_view text) {
    return text.starts_with("/*!") || (text.starts_with("/*M!") && !text.starts_with("/*M!999999"));
  }
  bool BeginsComment(std::string_view text) const {
    return text.starts_with("--") || text.starts_with("/*") || (mysql_ && text.starts_with('#'));
  }
  /// Returns the size of the comment at the beginning of `text`. In PostgreSQL a comment can hold other ones.
  std::size_t CommentSize(std::string_view text) const {
    if (!text.starts_with("/*")) return std::min(text.find('\n'), text.size());
    int depth = 1;
    std::size_t at = 2;
    for (; depth > 0 && at < text.size(); ++at) {
      const std::string_view two = text.substr(at, 2);
      if (two != "*/" && !(two == "/*" && postgres())) continue;
      depth += two == "*/" ? -1 : 1;
      ++at;
    }
    return at;
  }
  /// Reads a name with the names before it, which dots divide.
  void TakeNames(Reader& reader, std::string& schema, std::string& name) const {
    schema = schema_;
    reader.TakeName(name);
    while (reader.Take(".")) {
      schema = std::exchange(name, {});
      reader.TakeName(name);
    }
  }
  /// Returns the tokens between the commas of the list that begins at the reader's place, and moves the reader after
  /// the list. The list ends at its closing bracket, if `bracket` is true, or at a semicolon.
  static std::vector<Tokens> TakeList(Reader& reader, bool bracket) {
    std::vector<Tokens> items(1);
    int depth = 0;
    if (bracket) reader.Take("(");
    for (; !reader.done(); reader.Next()) {
      if (depth == 0 && reader.Is(bracket ? ")" : ";")) break;
      if (depth == 0 && reader.Is(",")) {
        items.emplace_back();
        continue;
      }
      depth += reader.Is("(") ? 1 : reader.Is(")") ? -1 : 0;
      items.back().push_back(reader.token());
    }
    reader.Next();
    return items;
  }

  /// Notes the labels of a CREATE TYPE ... AS ENUM. The reader is after the word TYPE.
  void ReadEnum(Reader reader) {
    std::string schema, name;
    TakeNames(reader, schema, name);
    if (!postgres() || !reader.Take("as") || !reader.Take("enum")) return;
    std::vector<std::string>& labels = enums_[name];
    labels.clear();
    for (const Tokens& item : TakeList(reader, true)) {
      if (!item.empty()) labels.push_back(item[0].text);
    }
  }

  /// Reads the description of a column from its type on.
  void ReadColumn(Reader reader, const std::string& table_collation, Column& column, bool& primary) const {
    static constexpr std::string_view kEnds[] = {
        "not",   "null",       "default",   "primary", "unique",  "constraint",     "collate",       "charset",
        "check", "references", "generated", "as",      "comment", "auto_increment", "autoincrement", "unsigned"};
    std::vector<std::string> type;  // its words
    std::string qualified;          // the last part of its name
    std::vector<std::string> labels;
    std::optional<std::string> collation;
    std::string last;  // the last word
    bool in_type = true, array = false, dotted = false, descends = false;
    for (int depth = 0; !reader.done(); reader.Next()) {
      const Token& token = reader.token();
      const bool named = token.is == Token::kWord || token.is == Token::kName;
      if (depth == 0 && named && (qualified.empty() || dotted)) qualified = token.written;
      dotted = depth == 0 && token.Is(".") && in_type;
      if (depth == 0 && token.is == Token::kWord) {
        in_type = in_type && std::ranges::count(kEnds, token.text) == 0 && (token.text != "character" || type.empty());
        if (in_type) type.push_back(token.text);
        if (token.text == "primary" && reader.after().Is("key")) {
          primary = true;
          Reader words = reader;
          words.Skip({"primary", "key"});
          descends = words.Is("desc");
        }
        if (mysql_ && token.text == "key" && !type.empty() && last != "unique") primary = true;
        last = token.text;
        if (token.text == "as" && reader.after().Is("(")) column.generated = true;
        if (token.text == "binary" && mysql_ && type.size() > 1) collation = "_bin";
        if (token.text == "collate") {
          collation = Lowered(reader.after().text);
        } else if (mysql_ && (token.text == "charset" || (token.text == "character" && reader.after().Is("set")))) {
          if (token.text == "character") reader.Next();
          if (!collation) collation = reader.after().Is("binary") ? "binary" : "";
        }
      }
      if (token.is == Token::kName && !lite_) in_type = false;
      array = array || (in_type && depth == 0 && (token.Is("[") || token.Is("array")));
      if (depth == 1 && in_type && token.is == Token::kString) labels.push_back(token.text);
      depth += token.Is("(") ? 1 : token.Is(")") ? -1 : 0;
    }
    column.counted = lite_ && type.size() == 1 && type[0] == "integer" && !descends;
    if (array || lite_) return;
    column.rule = RuleOf(type);
    if (mysql_ && !type.empty() && (type[0] == "enum" || type[0] == "set")) {
      if (type[0] == "enum" && std::ranges::count(labels, "") == 0) labels.insert(labels.begin(), "");
      column.rule.labels = labels;
    }
    column.rule.zero_dates = mysql_;
    if (const auto known = enums_.find(qualified); postgres() && known != enums_.end()) {
      column.rule.type = Type::kEnum;
      column.rule.labels = known->second;
    }
    column.padding = PaddingOf(type, column.rule.type, collation.value_or(table_collation));
  }

  /// Returns the rule of a column from the words of its type.
  Rule RuleOf(const std::vector<std::string>& type) const {
    Rule rule;
    if (type.empty()) return rule;
    const auto is = [&](std::initializer_list<const char*> names) {
      return std::ranges::any_of(names, [&](std::string_view name) { return type[0] == name; });
    };
    if (is({"int", "integer", "tinyint", "smallint", "mediumint", "middleint", "bigint", "int1", "int2", "int3", "int4",
            "int8", "serial", "serial2", "serial4", "serial8", "bigserial", "smallserial", "year"}) ||
        (postgres() && is({"oid"}))) {
      rule.type = Type::kInt;
    } else if (is({"dec", "decimal", "numeric", "fixed", "float", "float4", "float8", "double", "real"})) {
      rule.type = Type::kDecimal;
    } else if (is({"datetime", "timestamp", "timestamptz"})) {
      rule.type = Type::kTimestamp;
    } else if (is({"date"})) {
      rule.type = mysql_ ? Type::kTimestamp : Type::kDate;
    } else if (is({"time", "timetz"})) {
      rule.type = Type::kTime;
    } else if (is({"interval"})) {
      rule.type = Type::kInterval;
    } else if (mysql_) {
      if (is({"enum"})) rule.type = Type::kEnum;
      if (is({"set"})) rule.type = Type::kSet;
      if (is({"inet4", "inet6"})) rule.type = Type::kIp;
    } else if (is({"bool", "boolean"})) {
      rule.type = Type::kBool;
    } else if (is({"uuid"})) {
      rule.type = Type::kUuid;
    } else if (is({"inet", "cidr"})) {
      rule.type = Type::kIp;
    } else if (is({"macaddr", "macaddr8"})) {
      rule.type = Type::kMacAddress;
    } else if (is({"bit", "varbit"})) {
      rule.type = Type::kBits;
    } else if (is({"money"})) {
      rule.type = Type::kNumber;
    } else if (is({"bytea"})) {
      rule.type = Type::kBytesHex;
    }
    return rule;
  }

  /// Returns the byte that the server ignores at the end of a text in a column, or -1.
  int PaddingOf(const std::vector<std::string>& type, Type is, const std::string& collation) const {
    if (type.empty() || is != Type::kText) return -1;
    if (postgres()) {
      const bool varies = type.size() > 1 && type[1] == "varying";
      return !varies && (type[0] == "char" || type[0] == "character" || type[0] == "bpchar") ? ' ' : -1;
    }
    if (type[0] == "binary") return '\0';
    const bool pads = collation.ends_with("_bin") && collation.find("0900") == collation.npos &&
                      collation.find("nopad") == collation.npos;
    return pads && type[0] != "varbinary" ? ' ' : -1;
  }

  /// Returns true if a constraint or an index begins here, and not a column.
  bool BeginsConstraint(const Reader& reader) const {
    if (reader.done() || reader.token().is != Token::kWord) return false;
    const auto is = [&](std::initializer_list<std::string_view> words) {
      return std::ranges::any_of(words, [&](std::string_view word) { return reader.Is(word); });
    };
    if (is({"constraint", "primary", "unique", "foreign", "check"})) return true;
    if (is({"key", "index", "fulltext", "spatial"})) return mysql_;
    if (is({"like"})) return postgres();
    if (is({"period"})) return mysql_ && reader.after().Is("for");
    return is({"exclude"}) && postgres() && (reader.after().Is("using") || reader.after().Is("("));
  }

  /// Reads all statements of `text` that say something about tables and types.
  void Describe(const std::string& text) {
    const Tokens tokens = TokensOf(text);
    Reader reader(tokens);
    while (!reader.done()) {
      Reader words = reader;
      if (words.Take("create")) {
        words.Skip({"or", "replace", "global", "local", "temp", "temporary", "unlogged", "foreign"});
        if (words.Take("table")) {
          ReadTable(words);
        } else if (words.Take("type")) {
          ReadEnum(words);
        }
      } else if (words.Take("alter")) {
        words.Skip({"online", "ignore"});
        if (words.Take("table")) ReadChange(words);
      }
      while (!reader.done() && !reader.Is(";")) reader.Next();
      reader.Next();
    }
  }
  /// Returns true if a statement begins here that may say something about a table or a type.
  static bool Describes(std::string_view text) {
    const std::string lower = Lowered(text.substr(0, 200));
    return lower.find("create") != lower.npos || lower.find("alter") != lower.npos;
  }
  /// Reads an ALTER TABLE, after the word TABLE. ADD, MODIFY and ALTER ... TYPE change a column. Forgets the columns of
  /// the table if the statement changes them in another way.
  void ReadChange(Reader reader) {
    reader.Skip({"if", "exists", "only"});
    std::string schema, name;
    TakeNames(reader, schema, name);
    const Columns* const known = FindTable(schema, name);
    if (known == nullptr) return;
    Columns table = *known;
    for (const Tokens& action : TakeList(reader, false)) {
      Reader words(action);
      const bool adds = words.Take("add"), alters = words.Take("alter"), drops = words.Take("drop");
      const bool changes = words.Take("change"), modifies = changes || words.Take("modify");
      bool moves = words.Is("rename");
      const bool column = words.Take("column");
      words.Skip({"if", "not", "exists"});
      const bool other = !column && (BeginsConstraint(words) || words.Is("partition"));
      moves = moves || (drops && !other) || (adds && words.Is("("));
      Column changed;
      if (!other && (adds || alters || modifies) && words.TakeName(changed.name)) {
        std::string renamed;
        if (changes && words.TakeName(renamed)) moves = moves || !Same(changed.name, renamed);
        if (alters && words.Take("set")) words.Take("data");
        const bool retypes = modifies || (alters && words.Take("type"));
        bool primary = false;
        if (adds || retypes) ReadColumn(words, "", changed, primary);
        changed.padding = -1;
        const auto same =
            std::ranges::find_if(table.columns, [&](const Column& one) { return Same(one.name, changed.name); });
        if (adds) {
          table.columns.push_back(changed);
        } else if (retypes && same != table.columns.end()) {
          same->rule = changed.rule;
          if (same->rule.type == Type::kEnum || same->rule.type == Type::kSet) same->rule = Rule();
        }
      }
      int depth = 0;
      for (const Token& token : action) {
        moves = moves || (mysql_ && depth == 0 && (token.Is("first") || token.Is("after")));
        depth += token.Is("(") ? 1 : token.Is(")") ? -1 : 0;
      }
      if (!moves) continue;
      table.columns.clear();
      table.primary.clear();
      break;
    }
    tables_.push_back(std::move(table));
  }
  /// Notes the columns of a CREATE TABLE. The reader is after the word TABLE.
  void ReadTable(Reader reader) {
    reader.Skip({"if", "not", "exists"});
    Columns table;
    TakeNames(reader, table.schema, table.name);
    if (!reader.Is("(")) return;
    const std::vector<Tokens> items = TakeList(reader, true);
    std::string collation;
    std::vector<Tokens> parents;
    while (!reader.done() && !reader.Is(";")) {
      const bool charset = reader.Is("charset") || reader.Is("character"), collate = reader.Is("collate");
      const bool inherits = postgres() && reader.Is("inherits");
      reader.Next();
      if (inherits) {
        parents = TakeList(reader, true);
      } else if (mysql_ && (charset || collate)) {
        reader.Skip({"set", "="});
        if (collate || reader.Is("binary")) collation = Lowered(reader.token().text);
      }
    }
    bool unknown = false;
    for (const Tokens& item : items) {
      Reader words(item);
      if (BeginsConstraint(words)) {
        unknown = unknown || words.Is("like");
        while (!words.done() && !(words.Is("primary") && words.after().Is("key"))) words.Next();
        while (!words.done() && !words.Is("(")) words.Next();
        if (words.done()) continue;
        table.primary.clear();
        for (const Tokens& part : TakeList(words, true)) {
          if (!part.empty()) table.primary.push_back(part[0].written);
        }
        continue;
      }
      Column column;
      if (!words.TakeName(column.name)) continue;
      bool primary = false;
      ReadColumn(words, collation, column, primary);
      if (primary) table.primary.assign(1, column.name);
      table.columns.push_back(std::move(column));
    }
    for (const Tokens& parent : parents) AddParent(Reader(parent), table);
    if (unknown) {
      table.columns.clear();
      table.primary.clear();
    }
    tables_.push_back(std::move(table));
  }
  /// Puts the columns of a parent before those of the table. A column with the same name has the place of the first.
  void AddParent(Reader parent, Columns& table) const {
    std::string schema, name;
    TakeNames(parent, schema, name);
    const Columns* const known = FindTable(schema, name);
    if (known == nullptr) return;
    std::vector<Column> columns = known->columns;
    for (Column& own : table.columns) {
      const auto same = std::ranges::find(columns, own.name, &Column::name);
      if (same == columns.end()) {
        columns.push_back(std::move(own));
      } else {
        *same = std::move(own);
      }
    }
    table.columns = std::move(columns);
  }

  static void SkipSpace(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  static bool TakeAnyName(std::string_view& text, std::string& name) {
    name.clear();
    if (text.starts_with('"') || text.starts_with('`') || text.starts_with('\'')) {
      return TakeQuoted(text, text[0], name);
    }
    if (text.starts_with('[')) {
      const std::size_t end = std::min(text.find(']'), text.size() - 1);
      name = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      return true;
    }
    name = text.substr(0, text.find_first_of(" \t.,()\";\r\n"));
    text.remove_prefix(name.size());
    return !name.empty();
  }

  /// Returns the texts between the commas of a text in brackets.
  std::vector<std::string> Values(const std::string& text) const {
    std::vector<std::string> values(1);
    Place place;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool code = Step(place, text, at);
      const int depth = place.depth;
      if (code && (text[at] == '(' || text[at] == ')')) place.depth += text[at] == '(' ? 1 : -1;
      if (place.depth == 0) break;
      if (depth == 0) continue;
      if (code && text[at] == ',' && depth == 1) {
        values.emplace_back();
      } else {
        values.back() += text[at];
      }
    }
    return values;
  }

  bool mysql_ = false, lite_ = false;
  bool backslashes_ = false;  ///< MySQL: a backslash in a string is an escape, as without NO_BACKSLASH_ESCAPES
  bool before_ = false;       ///< the value of `backslashes_` before the last change of sql_mode
  std::vector<Columns> tables_;
  std::map<std::string, std::vector<std::string>> enums_;
  std::string schema_;  ///< the schema or the database of tables that are named without one
  /// The default keys of all tables so far, by the names of the columns. Rows refer to them. Blocks of one table share
  /// its keys, because a table can have very many blocks.
  std::map<std::vector<std::string>, std::deque<std::vector<Key>>> default_keys_;
  /// The keys of the user with types of CREATE TABLE, for all tables so far, by the key without a type
  std::map<const Key*, std::deque<Key>> typed_keys_;
  const std::vector<Key>* defaults_ = nullptr;  ///< the last of the `default_keys_`
  std::vector<std::size_t> default_columns_;
  bool has_primary_ = false;  ///< the `defaults_` are the primary key
  bool counts_up_ = false;    ///< SQLite counts up nulls of the primary key
};

// ---- pg_dump -------------------------------------------------------------------------------------------------------

/// Reads the rows of COPY statements in a dump. All other bytes are the header, which has a mark where the rows of each
/// block stand.
class DumpReader : public CopyReader, protected Schema {
 public:
  DumpReader(const Table& table, Source source, bool mysql = false, bool lite = false)
      : CopyReader(table, std::move(source)), Schema(mysql, lite) {}

 protected:
  bool Read(Row& row) override {
    while (rows_ || ToRows()) {
      if (ReadCopyRow(row)) return true;
    }
    return false;
  }
  /// Reads a row of COPY. Returns false at the end of the rows.
  bool ReadCopyRow(Row& row) {
    SetPlace(row);
    if (ReadRecord(row.bytes)) {
      row.block = block_;
      return true;
    }
    EndRows(row.bytes);
    row.bytes.clear();
    cell_count_ = 0;
    return false;
  }
  bool ToRows() override {
    if (rows_) {
      std::string end;
      ReadRecord(end);
      EndRows(end);
    }
    for (std::string line; TakeLine(line, '\n'); line.clear()) {
      header_ += line + "\n";
      if (inside_.empty()) TakeSession(line);
      if (inside_.empty() && line == "\\.")
        Fail("cannot check: this line ends rows of COPY that this program does not find");
      if (inside_.empty() && line.starts_with('\\')) continue;  // a command of psql
      if ((inside_.empty() || !copy_.empty()) && BeginsRows(line)) return true;
      const bool describes = inside_.empty() && Describes(line);
      if (describes || !statement_.empty()) statement_ += line + "\n";
      ReadSql(line);
      if (inside_.empty() && line.ends_with(';')) {
        Describe(statement_);
        statement_.clear();
      }
    }
    RequireNamed();
    return false;
  }
  void GoOn(const TableReader& first, std::uint64_t place) override {
    TableReader::GoOn(first, place);
    block_ = dynamic_cast<const DumpReader&>(first).block_;
    rows_ = true;
  }

  /// Throws NoColumn if a key of the user is of a table without rows.
  void RequireNamed() const {
    for (const Key& key : table_.keys) {
      if (std::find(named_.begin(), named_.end(), &key) != named_.end()) continue;
      throw NoColumn("--key " + key.text + ": the dump has no rows of such a table");
    }
  }
  /// Ends the rows of a table. `line` is the line after the rows.
  void EndRows(const std::string& line) {
    if (line.empty()) Fail("the dump ends inside the rows of a table");
    header_ += std::string(1, '\0') + line + "\n";
    rows_ = false;
  }

 private:
  static bool TakeName(std::string_view& text, std::string& name) {
    name.clear();
    if (text.starts_with('"')) return TakeQuoted(text, '"', name);
    name = text.substr(0, text.find_first_of(" \t.,()\";\r\n"));
    text.remove_prefix(name.size());
    return !name.empty();
  }
  static void SkipBlanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("--")) return;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    SkipBlanks(text);
  }
  static bool TakeWord(std::string_view& text, std::string_view word) {
    SkipBlanks(text);
    if (Lowered(text.substr(0, word.size())) != word ||
        IsWord(text.substr(word.size(), 1).empty() ? ' ' : text[word.size()])) {
      return false;
    }
    text.remove_prefix(word.size());
    SkipBlanks(text);
    return true;
  }

 protected:
  /// Returns true if rows follow this line: it ends the statement COPY [SCHEMA.]TABLE [(COLUMN, ...)] FROM stdin [WITH
  /// (FORMAT text)]; which may have begun on an earlier line.
  bool BeginsRows(const std::string& last) {
    if (copy_.empty() &&
        !Lowered(last.substr(std::min(last.find_first_not_of(" \t"), last.size()), 4)).starts_with("copy")) {
      return false;
    }
    copy_ += last + "\n";
    std::string schema, name;
    std::vector<std::string> columns;
    std::string_view line = copy_;
    const auto names_rows = [&] {
      if (!TakeWord(line, "copy") || !TakeName(line, name)) return false;
      for (SkipBlanks(line); TakeText(line, "."); SkipBlanks(line)) {
        schema = std::exchange(name, {});
        if (!TakeName(line, name)) return false;
      }
      if (TakeText(line, "(")) {
        do {
          SkipBlanks(line);
          if (!TakeName(line, columns.emplace_back())) return false;
          SkipBlanks(line);
        } while (TakeText(line, ","));
        if (!TakeText(line, ")")) return false;
      }
      if (TakeWord(line, "with") && TakeWord(line, "oids")) columns.insert(columns.begin(), "oid");
      return TakeWord(line, "from") && TakeWord(line, "stdin");
    };
    const bool rows = names_rows();
    if (line.find(';') == line.npos && (rows || line.empty() || line[0] == '"')) return false;  // the statement goes on
    copy_.clear();
    if (!rows) return false;
    const std::string options = Lowered(line.substr(0, line.find(';')));
    for (const char* const other : {"csv", "binary", "delimiter", "null", "header"}) {
      if (options.find(other) != options.npos) Fail("a COPY with options that this program does not know");
    }
    inside_.clear();
    rows_ = true;
    ++block_;
    keys_.clear();
    columns_.clear();
    const Columns* const table = FindTable(schema.empty() ? schema_ : schema, name);
    for (std::size_t i = 0; table != nullptr && columns.empty() && i < table->columns.size(); ++i) {
      if (!table->columns[i].generated) columns.push_back(table->columns[i].name);
    }
    for (const Key& key : table_.keys) {
      std::string_view rest = key.column;
      std::vector<std::string> parts(1);
      while (TakeName(rest, parts.back()) && TakeText(rest, ".")) parts.emplace_back();
      if (!rest.empty() || parts.size() < 2 || parts.size() > 3) {
        throw NoColumn("--key " + key.text + ": give TABLE.COLUMN or SCHEMA.TABLE.COLUMN");
      }
      const bool here = parts[parts.size() - 2] == name && (parts.size() == 2 || parts[0] == schema);
      if (!here) continue;
      const auto found = std::find(columns.begin(), columns.end(), parts.back());
      if (found == columns.end()) throw NoColumn("--key " + key.text + ": the table has no such column");
      keys_.push_back(WithType(key, table, *found));
      columns_.push_back(static_cast<std::size_t>(found - columns.begin()));
      named_.push_back(&key);
    }
    if (!keys_.empty()) return true;
    SetDefaultKeys(table, columns, table_.whole);
    for (const Key& key : *defaults_) keys_.push_back(&key);
    columns_ = default_columns_;
    return true;
  }

 private:
  /// Reads a line of SQL to find out whether its end is inside a string, a quoted name, a comment or $$. Sets `inside_`
  /// to the text that would close it.
  void ReadSql(const std::string& line) {
    if (inside_.empty() && line.starts_with("SET standard_conforming_strings = ")) {
      conforming_ = line.find("= off") == line.npos;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view rest = std::string_view(line).substr(at);
      if (inside_ == "*/") {
        depth_ += rest.starts_with("/*") ? 1 : rest.starts_with("*/") ? -1 : 0;
        at += rest.starts_with("/*") || rest.starts_with("*/") ? 2 : 1;
        if (depth_ == 0) inside_.clear();
      } else if (!inside_.empty()) {
        if (escapes_ && rest[0] == '\\') {
          at += 2;
        } else if (!rest.starts_with(inside_)) {
          ++at;
        } else if (inside_.size() == 1 && rest.substr(1).starts_with(inside_)) {
          at += 2;
        } else {
          at += inside_.size();
          inside_.clear();
          escapes_ = false;
        }
      } else if (rest.starts_with("--")) {
        return;
      } else if (rest.starts_with("/*")) {
        inside_ = "*/";
        depth_ = 1;
        at += 2;
      } else if (rest[0] == '\'' || rest[0] == '"') {
        inside_ = rest[0];
        const bool e = at > 0 && (line[at - 1] | 0x20) == 'e' && (at == 1 || !IsWord(line[at - 2]));
        escapes_ = rest[0] == '\'' && (e || !conforming_);
        ++at;
      } else if (rest[0] == '$' && (at == 0 || (!IsWord(line[at - 1]) && line[at - 1] != '$'))) {
        std::size_t end = 1;
        while (end < rest.size() && IsWord(rest[end])) ++end;
        const bool opens = end < rest.size() && rest[end] == '$' && (rest[1] < '0' || rest[1] > '9');
        if (opens) inside_ = rest.substr(0, end + 1);
        at += opens ? end + 1 : 1;
      } else {
        ++at;
      }
    }
  }
  static bool IsWord(char c) {
    return static_cast<unsigned char>(c) >= 0x80 || c == '_' || (c >= '0' && c <= '9') ||
           ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  }

 protected:
  bool rows_ = false;  ///< in the rows of a COPY
  std::uint64_t block_ = 0;
  std::vector<const Key*> named_;
  std::string copy_;       ///< the text so far of a statement that may be a COPY
  std::string statement_;  ///< the text so far of a statement that may describe a table or a type

 private:
  std::string inside_;
  int depth_ = 0;
  bool escapes_ = false, conforming_ = true;
};

// ---- INSERT statements ---------------------------------------------------------------------------------------------

/// Reads the rows of INSERT and COPY statements in a dump. INSERT statements that begin with the same text are a block
/// if only white space and comments are between them. All other bytes are the header, which has a mark where a row
/// stands.
class InsertReader : public DumpReader {
 public:
  InsertReader(const Table& table, Source source)
      : DumpReader(table, std::move(source), table.name == "mysqldump", table.name == "sqlitedump") {}

 protected:
  bool Read(Row& row) override {
    SetPlace(row);
    while (records_.empty()) {
      if (rows_) {
        if (ReadCopyRow(row)) return true;
      } else if (!ReadStatement()) {
        StripVolatile();
        RequireNamed();
        return false;
      }
    }
    row.bytes = std::move(records_.front().bytes);
    row.block = block_;
    keys_.clear();
    columns_.clear();
    const std::vector<std::string>& values = records_.front().values;
    if (!found_.empty()) {
      for (const std::string& value : values) SetCell(value);
      for (const Found& found : found_) {
        if (found.lite != nullptr) {
          SetLiteCells(found.column < values.size() ? values[found.column] : "NULL", false, *found.lite);
          continue;
        }
        keys_.push_back(found.key);
        columns_.push_back(found.column);
      }
    } else {
      SetDefaultCells(values, row.bytes);
    }
    records_.pop_front();
    return true;
  }

 private:
  using Schema::postgres;

  struct Record {
    std::string bytes;
    std::vector<std::string> values;  ///< the text of each value in the dump
  };
  /// A key of the user in the current table.
  struct Found {
    const Key* key;
    std::size_t column;
    const std::vector<Key>* lite;  ///< null, or the keys of a value of SQLite that has no type
  };
  /// Reads a line of SQL, or an INSERT. Returns false at the end.
  bool ReadStatement() {
    std::string text = std::exchange(rest_, {});
    const bool after_other = std::exchange(after_other_, false);
    if (text.empty() && !ReadLine(text)) return false;
    if (table_.name == "sqldump" && !known_) Guess(text);
    const bool starts = !open_ && (!delimiter_) && place_.quote == '\0' && place_.dollars.empty();
    const std::size_t lead = starts ? LeadOf(text) : 0;
    const std::string_view code = std::string_view(text).substr(lead);
    bool known = false;  // the statement at the front is an INSERT without rows
    if (starts && !after_other && BeginsInsert(code)) {
      std::string statement(code);
      if (ReadInsert(text.substr(0, lead), statement)) return true;
      text.resize(lead);
      text += statement;
      known = true;
      const Tokens tokens = TokensOf(statement);
      const auto has = [&](const char* word) {
        return std::ranges::any_of(tokens, [&](const Token& token) { return token.Is(word); });
      };
      if (has("set") && !has("select")) FailInsert();  // INSERT INTO t SET a = 1
    }
    // A line without code does not end a block.
    const bool no_code = starts ? lead == text.size() || OpensComment(code) : IsComment(text);
    if (!no_code) {
      last_head_.clear();
      StripVolatile();
    }
    if (table_.strip_volatile && !after_other && IsVolatile(text, starts)) {
      volatile_.emplace_back(header_.size(), text.size());
    }
    lead_ = no_code;
    only_opened_ = starts ? OpensSql(code) : only_opened_ && LeadOf(text) == text.size();
    if (postgres() && place_.quote == '\0' && place_.dollars.empty() && text == "\\.\n")
      Fail("cannot check: this line ends rows of COPY that this program does not find");
    if (postgres() && !delimiter_ && ((starts && !after_other) || !copy_.empty()) &&
        BeginsRows(text.substr(0, text.size() - 1))) {
      header_ += text;
      open_ = lead_ = false;
      place_ = {};
      return true;
    }
    if (starts) TakeSession(text);
    if (mysql_ && Begins(text, "delimiter") && !IsWordByte(text[9]) && (place_.quote == '\0' || place_.quote == '*')) {
      const std::string_view delimiter = DelimiterOf(std::string_view(text).substr(9));
      delimiter_ = !delimiter.empty() && delimiter != ";";
      open_ = false;
      place_ = {};
    } else if (!delimiter_ && !(postgres() && starts && text.starts_with('\\'))) {
      if (starts) {
        statement_.clear();
        brackets_ = 0;
      }
      const std::size_t before = statement_.size();
      statement_ += text;
      for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view two = std::string_view(text).substr(at, 2);
        if (mysql_ && place_.quote == '\0' && HoldsSql(std::string_view(text).substr(at))) {
          std::string_view inside = std::string_view(text).substr(at + (text[at + 2] == 'M' ? 4 : 3));
          inside.remove_prefix(std::min(inside.find_first_not_of("0123456789 \t"), inside.size()));
          if (!open_ && BeginsInsert(inside)) FailInsert();
        }
        if (!Step(place_, text, at) || std::isspace(static_cast<unsigned char>(text[at])) != 0) continue;
        if (two == "--" || two == "/*") continue;
        if (!open_ && !known && BeginsInsert(std::string_view(text).substr(at))) FailInsert();
        known = false;
        if (postgres() && text[at] == '(') ++brackets_;
        if (postgres() && text[at] == ')') --brackets_;
        const bool atomic = postgres() && Lowered(statement_).find("begin atomic") != statement_.npos;
        const bool goes_on = (lite_ && IsTrigger()) || atomic;
        open_ = text[at] != ';' || brackets_ > 0 ||
                (goes_on && !EndsBlock(std::string_view(statement_).substr(0, before + at)));
        if (open_ || LeadOf(std::string_view(text).substr(at + 1)) + at + 1 == text.size()) continue;
        // Another statement follows on the line.
        rest_ = text.substr(at + 1);
        after_other_ = true;
        text.resize(at + 1);
        statement_.resize(before + at + 1);
        place_ = {};
      }
      if (!open_ && Describes(statement_)) Describe(statement_);
      if (!open_ && statement_.size() > lead && Begins(std::string_view(statement_).substr(lead), "with")) {
        const Tokens tokens = TokensOf(statement_);
        if (std::ranges::any_of(tokens, [](const Token& token) { return token.Is("insert"); })) FailInsert();
      }
    }
    header_ += text;
    return true;
  }
  /// Returns the first word of the text, which can have quotes.
  static std::string_view DelimiterOf(std::string_view text) {
    SkipSpace(text);
    const bool quoted = text.starts_with('\'') || text.starts_with('"');
    const std::size_t end = quoted ? text.find(text[0], 1) : text.find_first_of(" \t\r\n\v\f");
    return text.substr(quoted ? 1 : 0, end - (quoted ? 1 : 0));
  }
  /// Returns true if a comment of several lines begins here, between two statements.
  bool OpensComment(std::string_view code) const {
    return code.starts_with("/*") && !(mysql_ && HoldsSql(code)) && CommentSize(code) >= code.size();
  }
  /// Returns true if the line opens a comment of MySQL that holds SQL, and the SQL begins on a later line.
  bool OpensSql(std::string_view code) const {
    if (!mysql_ || !HoldsSql(code)) return false;
    code.remove_prefix(code[2] == 'M' ? 4 : 3);
    code.remove_prefix(std::min(code.find_first_not_of("0123456789"), code.size()));
    return LeadOf(code) == code.size();
  }
  /// Returns true if the line begins in a comment between two statements, and has no code after the comment.
  bool IsComment(std::string_view text) const {
    if (open_ || delimiter_ || place_.quote != '*') return false;
    Place place = place_;
    std::size_t at = 0;
    while (at < text.size() && place.quote == '*') Step(place, text, at++);
    return LeadOf(text.substr(at)) == text.size() - at;
  }
  /// Returns true if `text` has this form: 9 stands for a digit, # for one or more digits, _ for a digit or a blank, @
  /// for a letter, and * at the end for any text.
  static bool IsOf(std::string_view text, std::string_view form) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    for (const char f : form) {
      if (f == '*') return true;
      if (text.empty()) return false;
      const char c = text[0];
      const bool fits = f == '9' || f == '#' ? digit(c)
                        : f == '_'           ? digit(c) || c == ' '
                        : f == '@'           ? (c | 0x20) >= 'a' && (c | 0x20) <= 'z'
                                             : c == f;
      if (!fits) return false;
      do text.remove_prefix(1);
      while (f == '#' && !text.empty() && digit(text[0]));
    }
    return text.empty();
  }
  /// Returns true if gpusort leaves out the line with --strip-volatile. `starts` is true if no statement, string or
  /// comment is open.
  bool IsVolatile(const std::string& line, bool starts) const {
    static const std::string time = "9999-99-99 99:99:99";
    const std::string_view text = std::string_view(line).substr(0, line.find_last_not_of(" \t\n\v\f\r") + 1);
    if (starts || only_opened_) {
      if (text.starts_with('\\')) return postgres() && (IsOf(text, "\\restrict *") || IsOf(text, "\\unrestrict *"));
      if (text.starts_with('#')) {
        // A time with a zone after a colon
        constexpr std::size_t kSize = std::string_view(": 2000-01-01 00:00:00 +0000").size();
        if (!mysql_ || !text.starts_with("# ") || text.size() <= kSize) return false;
        const std::string_view end = text.substr(text.size() - kSize);
        return IsOf(end, ": " + time + " +9999") || IsOf(end, ": " + time + " -9999");
      }
      return text.starts_with("--") && IsVolatileComment(text);
    }
    if (place_.quote != '*' || open_ || delimiter_ || !tables_.empty() || block_ != 0) return false;
    for (const std::string& form : {std::string("99/99/9999 99:99:99"), time}) {
      for (const char* const half : {"", " AM", " PM"}) {
        const std::string date = "Date: " + form + half;
        if (IsOf(text, date) || IsOf(text, " " + date)) return true;
      }
    }
    return false;
  }
  static bool IsVolatileComment(std::string_view text) {
    constexpr const char* kForms[] = {
        "-- Dump completed",
        "-- Dump completed on*",
        "-- Dump created on *",
        "-- Generation Time: *",
        "-- Started on 9999-99-99 99:99:99*",
        "-- Completed on 9999-99-99 99:99:99*",
        "-- Dump start time: @@@ @@@ _9 99:99:99 9999*",
        "-- Dump end time: @@@ @@@ _9 99:99:99 9999*",
        "-- Date: @@@, 99 @@@ 9999 99:99:99 *",
        "-- TOC entry # (class # OID #)",
        "-- Data Pos: #",
        "-- File: #.dat",
        "-- 9999-99-99 99:99:99 UTC",
    };
    if (std::ranges::any_of(kForms, [&](const char* form) { return IsOf(text, form); })) return true;
    if (text.starts_with("-- File generated with SQLiteStudio v")) return text.find(" on ") != text.npos;
    if (TakeText(text, "-- Dependencies:")) {
      return !text.empty() && text.find_first_not_of(" 0123456789") == text.npos && text.find("  ") == text.npos &&
             text.front() == ' ';
    }
    if (!IsOf(text, "-- 9999-99-99 99:99:99*")) return false;
    return text.find_first_not_of(".+-:0123456789", std::string_view("-- 2000-01-01 00:00:00").size()) == text.npos;
  }
  void StripVolatile() {
    for (; !volatile_.empty(); volatile_.pop_back()) header_.erase(volatile_.back().first, volatile_.back().second);
  }
  static bool BeginsInsert(std::string_view text) {
    const auto begins = [&](std::string_view word) {
      return Begins(text, word) && (text.size() == word.size() || !IsWordByte(text[word.size()]));
    };
    return begins("insert") || begins("replace");
  }
  [[noreturn]] void FailInsert() const {
    Fail(
        "cannot check: an INSERT after other SQL, with SET, or in a comment that only some servers read; gpusort "
        "leaves such rows in place");
  }
  /// Returns the size of the white space and the comments before the statement at the beginning of a line.
  std::size_t LeadOf(std::string_view text) const {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::string_view rest = text.substr(at);
      const bool holds_sql = rest.starts_with("/*!") || (rest.starts_with("/*M!") && !rest.starts_with("/*M!999999"));
      if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
        ++at;
      } else if (rest.starts_with("--") || (mysql_ && rest.starts_with('#'))) {
        return text.size();
      } else if (const std::size_t size = rest.starts_with("/*") ? CommentSize(rest) : 0;
                 size > 3 && !(mysql_ && holds_sql) && rest.substr(0, size).ends_with("*/")) {
        at += size;
      } else {
        break;
      }
    }
    return at;
  }
  bool ReadLine(std::string& text) {
    const std::size_t before = text.size();
    if (!TakeLine(text, '\n') && text.size() == before) return false;
    text += '\n';
    return true;
  }
  /// Returns true if `text`, which a semicolon follows, ends with another semicolon and the word END.
  static bool EndsBlock(std::string_view text) {
    const auto trim = [&] { text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1); };
    trim();
    if (text.size() < 4 || Lowered(text.substr(text.size() - 3)) != "end") return false;
    text.remove_suffix(3);
    for (trim(); !text.ends_with(';'); trim()) {  // comments before END
      const std::size_t newline = text.rfind('\n'), line = newline == text.npos ? 0 : newline + 1;
      const std::size_t opens = text.ends_with("*/") ? text.rfind("/*") : text.npos;
      const std::size_t comment = opens != text.npos ? opens : text.find("--", line);
      if (comment == text.npos) return false;
      text = text.substr(0, comment);
    }
    return true;
  }
  bool IsTrigger() const {
    const std::string words = Lowered(statement_.substr(0, 40));
    return words.starts_with("create trigger") || words.starts_with("create temp trigger");
  }
  /// Finds out from the first lines of an sqldump which program has written it.
  void Guess(const std::string& text) {
    const bool lite = Begins(text, "pragma ") || Begins(text, "begin transaction");
    const bool mysql = text.find('`') != text.npos || text.find("MySQL") != text.npos ||
                       text.find("MariaDB") != text.npos || text.starts_with("/*!");
    SetDialect(mysql && !lite, lite);
    known_ = mysql_ || lite_ || text.find("PostgreSQL") != text.npos;
  }

  /// Reads an INSERT. `lead` has the white space and the comments before the statement, and `text` its first line.
  /// Returns false, and leaves the line in `text`, if the statement has no rows.
  bool ReadInsert(const std::string& lead, std::string& text) {
    Place place;
    std::vector<std::pair<std::size_t, std::size_t>> rows;  // the offsets of "(" and after ")"
    std::vector<std::size_t> commas;                        // the offsets of commas outside of brackets
    std::size_t values = text.npos, end = text.npos;
    for (std::size_t at = 0; end == text.npos; ++at) {
      if (at == text.size() && !ReadLine(text)) {
        if (values == text.npos && rows.empty()) return false;
        Fail("an INSERT does not end");
      }
      if (!Step(place, text, at)) continue;
      const char c = text[at];
      if (c == '(') {
        if (place.depth++ == 0 && values != text.npos) rows.emplace_back(at, 0);
      } else if (c == ')') {
        if (--place.depth == 0 && values != text.npos) rows.back().second = at + 1;
      } else if (c == ';' && place.depth == 0) {
        end = at;
      } else if (c == ',' && place.depth == 0) {
        commas.push_back(at);
      } else if (values == text.npos && place.depth == 0 && (c == 's' || c == 'S' || c == 'e' || c == 'E') && at > 6 &&
                 !IsWordByte(at + 1 < text.size() ? text[at + 1] : ' ')) {
        const std::string word =
            Lowered(text.substr(at - (c == 's' || c == 'S' ? 6 : 5), c == 's' || c == 'S' ? 7 : 6));
        if (!IsWordByte(word[0]) && (word.substr(1) == "values" || word.substr(1) == "value")) values = at + 1;
      }
    }
    if (rows.empty()) return false;
    if (mysql_ && text.substr(0, values).find("/*!") != text.npos) {
      Fail("cannot check: an INSERT with a comment that only some servers read, before its rows");
    }
    // Brackets after a clause such as ON CONFLICT (a) are no rows.
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const auto comma = std::ranges::upper_bound(commas, rows[i - 1].second - 1);
      const bool next = comma != commas.end() && *comma < rows[i].first;
      if (!next || !Clause(text.substr(rows[i - 1].second, *comma - rows[i - 1].second)).empty()) {
        rows.resize(i);
        break;
      }
    }
    const std::size_t begin = text.find_first_not_of(" \t\r\n", values);
    const std::string head = text.substr(0, Before(text, values, begin));
    // Statements with one row that end in different ways are sorted apart from what needs places between rows.
    const bool has_places = rows.size() > 1 || lead_ || !lead.empty();
    const bool goes_on = head == last_head_ && !(has_places && !several_ && ends_differ_);
    if (goes_on) volatile_.clear();
    StripVolatile();
    if (!goes_on) BeginPart(head);
    several_ = (goes_on && several_) || rows.size() > 1 || (goes_on && (lead_ || !lead.empty()));
    lead_ = false;
    // A comment after a single statement moves with it.
    const bool to_line = LeadOf(std::string_view(text).substr(end + 1)) == text.size() - end - 1;
    const std::size_t stop = to_line ? text.size() : end + 1;
    const std::string ending = text.substr(rows.back().second, stop - rows.back().second);
    ends_differ_ = goes_on && !several_ && (ends_differ_ || ending != ending_);
    if (!goes_on) ending_ = ending;
    std::string clause = Clause(text.substr(rows.back().second, end - rows.back().second));
    header_ += lead + head;
    if (!several_) clause += Clause(text.substr(end + 1, stop - end - 1), true);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t from = i == 0 ? head.size() : rows[i - 1].second;
      const std::string row = text.substr(rows[i].first, rows[i].second - rows[i].first);
      // White space after a newline moves with the row after it.
      if (i > 0) header_ += Clause(text.substr(from, rows[i].first - from), true);
      records_.push_back({row + clause, Values(row)});
      header_ += '\0';
    }
    header_ += several_ ? text.substr(rows.back().second, stop - rows.back().second) : ";";
    rest_ = text.substr(stop);
    return true;
  }
  /// Returns the text without white space, and without comments unless `comments` is true.
  std::string Clause(std::string_view text, bool comments = false) const {
    std::string clause;
    Place place;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool quoted = place.quote == '\'' || place.quote == '"';
      const bool code = Step(place, text, at);
      const std::string_view two = text.substr(at, 2);
      const bool comment = place.quote == '*' || place.quote == '-' || two == "/*" || two == "--";
      const bool ends = at > 0 && text[at] == '/' && text[at - 1] == '*';
      if ((comment || ends) && !comments) continue;
      const bool in_text = quoted || (!code && place.quote == '\0' && !place.dollars.empty());
      if (!in_text && std::isspace(static_cast<unsigned char>(text[at])) != 0) continue;
      clause += text[at];
    }
    return clause;
  }
  /// Returns the end of the text before the row at `row`: white space after a newline is not part of it.
  static std::size_t Before(const std::string& text, std::size_t from, std::size_t row) {
    const std::size_t newline = text.find('\n', from);
    return newline < row ? newline + 1 : row;
  }

  void BeginPart(const std::string& head) {
    last_head_ = head;
    several_ = false;
    ++block_;
    const std::string lower = Lowered(head);
    std::string_view rest =
        std::string_view(head).substr(std::min({lower.find("insert"), lower.find("replace"), head.size()}));
    // The name of the table follows these words. MySQL may leave INTO out.
    constexpr std::string_view kBefore =
        " insert replace low_priority delayed high_priority ignore or rollback abort fail into ";
    for (std::size_t word = 1; word > 0; SkipSpace(rest)) {
      word = std::min(rest.find_first_of(" \t\r\n"), rest.size());
      if (kBefore.find(" " + Lowered(rest.substr(0, word)) + " ") == kBefore.npos) break;
      rest.remove_prefix(word);
    }
    std::string schema, name;
    std::vector<std::string> columns;
    TakeTableName(rest, schema, name);
    if (mysql_ && Begins(rest, "partition")) {
      rest.remove_prefix(std::min(rest.find(')'), rest.size() - 1) + 1);
      SkipSpace(rest);
    }
    const Columns* const table = FindTable(schema, name);
    if (table != nullptr) name = table->name;
    if (TakeText(rest, "(")) {
      do {
        TakeServerName(rest, columns.emplace_back());
      } while (TakeText(rest, ","));
    } else if (table != nullptr) {
      for (const Column& column : table->columns) {
        if (!column.generated) columns.push_back(column.name);
      }
    }
    found_.clear();
    for (const Key& key : table_.keys) {
      std::string_view text = key.column;
      std::vector<std::string> parts(1);
      while (TakeAnyName(text, parts.back()) && TakeText(text, ".")) parts.emplace_back();
      if (!text.empty() || parts.size() < 2) throw NoColumn("--key " + key.text + ": give TABLE.COLUMN");
      const std::string& in = parts[parts.size() - 2];
      if ((in != name && !(lite_ && Same(in, name))) || (parts.size() > 2 && parts[0] != schema)) continue;
      const auto column =
          std::ranges::find_if(columns, [&](const std::string& one) { return Same(one, parts.back()); });
      if (column == columns.end()) throw NoColumn("--key " + key.text + ": the table has no such column");
      const bool lite = lite_ && table != nullptr && !key.typed;
      found_.push_back({WithType(key, table, *column), static_cast<std::size_t>(column - columns.begin()),
                        lite ? &LiteKeys(&key) : nullptr});
      named_.push_back(&key);
    }
    if (!found_.empty()) return;
    SetDefaultKeys(table, columns, table_.whole);
    lite_whole_ = &LiteKeys(nullptr);
    if (!whole_.empty()) return;
    whole_.push_back(table_.whole);
    whole_[0].text = "all columns";
  }
  /// Sets the keys and the cells of a row of a table that the user gave no key for.
  void SetDefaultCells(const std::vector<std::string>& values, const std::string& bytes) {
    if (lite_) {
      bool has_null = false;
      const std::size_t count = has_primary_ ? default_columns_.size() : values.size();
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t column = has_primary_ ? default_columns_[i] : i;
        has_null |= SetLiteCells(column < values.size() ? values[column] : "", !has_primary_, *lite_whole_);
      }
      // Several rows can have a null there. Their texts decide.
      if (!has_null || !has_primary_ || counts_up_) return;
      keys_.push_back(whole_.data());
      columns_.push_back(cell_count_);
      AddCell().text = bytes;
      return;
    }
    for (const std::string& value : values) SetCell(value);
    for (std::size_t i = 0; i < defaults_->size(); ++i) {
      const Key& key = (*defaults_)[i];
      keys_.push_back(&key);
      columns_.push_back(default_columns_[i]);
      if (!has_primary_ || key.rule.type == Type::kText || default_columns_[i] >= cell_count_) continue;
      // Values of a primary key that are not of its type are ordered by their texts.
      const Cell cell = cells_[default_columns_[i]];
      const bool odd = !cell.null && std::holds_alternative<Null>(ValueOf(key.rule, cell.text));
      columns_.push_back(cell_count_);
      keys_.push_back(whole_.data());
      AddCell().text = odd ? cell.text : "";
    }
    for (std::size_t i = 0; defaults_->empty() && i < values.size(); ++i) {
      keys_.push_back(whole_.data());
      columns_.push_back(i);
    }
  }
  /// Returns the keys for values of SQLite, which have their own kinds: a key for the kind, the number, the way it is
  /// written, and the text. `key`: the key of the user; null: none.
  const std::vector<Key>& LiteKeys(const Key* key) {
    std::vector<Key>& keys = lite_keys_[key];
    if (!keys.empty()) return keys;
    Key value = key != nullptr ? *key : table_.whole;
    if (key == nullptr) value.text = value.column = "a value of SQLite";
    for (const Type type : {Type::kInt, Type::kDecimal, Type::kInt, Type::kText}) {
      keys.push_back(value);
      keys.back().rule.type = type;
    }
    return keys;
  }
  /// Sets the cells of a value for LiteKeys(). Returns true if the value is null.
  bool SetLiteCells(std::string_view raw, bool whole, const std::vector<Key>& keys) {
    for (const Key& key : keys) {
      keys_.push_back(&key);
      columns_.push_back(cell_count_ + static_cast<std::size_t>(&key - keys.data()));
    }
    SetCell(raw);
    const std::string written(raw);
    const Cell cell = cells_[--cell_count_];
    const auto first = raw.find_first_not_of(" \t\r\n");
    const char c = first == raw.npos ? ' ' : raw[first];
    Rule decimal;
    decimal.type = Type::kDecimal;
    const bool digits = std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
    const bool number = !cell.null && digits && !std::holds_alternative<Null>(ValueOf(decimal, cell.text));
    const std::string start = Lowered(raw.substr(std::min(first, raw.size()), 2));
    const bool blob = !cell.null && (start == "x'" || start == "0x");
    const bool plain = cell.text.find_first_not_of("-0123456789") == std::string::npos;
    std::string text = cell.text;
    if (blob) text = Bytes(raw.substr(first + 2));
    Cell& kind = AddCell();
    kind.text = cell.null ? "0" : number ? "1" : blob ? "3" : "2";
    kind.null = cell.null && keys[0].rule.nulls_first.has_value();
    AddCell().text = number ? cell.text : "0";
    AddCell().text = number && whole && !plain ? "1" : "0";
    AddCell().text = cell.null || (number && (plain || !whole)) ? "" : text;
    return cell.null;
  }
  /// Returns the bytes whose hexadecimal digits `digits` begins with. Of an odd number of digits, the first is left
  /// out.
  static std::string Bytes(std::string_view digits) {
    std::string bytes;
    digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size()));
    if (digits.size() % 2 == 1) digits.remove_prefix(1);
    for (; digits.size() > 1; digits.remove_prefix(2)) {
      unsigned byte = 0;
      std::from_chars(digits.data(), digits.data() + 2, byte, 16);
      bytes += static_cast<char>(byte);
    }
    return bytes;
  }

  /// Evaluates a text of SQLite such as 'a', or replace('a\nb','\n',char(10)), whose first argument can be such a call,
  /// too. Returns false for anything else.
  static bool Evaluate(std::string_view& raw, std::string& value, bool inner = false) {
    if (!inner && !raw.starts_with("replace(")) return false;
    if (!TakeText(raw, "replace(")) return raw.starts_with('\'') && TakeQuoted(raw, '\'', value);
    std::string from, digits;
    if (!Evaluate(raw, value, true) || !TakeText(raw, ",") || !raw.starts_with('\'')) return false;
    if (!TakeQuoted(raw, '\'', from) || from.empty() || !TakeText(raw, ",char(")) return false;
    while (!raw.empty() && raw[0] >= '0' && raw[0] <= '9') {
      digits += raw[0];
      raw.remove_prefix(1);
    }
    if (!TakeText(raw, "))")) return false;
    const char to = static_cast<char>(std::atoi(digits.c_str()));
    for (std::size_t at = 0; (at = value.find(from, at)) != value.npos; ++at) value.replace(at, from.size(), 1, to);
    return true;
  }

  /// Adds the value of a literal to the cells.
  void SetCell(std::string_view raw) {
    Cell& cell = AddCell();
    SkipSpace(raw);
    raw = raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1);
    cell.null = Lowered(raw) == "null";
    if (mysql_ && raw.starts_with('_')) {  // a character set
      const std::string_view literal = raw.substr(std::min(raw.find_first_of(" '"), raw.size()));
      const std::size_t first = literal.find_first_not_of(' ');
      if (first != literal.npos && std::string_view("'0xX").find(literal[first]) != std::string_view::npos) {
        raw = literal.substr(first);
      }
    }
    const std::size_t quote = raw.find_first_of("'\"");
    const bool e = postgres() && quote == 1 && (raw[0] == 'E' || raw[0] == 'e');
    const bool prefixed =
        e || (quote == 1 && !lite_ && std::string_view("bBnN").find(raw[0]) != std::string_view::npos);
    const bool hex = Begins(raw, "x'") || (!lite_ && Begins(raw, "0x"));
    if (hex) {
      cell.text = Bytes(raw.substr(2));
      return;
    }
    if (std::string_view call = raw; lite_ && Evaluate(call, cell.text)) return;
    if (std::string_view call = raw; lite_ && TakeText(call, "unistr(") && call.starts_with('\'')) {
      std::string written;
      TakeQuoted(call, '\'', written);
      cell.text.clear();
      for (std::size_t at = 0; at < written.size(); ++at) {
        if (written[at] == '\\' && written.substr(at + 1, 1) == "u") {
          std::uint32_t code = 0;
          std::from_chars(written.data() + at + 2, written.data() + std::min(at + 6, written.size()), code, 16);
          AddCharacter(code, cell.text);
          at += 5;
        } else {
          at += written[at] == '\\' && at + 1 < written.size() ? 1 : 0;
          cell.text += written[at];
        }
      }
      return;
    }
    cell.text.clear();
    if (cell.null || (quote != 0 && !prefixed)) {
      cell.text = raw;
      return;
    }
    for (std::size_t at = quote + 1; at < raw.size(); ++at) {
      if (raw[at] == raw[quote]) {
        if (++at == raw.size() || raw[at] != raw[quote]) return;
      } else if (raw[at] == '\\' && (backslashes_ || e) && ++at < raw.size()) {
        constexpr std::string_view kLetters = "0bnrtZ", kMeanings{"\0\b\n\r\t\x1A", 6};
        const std::size_t known = kLetters.find(raw[at]);
        if (known != kLetters.npos) {
          cell.text += kMeanings[known];
          continue;
        }
      }
      cell.text += raw[at];
    }
  }

  bool known_ = false;  ///< the dialect of an sqldump is known
  Place place_;         ///< in SQL that is no INSERT with rows
  bool open_ = false, delimiter_ = false;
  bool after_other_ = false;  ///< `rest_` comes after a statement that is no INSERT
  bool only_opened_ = false;  ///< in a comment of MySQL that holds SQL, before the SQL
  int brackets_ = 0;          ///< PostgreSQL: the open brackets of the statement
  std::string rest_;          ///< the text of the line after an INSERT
  std::string last_head_;     ///< empty: the next INSERT begins a block
  std::string ending_;        ///< what comes after the row of the first statement of the block
  bool ends_differ_ = false;  ///< the block has statements with one row, and another `ending_`
  bool several_ = false;      ///< the block has a statement with several rows, or other text between two statements
  bool lead_ = false;         ///< the previous line was white space or a comment
  std::map<const Key*, std::vector<Key>> lite_keys_;  ///< what LiteKeys() has returned. Rows refer to these keys.
  const std::vector<Key>* lite_whole_ = nullptr;      ///< the keys of a table of SQLite that the user gave no key for
  std::vector<Key> whole_;                            ///< the keys of a table without names of columns
  std::vector<Found> found_;
  /// The places in `header_` of lines that --strip-volatile leaves out unless an INSERT of the same block follows.
  std::vector<std::pair<std::size_t, std::size_t>> volatile_;
  std::deque<Record> records_;
};

// ---- Paragraphs --------------------------------------------------------------------------------------------------

/// Reads records of lines with blank lines between them.
class ParagraphReader : public TableReader {
 public:
  ParagraphReader(const Table& table, Source source) : TableReader(table, std::move(source)) {
    for (std::size_t key = 0; key < table.keys.size(); ++key) {
      if (table.keys[key].number > 0) throw NoColumn("--key " + table.keys[key].text + ": fields have no numbers");
      names_.push_back(Lowered(table.keys[key].column));
      if (names_.back().size() > 1 && names_.back().ends_with(':')) names_.back().pop_back();
      columns_[key] = key;
    }
  }

 protected:
  void ReadHeader() override {
    TakeMark(header_);
    while (AtBlank()) TakeBlank(header_);
  }
  bool Read(Row& row) override {
    // Reads blank lines and comments before the first line.
    while (AtBlank() || Peek() == '#') {
      const bool blank = AtBlank();
      if (blank) {
        TakeBlank(row.bytes);
      } else {
        TakeRow(row.bytes);
      }
      if (Peek() == kEnd && !blank) EndRecord(row.bytes);
    }
    if (Peek() == kEnd) {
      trailer_ = row.bytes;
      return false;
    }
    std::vector<std::string> lines;
    bool blank = false;
    while (!blank && Peek() != kEnd) {
      std::string line;
      TakeRow(line);
      row.bytes += line;
      blank = line == "\n" || line == "\r\n";
      lines.push_back(std::move(line));
    }
    while (blank && AtBlank()) TakeBlank(row.bytes);
    if (!blank) EndRecord(row.bytes);
    ended_ = blank;
    if (names_.empty()) AddCell().text = Trim(row.bytes);
    for (const std::string& name : names_) {
      Cell& cell = AddCell();
      cell.text = Trim(Find(name, lines));
      cell.null = cell.text.empty() || IsNull(cell.text);
    }
    return true;
  }

 private:
  static std::string Trim(std::string text) {
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }
  /// Returns the value of the first field with this name, with the lines that continue it.
  static std::string Find(const std::string& name, const std::vector<std::string>& lines) {
    std::string value;
    bool found = false;
    for (const std::string& line : lines) {
      if (line[0] == '#') continue;
      if (line[0] == ' ' || line[0] == '\t') {
        if (found) value += line;
        continue;
      }
      if (found) break;
      const std::size_t colon = line.find(':');
      found = colon != line.npos && Trim(Lowered(line.substr(0, colon))) == name;
      if (found) value = line.substr(std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
    }
    return value;
  }
  bool AtBlank() { return Peek() == '\n' || Peek() == '\r'; }
  void TakeBlank(std::string& to) {
    if (Peek() == '\r') Take(to);
    if (Peek() != '\n') Fail("a record begins with a carriage return");
    Take(to);
  }
  /// Reads a line with its newline, if there is one.
  void TakeRow(std::string& to) {
    TakeLine(to, '\n');
    if (ended_) to += '\n';
  }
  /// Appends the blank line that gpusort adds to the last record of an input.
  static void EndRecord(std::string& bytes) {
    const bool returns = bytes.ends_with('\r') || bytes.ends_with("\r\n");
    if (!bytes.ends_with('\n')) bytes += '\n';
    bytes += returns ? "\r\n" : "\n";
  }

  std::vector<std::string> names_;  ///< the names of the keys, in lower case
};

/// A format of gpusort: its name, and the values that Table has without options. `null`: a text for null; empty: none.
struct FormatRow {
  const char* name;
  Kind kind;
  int delimiter, quote, escape;
  std::uint64_t header;
  const char* null;
};
constexpr FormatRow kFormats[] = {
    {"lines", Kind::kLines, '\t', -1, -1, 0, ""},
    {"csv", Kind::kCsv, ',', '"', -1, 1, "\\N"},
    {"tsv", Kind::kCsv, '\t', -1, -1, 1, "\\N"},
    {"jsonl", Kind::kJson, '\t', -1, '\\', 0, ""},
    {"pgcopy", Kind::kCopy, '\t', -1, '\\', 0, ""},
    {"pgcopy-csv", Kind::kCsv, ',', '"', -1, 0, ""},
    {"pgcopy-binary", Kind::kCopyBinary, '\t', -1, '\\', 0, ""},
    {"pgdump", Kind::kDump, '\t', -1, '\\', 0, ""},
    {"mysqldump", Kind::kInserts, '\t', -1, '\\', 0, ""},
    {"sqlitedump", Kind::kInserts, '\t', -1, '\\', 0, ""},
    {"sqldump", Kind::kInserts, '\t', -1, '\\', 0, ""},
    {"mysql", Kind::kCopy, '\t', -1, '\\', 0, ""},
    {"paragraphs", Kind::kParagraphs, '\t', -1, '\\', 0, ""},
};

}  // namespace

std::string FormatNames() {
  std::string names;
  for (const FormatRow& row : kFormats) names += row.name + std::string(" ");
  return names + "log parquet";
}

Table TableOf(const std::string& name) {
  const auto* const row = std::ranges::find(kFormats, name, &FormatRow::name);
  if (row == std::end(kFormats)) throw BadRule("is none of: " + FormatNames());
  Table table;
  table.name = name;
  table.kind = row->kind;
  table.delimiter = row->delimiter;
  table.quote = row->quote;
  table.escape = row->escape;
  table.header = row->header;
  if (*row->null != '\0') table.nulls.emplace_back(row->null);
  return table;
}

/// Returns the words between the commas. A word may stand in single quotes, which are doubled inside.
std::vector<std::string> LabelsOf(std::string_view text) {
  std::vector<std::string> labels;
  while (true) {
    std::string label;
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.starts_with('\'')) {
      if (!TakeQuoted(text, '\'', label)) throw BadRule("a word has no closing quote");
    } else {
      label = text.substr(0, text.find(','));
      text.remove_prefix(label.size());
    }
    if (label.empty() || std::ranges::find(labels, label) != labels.end())
      throw BadRule("a word is empty or twice there");
    labels.push_back(std::move(label));
    if (text.empty()) return labels;
    if (!TakeText(text, ",")) throw BadRule("there is more text after a word");
  }
}

/// Returns the values in the file of a key order(FILE), each with its place: the text of a line up to the first tab,
/// blank or CR. Lines without text do not count.
std::map<std::string, std::size_t, std::less<>> ListedIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadRule("its file " + path + " cannot be read");
  std::map<std::string, std::size_t, std::less<>> listed;
  std::string line;
  for (bool first = true; std::getline(file, line); first = false) {
    if (first && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    std::string value = line.substr(0, line.find_first_of("\t \r"));
    if (value.empty() && line.find_first_not_of("\t \r") == line.npos) continue;
    if (value.empty() || listed.contains(value)) throw BadRule("a value in " + path + " is empty or twice there");
    listed.emplace(std::move(value), listed.size());
  }
  if (file.bad()) throw BadRule("its file " + path + " cannot be read");
  if (listed.empty()) throw BadRule("its file " + path + " has no values");
  return listed;
}

Key ReadKey(const std::string& text, char point, int thousands) {
  Key key;
  key.text = text;
  key.rule.point = point;
  key.rule.thousands = thousands;
  std::string_view rest = text;
  if (rest.starts_with('"')) {
    if (!TakeQuoted(rest, '"', key.column)) throw BadRule("its name has no closing quote");
    if (rest.starts_with('.')) {
      key.column = text.substr(0, NameEnd(text));
      rest = std::string_view(text).substr(key.column.size());
    }
  } else {
    key.column = rest.substr(0, NameEnd(rest));
    rest.remove_prefix(key.column.size());
    if (rest == ":" || rest.starts_with("::")) {  // of a field: "Package:"
      key.column += ':';
      rest.remove_prefix(1);
    } else if (key.column.starts_with('#')) {
      const char* const end = key.column.data() + key.column.size();
      const auto [stop, error] = std::from_chars(key.column.data() + 1, end, key.number);
      if (error != std::errc{} || stop != end || key.number == 0) throw BadRule("columns are numbered from #1");
    }
  }
  if (key.column.empty()) throw BadRule("it names no column");
  bool typed = false, directed = false;
  const auto once = [](bool again, const char* what) {
    if (again) throw BadRule(std::string("it has two ") + what);
    return true;
  };
  while (!rest.empty()) {
    if (!TakeText(rest, ":")) throw BadRule("there is more text after the closing quote of its name");
    std::string_view part = rest.substr(0, rest.find(':'));
    const std::string_view bracket = rest.substr(0, rest.find('(') + 1);
    if (bracket == "timestamp(" || bracket == "date(" || bracket == "enum(" || bracket == "set(" ||
        bracket == "order(") {
      // Colons and brackets may stand inside: the part goes to the last bracket that ends a part.
      std::size_t end = rest.rfind("):");
      if (rest.ends_with(')')) end = rest.size() - 1;
      if (end == rest.npos) throw BadRule("its time format has no end");
      part = rest.substr(0, end + 1);
      typed = once(typed, "types");
      const std::string_view inside = part.substr(bracket.size(), end - bracket.size());
      if (inside.empty()) throw BadRule("there is nothing in its brackets");
      if (bracket == "enum(" || bracket == "set(") {
        key.rule.type = bracket == "enum(" ? Type::kEnum : Type::kSet;
        key.rule.labels = LabelsOf(inside);
      } else if (bracket == "order(") {
        key.rule.type = Type::kOrder;
        key.rule.listed = ListedIn(std::string(inside));
      } else {
        key.rule.type = bracket == "date(" ? Type::kDate : Type::kTimestamp;
        key.rule.time_format = inside;
        CheckTimeFormat(key.rule.time_format);
        for (std::size_t at = inside.find('%'); at != inside.npos; at = inside.find('%', at + 2)) {
          const bool clock = std::string_view("HIMSpfsRTzZ").find(inside[at + 1]) != std::string_view::npos;
          if (clock && key.rule.type == Type::kDate) throw BadRule("the format of a date has a time of day");
        }
      }
    } else if (part == "asc" || part == "desc") {
      directed = once(directed, "directions");
      key.rule.descending = part == "desc";
    } else if (part == "nulls-first" || part == "nulls-last") {
      once(key.rule.nulls_first.has_value(), "places for nulls");
      key.rule.nulls_first = part == "nulls-first";
    } else {
      const Type type = TypeOf(part);
      typed = once(typed, "types");
      key.rule.type = type;
    }
    rest.remove_prefix(part.size());
  }
  key.typed = typed;
  return key;
}

std::strong_ordering CompareRows(const Row& a, const Row& b) {
  if (a.block != b.block) return a.block <=> b.block;
  for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i) {
    const std::strong_ordering order = CompareValues(a.values[i].key->rule, a.values[i].value, b.values[i].value);
    if (order != 0) return order;
  }
  return a.values.size() <=> b.values.size();
}

void AppendIdentity(const Row& row, std::string& to) {
  const std::size_t count = row.values.size();
  for (const std::uint64_t number : {row.block, std::uint64_t{count}}) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  for (const KeyValue& value : row.values) AppendIdentity(value.key->rule, value.value, to);
}

std::size_t DecidingKey(const Row& a, const Row& b) {
  std::size_t i = 0;
  const std::size_t both = std::min(a.values.size(), b.values.size());
  while (i + 1 < both && CompareValues(a.values[i].key->rule, a.values[i].value, b.values[i].value) == 0) ++i;
  return i;
}

TableReader::TableReader(const Table& table, Source source)
    : table_(table), source_(std::move(source)), buffer_(std::size_t{1} << 20) {
  for (const Key& key : table.keys) {
    keys_.push_back(&key);
    columns_.push_back(static_cast<std::size_t>(key.number - (key.number > 0 ? 1 : 0)));
  }
}

void TableReader::Begin() {
  if (!std::exchange(begun_, true)) ReadHeader();
}

void TableReader::GoOn(const TableReader& first, std::uint64_t place) {
  begun_ = true;
  offset_ = place;
  keys_ = first.keys_;
  columns_ = first.columns_;
}

void TableReader::SkipTo(std::uint64_t place, Source source) {
  source_ = std::move(source);
  offset_ = place;
  at_ = end_ = 0;
}

bool TableReader::Next(Row& row) {
  Begin();
  row.bytes.clear();
  SetPlace(row);
  cell_count_ = 0;
  if (!Read(row)) return false;
  row.number = number_++;
  row.values.resize(keys_.empty() ? cell_count_ : keys_.size());
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    KeyValue& value = row.values[i];
    value.key = keys_.empty() ? &table_.whole : keys_[i];
    const std::size_t column = keys_.empty() ? i : columns_[i];
    value.value = Null{};
    if (column >= cell_count_ || cells_[column].null) continue;
    value.text = cells_[column].text;
    value.value = ValueOf(value.key->rule, value.text);
    if (std::holds_alternative<Null>(value.value)) ++no_values_;
  }
  return true;
}

void TableReader::Fill() {
  offset_ += end_;
  at_ = 0;
  end_ = source_(buffer_);
}

bool TableReader::TakeLine(std::string& to, char end) {
  bool any = false;
  while (Peek() != kEnd) {
    const char* const from = buffer_.data() + at_;
    const void* const found = std::memchr(from, end, end_ - at_);
    const char* const stop = found != nullptr ? static_cast<const char*>(found) : buffer_.data() + end_;
    to.append(from, stop);
    at_ = static_cast<std::size_t>(stop - buffer_.data()) + (found != nullptr ? 1 : 0);
    any = true;
    ended_ = found != nullptr;
    if (!ended_) continue;
    ++line_;
    return true;
  }
  return any;
}

bool TableReader::TakeBytes(std::uint64_t count, std::string& to) {
  while (count > 0) {
    if (Peek() == kEnd) return false;
    const char* const from = buffer_.data() + at_;
    const std::size_t n = std::min<std::size_t>(count, end_ - at_);
    to.append(from, n);
    line_ += static_cast<std::uint64_t>(std::count(from, from + n, '\n'));
    at_ += n;
    count -= n;
  }
  return true;
}

int TableReader::TakeUpTo(std::string& to, std::string& text, int a, int b) {
  while (Peek() != kEnd) {
    const auto* const from = reinterpret_cast<const unsigned char*>(buffer_.data()) + at_;
    const auto* const end = reinterpret_cast<const unsigned char*>(buffer_.data()) + end_;
    const unsigned char* stop = from;
    while (stop != end && *stop != a && *stop != b) ++stop;
    to.append(from, stop);
    text.append(from, stop);
    at_ += static_cast<std::size_t>(stop - from);
    if (stop != end) return Take(to);
  }
  return kEnd;
}

void TableReader::TakeMark(std::string& to) {
  if (Peek() != static_cast<unsigned char>(kMark[0]) || end_ - at_ < 3) return;
  if (std::memcmp(buffer_.data() + at_, kMark, 3) == 0) {
    for (int i = 0; i < 3; ++i) Take(to);
  }
}

void TableReader::Fail(const std::string& why) const { throw BadRecord(why, line_, place()); }

bool TableReader::IsNull(std::string_view text) const {
  return std::find(table_.nulls.begin(), table_.nulls.end(), text) != table_.nulls.end();
}

void TableReader::Resolve(const std::vector<std::string>& names) {
  if (names.empty()) return;
  for (std::size_t i = 0; i < table_.keys.size(); ++i) {
    const Key& key = table_.keys[i];
    const auto found = std::find(names.begin(), names.end(), key.column);
    if (key.number > names.size() || (key.number == 0 && found == names.end())) {
      throw NoColumn("--key " + key.text + ": the header has no such column");
    }
    if (key.number > 0) continue;
    if (std::find(found + 1, names.end(), key.column) != names.end()) {
      throw NoColumn("--key " + key.text + ": several columns have this name");
    }
    columns_[i] = static_cast<std::size_t>(found - names.begin());
  }
}

std::unique_ptr<TableReader> MakeReader(const Table& table, TableReader::Source source) {
  for (const Key& key : table.keys) {
    const bool dump = table.kind == Kind::kDump || table.kind == Kind::kInserts;
    const bool named = table.kind == Kind::kJson || dump || table.kind == Kind::kParagraphs || table.header > 0;
    if (key.number == 0 && !named) throw NoColumn("--key " + key.text + ": columns have no names there: give #1");
    if (key.number > 0 && dump) throw NoColumn("--key " + key.text + ": give TABLE.COLUMN");
  }
  switch (table.kind) {
    case Kind::kCsv:
      return std::make_unique<CsvReader>(table, std::move(source));
    case Kind::kJson:
      return std::make_unique<JsonReader>(table, std::move(source));
    case Kind::kCopy:
      return std::make_unique<CopyReader>(table, std::move(source));
    case Kind::kCopyBinary:
      return std::make_unique<CopyBinaryReader>(table, std::move(source));
    case Kind::kDump:
      return std::make_unique<DumpReader>(table, std::move(source));
    case Kind::kInserts:
      return std::make_unique<InsertReader>(table, std::move(source));
    case Kind::kParagraphs:
      return std::make_unique<ParagraphReader>(table, std::move(source));
    default:
      return std::make_unique<LineReader>(table, std::move(source));
  }
}

BadRecord::BadRecord(const std::string& why, std::uint64_t at_line, std::uint64_t at_byte)
    : BadTable("line " + std::to_string(at_line) + " (byte " + std::to_string(at_byte) + "): " + why),
      reason(why),
      byte(at_byte) {}

}  // namespace check
