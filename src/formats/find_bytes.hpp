// Functions that search memory for a byte. They are fast, because the parsers of most formats spend most of their time
// in them.
#pragma once

#include <bit>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/records/key.hpp"

namespace gpusort {

inline std::string_view Text(const Byte* begin, const Byte* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}

/// Returns a pointer to the first byte in [p, end) that is equal to one of `wanted`, or `end` if there is none.
template <typename... Wanted>
const Byte* FindAny(const Byte* p, const Byte* end, Wanted... wanted) {
#if defined(__SSE2__)
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int found = _mm_movemask_epi8((... | _mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(wanted)))));
    if (found != 0) return p + std::countr_zero(static_cast<unsigned>(found));
  }
#endif
  while (p < end && ((*p != static_cast<Byte>(wanted)) && ...)) ++p;
  return p;
}

/// Returns a pointer to the first byte in [p, end) that is equal to `a`, or `end` if there is none.
inline const Byte* FindByte(const Byte* p, const Byte* end, unsigned char a) {
  const void* const found = p == end ? nullptr : std::memchr(p, a, static_cast<std::size_t>(end - p));
  return found == nullptr ? end : static_cast<const Byte*>(found);
}

}  // namespace gpusort
