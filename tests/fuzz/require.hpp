// The check that fuzz targets use.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>

namespace gpusort {

/// If `holds` is false, prints `what` and the name of the fuzz target, and aborts as a fuzzer expects.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  std::abort();
}

}  // namespace gpusort
