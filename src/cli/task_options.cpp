#include "cli/task_options.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/completion.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

struct Command {
  const char* name;
  const char* about;
};

constexpr Command kCommands[] = {
    {"scan", "find where the records of a slice begin, before runs"},
    {"runs", "sort a slice of the inputs to a run"},
    {"cut", "find where each part begins in every run"},
    {"borders", "print where each part begins in one run"},
    {"part", "merge a part of the output"},
    {"prove", "check that the parts are the whole, and name the output"},
};

/// An option of gpusort_task. In `row`, the section and the setter are not used.
struct TaskOption {
  OptionRow row;
  const char* commands;  ///< the commands that take the option
  std::string TaskArguments::*value;
};

constexpr TaskOption Option(const char* name, const char* argument, const char* commands,
                            std::string TaskArguments::*value, const char* about) {
  return {{.section = Section::kInput, .name = name, .argument = argument, .about = about}, commands, value};
}

constexpr TaskOption kTaskOptions[] = {
    Option("slice", "K/N", "scan runs", &TaskArguments::slice, "which of N equal ranges of the inputs, from 0"),
    Option("into", "DIR", "scan runs", &TaskArguments::into, "the folder that all tasks share"),
    Option("parts", "P", "cut borders prove", &TaskArguments::parts, "how many parts the output has"),
    Option("fences-only", "", "cut", &TaskArguments::fences_only, "without reading runs: parts are less equal"),
    Option("run", "K", "borders", &TaskArguments::run, "which run"),
    Option("part", "J/P", "part", &TaskArguments::part, "which of P parts, from 0"),
    Option("pieces", "DIR", "part", &TaskArguments::pieces, "where the part's pieces of the runs are"),
    Option("trust", "", "prove", &TaskArguments::trust, "without reading the parts"),
    Option("offset", "BYTES", "part", &TaskArguments::offset, "where in the one output the part begins"),
};

bool Means(const TaskOption& option, const std::string& command) {
  std::istringstream list(option.commands);
  const std::istream_iterator<std::string> first(list), last;
  return std::find(first, last, command) != last;
}

/// Returns the option of gpusort_task that has the row, or null.
const TaskOption* OptionOf(const OptionRow* row) {
  const auto has_row = [&](const TaskOption& option) { return &option.row == row; };
  const auto* const found = std::find_if(std::begin(kTaskOptions), std::end(kTaskOptions), has_row);
  return found == std::end(kTaskOptions) ? nullptr : found;
}

const OptionRow* FindTaskOption(std::string_view name) {
  for (const TaskOption& option : kTaskOptions) {
    if (name.starts_with("--") && option.row.name == name.substr(2)) return &option.row;
  }
  return FindOption(name);
}

/// Stores the value of an option of gpusort_task.
void Set(const TaskOption& option, const Argument& argument, TaskArguments& task) {
  const std::string name = LongName(option.row);
  std::string& value = task.*option.value;
  if (!Means(option, task.command)) FailTask(name + " has no meaning with gpusort_task " + task.command);
  if (!TakesValue(option.row)) {
    if (argument.value) FailTask(name + " takes no value");
    value = "yes";
    return;
  }
  if (argument.value.value_or("").empty()) FailTask(name + " needs a value");
  if (!value.empty()) FailTask(name + " is given twice");
  value = *argument.value;
}

/// Completes a word by options of gpusort and by names. `words` begin with gpusort_task and its command.
Completions CompleteRest(const std::vector<std::string>& words, std::size_t current) {
  std::vector<std::string> rest(words.begin() + 2, words.end());
  rest[current - 2].clear();  // a half-typed option must not take the next word
  std::vector<bool> own(rest.size());
  for (const Argument& argument : ReadCommandLine(rest, FindTaskOption)) {
    for (std::size_t i = argument.begin; i < argument.end && OptionOf(argument.row) != nullptr; ++i) own[i] = true;
  }
  // The completion of gpusort finds the names of columns in the inputs on the line.
  std::vector<std::string> line{"gpusort"};
  std::size_t at = 1;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (i + 2 == current) at = line.size();
    if (!own[i]) line.push_back(words[i + 2]);
  }
  return Complete(line, at);
}

}  // namespace

void FailTask(const std::string& why) { throw Error(ErrorCode::kUsage, why + "; see gpusort_task --help"); }

TaskArguments ParseTask(std::span<const std::string> words) {
  TaskArguments task{.command = words[0]};
  const auto is_command = [&](const Command& known) { return known.name == task.command; };
  if (std::none_of(std::begin(kCommands), std::end(kCommands), is_command)) {
    FailTask(InQuotes(task.command) + " is none of scan, runs, cut, borders, part and prove");
  }
  std::vector<std::string> rest(words.begin() + 1, words.end());
  std::size_t done = 0;
  for (const Argument& argument : ReadCommandLine(rest, FindTaskOption)) {
    const std::size_t begin = std::max(argument.begin, done);
    done = argument.end;
    if (const TaskOption* const option = OptionOf(argument.row)) {
      Set(*option, argument, task);
    } else {
      std::vector<std::string>& part = argument.option ? task.options : task.names;
      part.insert(part.end(), rest.begin() + static_cast<std::ptrdiff_t>(begin),
                  rest.begin() + static_cast<std::ptrdiff_t>(argument.end));
    }
  }
  return task;
}

Completions CompleteTask(const std::vector<std::string>& words, std::size_t current) {
  Completions found;
  if (current == 0 || current >= words.size()) return found;
  const std::string& typed = words[current];
  const auto add = [&](const std::string& word, const std::string& about) {
    if (word.starts_with(typed)) found.words.push_back({word, about});
  };
  if (current == 1) {
    for (const Command& command : kCommands) add(command.name, command.about);
    for (const char* word : {"--help", "--version"}) add(word, "");
    return found;
  }
  // The word may be the value of an option of gpusort_task, alone or after "--name=".
  const TaskOption* option = OptionOf(FindTaskOption(words[current - 1]));
  if (option != nullptr && !TakesValue(option->row)) option = nullptr;
  if (const std::size_t equals = typed.find('='); equals != typed.npos) {
    if (const TaskOption* const own = OptionOf(FindTaskOption(typed.substr(0, equals)))) option = own;
  }
  if (option != nullptr) {
    if (option->row.argument == std::string_view("DIR")) found.names = Completions::Names::kFolders;
    return found;
  }
  found = CompleteRest(words, current);
  if (typed.starts_with('-') && typed.find('=') == typed.npos) {
    for (const TaskOption& own : kTaskOptions) {
      if (Means(own, words[1])) add(LongName(own.row) + (TakesValue(own.row) ? "=" : ""), own.row.about);
    }
  }
  return found;
}

}  // namespace gpusort
