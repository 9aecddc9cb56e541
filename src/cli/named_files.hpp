// Reads the files of --files0-from and --random-source into a JobSpec, and checks inputs before they are opened.
#pragma once

#include <string>

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if the input is missing, is a folder, or is not readable. Does not open pipes and devices.
void RequireInput(const std::string& input);

/// Reads the inputs' names (--files0-from) and the salt of random keys (--random-source) into `spec`. Call this once,
/// before `spec` is used. Throws Error(kUsage) for an unreadable or too short file, and Error(kCancelled) if `cancel`
/// is set.
void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel);

}  // namespace gpusort
