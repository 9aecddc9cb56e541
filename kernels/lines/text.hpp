// The text of a key after the sort options -d, -f and -i are applied, and its encoding. The comparisons of keys read
// the key through KeyText.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/line_key.hpp"

namespace gpusort::detail {

GPUSORT_HD inline bool Ignores(const LineKey& key, unsigned c) {
  if (key.dictionary_order) return !IsBlank(c) && !IsAlpha(c) && !IsDigit(c);  // -d overrides -i
  return key.ignore_nonprinting && c - ' ' > '~' - ' ';
}

/// The text of a key under the sort options -d, -f and -i. Next() and Back() skip the bytes that do not count (-d, -i).
/// operator[] returns small letters as capital letters if the key has the option -f.
struct KeyText {
  const Byte* line;
  std::uint64_t begin;
  std::uint64_t end;
  const LineKey* key;

  /// Moves forward from `at` over the bytes that -d or -i ignores, at most to `end`. Returns the new position.
  GPUSORT_HD std::uint64_t Next(std::uint64_t at) const {
    while (at < end && Ignores(*key, line[at])) ++at;
    return at;
  }
  /// Moves backward from `at` over the bytes that -d or -i ignores, at most to `begin`. Returns the new position.
  GPUSORT_HD std::uint64_t Back(std::uint64_t at) const {
    while (at > begin && Ignores(*key, line[at - 1])) --at;
    return at;
  }
  GPUSORT_HD unsigned operator[](std::uint64_t at) const { return key->fold_case ? ToUpper(line[at]) : line[at]; }
};

GPUSORT_HD inline int CompareText(const KeyText& a, const KeyText& b) {
  std::uint64_t i = a.Next(a.begin);
  std::uint64_t j = b.Next(b.begin);
  for (; i < a.end && j < b.end; i = a.Next(i + 1), j = b.Next(j + 1)) {
    if (a[i] != b[j]) return a[i] < b[j] ? -1 : 1;
  }
  return (i < a.end) - (j < b.end);
}

/// Appends the text of a key, and then the byte 0 as its end mark. In the text, a byte of value 0 becomes the two bytes
/// 1 1, and a byte of value 1 becomes 1 2. The result sorts as the text does, whatever bytes are appended after it.
template <typename Writer>
GPUSORT_HD inline void PutText(Writer& out, const KeyText& text) {
  const auto put = [&](unsigned c) {
    if (c < 2) out.Put(1);
    out.Put(c < 2 ? c + 1 : c);
  };
  const LineKey& key = *text.key;
  const bool as_it_is = !key.dictionary_order && !key.ignore_nonprinting && !key.fold_case;
  std::uint64_t at = text.begin;
  while (as_it_is && text.end - at >= 8 && !out.full()) {
    const std::uint64_t word = LoadBigEndian(text.line + at);
    if (ZeroBytes(word & ~kLowBits) == 0) {
      out.PutWord(word);
    } else {
      for (unsigned i = 0; i < 8; ++i) put(text.line[at + i]);
    }
    at += 8;
  }
  // Appends the remaining bytes and an end mark, the byte 0, in one step. If a remaining byte is 0 or 1, it must become
  // two bytes, so the loop below appends the bytes instead.
  if (const std::uint64_t left = text.end - at; as_it_is && left > 0 && left < 8 && !out.full()) {
    const std::uint64_t word = LoadWord(text.line, at, text.end);
    if (ZeroBytes((word & ~kLowBits) | ~std::uint64_t{0} >> 8 * left) == 0) {
      out.PutPart(word, static_cast<unsigned>(left) + 1);
      return;
    }
  }
  for (at = text.Next(at); at < text.end && !out.full(); at = text.Next(at + 1)) put(text[at]);
  out.Put(0);
}

}  // namespace gpusort::detail
