// CsvMarks finds the delimiters and newlines of CSV outside of quotes, 64 bytes at a time, as bit masks. A byte is in
// quotes if the number of quotes before it is odd (Langdale and Lemire, "Parsing Gigabytes of JSON per Second"). This
// holds if quotes open only at the beginning of a field and are escaped by doubling. Otherwise Next() returns false.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define GPUSORT_AVX2 __attribute__((target("avx2,popcnt")))
#else
#define GPUSORT_AVX2
#endif

#include "kernels/lines/bytes.hpp"

namespace gpusort {

class CsvMarks {
 public:
  static constexpr std::uint64_t kBytes = 64;

  /// The state of the scan before a byte.
  struct State {
    std::uint64_t quoted = 0;  ///< all bits are set if the byte is inside quotes, otherwise none
    /// 1: a quote at this byte opens quotes, or doubles the quote before it. 0: a quote at this byte is text.
    std::uint64_t may_open = 1;
    std::uint64_t closed = 0;  ///< 1: the byte before is a closing quote
  };

  /// A `quote` of -1 means that quotes are ordinary text.
  CsvMarks(int quote, unsigned char delimiter)
      : quote_(static_cast<unsigned char>(quote)), delimiter_(delimiter), quotes_(quote < 0 ? 0 : ~std::uint64_t{0}) {}

  static bool HasAvx2() {
#if defined(__x86_64__)
    static const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
    return avx2;
#else
    return false;
#endif
  }

  /// Scans the next `count` bytes, at most 64, and sets delimiters(), newlines() and after_quotes(). Returns false and
  /// changes nothing if one of the bytes is a quote in the middle of a field.
  bool Next(const Byte* bytes, std::uint64_t count, State& state) {
    return HasAvx2() ? NextBy<true>(bytes, count, state) : NextBy<false>(bytes, count, state);
  }
  /// Does the same as Next(). `kAvx2` must equal HasAvx2(). A GPUSORT_AVX2 function can inline NextBy<true>.
  template <bool kAvx2>
  __attribute__((always_inline)) bool NextBy(const Byte* bytes, std::uint64_t count, State& state) {
    Byte copy[kBytes];
    if (count < kBytes) {
      std::memcpy(copy, bytes, count);
      std::memset(copy + count, 0, kBytes - count);
      bytes = copy;
    }
    auto [quotes, delimiters, newlines] = Find<kAvx2>(bytes);
    const std::uint64_t last = count - 1, valid = ~std::uint64_t{0} >> (kBytes - count);
    quotes &= valid & quotes_;
    // In `quoted` the bit of an opening quote is set, and the bit of a closing quote is not set.
    const std::uint64_t quoted = quotes == 0 ? state.quoted : PrefixXor(quotes) ^ state.quoted;
    delimiters &= valid & ~quoted;
    newlines &= valid & ~quoted;
    const std::uint64_t closing = quotes & ~quoted;
    const std::uint64_t before_open = delimiters | newlines | closing;
    if ((quotes & quoted & ~(before_open << 1 | state.may_open)) != 0) return false;
    after_quotes_ = (closing << 1 | state.closed) & valid & ~(quotes | delimiters | newlines);
    state.closed = closing >> last & 1;
    state.quoted = 0 - (quoted >> last & 1);
    state.may_open = before_open >> last & 1;
    delimiters_ = delimiters;
    newlines_ = newlines;
    return true;
  }
  std::uint64_t delimiters() const { return delimiters_; }
  std::uint64_t newlines() const { return newlines_; }
  /// A bit mask of the bytes that follow directly after a closing quote but do not end the field.
  std::uint64_t after_quotes() const { return after_quotes_; }

 private:
  static std::uint64_t PrefixXor(std::uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }

  struct Found {
    std::uint64_t quotes, delimiters, newlines;
  };
#if defined(__x86_64__)
  template <bool kAvx2>
  Found Find(const Byte* bytes) const {
    if (kAvx2) return FindByAvx2(bytes, quote_, delimiter_);
    return {Find(bytes, quote_), Find(bytes, delimiter_), Find(bytes, '\n')};
  }
  GPUSORT_AVX2 static inline Found FindByAvx2(const Byte* bytes, unsigned char quote, unsigned char delimiter) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
    const auto find = [&](unsigned char wanted) GPUSORT_AVX2 {
      const __m256i all = _mm256_set1_epi8(static_cast<char>(wanted));
      const auto bits = [](__m256i equal) GPUSORT_AVX2 {
        return static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_epi8(equal)));
      };
      return bits(_mm256_cmpeq_epi8(low, all)) | bits(_mm256_cmpeq_epi8(high, all)) << 32;
    };
    return {find(quote), find(delimiter), find('\n')};
  }
  static std::uint64_t Find(const Byte* bytes, unsigned char wanted) {
    const __m128i all = _mm_set1_epi8(static_cast<char>(wanted));
    std::uint64_t found = 0;
    for (unsigned i = 0; i < kBytes; i += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
      found |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, all)))) << i;
    }
    return found;
  }
#else
  template <bool kAvx2>
  Found Find(const Byte* bytes) const {
    Found found{};
    for (unsigned i = 0; i < kBytes; ++i) {
      found.quotes |= std::uint64_t{bytes[i] == quote_} << i;
      found.delimiters |= std::uint64_t{bytes[i] == delimiter_} << i;
      found.newlines |= std::uint64_t{bytes[i] == '\n'} << i;
    }
    return found;
  }
#endif

  const unsigned char quote_, delimiter_;
  const std::uint64_t quotes_;  ///< all bits are set if quotes have a meaning, otherwise none
  std::uint64_t delimiters_ = 0, newlines_ = 0, after_quotes_ = 0;
};

}  // namespace gpusort
