// Reads the files that are given by --files0-from, --random-source and keys of the type order(FILE), and checks inputs
// before they are opened.
#pragma once

#include <string>
#include <vector>

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if the input is missing, is a folder, or is not readable. Does not open a pipe or device.
void RequireInput(const std::string& input);

/// Reads files and stores their content in `spec`: the names of the inputs (--files0-from), the values of keys of the
/// type order(FILE), and the random bytes for -R (--random-source). Call this once, before `spec` is used.
/// - `known`: the contents of the files of keys and of --random-source, in this order. Empty: the files are read.
/// - Throws Error(kUsage) if a file cannot be read or has too few bytes, and Error(kCancelled) if `cancel` is set.
void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel, const std::vector<std::string>& known = {});

}  // namespace gpusort
