// TextReader is the rest of a string that a parser reads from front to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.hpp"

namespace gpusort {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  ///< the byte order mark of UTF-8

/// Writes the character with the code point `code` to `out`, in UTF-8. `out` must have room for four bytes. Returns the
/// end of the written bytes.
inline char* PutUtf8(std::uint32_t code, char* out) {
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  // The number of bytes after the first one.
  unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  *out++ = static_cast<char>(kLead[more] | code >> 6 * more);
  while (more-- > 0) *out++ = static_cast<char>(0x80 | (code >> 6 * more & 0x3f));
  return out;
}

struct TextReader {
  /// Returns a reader of `text` without the white space around it.
  static TextReader Trimmed(std::string_view text) {
    TextReader reader{text.data(), text.data() + text.size()};
    reader.SkipSpace();
    while (reader.end != reader.at && IsSpace(reader.end[-1])) --reader.end;
    return reader;
  }

  bool done() const { return at == end; }
  std::string_view rest() const { return {at, static_cast<std::size_t>(end - at)}; }
  bool Is(char c) const { return at != end && *at == c; }
  bool Take(char c) {
    if (!Is(c)) return false;
    ++at;
    return true;
  }
  bool TakeWord(std::string_view lower) {
    if (!IsWord(rest().substr(0, lower.size()), lower)) return false;
    at += lower.size();
    return true;
  }
  /// Skips a '-' or '+' at the beginning of the string, if there is one. Returns true if it was '-'.
  bool TakeSign() { return Take('-') || (Take('+') && false); }
  bool SkipSpace() {
    const char* const begin = at;
    while (at != end && IsSpace(*at)) ++at;
    return at != begin;
  }
  /// Returns the number of digits at the beginning of the string.
  std::size_t digits() const {
    const char* c = at;
    while (c != end && IsDigit(*c)) ++c;
    return static_cast<std::size_t>(c - at);
  }
  /// Skips the next `count` digits and returns the number that they form. The caller must know that there are so many
  /// digits. `count` must be at most 18, so that the number fits into 64 bits.
  std::int64_t TakeNumber(std::size_t count) {
    std::int64_t number = 0;
    for (; count > 0; --count) number = number * 10 + (*at++ - '0');
    return number;
  }
  bool TakeTwo(unsigned& number) {
    if (end - at < 2 || !IsDigit(at[0]) || !IsDigit(at[1])) return false;
    number = static_cast<unsigned>((at[0] - '0') * 10 + (at[1] - '0'));
    at += 2;
    return true;
  }

  const char* at;
  const char* end;
};

}  // namespace gpusort
