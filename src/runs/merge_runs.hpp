// Phase 2: sorted runs become one.
// The merger cuts the next window off the front of all runs (see Cutter in cut.hpp), lanes merge
// windows side by side, a sink takes them. Blocks are read ahead in the order in which they will be used up. If there
// are more runs than the fan-in, levels of merges of neighbouring runs come first. Start at MergeRuns.
#pragma once

#include <cstdint>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merges `runs` (in input order; consumed level by level) into `output`. Returns the bytes written there.
/// With `verify_order` (-m) the runs' order is checked as they are read: Error(kBadInput) naming the input and record.
/// On Error(kGpuLost) and Error(kOutOfMemory) the runs that are not on the device are still whole: it can be called
/// again.
std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, bool verify_order);

}  // namespace gpusort
