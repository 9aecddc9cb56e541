// Checks that the reports of a job do not overwrite its data. Start at CheckReportFiles.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if a report cannot be written. Also throws if a report or the output would overwrite another
/// file of the job. Such a file is a report, the output, an input, or the file of --files0-from or --random-source. One
/// case is allowed: the output may overwrite an input. `parts` are the names of the parts of --split. Changes no file.
void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts);

}  // namespace gpusort
