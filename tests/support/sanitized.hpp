// Lets tests skip most of many similar cases in short test runs and in builds with a sanitizer, which are slow.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gpusort::testing {

/// Returns n if tests must run only every n-th case. n is larger with a sanitizer and if GPUSORT_FEW is in the
/// environment.
inline int Stride() {
  static const bool few = std::getenv("GPUSORT_FEW") != nullptr;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return few ? 23 : 7;
#else
  return few ? 8 : 1;
#endif
}

/// Returns true if a test must skip case number `number`.
inline bool LeftOut(std::uint64_t number) { return number % static_cast<std::uint64_t>(Stride()) != 0; }

}  // namespace gpusort::testing
