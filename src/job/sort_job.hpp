// The main path of a sort. "The main path" in src/DESIGN.md describes its steps. Start at SortJob.
#pragma once

#include <string>

#include "data/inputs.hpp"
#include "data/output.hpp"
#include "io/stream.hpp"
#include "job/gpu_source.hpp"
#include "job/sort_context.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// Runs the sort that `spec` describes; its action must be kSort. Returns after the output is proved and published.
/// Throws Error if the sort fails. `record` may be null.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Does the same with an `output` that is open already, and with `fronts`: the beginnings of streams that the caller
/// has read.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                   const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Does the same for a job whose inputs `context` has opened.
SortResult SortJob(SortContext& context);

/// Returns the plan that SortJob would follow, as text. Opens the inputs and the backend, and writes nothing.
std::string ExplainJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {});

}  // namespace gpusort
