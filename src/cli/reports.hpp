// Checks the files that a job writes in addition to its output: --stats, --trace, --report and --log-file. None of
// them may be data of the job. Start at CheckReportFiles.
#pragma once

#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if a report or the output would overwrite a file that the options name for another purpose,
/// under any name. The output may be an input. Throws as well if a report cannot be made. Changes no file.
void CheckReportFiles(const JobSpec& spec);

}  // namespace gpusort
