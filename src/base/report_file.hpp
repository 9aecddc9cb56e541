// Files that a run writes beside its output: --stats, --trace, --report and --log-file. A stream that the process has
// anyway (/dev/stderr) is written on, not opened anew. Start at OpenReport.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

namespace gpusort {

/// Whether it is in a folder that all can write, and another user's, a link of another's, or a file of several names.
bool MayBePlanted(const std::string& path);

/// A descriptor to write a report to: a copy of standard output's or standard error's if `path` is that, else the file,
/// made if it is missing and, unless it is appended to, emptied. -1 and errno if that fails: EACCES if it
/// may be planted, ENXIO if it is a pipe that nobody reads.
int OpenReport(const std::string& path, bool append);

/// All of `text`, or errno; 0 if it is written.
int WriteReport(int fd, std::string_view text) noexcept;

bool SameFile(const struct stat& a, const struct stat& b);
/// Standard error or standard output, if that is what `facts` are of.
std::optional<int> StandardStream(const struct stat& facts);

}  // namespace gpusort
