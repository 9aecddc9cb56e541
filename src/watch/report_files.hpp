// Checks that the reports of a job (--stats, --trace, --report, --log-file) do not overwrite its data. Start at
// CheckReportFiles.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if a report cannot be written. Also throws if a report or the output would overwrite another
/// file of the job (a report, the output, an input, or the file of --files0-from or --random-source), or a file that
/// holds anything but a report of the same kind. Only one case is allowed: the output may overwrite an input. `parts`
/// are the names of the files of --split. Changes no file.
void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts);

}  // namespace gpusort
