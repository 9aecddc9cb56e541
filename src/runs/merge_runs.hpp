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

/// Merges `runs`, which must be in the order of the input, into `output`. Returns the number of bytes that were
/// written. If there are too many runs for one merge, first replaces groups of runs by merged runs. If `order` is
/// kVerified and an input is not sorted, throws Error(kBadInput) with the name of the input and the place of the
/// record. After Error(kGpuLost) or Error(kOutOfMemory), all runs outside of GPU memory are intact, and the caller may
/// try again.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order);

}  // namespace gpusort
