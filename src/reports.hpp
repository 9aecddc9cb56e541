// The files that a run writes beside its output: --stats and --log-file. They must be no data of the run, and a stream
// that the process has anyway (/dev/stderr) is written on, not opened anew. Start at CheckReportFiles.
#pragma once

#include <string>
#include <string_view>

#include "options.hpp"

namespace gpusort {

/// Error(kUsage) if one file that the options name would be overwritten in another's role, by whatever name: reports
/// and the output against inputs, --files0-from, --random-source and each other (an output may be an input). Also if a
/// report cannot be made. Changes nothing.
void CheckReportFiles(const Options& options);

/// A descriptor to write a report to: a copy of standard output's or standard error's if `path` is that, else the file,
/// made if it is missing and, unless it is appended to, emptied. -1 and errno if that fails.
int OpenReport(const std::string& path, bool append);

/// All of `text`, or errno; 0 if it is written.
int WriteReport(int fd, std::string_view text) noexcept;

}  // namespace gpusort
