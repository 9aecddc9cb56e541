// The second phase of a sort: merges all sorted runs (sorted parts of the input) into the output. If there are more
// runs than one merge can read, groups of neighbouring runs are merged into longer runs first. Start at MergeRuns.
#pragma once

#include <cstdint>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merges `runs` into `output`, and returns the number of bytes that were written.
/// - `runs` must be in the order of the input. The function may replace groups of sorted runs by merged runs.
/// - If `order` is kVerified, throws Error(kBadInput) if an input is not sorted.
/// - After Error(kGpuLost) or Error(kOutOfMemory), the caller may try again. All runs outside of GPU memory are intact.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order);

}  // namespace gpusort
