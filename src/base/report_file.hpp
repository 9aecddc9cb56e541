// Opens and writes reports: the files of --stats, --trace, --report and --log-file. Start at OpenReport.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace gpusort {

/// Returns true if another user may have made `path` lead to a wrong file. This is possible only in a folder in which
/// everybody can write, such as /tmp.
bool MayBePlanted(const std::string& path);

/// Opens or creates the file `path` for a report. The caller must close the returned descriptor. Returns -1 and sets
/// errno if this fails, for example to EACCES if MayBePlanted(path) returns true.
/// - Empties the file unless `append` is true.
/// - If `path` is a pipe, waits at most one second for a reader.
/// - If `path` is standard error or standard output, returns a copy of the descriptor.
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
