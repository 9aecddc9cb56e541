// Reports: the files of --stats, --trace, --report and --log-file. Start at OpenReport.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace gpusort {

/// Returns whether another user may have planted the file: a file in a folder that everybody can write in, which
/// belongs to another user, is another user's link, or has several names.
bool MayBePlanted(const std::string& path);

/// Opens a file to write a report to, and creates it if it is missing. Empties it unless `append`. If `path` is
/// standard output or standard error, such as /dev/stderr, returns a copy of its descriptor. On failure returns -1 and
/// sets errno: EACCES if the file may be planted, ENXIO if it is a pipe without a reader. Waits a second for the reader
/// of a pipe at most: signals are blocked once the output is published, so nobody could stop a longer wait.
int OpenReport(const std::string& path, bool append);

/// Writes all of `text`. Returns 0 or an errno.
int WriteReport(int fd, std::string_view text) noexcept;

/// Opens the file, writes all of `text` and closes the file. Returns 0 or an errno.
int WriteReportFile(const std::string& path, std::string_view text);
/// Returns kNoSpace or kIo, for an errno of the functions above.
ErrorCode ReportErrorCode(int error);

bool SameFile(const struct stat& a, const struct stat& b);
/// Returns the descriptor of standard error or standard output if `facts` describe that file.
std::optional<int> StandardStream(const struct stat& facts);

}  // namespace gpusort
