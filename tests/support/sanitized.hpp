// Shortens loops over many cases in builds with a sanitizer, which are about ten times slower, and in short test runs.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gpusort::testing {

/// Returns how many cases there are to each case that is tested. GPUSORT_FEW in the environment makes more.
inline int Stride() {
  static const bool few = std::getenv("GPUSORT_FEW") != nullptr;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return few ? 23 : 7;
#else
  return few ? 8 : 1;
#endif
}

/// Returns true for the cases to leave out.
inline bool LeftOut(std::uint64_t number) { return number % static_cast<std::uint64_t>(Stride()) != 0; }

}  // namespace gpusort::testing
