// gpusort_task scan | runs | cut | borders | part | prove: pieces of one sort, for drivers that spread it over
// processes and machines. The main path goes on in task/tasks.hpp.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "cli/parse_options.hpp"
#include "cli/process.hpp"
#include "cli/task_options.hpp"
#include "formats/locale_keys.hpp"
#include "formats/registry.hpp"
#include "task/keyed_runs.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t kMostTasks = std::uint64_t{1} << 20;

std::uint64_t ParseParts(const std::string& key, const std::string& text) {
  const std::optional<std::uint64_t> count = ParseDigits(text);
  if (!count || *count == 0 || *count > kMostTasks) {
    FailTask(key + ": " + InQuotes(text) + " is not a number from 1 to " + std::to_string(kMostTasks));
  }
  return *count;
}

TaskNumber ParseNumber(const std::string& key, const std::string& text) {
  if (text.empty()) FailTask(key + " is missing");
  const std::size_t slash = text.find('/');
  const std::optional<std::uint64_t> number = ParseDigits(text.substr(0, slash));
  if (slash == text.npos || !number) FailTask(key + ": " + InQuotes(text) + " is not like 3/16");
  const std::uint64_t count = ParseParts(key, text.substr(slash + 1));
  if (*number >= count) FailTask(key + ": " + text + ": they count from 0 to " + std::to_string(count - 1));
  return {*number, count};
}

/// Returns a command line of gpusort with these options, names and output.
Words CommandLine(const std::string& output, const Words& options, const Words& names) {
  Words words{"--output=" + output};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), names.begin(), names.end());
  return words;
}

/// Parses `words` as a command line of gpusort, and begins the log and the record of the task. `known` are the contents
/// of the files that options of the job name; empty: the files are read.
const JobSpec& Begin(const std::string& command, const Words& words, Process& process, const Words& known = {}) {
  ParseJob(process, words, known);
  const JobSpec& spec = process.spec;
  if (spec.action != Action::kSort) FailTask("an option asks for something else than sorting");
  if (command != "runs" && command != "part") {
    const std::pair<const char*, const std::string&> reports[] = {
        {"--stats", spec.reports.stats}, {"--trace", spec.reports.trace}, {"--report", spec.reports.page}};
    for (const auto& [name, file] : reports) {
      if (!file.empty()) FailTask(name + (" has no meaning with gpusort_task " + command) + ", which sorts nothing");
    }
  }
  CheckTaskOptions(spec);
  if (process.spec.source.table) process.spec.source.table->alike_everywhere = true;
  BeginJob(process, "gpusort_task " + command);
  UseLocale(spec);
  process.record.emplace(spec);
  return spec;
}

/// Begins a task of the job in `folder`. The options given to this task are added to those of the job.
const JobSpec& BeginLater(const TaskArguments& task, const std::string& folder, const std::string& output,
                          Process& process) {
  for (const std::string& option : DecidingOptions(task.options)) {
    FailTask(option.substr(0, option.find('=')) + " belongs to all of the job: give it to gpusort_task runs");
  }
  const JobCommand command = CommandOf(folder);
  SplitArguments job = SplitOptions(command.arguments);
  job.options.insert(job.options.end(), task.options.begin(), task.options.end());
  const JobSpec& spec = Begin(task.command, CommandLine(output, job.options, job.names), process, command.contents);
  CheckTaskVersion(folder);
  return spec;
}

/// Scans or sorts a slice.
std::optional<SortResult> DoSlice(const TaskArguments& task, Process& process) {
  const TaskNumber slice = ParseNumber("--slice", task.slice);
  if (task.into.empty()) FailTask("--into is missing");
  const auto names_file = [](const std::string& option) { return option.starts_with("--files0-from"); };
  if (task.names.empty() && std::none_of(task.options.begin(), task.options.end(), names_file)) {
    FailTask("no input is given");
  }
  const Words words = CommandLine(task.into + "/run", task.options, task.names);
  const JobSpec& spec = Begin(task.command, words, process);
  if (const std::string doubt = TakenForLines(spec); !doubt.empty()) LogWarn(doubt);
  Words deciding = DecidingOptions(words);
  if (task.command == "runs") return SortSlice(spec, deciding, slice, task.into, process.cancel, *process.record);
  ScanSlice(spec, deciding, slice, task.into, process.cancel);
  return std::nullopt;
}

void RequireNames(const TaskArguments& task, std::size_t names, const char* what) {
  if (task.names.size() == names) return;
  FailTask("gpusort_task " + task.command + " takes " + what + ", and " + std::to_string(task.names.size()) +
           " names are given");
}

std::optional<SortResult> DoPart(const TaskArguments& task, Process& process) {
  const TaskNumber part = ParseNumber("--part", task.part);
  RequireNames(task, 2, "DIR and OUTPUT");
  const JobSpec& spec = BeginLater(task, task.names[0], task.names[1], process);
  PartPieces pieces{task.pieces, {}};
  if (!task.offset.empty()) {
    if (pieces.folder.empty()) FailTask("--offset has no meaning without --pieces");
    std::vector<std::uint64_t> numbers;
    for (std::string_view rest = task.offset;; rest.remove_prefix(rest.find(':') + 1)) {
      const std::optional<std::uint64_t> number = ParseDigits(rest.substr(0, rest.find(':')));
      if (number) numbers.push_back(*number);
      if (!number || rest.find(':') == rest.npos) break;
    }
    const bool dump = IsDump(spec);
    if (part.number == 0 && std::ranges::count(numbers, 0) < std::ssize(numbers)) {
      FailTask("--offset: part 0 begins at 0, and " + InQuotes(task.offset) + " is given");
    }
    if (dump && task.offset == "0" && part.number == 0) numbers.assign(4, 0);
    if (numbers.size() != (dump ? 4 : 1)) {
      FailTask("--offset: " + InQuotes(task.offset) + " is not " +
               (dump ? "like BYTES:ROWS:SEPARATORS:STATEMENTS" : "a number of bytes"));
    }
    pieces.offset = numbers[0];
    if (dump) pieces.before = DumpBefore{numbers[0], numbers[1], numbers[2], numbers[3]};
  } else if (!pieces.folder.empty() && IsDump(spec) && part.number > 0) {
    FailTask("--pieces of a dump need --offset");
  }
  try {
    return MergePart(spec, part, task.names[0], task.names[1], pieces, process.cancel, *process.record);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInternal || pieces.folder.empty()) throw;
    FailTask("the files in --pieces " + EscapeName(pieces.folder) +
             " or the numbers of --offset are not those of part " + std::to_string(part.number) + " (" + error.what() +
             ")");
  }
}

void PrintBorders(const TaskArguments& task, std::uint64_t parts, Process& process) {
  RequireNames(task, 1, "DIR");
  const std::optional<std::uint64_t> run = ParseDigits(task.run);
  if (!run) FailTask("--run: " + InQuotes(task.run) + " is not a run's number");
  const std::string& folder = task.names[0];
  const JobSpec& spec = BeginLater(task, folder, folder + "/" + task.command, process);
  std::string lines;
  for (const PartBorder& border : PartBorders(spec, parts, *run, folder)) {
    const auto& [bytes, rows, separators, statements] = border.before;
    lines += std::to_string(border.offset);
    if (HasKeyedRuns(spec)) lines += fmt::format(" {}", bytes);
    if (IsDump(spec)) lines += fmt::format(" {} {} {}", rows, separators, statements);
    lines += "\n";
  }
  Print(lines);
}

/// Does the task. Returns std::nullopt if nothing was sorted or merged.
std::optional<SortResult> DoTask(const TaskArguments& task, Process& process) {
  if (task.command == "scan" || task.command == "runs") return DoSlice(task, process);
  if (task.command == "part") return DoPart(task, process);
  if (task.parts.empty()) FailTask("--parts is missing");
  const std::uint64_t parts = ParseParts("--parts", task.parts);
  if (task.command == "borders") {
    PrintBorders(task, parts, process);
  } else if (task.command == "cut") {
    RequireNames(task, 1, "DIR");
    const std::string& folder = task.names[0];
    const JobSpec& spec = BeginLater(task, folder, folder + "/" + task.command, process);
    CutParts(spec, parts, !task.fences_only.empty(), folder);
  } else {
    RequireNames(task, 2, "DIR and OUTPUT");
    const JobSpec& spec = BeginLater(task, task.names[0], task.names[1], process);
    ProveParts(spec, parts, task.names[0], task.names[1], !task.trust.empty(), process.cancel);
  }
  return std::nullopt;
}

int RunTask(Process& process, const Words& words) {
  const std::string command = words.empty() ? "--help" : words[0];
  if (command == "--help" || command == "--help=man" || command == "--version") {
    Print(command == "--help" ? TaskHelp() : command == "--version" ? VersionText({}) : TaskManual());
    return 0;
  }
  if (AsksForJsonLog(words)) InitLog("info", "", LogFormat::kJson);
  EndJob(process, DoTask(ParseTask(words), process));
  return 0;
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  if (AsksForCompletions(argc, argv)) return AnswerCompletions(CompleteTask, argc, argv);
  return RunProcess(kJobDialect, [&](Process& process) { return RunTask(process, WordsOf(argc, argv)); });
}
