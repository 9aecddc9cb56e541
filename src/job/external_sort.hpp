// The main path: open the inputs, open a backend, plan, form runs, merge runs, prove, publish.
// A reader starts at ExternalSort; form_runs.hpp and merge_runs.hpp are its two halves.
#pragma once

#include <string>

#include "data/inputs.hpp"
#include "data/output.hpp"
#include "io/stream.hpp"
#include "job/attempt.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// Does what `options` ask for (kSort). Returns only when the output is proved and published; else throws Error.
SortResult ExternalSort(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {},
                        JobRecord* record = nullptr);

/// The same for inputs of which some fronts were read, into an output that was opened by `files`.
SortResult ExternalSort(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
                        const GpuSource& gpus = {}, JobRecord* record = nullptr);

/// The plan that ExternalSort would follow, as text. Opens inputs and backend, writes nothing.
std::string ExplainSort(const JobSpec& spec, CancelFlag& cancel, const GpuSource& gpus = {});

}  // namespace gpusort
