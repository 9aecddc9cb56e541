#include "data/short_sum.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#if !defined(__clang__)
// GCC 12 warns about operands that its own headers leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gpusort {
namespace {

static_assert(std::endian::native == std::endian::little);

// The hash of a record is three rounds of AES over its bytes, padded with zeros to 16 bytes. After two rounds, every
// byte of the record has an effect on all bits of the hash. A core with instructions for AES needs one or two cycles
// for a record.

/// The keys of the three rounds: digits of the golden ratio, and of the first constants of SHA-512.
constexpr std::uint64_t kKeys[3][2] = {{0x9E3779B97F4A7C15u, 0xF39CC0605CEDC834u},
                                       {0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu},
                                       {0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u}};

/// Joins four sums to one. Each 64-bit hash was added as two 32-bit halves, which cannot overflow for fewer than 2^32
/// records.
RecordSum Join(std::uint64_t lo_low, std::uint64_t lo_high, std::uint64_t hi_low, std::uint64_t hi_high,
               std::uint64_t records) {
  const unsigned __int128 lo = (static_cast<unsigned __int128>(lo_high) << 32) + lo_low;
  return {static_cast<std::uint64_t>(lo), hi_low + (hi_high << 32) + static_cast<std::uint64_t>(lo >> 64), records};
}

// ---------------------------------------------------------------------------------------------------------------------
// Portable: SubBytes and MixColumns of a byte from a table.

constexpr std::uint8_t Double(std::uint8_t x) { return static_cast<std::uint8_t>(x << 1 ^ (x >> 7) * 0x1B); }

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  const auto set = [&](std::uint8_t x, std::uint8_t s) {
    const std::uint8_t two = Double(s);
    table[x] = two | s << 8 | s << 16 | static_cast<std::uint32_t>(two ^ s) << 24;
  };
  set(0, 0x63);
  // p takes the value of every number but 0, as powers of 3, and q is always the inverse of p.
  std::uint8_t p = 1, q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ Double(p));
    q = static_cast<std::uint8_t>(q ^ q << 1);
    q = static_cast<std::uint8_t>(q ^ q << 2);
    q = static_cast<std::uint8_t>(q ^ q << 4);
    if ((q & 0x80) != 0) q ^= 0x09;
    set(p, static_cast<std::uint8_t>(q ^ std::rotl(q, 1) ^ std::rotl(q, 2) ^ std::rotl(q, 3) ^ std::rotl(q, 4) ^ 0x63));
  } while (p != 1);
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

RecordSum SumPortably(const std::byte* bytes, std::uint64_t records, std::uint64_t stride) {
  std::uint64_t sums[4] = {};
  for (std::uint64_t i = 0; i < records; ++i) {
    std::uint8_t state[16] = {};
    std::memcpy(state, bytes + i * stride, stride);
    for (const auto& key : kKeys) {
      std::uint32_t columns[4];
      for (unsigned c = 0; c < 4; ++c) {
        columns[c] = 0;
        for (unsigned row = 0; row < 4; ++row) {
          columns[c] ^= std::rotl(kTable[state[(4 * (c + row) + row) % 16]], static_cast<int>(8 * row));
        }
      }
      std::uint64_t words[2];
      std::memcpy(words, columns, 16);
      words[0] ^= key[0];
      words[1] ^= key[1];
      std::memcpy(state, words, 16);
    }
    std::uint64_t hash[2];
    std::memcpy(hash, state, 16);
    sums[0] += hash[0] & 0xFFFFFFFFu;
    sums[1] += hash[0] >> 32;
    sums[2] += hash[1] & 0xFFFFFFFFu;
    sums[3] += hash[1] >> 32;
  }
  return Join(sums[0], sums[1], sums[2], sums[3], records);
}

#if defined(__x86_64__)
// ---------------------------------------------------------------------------------------------------------------------
// One record an instruction.

#define GPUSORT_AES __attribute__((target("aes,sse4.1")))

struct AesSums {
  __m128i low, high;
  __m128i keys[3];

  GPUSORT_AES AesSums() : low(_mm_setzero_si128()), high(low) {
    for (unsigned i = 0; i < 3; ++i) keys[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kKeys[i]));
  }
  GPUSORT_AES void Add(__m128i state) {
    for (const __m128i key : keys) state = _mm_aesenc_si128(state, key);
    low = _mm_add_epi64(low, _mm_and_si128(state, _mm_set1_epi64x(0xFFFFFFFF)));
    high = _mm_add_epi64(high, _mm_srli_epi64(state, 32));
  }
  GPUSORT_AES RecordSum Sum(std::uint64_t records) const {
    alignas(16) std::uint64_t lows[2], highs[2];
    _mm_store_si128(reinterpret_cast<__m128i*>(lows), low);
    _mm_store_si128(reinterpret_cast<__m128i*>(highs), high);
    return Join(lows[0], highs[0], lows[1], highs[1], records);
  }
};

GPUSORT_AES RecordSum SumByAes(const std::byte* bytes, std::uint64_t records, std::uint64_t stride) {
  AesSums sums;
  const __m128i zero = _mm_setzero_si128();
  const auto at = [](const std::byte* from) { return reinterpret_cast<const __m128i*>(from); };
  std::uint64_t i = 0;
  if (stride == 8) {
    for (; i + 2 <= records; i += 2) {
      const __m128i two = _mm_loadu_si128(at(bytes + i * 8));
      sums.Add(_mm_unpacklo_epi64(two, zero));
      sums.Add(_mm_unpackhi_epi64(two, zero));
    }
  } else if (stride == 4) {
    for (; i + 4 <= records; i += 4) {
      const __m128i four = _mm_loadu_si128(at(bytes + i * 4));
      const __m128i a = _mm_unpacklo_epi32(four, zero), b = _mm_unpackhi_epi32(four, zero);
      sums.Add(_mm_unpacklo_epi64(a, zero));
      sums.Add(_mm_unpackhi_epi64(a, zero));
      sums.Add(_mm_unpacklo_epi64(b, zero));
      sums.Add(_mm_unpackhi_epi64(b, zero));
    }
  } else {
    std::uint8_t ones[2 * 16] = {};
    std::memset(ones, 0xFF, stride);
    const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(ones));
    for (; i * stride + 16 <= records * stride; ++i) {
      sums.Add(_mm_and_si128(_mm_loadu_si128(at(bytes + i * stride)), mask));
    }
  }
  for (; i < records; ++i) {
    alignas(16) std::uint8_t padded[16] = {};
    std::memcpy(padded, bytes + i * stride, stride);
    sums.Add(_mm_load_si128(reinterpret_cast<const __m128i*>(padded)));
  }
  return sums.Sum(records);
}

// ---------------------------------------------------------------------------------------------------------------------
// Four records an instruction; numbers only.

#define GPUSORT_VAES __attribute__((target("vaes,avx512f,avx512vl,avx512bw,avx512dq")))

struct VaesSums {
  __m512i low, high;
  __m512i keys[3];

  GPUSORT_VAES VaesSums() : low(_mm512_setzero_si512()), high(low) {
    for (unsigned i = 0; i < 3; ++i) {
      keys[i] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kKeys[i])));
    }
  }
  GPUSORT_VAES void Add(__m512i states) {
    for (const __m512i key : keys) states = _mm512_aesenc_epi128(states, key);
    low = _mm512_add_epi64(low, _mm512_and_si512(states, _mm512_set1_epi64(0xFFFFFFFF)));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(states, 32));
  }
  GPUSORT_VAES RecordSum Sum(std::uint64_t records) const {
    alignas(64) std::uint64_t lows[8], highs[8];
    _mm512_store_si512(lows, low);
    _mm512_store_si512(highs, high);
    const auto add = [](const std::uint64_t* lanes) { return lanes[0] + lanes[2] + lanes[4] + lanes[6]; };
    return Join(add(lows), add(highs), add(lows + 1), add(highs + 1), records);
  }
};

GPUSORT_VAES RecordSum SumByVaes(const std::byte* bytes, std::uint64_t records, std::uint64_t stride) {
  if (stride != 8 && stride != 4) return SumByAes(bytes, records, stride);
  VaesSums sums;
  const __m512i zero = _mm512_setzero_si512();
  const std::uint64_t step = 64 / stride;
  std::uint64_t i = 0;
  for (; i + step <= records; i += step) {
    const __m512i some = _mm512_loadu_si512(bytes + i * stride);
    if (stride == 8) {
      sums.Add(_mm512_unpacklo_epi64(some, zero));
      sums.Add(_mm512_unpackhi_epi64(some, zero));
    } else {
      const __m512i a = _mm512_unpacklo_epi32(some, zero), b = _mm512_unpackhi_epi32(some, zero);
      sums.Add(_mm512_unpacklo_epi64(a, zero));
      sums.Add(_mm512_unpackhi_epi64(a, zero));
      sums.Add(_mm512_unpacklo_epi64(b, zero));
      sums.Add(_mm512_unpackhi_epi64(b, zero));
    }
  }
  RecordSum sum = sums.Sum(i);
  return sum += SumByAes(bytes + i * stride, records - i, stride);
}

/// Used instead of __builtin_cpu_supports, which does not know this instruction set in Clang 14.
bool HasVaes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & bit_VAES) != 0;
}
#endif

}  // namespace

std::vector<SumShort> SumShortWays() {
  std::vector<SumShort> ways;
#if defined(__x86_64__)
  const bool aes = __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
  if (aes && HasVaes() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    ways.push_back(SumByVaes);
  }
  if (aes) ways.push_back(SumByAes);
#endif
  ways.push_back(SumPortably);
  return ways;
}

RecordSum SumShortRecords(const std::byte* bytes, std::uint64_t records, std::uint64_t stride) {
  static const SumShort quickest = SumShortWays().front();
  return quickest(bytes, records, stride);
}

}  // namespace gpusort
