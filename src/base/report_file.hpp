// Opens and writes reports: the files of --stats, --trace, --report and --log-file. Start at OpenReport.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace gpusort {

/// Returns true if another user may have made the file at `path` a trap, so that this process writes to a file that it
/// should not change. In a folder in which everybody can write, this is assumed if the file or the link at `path`
/// belongs to another user, or if the file has several names.
bool MayBePlanted(const std::string& path);

/// Opens or creates a file to write a report to, and empties the file unless `append` is true. Returns a descriptor,
/// which the caller closes. If `path` is a standard stream, such as /dev/stderr, returns a copy of its descriptor. On
/// failure returns -1 and sets errno: EACCES if MayBePlanted(path), ENXIO if the file is a pipe that no process reads.
/// Waits for the reader of a pipe at most a second, because a blocked signal could not end a longer wait.
int OpenReport(const std::string& path, bool append);

/// Opens a report as OpenReport() does, but throws Error(kUsage) on failure. `option` is the name of the option that
/// names the file, for the message.
int RequireReport(const char* option, const std::string& path, bool append);
/// Writes all of `text`. Returns 0 or an errno.
int WriteReport(int fd, std::string_view text) noexcept;

/// Opens the file at `path`, writes all of `text` and closes the file. Returns 0 or an errno.
int WriteReportFile(const std::string& path, std::string_view text);
/// Returns the ErrorCode for a report that could not be written because of the errno `error`: kNoSpace if the disk is
/// full, otherwise kIo.
ErrorCode ReportErrorCode(int error);

bool SameFile(const struct stat& a, const struct stat& b);
/// Returns the descriptor of standard error or standard output if `facts` describe the same file as that stream.
/// Otherwise returns std::nullopt.
std::optional<int> StandardStream(const struct stat& facts);

}  // namespace gpusort
