// Phase 2 of a sort: merges all sorted runs into the output. If there are more runs than one merge can take, groups of
// neighbouring runs are merged into longer runs first. Start at MergeRuns.
#pragma once

#include <cstdint>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merges `runs`, which must be in input order, into `output`, and returns the number of bytes written. If there are
/// too many runs for one merge, first replaces groups of them by merged runs. If `order` is kVerified and an input is
/// not sorted, throws Error(kBadInput) with the input and the record. After Error(kGpuLost) and Error(kOutOfMemory),
/// all runs that are not in GPU memory are intact, and the caller may try again.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order);

}  // namespace gpusort
