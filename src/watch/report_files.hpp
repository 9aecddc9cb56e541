// Checks that no report of a job overwrites data of the job. Start at CheckReportFiles.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if a report cannot be written, or if a file would be overwritten although the job needs it for
/// something else. Compares the files of the reports and the output with each other and with the inputs, --files0-from
/// and --random-source. The output may be an input. `parts` are the names of the parts of --split. Changes no file.
void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts);

}  // namespace gpusort
