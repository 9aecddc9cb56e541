// Long loops over many cases are too long under a sanitizer, which makes everything ten times slower, and for tests that
// are not optimised.
#pragma once

#include <cstdint>

namespace gpusort::testing {

#if (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)) && defined(GPUSORT_QUICK)
inline constexpr int kStride = 23;
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kStride = 7;
#elif defined(GPUSORT_QUICK)
inline constexpr int kStride = 8;
#else
inline constexpr int kStride = 1;
#endif

/// True for the cases that such a build leaves out: most.
constexpr bool LeftOut(std::uint64_t number) { return number % kStride != 0; }

}  // namespace gpusort::testing
