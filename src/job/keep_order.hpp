// Sorts twice, for outputs in the order of the input (--keep-order). The first sort is by the keys. It decides which
// records are kept, and writes them to a temporary file, each with its place in the input. The second sort reads this
// file, and is by these places. Start at SortKeepingOrder.
#pragma once

#include "io/stream.hpp"
#include "job/gpu_source.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// Runs the job `spec`, whose order.keeps_input_order must be true. Returns after the output was checked and has got
/// its final name. Throws Error if a sort fails. `record` may be null.
SortResult SortKeepingOrder(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus, JobRecord* record);

}  // namespace gpusort
