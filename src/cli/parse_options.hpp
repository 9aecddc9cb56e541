// Turns the command line of gpusort into a JobSpec, a checked description of the job. Start at ParseOptions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Parses `words`, a command line without the name of the program. Throws Error(kUsage) with one line that names the
/// option and the value.
/// - If `words` ask for help, the version or a completion script, the values of other options are not checked.
/// - If the format or the keys are wrong, calls look(NAME) for each input first. `look` may throw a better error.
JobSpec ParseOptions(std::span<const std::string> words, const std::function<void(const std::string&)>& look = nullptr);

/// Sets Target::split, the number of parts, from the sizes of the inputs if --target-size is given. Throws
/// Error(kUsage) if a size is not known, or if there would be too many parts. An input that cannot be found counts as
/// empty: the job says later what is wrong.
void ChooseParts(JobSpec& spec);
/// Returns the options among `words` that may change the bytes of the output, each as "--NAME" or "--NAME=VALUE".
/// Throws Error(kUsage) if the words cannot be parsed, or if a key has the old form +1 -2.
std::vector<std::string> DecidingOptions(std::span<const std::string> words);

/// Returns the error message for a command line that names no output while standard output is a terminal.
std::string NoOutput(const JobSpec& spec);

/// Returns a warning if an input is sorted as lines although its extension, such as .csv, means a format with columns.
/// Otherwise returns "".
std::string TakenForLines(const JobSpec& spec);
/// Returns a warning if the extension of the output means another format than the records have. Otherwise returns "".
/// An option that names the format prevents the warning.
std::string MisnamedOutput(const JobSpec& spec);

/// Returns the text that --version prints. `backends` has one line for the CPU and one line for each kind of GPU, as
/// ListBackends() returns them.
std::string VersionText(const std::vector<std::string>& backends);

}  // namespace gpusort
