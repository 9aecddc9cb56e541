// The command line of gpusort_task: a command, its own options, and options of gpusort. Start at ParseTask.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

/// Throws Error(kUsage) that refers to the help of gpusort_task.
[[noreturn]] void FailTask(const std::string& why);

/// A command line of gpusort_task. Empty text: the option is not given.
struct TaskArguments {
  std::string command;
  std::string slice{}, into{}, parts{}, run{}, part{}, pieces{}, offset{};
  std::string fences_only{}, trust{};         ///< flags: "yes" if given
  std::vector<std::string> options{}, names{};  ///< options of gpusort with their values, and names
};

/// Reads `words`, which begin with the command. Throws Error(kUsage) if the command is unknown, or if an option of
/// gpusort_task has no meaning with the command.
TaskArguments ParseTask(std::span<const std::string> words);

/// Completes a word of a command line, as a Completer does.
Completions CompleteTask(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
