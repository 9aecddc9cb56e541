// Phase 2: merges all sorted runs into the output. If there are more runs than the fan-in, levels of merges of
// neighbouring runs come first. WindowMerge does a single merge. Start at MergeRuns.
#pragma once

#include <cstdint>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/job.hpp"
#include "runs/read_ahead.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merges `runs`, which are in input order, into `output`. Levels replace runs of `runs` by merged runs. Returns the bytes
/// written. Throws Error(kBadInput), which names input and record, if `order` is kVerified and a run in the input is not
/// in order. After Error(kGpuLost) and Error(kOutOfMemory) all runs that are not on the device are whole, and the caller
/// may try again.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order);

}  // namespace gpusort
