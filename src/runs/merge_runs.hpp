// Phase 2: merges all sorted runs into the output. If there are more runs than one merge can take, neighbouring runs
// are merged first. Start at MergeRuns.
#pragma once

#include <cstdint>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merges `runs`, which must be in input order, into `output`. Returns the number of bytes written. If one merge is not
/// enough, other merges first replace groups of runs by merged runs. Throws Error(kBadInput), which names input and
/// record, if `order` is kVerified and an input is not sorted. After Error(kGpuLost) and Error(kOutOfMemory), all runs
/// that are not on the device are intact, and the caller may try again.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order);

}  // namespace gpusort
