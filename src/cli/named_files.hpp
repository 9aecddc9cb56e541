// Reads the files that options name in addition to the inputs.
#pragma once

#include <string>

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if the input is missing, is a folder, or must not be read. Does not open streams.
void RequireInput(const std::string& input);

/// Reads the names of the inputs (--files0-from) and the salt of random keys (--random-source). Call it once, before
/// the spec is used. Throws Error(kUsage) if a file cannot be read or has not enough bytes, and Error(kCancelled).
void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel);

}  // namespace gpusort
