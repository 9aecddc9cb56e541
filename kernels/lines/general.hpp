// Orders that only the host can compare: the order of the sort option -g, which reads numbers as strtold does, and the
// orders of LineKey::host, such as the order of a locale. A GPU has no long double and no locales.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/text.hpp"

namespace gpusort::detail {

/// Stops the running CUDA kernel. Code for a GPU calls this instead of a comparison that only the host can make (see
/// NeedsHost). Does nothing on the host.
GPUSORT_HD inline void RefuseDevice() {
#if GPUSORT_ON_DEVICE
  __trap();
#endif
}

#if !GPUSORT_ON_DEVICE
/// The value of a key for the sort option -g. The rank is 0 for text that is no number, 1 for -NaN, 2 for NaN and 3 for
/// a number. Lower ranks come first.
struct GeneralNumber {
  int rank;
  long double value;
};

inline GeneralNumber ReadGeneral(const KeyText& key) {
  const Byte* const line = key.line;
  std::uint64_t begin = key.begin;
  const std::uint64_t end = key.end;
  const auto is_space = [](Byte c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (begin < end && is_space(line[begin])) ++begin;
  // strtold needs a NUL after the number. The bytes that can belong to a number are copied, and a NUL is added.
  const std::uint64_t digits = begin + (begin < end && (line[begin] == '-' || line[begin] == '+'));
  std::uint64_t stop = digits;
  if (digits < end && IsAlpha(line[digits])) {
    stop = Advance(digits, end, 8);  // the size of "infinity"
  } else {
    // Hexadecimal numbers can contain the letters A to F, X and P.
    const auto ends = [](unsigned c) {
      return IsAlpha(c) && ToUpper(c) > 'F' && ToUpper(c) != 'X' && ToUpper(c) != 'P';
    };
    while (stop < end && line[stop] != 0 && !is_space(line[stop]) && !ends(line[stop])) ++stop;
  }
  char few[64];
  std::string many;
  const std::uint64_t size = stop - begin;
  const char* text = few;
  if (size < sizeof few) {
    if (size != 0) std::memcpy(few, line + begin, size);
    few[size] = 0;
  } else {
    many.assign(reinterpret_cast<const char*>(line + begin), size);
    text = many.c_str();
  }
  char* parsed = nullptr;
  const long double value = std::strtold(text, &parsed);
  if (parsed == text) return {0, 0};
  if (value != value) return {__builtin_signbit(value) != 0 ? 1 : 2, 0};
  return {3, value};
}
#endif

GPUSORT_HD inline int CompareGeneral(const KeyText& a, const KeyText& b) {
#if GPUSORT_ON_DEVICE
  RefuseDevice();
  return 0;
#else
  const GeneralNumber x = ReadGeneral(a), y = ReadGeneral(b);
  return x.rank != y.rank ? x.rank - y.rank : (x.value > y.value) - (x.value < y.value);
#endif
}

/// Compares two keys by a.key->host->Compare(), for example in the order of a locale. Only for the CPU.
GPUSORT_HD inline int CompareByHost(const KeyText& a, const KeyText& b) {
#if GPUSORT_ON_DEVICE
  RefuseDevice();
  return 0;
#else
  return a.key->host->Compare(a.line + a.begin, a.end - a.begin, b.line + b.begin, b.end - b.begin);
#endif
}

template <typename Writer>
GPUSORT_HD inline void PutGeneral(Writer& out, const KeyText& text) {
#if GPUSORT_ON_DEVICE
  RefuseDevice();
#else
  static_assert(std::numeric_limits<long double>::digits == 64, "the x87 format: 64 bits of mantissa, 16 of exponent");
  const GeneralNumber number = ReadGeneral(text);
  out.Put(static_cast<unsigned>(number.rank));
  if (number.rank < 3) return;
  const long double value = number.value == 0 ? 0 : number.value;  // -0 and 0 are equal
  std::uint64_t mantissa;
  std::uint16_t exponent;
  std::memcpy(&mantissa, &value, 8);
  std::memcpy(&exponent, reinterpret_cast<const char*>(&value) + 8, 2);
  const bool negative = exponent >> 15 != 0;
  exponent = static_cast<std::uint16_t>(negative ? ~exponent : exponent | 0x8000);
  out.Put(exponent >> 8);
  out.Put(exponent & 0xFF);
  out.PutWord(negative ? ~mantissa : mantissa);
#endif
}

}  // namespace gpusort::detail
