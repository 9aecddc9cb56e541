// Functions on the bytes of a line: classes of characters in the C locale, loading of eight bytes, and comparison.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpusort/host_device.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

// A newline counts as a blank, as in GNU sort. A line contains newlines only if lines end with NUL (option -z).
GPUSORT_HD inline bool IsBlank(unsigned c) { return c == ' ' || c == '\t' || c == '\n'; }
GPUSORT_HD inline bool IsDigit(unsigned c) { return c - '0' < 10; }
GPUSORT_HD inline bool IsAlpha(unsigned c) { return (c | 0x20) - 'a' < 26; }
GPUSORT_HD inline unsigned ToUpper(unsigned c) { return c - 'a' < 26 ? c - 0x20 : c; }

inline constexpr std::uint64_t kLowBits = 0x0101010101010101;
inline constexpr std::uint64_t kHighBits = 0x8080808080808080;

/// Finds the bytes of `word` that are 0. Returns 0 if there is none. Otherwise the lowest set bit of the result lies in
/// the lowest byte that is 0.
GPUSORT_HD inline std::uint64_t ZeroBytes(std::uint64_t word) { return (word - kLowBits) & ~word & kHighBits; }

#if GPUSORT_ON_DEVICE
/// Returns eight bytes from `p`, the first byte as the most significant. Only the first `left` (1..8) bytes must belong
/// to the line; the other bytes of the result are unspecified.
__device__ inline std::uint64_t LoadAligned(const Byte* p, std::uint64_t left) {
  // Loads one or two aligned words of eight bytes. Loads of single bytes would be slower.
  const unsigned over = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 8);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(p - over);
  std::uint64_t word = words[0] >> 8 * over;
  if (over + left > 8) word |= words[1] << 8 * (8 - over);
  return std::uint64_t{__byte_perm(static_cast<std::uint32_t>(word), 0, 0x0123)} << 32 |
         __byte_perm(static_cast<std::uint32_t>(word >> 32), 0, 0x0123);
}
#endif

GPUSORT_HD inline std::uint64_t LoadBigEndian(const Byte* p) {
#if GPUSORT_ON_DEVICE
  return LoadAligned(p, 8);
#else
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return __builtin_bswap64(word);
#endif
}

/// Returns eight bytes of `line` from position `at` on. The first byte is the most significant. Zeros stand for bytes
/// at and after position `end`. Reads only bytes of line[0, end) or, on a GPU, aligned words that contain such bytes.
GPUSORT_HD inline std::uint64_t LoadWord(const Byte* line, std::uint64_t at, std::uint64_t end) {
  if (at >= end) return 0;
  const std::uint64_t left = end - at;
  if (left >= 8) return LoadBigEndian(line + at);
  const unsigned missing = static_cast<unsigned>(8 * (8 - left));
#if GPUSORT_ON_DEVICE
  return LoadAligned(line + at, left) >> missing << missing;
#else
  if (end >= 8) return LoadBigEndian(line + end - 8) << missing;
  return LoadNumber(line + at, static_cast<std::uint32_t>(left), true) << missing;
#endif
}

GPUSORT_HD inline std::uint64_t SkipBlanks(const Byte* line, std::uint64_t at, std::uint64_t end) {
  while (at < end && IsBlank(line[at])) ++at;
  return at;
}

GPUSORT_HD inline std::uint64_t Advance(std::uint64_t at, std::uint64_t end, std::uint64_t count) {
  return count < end - at ? at + count : end;
}

GPUSORT_HD inline int Order(std::uint64_t a, std::uint64_t b) { return (a > b) - (a < b); }

GPUSORT_HD inline int CompareBytes(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) {
  const std::uint64_t common = a_size < b_size ? a_size : b_size;
#if GPUSORT_ON_DEVICE
  for (std::uint64_t i = 0; i < common; i += 8) {
    const std::uint64_t x = LoadWord(a, i, common), y = LoadWord(b, i, common);
    if (x != y) return x < y ? -1 : 1;
  }
#else
  const int order = common == 0 ? 0 : std::memcmp(a, b, common);
  if (order != 0) return order < 0 ? -1 : 1;
#endif
  return Order(a_size, b_size);
}

}  // namespace gpusort::detail
