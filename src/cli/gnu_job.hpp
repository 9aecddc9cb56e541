// Runs a job if the program runs under the name `sort`: turns the options of GNU sort into a JobSpec. Sorts small
// inputs in memory, and all other inputs as gpusort does. Start at RunGnuJob.
#pragma once

#include <string>

#include "cli/gnu_options.hpp"

namespace gpusort {

/// The path by which a regular file on standard input can be opened again.
inline constexpr char kStandardInput[] = "/proc/self/fd/0";

/// Sorts, merges or checks the inputs as `typed` says, and returns the exit code of the process. Throws Error with
/// messages in the words of GNU sort.
/// - `locale_set`: true if setlocale() accepted the environment's locale.
/// - `ignore_sigpipe`: true if SIGPIPE was ignored when the process started.
int RunGnuJob(GnuOptions typed, bool locale_set, bool ignore_sigpipe);

/// Writes "sort: " and the message to standard error.
void SayAsSort(const std::string& message);

}  // namespace gpusort
