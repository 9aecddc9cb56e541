// One pass checks the bytes of a line and follows the paths. simdjson (3.0.1, Debian 12) cannot be used instead. Its
// DOM refuses integers of more than 64 bits and 1e400, and does not keep the text of numbers. Its On-Demand reader
// checks only the values that it is asked for, and is slower than this pass if it is asked for all values. Neither of
// them reports which byte of a line is wrong. Both copy the line and take five bytes of memory for each byte.
#include "formats/json_record.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void FailPath(std::string_view text, const char* why) {
  throw Error(ErrorCode::kUsage, "the path " + QuoteWord(text) + " " + why);
}

/// Returns the number of an element in a path: digits without a leading zero. Returns std::nullopt for any other text.
std::optional<std::uint64_t> ParseElement(std::string_view text) {
  return text.size() > 1 && text[0] == '0' ? std::nullopt : ParseDigits(text);
}

std::vector<JsonPath::Step> ParsePointer(std::string_view text) {
  std::vector<JsonPath::Step> steps;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view token = text.substr(at + 1, text.find('/', at + 1) - at - 1);
    at += 1 + token.size();
    std::string name;
    for (std::size_t i = 0; i < token.size(); ++i) {
      if (token[i] != '~') {
        name += token[i];
      } else if (++i < token.size() && (token[i] == '0' || token[i] == '1')) {
        name += token[i] == '0' ? '~' : '/';
      } else {
        FailPath(text, "has a '~' that is neither ~0 nor ~1, which mean '~' and '/' in a JSON Pointer");
      }
    }
    steps.push_back({std::move(name), ParseElement(token)});
  }
  return steps;
}

std::vector<JsonPath::Step> ParseDotted(std::string_view text) {
  std::vector<JsonPath::Step> steps;
  // JSONPath and jq write $ for the whole record.
  if (text.starts_with("$.")) text.remove_prefix(2);
  if (text.starts_with("$[")) text.remove_prefix(1);
  const auto fail = [&] {
    FailPath(text, "is not NAME.NAME[NUMBER]; names with dots or brackets need a JSON Pointer: /NAME/NAME/NUMBER");
  };
  std::size_t at = 0;
  do {
    if (text.substr(at).starts_with('[')) {
      const std::size_t end = std::min(text.find(']', at), text.size());
      const auto element = ParseElement(text.substr(at + 1, end - at - 1));
      if (!element || end == text.size()) fail();
      steps.push_back({std::nullopt, element});
      at = end + 1;
      continue;
    }
    if (at > 0 && text[at++] != '.') fail();
    const std::string_view name = text.substr(at, text.find_first_of(".[]", at) - at);
    if (name.empty()) fail();
    steps.push_back({std::string(name), std::nullopt});
    at += name.size();
  } while (at < text.size());
  return steps;
}

/// Returns the number that four hexadecimal digits mean. It is negative if one of them is not a digit.
int Hex4(const char* digits) {
  return HexDigit(digits[0]) << 12 | HexDigit(digits[1]) << 8 | HexDigit(digits[2]) << 4 | HexDigit(digits[3]);
}

/// Writes the content of a string without its escapes to `out`, and returns the end. It is never longer than `raw`,
/// which must be valid.
char* Unescape(std::string_view raw, char* out) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  const char* const end = raw.data() + raw.size();
  for (const char* at = raw.data(); at != end;) {
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    const char letter = at[1];
    at += 2;
    if (letter == 'u') {
      auto c = static_cast<std::uint32_t>(Hex4(at));
      at += 4;
      if (c >= 0xd800 && c < 0xe000) {
        const bool pair = c < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' && Hex4(at + 2) >> 10 == 0x37;
        c = pair ? 0x10000 + ((c & 0x3ff) << 10) + (Hex4(at + 2) & 0x3ff) : kReplacement;
        if (pair) at += 6;
      }
      out = PutUtf8(c, out);
    } else {
      constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
      const std::size_t known = kLetters.find(letter);
      // Any other letter is a quote, a backslash or a slash.
      *out++ = known == kLetters.npos ? letter : kMeanings[known];
    }
  }
  return out;
}

}  // namespace

std::optional<FirstMemberPlace> PlaceOfFirstMember(std::string_view record) {
  const std::size_t open = record.find_first_not_of(kJsonBlanks);
  if (open == record.npos || record[open] != '{') return std::nullopt;
  const std::size_t next = record.find_first_not_of(kJsonBlanks, open + 1);
  return FirstMemberPlace{open + 1, next != record.npos && record[next] != '}'};
}

JsonPath::JsonPath(std::string_view text) : steps_(text.starts_with('/') ? ParsePointer(text) : ParseDotted(text)) {}

/// Reads the tokens of JSON text, one after the other.
class JsonRecords::Scanner {
 public:
  explicit Scanner(std::string_view line) : begin_(line.data()), at_(line.data()), end_(line.data() + line.size()) {}

  const char* at() const { return at_; }
  std::string_view Since(const char* begin) const { return {begin, static_cast<std::size_t>(at_ - begin)}; }
  [[noreturn]] void Fail(const char* what) const { throw JsonError(what, static_cast<std::size_t>(at_ - begin_)); }

  /// Skips blanks and returns the next byte, or -1 at the end of the line.
  int PeekToken() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    return Peek();
  }
  void Skip() { ++at_; }

  void Word(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) Fail("no value begins here");
    at_ += word.size();
  }

  void Number() {
    if (*at_ == '-') ++at_;
    if (Peek() == '0') {
      ++at_;
    } else {
      Digits();
    }
    if (Peek() == '.') {
      ++at_;
      Digits();
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      Digits();
    }
  }

  /// Reads a string; the quote that begins it must be the next byte. Returns the text between the quotes, and whether
  /// it has escapes.
  std::pair<std::string_view, bool> String() {
    const char* const begin = ++at_;
    bool escaped = false;
    for (;;) {
      SkipPlain();
      const int c = Peek();
      if (c == '"') {
        const std::string_view text = Since(begin);
        ++at_;
        return {text, escaped};
      }
      if (c == '\\') {
        escaped = true;
        Escape();
      } else if (c >= 0x80) {
        Utf8();
      } else {
        Fail(c < 0 || c == '\n' ? "a string without an end" : "a control character in a string");
      }
    }
  }

 private:
  int Peek() const { return at_ != end_ ? static_cast<unsigned char>(*at_) : -1; }

  void Digits() {
    if (Peek() < '0' || Peek() > '9') Fail("a digit is missing");
    do {
      ++at_;
    } while (Peek() >= '0' && Peek() <= '9');
  }

  /// Skips ASCII characters of a string that need no further look: all but quotes, backslashes and control characters.
  void SkipPlain() {
#if defined(__SSE2__)
    for (; end_ - at_ >= 16; at_ += 16) {
      const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_));
      const auto equal = [text](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };
      // As signed numbers, control characters and bytes that are not ASCII are less than a blank.
      const __m128i other = _mm_cmplt_epi8(text, _mm_set1_epi8(' '));
      const int special = _mm_movemask_epi8(_mm_or_si128(other, _mm_or_si128(equal('"'), equal('\\'))));
      if (special == 0) continue;
      at_ += std::countr_zero(static_cast<unsigned>(special));
      return;
    }
#endif
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    while (end_ - at_ >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at_, sizeof word);
      // In `special`, the top bit is set in each byte that ends the search. A borrow can make only the bytes after the
      // first such byte wrong.
      const std::uint64_t special =
          (word | (word - ' ' * kOnes) | ((word ^ '"' * kOnes) - kOnes) | ((word ^ '\\' * kOnes) - kOnes)) &
          0x80 * kOnes;
      if (special != 0) {
        at_ += std::countr_zero(special) / 8;
        return;
      }
      at_ += 8;
    }
    while (at_ != end_ && Peek() >= ' ' && Peek() < 0x80 && *at_ != '"' && *at_ != '\\') ++at_;
  }

  void Escape() {
    const std::string_view left(at_ + 1, static_cast<std::size_t>(end_ - at_ - 1));
    if (left.empty() || std::string_view("\"\\/bfnrtu").find(left[0]) == std::string_view::npos) {
      Fail("an escape that JSON does not have");
    }
    if (left[0] != 'u') {
      at_ += 2;
      return;
    }
    if (left.size() < 5 || Hex4(left.data() + 1) < 0) {
      Fail("an escape without four hexadecimal digits");
    }
    at_ += 6;
  }

  /// Skips a character of two to four bytes. It must be valid UTF-8 (RFC 3629): the shortest form, no surrogates,
  /// nothing above U+10FFFF.
  void Utf8() {
    const auto byte = [&](std::ptrdiff_t i) -> unsigned {
      return i < end_ - at_ ? static_cast<unsigned char>(at_[i]) : 0;
    };
    const unsigned lead = byte(0);
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    const std::ptrdiff_t size = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
    bool valid = size > 1 && byte(1) >= low && byte(1) <= high;
    for (std::ptrdiff_t i = 2; i < size; ++i) valid = valid && byte(i) >> 6 == 2;
    if (!valid) Fail("not UTF-8");
    at_ += size;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

JsonRecords::JsonRecords(std::vector<JsonPath> paths, std::size_t single)
    : paths_(std::move(paths)), single_(single), order_(paths_.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
}

/// Removes from the innermost level those paths whose next step `matches`, and returns them.
template <typename Matches>
JsonRecords::Paths JsonRecords::Take(const Matches& matches) {
  const std::size_t depth = levels_.size() - 1;
  Paths& paths = levels_.back().paths;
  const auto found = std::partition(order_.begin() + paths.begin, order_.begin() + paths.end, [&](std::uint32_t path) {
    return paths_[path].steps().size() == depth || !matches(paths_[path].steps()[depth]);
  });
  const Paths taken{static_cast<std::uint32_t>(found - order_.begin()), paths.end};
  paths.end = taken.begin;
  return taken;
}

JsonRecords::Paths JsonRecords::TakeElement() {
  const std::uint64_t element = levels_.back().element++;
  return Take([&](const JsonPath::Step& step) { return step.element == element; });
}

JsonRecords::Paths JsonRecords::TakeMember(std::string_view raw, bool escaped) {
  std::string_view name = raw;
  if (escaped) {
    if (name_.size() < raw.size()) name_.resize(raw.size());
    name = {name_.data(), static_cast<std::size_t>(Unescape(raw, name_.data()) - name_.data())};
  }
  const Paths taken = Take([&](const JsonPath::Step& step) { return step.name == name; });
  if (single_ < paths_.size() && taken.begin == taken.end) repeats_ = WasFound(name);
  return taken;
}

bool JsonRecords::WasFound(std::string_view name) const {
  const std::size_t depth = levels_.size() - 1;
  for (std::uint32_t i = levels_.back().paths.end; i < levels_.back().all_end; ++i) {
    if (order_[i] >= single_ && paths_[order_[i]].steps()[depth].name == name) return true;
  }
  return false;
}

/// Stores `value` for each path of `paths` that ends here, `depth` steps from the top.
void JsonRecords::Give(Paths paths, std::size_t depth, const JsonValue& value, std::span<JsonValue> values) const {
  for (std::uint32_t i = paths.begin; i < paths.end; ++i) {
    if (paths_[order_[i]].steps().size() == depth) values[order_[i]] = value;
  }
}

void JsonRecords::Find(std::span<const std::byte> line, std::span<JsonValue> values) {
  using Kind = JsonValue::Kind;
  std::ranges::fill(values, JsonValue{});
  repeated_ = std::nullopt;
  Scanner scan({reinterpret_cast<const char*>(line.data()), line.size()});
  levels_.clear();
  if (scan.PeekToken() < 0) return;

  std::size_t strings = 0;  // how many bytes of strings_ are in use
  Paths paths{0, static_cast<std::uint32_t>(order_.size())};
  const auto give = [&](Kind kind, std::string_view text) {
    if (paths.begin < paths.end) Give(paths, levels_.size(), {kind, text}, values);
  };
  // True if a path leads into the innermost level.
  const auto wanted = [&] { return levels_.back().paths.begin < levels_.back().paths.end; };
  // Reads the name of a member and the colon after the name.
  const auto read_name = [&] {
    if (scan.PeekToken() != '"') scan.Fail("the name of a member is missing");
    const char* const name = scan.at();
    const auto [raw, escaped] = scan.String();
    const bool all = single_ < paths_.size() && levels_.back().paths.end < levels_.back().all_end;
    repeats_ = false;
    paths = wanted() || all ? TakeMember(raw, escaped) : Paths{};
    if (repeats_ && !repeated_) repeated_ = static_cast<std::size_t>(name - reinterpret_cast<const char*>(line.data()));
    if (scan.PeekToken() != ':') scan.Fail("the ':' after a name is missing");
    scan.Skip();
  };
  const auto next_element = [&] { paths = wanted() ? TakeElement() : Paths{}; };

  // Goes from the end of a value to the next value, over the ends of arrays and objects. Returns false at the end of
  // the line.
  const auto go_on = [&] {
    for (int c = scan.PeekToken(); !levels_.empty(); c = scan.PeekToken()) {
      // A copy would be slower: it would wait for the last write to the level, 0.2 us for each line.
      const Level& level = levels_.back();
      if (c == ',') {
        scan.Skip();
        level.object ? read_name() : next_element();
        return true;
      }
      if (c != (level.object ? '}' : ']')) {
        scan.Fail(level.object ? "neither ',' nor '}' after a member" : "neither ',' nor ']' after an element");
      }
      scan.Skip();
      paths = level.paths;
      const Kind kind = level.object ? Kind::kObject : Kind::kArray;
      const char* const begin = level.begin;
      levels_.pop_back();
      give(kind, scan.Since(begin));
    }
    if (scan.PeekToken() >= 0) scan.Fail("more text after the value");
    return false;
  };

  do {
    int c = scan.PeekToken();
    // Enters arrays and objects until there is a value that is neither, or an empty array or object.
    while (c == '{' || c == '[') {
      if (levels_.size() == kMaxDepth) scan.Fail("more than 1024 arrays and objects inside each other");
      levels_.push_back({scan.at(), 0, paths, paths.end, c == '{'});
      scan.Skip();
      const int first = scan.PeekToken();
      if (first == (c == '{' ? '}' : ']')) break;
      c == '{' ? read_name() : next_element();
      c = scan.PeekToken();
    }
    const char* const begin = scan.at();
    switch (c) {
      case '{':
      case '[':
        break;  // it is empty, and go_on handles its end
      case '"': {
        auto [text, escaped] = scan.String();
        if (escaped && paths.begin < paths.end) {
          // All strings of a line together are not longer than the line, so the buffer is not moved for the next one.
          if (strings_.size() < line.size()) strings_.resize(line.size());
          char* const out = strings_.data() + strings;
          text = {out, static_cast<std::size_t>(Unescape(text, out) - out)};
          strings += text.size();
        }
        give(Kind::kString, text);
        break;
      }
      case 't':
      case 'f':
        scan.Word(c == 't' ? "true" : "false");
        give(Kind::kBool, scan.Since(begin));
        break;
      case 'n':
        scan.Word("null");
        give(Kind::kNull, scan.Since(begin));
        break;
      default:
        if (c != '-' && (c < '0' || c > '9')) scan.Fail(c < 0 ? "a value is missing" : "no value begins here");
        scan.Number();
        give(Kind::kNumber, scan.Since(begin));
    }
  } while (go_on());
}

}  // namespace gpusort
