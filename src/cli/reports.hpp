// The files that a run writes beside its output, --stats, --trace, --report and --log-file, must be no data of the run.
// Start at CheckReportFiles.
#pragma once

#include "spec/job_spec.hpp"

namespace gpusort {

/// Error(kUsage) if one file that the options name would be overwritten in another's role, by whatever name: reports
/// and the output against inputs, --files0-from, --random-source and each other (an output may be an input). Also if a
/// report cannot be made. Changes nothing.
void CheckReportFiles(const JobSpec& spec);

}  // namespace gpusort
