// Opens and writes reports: the files of --stats, --trace, --report and --log-file. Start at OpenReport.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace gpusort {

/// Returns true if another user may have created `path` so that this process writes to a file that it should not
/// change. This is assumed in a folder in which everybody can write, if the file or link `path` belongs to another
/// user, or if the file has several names (hard links).
bool MayBePlanted(const std::string& path);

/// Opens the file `path` to write a report, or creates it. Empties the file unless `append` is true. Returns a
/// descriptor that the caller must close, or -1 with errno set. The errno is EACCES if MayBePlanted(path) returns true.
/// If `path` is a pipe, waits at most one second for a process that reads the pipe, and then fails with ENXIO. If
/// `path` is standard error or standard output, such as /dev/stderr, returns a copy of its descriptor.
int OpenReport(const std::string& path, bool append);

/// Opens a report as OpenReport() does, but throws Error(kUsage) on failure. The message begins with `option`, the
/// option that names the file.
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
