// Parses the command line of gpusort_task, which consists of a command, its options, and options of gpusort. The
// program gpusort_task does one step of a sort that several processes do together. Start at ParseTask.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

/// Throws Error(kUsage) with the message `why`. The message also says how to see the help of gpusort_task.
[[noreturn]] void FailTask(const std::string& why);

/// The parsed command line of gpusort_task. The value of an option that was not given is empty.
struct TaskArguments {
  std::string command;
  std::string slice{}, into{}, parts{}, run{}, part{}, pieces{}, offset{};
  std::string fences_only{}, trust{};           ///< "yes" if the flag is given
  std::vector<std::string> options{}, names{};  ///< the options of gpusort with their values, and the names of files
};

/// Parses a command line of gpusort_task. `words[0]` is the command. Throws Error(kUsage) if the command is unknown, or
/// if it does not accept an option that was given.
TaskArguments ParseTask(std::span<const std::string> words);

/// Returns the words that the user may want to type instead of the unfinished word words[current], in a command line of
/// gpusort_task.
Completions CompleteTask(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
