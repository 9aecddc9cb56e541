// The order of the sort option -V: names with version numbers, in the order of GNU's filevercmp, so that "a9" < "a10".
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/text.hpp"

namespace gpusort::detail {

/// Returns the class of a name, which the sort option -V compares first: 0 (empty), 1 ("."), 2 (".."), 3 (leading dot),
/// 4 (other).
GPUSORT_HD inline int VersionClass(const KeyText& text) {
  const std::uint64_t first = text.Next(text.begin);
  if (first == text.end) return 0;
  if (text[first] != '.') return 4;
  const std::uint64_t second = text.Next(first + 1);
  if (second == text.end) return 1;
  return text[second] == '.' && text.Next(second + 1) == text.end ? 2 : 3;
}

/// Returns the position where the suffix of a name, such as ".tar.gz", begins. The suffix is the longest text at the
/// end of the name that matches (\.[A-Za-z~][A-Za-z0-9~]*)* and is not the whole name.
GPUSORT_HD inline std::uint64_t VersionSuffix(const KeyText& text) {
  std::uint64_t suffix = text.end;
  for (;;) {
    std::uint64_t at = text.Back(suffix);
    unsigned first = 0;
    while (at > text.begin) {
      const unsigned c = text[at - 1];
      if (!IsAlpha(c) && !IsDigit(c) && c != '~') break;
      first = c;
      at = text.Back(at - 1);
    }
    const bool word = IsAlpha(first) || first == '~';
    if (!word || at == text.begin || text[at - 1] != '.' || text.Back(at - 1) == text.begin) return suffix;
    suffix = at - 1;
  }
}

// The order of characters for the sort option -V, lowest first: '~', the end of the name, digits. Letters and other
// bytes follow.
inline constexpr unsigned kVersionTilde = 1;
inline constexpr unsigned kVersionEnd = 2;
inline constexpr unsigned kVersionNumber = 3;

GPUSORT_HD inline unsigned VersionRank(unsigned c) {
  if (c == '~') return kVersionTilde;
  if (IsDigit(c)) return kVersionNumber;
  if (IsAlpha(c)) return kVersionNumber + 1 + (c < 'a' ? c - 'A' : c - 'a' + 26);
  // Letters have the ranks 4 to 55. The 193 bytes that are no letter, digit or tilde have the ranks 56 to 248, in the
  // order of their values.
  return kVersionNumber + 53 + c - (c > '9' ? 10 : 0) - (c > 'Z' ? 26 : 0) - (c > 'z' ? 26 : 0) - (c > '~');
}

GPUSORT_HD inline int CompareVersionParts(const KeyText& a, std::uint64_t a_end, const KeyText& b,
                                          std::uint64_t b_end) {
  std::uint64_t i = a.Next(a.begin);
  std::uint64_t j = b.Next(b.begin);
  while (i < a_end || j < b_end) {
    // Compares characters by rank, up to a digit or the end in both names. The code after this loop compares the
    // numbers.
    while ((i < a_end && !IsDigit(a[i])) || (j < b_end && !IsDigit(b[j]))) {
      const unsigned x = i < a_end ? VersionRank(a[i]) : kVersionEnd;
      const unsigned y = j < b_end ? VersionRank(b[j]) : kVersionEnd;
      if (x != y) return x < y ? -1 : 1;
      i = a.Next(i + 1);
      j = b.Next(j + 1);
    }
    // Compares two numbers without their leading zeros: the number with more digits is greater. If both have the same
    // number of digits, the first different digit decides.
    while (i < a_end && a[i] == '0') i = a.Next(i + 1);
    while (j < b_end && b[j] == '0') j = b.Next(j + 1);
    int order = 0;
    for (;; i = a.Next(i + 1), j = b.Next(j + 1)) {
      const bool a_digit = i < a_end && IsDigit(a[i]);
      const bool b_digit = j < b_end && IsDigit(b[j]);
      if (a_digit != b_digit) return a_digit ? 1 : -1;
      if (!a_digit) break;
      if (order == 0) order = Order(a[i], b[j]);
    }
    if (order != 0) return order;
  }
  return 0;
}

GPUSORT_HD inline int CompareVersion(const KeyText& a, const KeyText& b) {
  const int a_class = VersionClass(a);
  const int b_class = VersionClass(b);
  if (a_class != b_class) return a_class < b_class ? -1 : 1;
  if (a_class < 3) return 0;
  const int order = CompareVersionParts(a, VersionSuffix(a), b, VersionSuffix(b));
  return order != 0 ? order : CompareVersionParts(a, a.end, b, b.end);
}

/// Appends an encoding of the string [text.begin, end). Encodings sort as the strings do with the sort option -V.
template <typename Writer>
GPUSORT_HD inline void PutVersionPart(Writer& out, const KeyText& text, std::uint64_t end) {
  // A number becomes the count of its digits and the digits. Any other character becomes its VersionRank().
  std::uint64_t at = text.Next(text.begin);
  for (bool first = true; !out.full(); first = false) {
    bool others = first;
    for (; at < end && !IsDigit(text[at]) && !out.full(); at = text.Next(at + 1)) {
      out.Put(VersionRank(text[at]));
      others = true;
    }
    if (at >= end && !others) break;
    // Then comes a number: the count of its digits without leading zeros, and these digits. A missing number counts as
    // 0, because the names "a" and "a0" compare equal.
    out.Put(kVersionNumber);
    while (at < end && text[at] == '0') at = text.Next(at + 1);
    std::uint64_t digits = 0;
    for (std::uint64_t i = at; i < end && IsDigit(text[i]); i = text.Next(i + 1)) ++digits;
    out.PutCount(digits);
    for (; digits > 0 && !out.full(); --digits, at = text.Next(at + 1)) out.Put(text[at]);
  }
  out.Put(kVersionEnd);
}

template <typename Writer>
GPUSORT_HD inline void PutVersion(Writer& out, const KeyText& text) {
  const int version_class = VersionClass(text);
  out.Put(static_cast<unsigned>(version_class));
  if (version_class < 3) return;
  PutVersionPart(out, text, VersionSuffix(text));
  PutVersionPart(out, text, text.end);
}

}  // namespace gpusort::detail
