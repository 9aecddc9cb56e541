// Reads the files that the options --files0-from and --random-source name into a JobSpec, and checks inputs before they
// are opened.
#pragma once

#include <string>

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if the input is missing, is a folder, or is not readable. Does not open a pipe or device.
void RequireInput(const std::string& input);

/// Reads the names of the inputs from the file of --files0-from. Reads the salt of -R from the file of --random-source:
/// with other salt bytes, the hash gives the lines another random order. Stores both in `spec`. Call this once, before
/// `spec` is used. Throws Error(kUsage) if a file cannot be read or is too short, and Error(kCancelled) if `cancel` is
/// set.
void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel);

}  // namespace gpusort
