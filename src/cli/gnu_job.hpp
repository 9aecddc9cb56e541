// The jobs of the program under the name `sort`: its options become a JobSpec. A few lines are sorted in memory, and
// all others by the main path. Start at RunGnuJob.
#pragma once

#include <string>

#include "cli/gnu_options.hpp"

namespace gpusort {

/// The name under which standard input is opened if it is a regular file.
inline constexpr char kStandardInput[] = "/proc/self/fd/0";

/// Sorts, merges or checks, and returns the exit code. `locale_set`: the environment's locale is in use.
/// `ignore_sigpipe`: the caller ignores SIGPIPE. Throws Error in GNU sort's words, SystemError and GnuUsageError.
int RunGnuJob(GnuOptions typed, bool locale_set, bool ignore_sigpipe);

/// Writes "sort: " and the message to standard error.
void SayAsSort(const std::string& message);

}  // namespace gpusort
