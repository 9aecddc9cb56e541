// The main path of a sort, from opening the inputs to renaming the output. src/DESIGN.md describes its steps. Start at
// SortJob.
#pragma once

#include <optional>
#include <string>

#include "data/inputs.hpp"
#include "data/output.hpp"
#include "io/stream.hpp"
#include "job/gpu_source.hpp"
#include "job/sort_context.hpp"
#include "job/sort_result.hpp"
#include "kernels/error.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// Runs the sort that `spec` describes; spec.action must be kSort. Returns after the output was checked and has got its
/// final name. Throws Error if the sort fails. `record` may be null.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Runs a sort into `output`, which the caller has opened with `files`. `fronts` are streams of which the caller has
/// already read the first bytes. Returns after the output was checked and has its final name.
SortResult SortJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                   const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// Runs the sort of a job whose inputs `context` has opened. Returns after the output was checked and has its final
/// name.
SortResult SortJob(SortContext& context);

/// The plan of a job, for --explain.
struct Explanation {
  /// The plan; if the job cannot be planned because of `error`, a description of the inputs.
  std::string text;
  std::optional<Error> error{};  ///< the error with which the job would end, because of the inputs that `text` shows
};
/// Returns the plan of the job. Opens the inputs and the backend (GPU or CPU), but writes no output. May write
/// temporary files, to measure the speed of disks.
Explanation ExplainJob(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {});

}  // namespace gpusort
