// Implements --explain=full: sorts a sample of the input to measure how long the job will take. Start at MeasureJob.
#pragma once

#include <string>

#include "job/sort_context.hpp"

namespace gpusort {

/// Sorts a sample of the input in memory with the job's backend, and measures the speed of the folders. Returns rows
/// for --explain: the expected times and the measured speeds, or the reason why there are none. The plan must be made.
/// Throws no error except Error(kCancelled).
std::string MeasureJob(SortContext& context);

}  // namespace gpusort
