// What fuzz targets check by.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>

namespace gpusort {

/// Ends the process, as a fuzzer expects it of a finding, and says in which target and why.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  std::abort();
}

}  // namespace gpusort
