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

/// Runs the sort that `spec` describes (Action::kSort). Returns after the output is proved and published. Throws Error
/// if the sort fails. `record` may be null.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Sorts into `output`, which `files` has opened. `fronts` are the parts of inputs that the caller has read.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                   const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Sorts the job that `context` has opened.
SortResult SortJob(SortContext& context);

/// Returns the plan that SortJob would follow, as text. Opens the inputs and the backend, and writes nothing.
std::string ExplainJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {});

}  // namespace gpusort
