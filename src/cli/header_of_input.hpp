// Reads the header of an input while options are read, to complete or to advise the name of a column.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the header of the file `path` of the job `spec`, whose format must be one with columns. Returns an empty
/// header if `path` is no regular file, or if the header cannot be read or takes more than 1 MiB. Throws nothing.
std::vector<std::byte> HeaderOfInput(const JobSpec& spec, const std::string& path);

}  // namespace gpusort
