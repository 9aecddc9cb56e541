// The order of the sort option -n: by decimal numbers of any length.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/text.hpp"

namespace gpusort::detail {

/// The byte that GNU sort 9.1 and later skips as a thousands separator in the C locale. The C locale defines no
/// separator; GNU sort then uses the value CHAR_MAX + 1, which is the byte 0x80.
inline constexpr unsigned kThousandsSeparator = 0x80;

/// The digits of a decimal number of any length, as positions in the line. Leading zeros of the integer part and
/// trailing zeros of the fraction are left out.
struct Decimal {
  const Byte* line;
  std::uint64_t integer_begin;  ///< the integer part may contain thousands separators
  std::uint64_t integer_end;
  std::uint64_t integer_digits;
  std::uint64_t fraction_begin;
  std::uint64_t fraction_end;
  bool negative;  ///< never true for the number 0

  GPUSORT_HD bool zero() const { return integer_digits == 0 && fraction_begin == fraction_end; }
  GPUSORT_HD std::uint64_t NextInteger(std::uint64_t at) const {
    while (at < integer_end && line[at] == kThousandsSeparator) ++at;
    return at;
  }
};

GPUSORT_HD inline Decimal ReadDecimal(const Byte* line, std::uint64_t begin, std::uint64_t end) {
  Decimal number{};
  number.line = line;
  std::uint64_t at = SkipBlanks(line, begin, end);
  const bool minus = at < end && line[at] == '-';
  at += minus;
  while (at < end && (line[at] == '0' || line[at] == kThousandsSeparator)) ++at;
  number.integer_begin = at;
  for (; at < end && (IsDigit(line[at]) || line[at] == kThousandsSeparator); ++at) {
    number.integer_digits += line[at] != kThousandsSeparator;
  }
  number.integer_end = at;
  if (at < end && line[at] == '.') {
    number.fraction_begin = ++at;
    while (at < end && IsDigit(line[at])) ++at;
    while (at > number.fraction_begin && line[at - 1] == '0') --at;
    number.fraction_end = at;
  }
  number.negative = minus && !number.zero();
  return number;
}

GPUSORT_HD inline int CompareDecimals(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = Order(a.integer_digits, b.integer_digits);
  if (order == 0) {
    std::uint64_t i = a.NextInteger(a.integer_begin);
    std::uint64_t j = b.NextInteger(b.integer_begin);
    for (; order == 0 && i < a.integer_end; i = a.NextInteger(i + 1), j = b.NextInteger(j + 1)) {
      order = Order(a.line[i], b.line[j]);
    }
  }
  if (order == 0) {
    order = CompareBytes(a.line + a.fraction_begin, a.fraction_end - a.fraction_begin, b.line + b.fraction_begin,
                         b.fraction_end - b.fraction_begin);
  }
  return a.negative ? -order : order;
}

GPUSORT_HD inline int CompareNumeric(const KeyText& a, const KeyText& b) {
  return CompareDecimals(ReadDecimal(a.line, a.begin, a.end), ReadDecimal(b.line, b.begin, b.end));
}

/// Appends a number as bytes that sort as the numbers do.
template <typename Writer>
GPUSORT_HD inline void PutNumeric(Writer& out, const KeyText& text) {
  // First comes the exponent (a power of ten): one byte, or nine bytes if the number is very large or very small. Then
  // come two decimal digits in each byte, and the byte 0. If the number is negative, all these bytes are complemented.
  const Decimal number = ReadDecimal(text.line, text.begin, text.end);
  constexpr unsigned kZero = 0x80;
  if (number.zero()) {
    out.Put(kZero);
    return;
  }
  const bool reverse = out.reverse();
  out.set_reverse(reverse != number.negative);

  // The absolute value is 0.d1d2d3... times 10 to the power of (large - small). At least one of `large` and `small` is
  // 0. For 12.5, `large` is 2.
  const std::uint64_t large = number.integer_digits;
  std::uint64_t small = 0;
  std::uint64_t at = number.NextInteger(number.integer_begin);
  std::uint64_t fraction = number.fraction_begin;
  if (large == 0) {
    while (number.line[fraction] == '0') ++fraction;
    small = fraction - number.fraction_begin;
  }
  constexpr unsigned kNear = 60;
  if (small > kNear) {
    out.Put(kZero + 1);
    out.PutWord(~small);
  } else if (large <= kNear) {
    out.Put(static_cast<unsigned>(kZero + 2 + kNear - small + large));
  } else {
    out.Put(kZero + 3 + 2 * kNear);
    out.PutWord(large);
  }

  // Leaves out the zeros at the end of an integer. The number of its digits was written above.
  std::uint64_t end = number.integer_end;
  if (fraction == number.fraction_end) {
    while (end > at && (number.line[end - 1] == '0' || number.line[end - 1] == kThousandsSeparator)) --end;
  }
  unsigned pair = 0;
  bool half = false;
  const auto put_digit = [&](unsigned c) {
    pair = pair * 10 + (c - '0');
    if (half) {
      out.Put(pair + 1);
      pair = 0;
    }
    half = !half;
  };
  for (; at < end && !out.full(); at = number.NextInteger(at + 1)) put_digit(number.line[at]);
  for (; fraction < number.fraction_end && !out.full(); ++fraction) put_digit(number.line[fraction]);
  if (half) put_digit('0');
  out.Put(0);
  out.set_reverse(reverse);
}

}  // namespace gpusort::detail
