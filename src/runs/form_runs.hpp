// The first phase of a sort: makes sorted runs, which are sorted parts of the input. Threads sort the batches that a
// BatchFeeder reads. Each sorted batch is a run, and is stored in the fastest place that has room: GPU memory, host
// memory or temp files. Start at FormRuns.
#pragma once

#include <memory>
#include <vector>

#include "runs/batch_feeder.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Sorts all batches (groups of records) that `feeders` read, and adds the sorted runs to `runs` in the order of the
/// input. Each feeder reads a different part of the input. After an exception, `runs` holds the runs that are complete.
/// If a GPU is lost, the caller must then drop the runs in the memory of this GPU.
void FormRuns(Job& job, std::vector<std::unique_ptr<BatchFeeder>>& feeders, std::vector<Run>& runs);

}  // namespace gpusort
