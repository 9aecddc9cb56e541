// Turns the command line of gpusort into a checked JobSpec. Opens no file. The setters of the option table
// (option_table.hpp) store the values, and resolve.hpp decides about the records. Start at ParseOptions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spec/job_spec.hpp"

namespace gpusort {

/// Reads `words`, a command line without the name of the program. Throws Error(kUsage) with one line that names the
/// option and the value. For kHelp, kVersion and kCompletion nothing else is set or checked. `look` is called with
/// each input before a format or a key is refused, and may throw what is wrong with the input itself.
JobSpec ParseOptions(std::span<const std::string> words,
                     const std::function<void(const std::string&)>& look = nullptr);

/// Returns the options of a command line that decide the output's bytes, as words with the same meaning. Throws
/// Error(kUsage).
std::vector<std::string> DecidingOptions(std::span<const std::string> words);

/// The message for a command line without an OUTPUT where standard output cannot be meant.
std::string NoOutput(const JobSpec& spec);

/// A warning if options or keys of lines were given for an input whose name means columns; empty if not.
std::string TakenForLines(const JobSpec& spec);

/// Returns the text of --version. `backends`: one line for each, as from ListBackends().
std::string VersionText(const std::vector<std::string>& backends);

}  // namespace gpusort
