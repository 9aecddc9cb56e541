// Checks that no report of a job overwrites data of the job. Start at CheckReportFiles.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kUsage) if the job would overwrite a file that it also uses in another role, under any of its names.
/// Compares reports and the output with the inputs, --files0-from, --random-source and each other. The output may be an
/// input. `parts` are the names of the output's parts with --split. Also throws if a report cannot be written. Changes
/// nothing.
void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts);

}  // namespace gpusort
