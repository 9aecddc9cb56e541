// Shortens loops over many cases in builds that are about ten times slower: those with a sanitizer, and those without
// optimisation.
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

/// Returns true for the cases that a slow build leaves out, which are most of them.
constexpr bool LeftOut(std::uint64_t number) { return number % kStride != 0; }

}  // namespace gpusort::testing
