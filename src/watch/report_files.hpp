// Checks that the reports of a job (--stats, --trace, --report, --log-file) do not overwrite its data. Start at
// CheckReportFiles.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Checks that the reports can be written, and that no file of the job is overwritten by mistake. Changes no file.
/// `parts` are the names of the files of --split, or that of the index of --index. Throws Error(kUsage) in these cases:
/// - A report cannot be written, or another user may have put its file there (MayBePlanted).
/// - A report is the same file as another report, an output, or an input.
/// - Two outputs are the same file, or the index is an input or an output.
/// - A report or an output is the file of --files0-from, of --random-source or of a key of the type order(FILE).
/// - A report would overwrite a file that is not empty, unless the file can be read and contains a report of the same
///   kind.
void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts);

}  // namespace gpusort
