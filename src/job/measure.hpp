// --explain=full: how long a job will take, measured with a sample of its input. Start at MeasureJob.
#pragma once

#include <string>

#include "job/sort_context.hpp"

namespace gpusort {

/// Sorts a sample of the input in memory with the backend of the job, and probes the folders. Returns rows for
/// --explain: the expected times and the measured speeds, or why nothing can be said. The plan must be made. Throws
/// Error(kCancelled) only.
std::string MeasureJob(SortContext& context);

}  // namespace gpusort
