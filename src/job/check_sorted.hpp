// --check.
#pragma once

#include "stream.hpp"
#include "support/options.hpp"

namespace gpusort {

/// Throws Error(kNotSorted) naming the first record out of order (with -u: also a repeated key).
void CheckSorted(const Options& options, CancelFlag& cancel);

}  // namespace gpusort
