// gpusort_task scan | runs | cut | borders | part | prove: pieces of one sort, for drivers that spread it over processes and machines. The
// main path goes on in task/tasks.hpp.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "cli/completion.hpp"
#include "cli/parse_options.hpp"
#include "cli/process.hpp"
#include "cli/reports.hpp"
#include "formats/locale_keys.hpp"
#include "kernels/error.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

constexpr const char* kTaskHelp =
    R"(gpusort_task does one piece of a sort, so that many processes, on one machine or
on many, share the work. All tasks of a job share the folder DIR. Any task may
run again, anywhere and at any time: it writes the same bytes. Run the tasks in
this order:

  gpusort_task scan --slice K/N --into DIR [OPTION]... INPUT...
      Optional. Finds where the records of a slice of csv, tsv, pgcopy,
      pgcopy-csv, pgcopy-binary, pgdump, mysql or paragraphs begin. That depends
      on the bytes before the slice; without scan, each task of runs reads them.
      Scan all slices before the first task of runs. For pgcopy-binary and
      pgdump, the slice with the beginning of a file reads the whole file.

  gpusort_task runs --slice K/N --into DIR [OPTION]... INPUT...
      Sorts slice K of N, from 0: the records that begin in the Kth of N equal
      ranges of the inputs' bytes. A compressed input belongs to one slice. The
      OPTIONs are gpusort's: order, format, --memory and so on. Makes DIR, for
      this user alone. Refuses a DIR that others can write in, and a link.

  gpusort_task cut --parts P [--fences-only] [--force-format] DIR
      Finds where P parts of equal bytes begin. Needs all runs. --fences-only
      does not read the runs: parts are less equal, and OUTPUT must be a folder.
      A key of which no record of any slice has a value is exit 3;
      --force-format goes on.

  gpusort_task part --part J/P [OPTION]... DIR OUTPUT
      Merges part J of P, from 0. If OUTPUT ends with '/', it is a folder that
      others cannot write in. The part is then a file part-JJJJJ-of-PPPPP with
      the inputs' header and trailer. Otherwise each part is written to its
      place in one hidden file beside OUTPUT. A compressed part (OUTPUT named .gz .bz2
      .xz .zst .lz4, or runs with --compress) is a complete compressed file,
      part-JJJJJ-of-PPPPP.gz; for one OUTPUT it is in a hidden folder beside it.
      The OPTIONs are those that change no bytes: --memory, --threads,
      --temp-dir, --device, --no-fsync, --stats, --trace, --report, --progress,
      --log-level and so on.

  gpusort_task prove --parts P [--trust] DIR OUTPUT
      Checks that all parts are there, are in order, and have the records of all
      runs. Then gives the one file its name; copies compressed parts into it.
      Reads all parts, on --threads cores, and compares them with checksums of
      the bytes that were written. A part that differs is exit 8. --trust does
      not read the parts, and finds only missing, cut and too long ones.

If the machines share no folder for runs, DIR holds job.json and the files named
below on every machine except the machine of a run:

  gpusort_task cut --fences-only --parts P DIR
      Needs the .json and .fences of all runs. All later tasks need cut-P.json.

  gpusort_task borders --run K --parts P DIR
      Runs where the run is. Prints P+1 lines: the bytes of the run's file at
      which each part begins, and the end.

  gpusort_task part --part J/P --pieces FOLDER [--offset BYTES] [OPTION]...
                    DIR OUTPUT
      Merges the files in FOLDER, named as the runs: each has the run's header
      (the bytes up to its first border) and its bytes of the part. Needs the
      .json of all runs. --offset is where the part begins in the one OUTPUT: 0
      for J = 0, otherwise after the header and all parts before it. Compressed
      parts need no --offset.

Tasks take all formats in every order. --top works for any OUTPUT; -u needs a
folder or a compressed OUTPUT. Streams have no slices: write them to files
first. DIR stays; remove it when the job is done. Exit codes are gpusort's. A
task that runs too early ends with 2.
)";

std::string TaskManual() {
  std::string text = ".TH GPUSORT_TASK 1\n.SH NAME\ngpusort_task \\- one piece of a sort that many processes do\n";
  text += ".SH DESCRIPTION\n.nf\n";
  for (const char* c = kTaskHelp; *c != '\0'; ++c) text += *c == '-' ? "\\-" : *c == '\'' ? "\\(aq" : std::string(1, *c);
  return text + ".fi\n.SH SEE ALSO\n.BR gpusort (1)\n";
}

[[noreturn]] void FailTask(const std::string& why) { throw Error(ErrorCode::kUsage, why + "; see gpusort_task --help"); }

struct Command {
  const char* name;
  const char* about;
};

constexpr Command kCommands[] = {
    {"scan", "look where the records of a slice of CSV end, before runs"},
    {"runs", "sort a slice of the inputs to a run"},
    {"cut", "find where each part begins in every run"},
    {"borders", "print where each part begins in one run"},
    {"part", "merge a part of the output"},
    {"prove", "check that the parts are the whole, and name the output"},
};

/// What a task is told beside gpusort's options.
struct TaskOption {
  const char* name;
  const char* argument;  ///< empty: a flag
  const char* commands;  ///< those that it has a meaning for
  const char* about;
};

constexpr TaskOption kTaskOptions[] = {
    {"--slice", "K/N", "scan runs", "which of N equal ranges of the inputs, from 0"},
    {"--into", "DIR", "scan runs", "the folder that all tasks share"},
    {"--parts", "P", "cut borders prove", "how many parts the output has"},
    {"--fences-only", "", "cut", "without reading runs: parts are less equal"},
    {"--run", "K", "borders", "which run"},
    {"--part", "J/P", "part", "which of P parts, from 0"},
    {"--pieces", "DIR", "part", "where the part's pieces of the runs are"},
    {"--trust", "", "prove", "without reading the parts"},
    {"--offset", "BYTES", "part", "where in the one output the part begins"},
};

bool Means(const TaskOption& option, const std::string& command) {
  std::istringstream list(option.commands);
  const std::istream_iterator<std::string> first(list), last;
  return std::find(first, last, command) != last;
}

/// The option that `word` is, alone or with its value behind =; null: none.
const TaskOption* OptionOf(std::string_view word) {
  for (const TaskOption& option : kTaskOptions) {
    const bool with_value = option.argument[0] != '\0' && word.starts_with(std::string(option.name) + "=");
    if (word == option.name || with_value) return &option;
  }
  return nullptr;
}

struct TaskArguments {
  std::map<std::string, std::string> given;  ///< by the option's name
  std::vector<std::string> rest;

  std::string operator[](const std::string& name) const {
    const auto found = given.find(name);
    return found == given.end() ? "" : found->second;
  }
};

TaskArguments ParseTask(int argc, char** argv) {
  TaskArguments task;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") {
      task.rest.insert(task.rest.end(), argv + i, argv + argc);
      break;
    }
    const TaskOption* const option = OptionOf(argument);
    if (option == nullptr) {
      task.rest.push_back(argument);
      continue;
    }
    const std::string key = option->name;
    if (option->argument[0] == '\0') {
      task.given[key] = "yes";
      continue;
    }
    if (argument == key && i + 1 == argc) FailTask(key + " needs a value");
    if (task.given.count(key) > 0) FailTask(key + " is given twice");
    const std::string value = argument == key ? argv[++i] : argument.substr(key.size() + 1);
    if (value.empty()) FailTask(key + " needs a value");
    task.given[key] = value;
  }
  return task;
}

/// Commands, then their own options, and those of gpusort that the task takes.
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
  // The rest of the line is gpusort's, which completes keys by the inputs on it.
  std::vector<std::string> line{"gpusort"};
  std::size_t at = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const TaskOption* const option = i == current ? nullptr : OptionOf(words[i]);
    if (i == current) at = line.size();
    if (option == nullptr) {
      line.push_back(words[i]);
    } else if (option->argument[0] != '\0' && words[i] == option->name && ++i == current) {
      if (option->argument == std::string_view("DIR")) found.names = Completions::Names::kFolders;
      return found;
    }
  }
  if (const TaskOption* const option = OptionOf(typed); option != nullptr && typed.find('=') != typed.npos) {
    if (option->argument == std::string_view("DIR")) found.names = Completions::Names::kFolders;
    return found;
  }
  found = Complete(line, at);
  if (typed.starts_with('-') && typed.find('=') == typed.npos) {
    for (const TaskOption& option : kTaskOptions) {
      if (Means(option, words[1])) add(option.name + std::string(option.argument[0] != '\0' ? "=" : ""), option.about);
    }
  }
  return found;
}

constexpr std::uint64_t kMostTasks = std::uint64_t{1} << 20;

std::uint64_t ParseParts(const std::string& key, const std::string& text) {
  const std::optional<std::uint64_t> count = ParseDigits(text);
  if (!count || *count == 0 || *count > kMostTasks) {
    FailTask(key + ": '" + EscapeName(text) + "' is not a number from 1 to " + std::to_string(kMostTasks));
  }
  return *count;
}

TaskNumber ParseNumber(const std::string& key, const std::string& text) {
  if (text.empty()) FailTask(key + " is missing");
  const std::size_t slash = text.find('/');
  const std::optional<std::uint64_t> number = ParseDigits(text.substr(0, slash));
  if (slash == text.npos || !number) FailTask(key + ": '" + EscapeName(text) + "' is not like 3/16");
  const std::uint64_t count = ParseParts(key, text.substr(slash + 1));
  if (*number >= count) FailTask(key + ": " + text + ": they count from 0 to " + std::to_string(count - 1));
  return {*number, count};
}

/// What a task is doing, for the end of the process.
struct TaskState {
  std::string command;
  CancelFlag cancel{};
  bool ignore_sigpipe = false;
  JobSpec spec{};
  std::optional<JobRecord> record{};  ///< of `options`
};

/// Parses `options` and names, with gpusort's grammar, and begins the log and the record of the task. `argv` takes what
/// it parses.
const JobSpec& ParseFor(const std::string& output, const std::vector<std::string>& options,
                        const std::vector<std::string>& names, std::vector<std::string>& argv, TaskState& state) {
  argv = {"gpusort_task", "--output=" + output};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back("--");
  argv.insert(argv.end(), names.begin(), names.end());
  std::vector<const char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(argument.c_str());
  JobSpec& parsed = state.spec = ParseOptions(static_cast<int>(pointers.size()), pointers.data(), RequireInput);
  if (parsed.action != Action::kSort) FailTask("an option asks for something else than sorting");
  parsed.dialect.ignore_sigpipe = state.ignore_sigpipe;
  ReadNamedFiles(parsed, state.cancel);
  if (state.command != "runs" && state.command != "part") {
    const std::pair<const char*, const std::string&> reports[] = {
        {"--stats", parsed.reports.stats}, {"--trace", parsed.reports.trace}, {"--report", parsed.reports.page}};
    for (const auto& [name, file] : reports) {
      if (!file.empty()) FailTask(name + (" has no meaning with gpusort_task " + state.command) + ", which sorts nothing");
    }
  }
  CheckTaskOptions(parsed);
  CheckReportFiles(parsed);
  InitLog(parsed.reports.log_level, parsed.reports.log_file,
          parsed.reports.json_log ? LogFormat::kJson : LogFormat::kText);
  LogStart("gpusort_task " + state.command, parsed);
  EndWhenDriverIsStuck();
  UseLocale(parsed);
  state.record.emplace(parsed);
  return parsed;
}

std::vector<std::string> Deciding(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return DecidingOptions(static_cast<int>(pointers.size()), pointers.data());
}

/// Returns the spec of the job in `folder`, with the options given here added to those of the job.
const JobSpec& ParseLater(const std::string& folder, const std::string& output, const std::vector<std::string>& options,
                          TaskState& state) {
  std::vector<std::string> given{"gpusort_task"};
  given.insert(given.end(), options.begin(), options.end());
  for (const std::string& option : Deciding(given)) {
    FailTask(option.substr(0, option.find('=')) + " belongs to all of the job: give it to gpusort_task runs");
  }
  SplitArguments job = SplitOptions(JobArguments(folder));
  job.options.insert(job.options.end(), options.begin(), options.end());
  std::vector<std::string> argv;
  const JobSpec& parsed = ParseFor(output, job.options, job.names, argv, state);
  CheckTaskVersion(folder);
  return parsed;
}

/// Returns nothing if nothing was sorted or merged.
std::optional<SortResult> DoTask(const TaskArguments& task, TaskState& state) {
  const std::string& command = state.command;
  const auto is_command = [&](const Command& known) { return known.name == command; };
  if (std::none_of(std::begin(kCommands), std::end(kCommands), is_command)) {
    FailTask("'" + EscapeName(command) + "' is none of scan, runs, cut, borders, part and prove");
  }
  const SplitArguments rest = SplitOptions(task.rest);
  const auto needs = [&](std::size_t names, const char* what) {
    if (rest.names.size() != names) {
      FailTask("gpusort_task " + command + " takes " + what + ", and " + std::to_string(rest.names.size()) +
               " names are given");
    }
  };
  for (const TaskOption& option : kTaskOptions) {
    if (!task[option.name].empty() && !Means(option, command)) {
      FailTask(std::string(option.name) + " has no meaning with gpusort_task " + command);
    }
  }
  const bool slices = command == "runs" || command == "scan";
  const bool of_parts = !slices && command != "part";
  if (of_parts && task["--parts"].empty()) FailTask("--parts is missing");
  const std::uint64_t parts = of_parts ? ParseParts("--parts", task["--parts"]) : 0;

  if (slices) {
    const TaskNumber slice = ParseNumber("--slice", task["--slice"]);
    const std::string into = task["--into"];
    if (into.empty()) FailTask("--into is missing");
    const auto names_file = [](const std::string& option) { return option.starts_with("--files0-from"); };
    if (rest.names.empty() && std::none_of(rest.options.begin(), rest.options.end(), names_file)) {
      FailTask("no input is given");
    }
    std::vector<std::string> argv;
    const JobSpec& spec = ParseFor(into + "/run", rest.options, rest.names, argv, state);
    if (const std::string doubt = TakenForLines(spec); !doubt.empty()) LogWarn(doubt);
    if (command == "runs") return SortSlice(spec, Deciding(argv), slice, into, state.cancel, *state.record);
    ScanSlice(spec, Deciding(argv), slice, into, state.cancel);
  } else if (command == "cut") {
    needs(1, "DIR");
    const JobSpec& spec = ParseLater(rest.names[0], rest.names[0] + "/" + command, rest.options, state);
    CutParts(spec, parts, !task["--fences-only"].empty(), rest.names[0]);
  } else if (command == "part") {
    const TaskNumber part = ParseNumber("--part", task["--part"]);
    needs(2, "DIR and OUTPUT");
    const JobSpec& spec = ParseLater(rest.names[0], rest.names[1], rest.options, state);
    PartPieces pieces{task["--pieces"], {}};
    if (const std::string offset = task["--offset"]; !offset.empty()) {
      if (pieces.folder.empty()) FailTask("--offset has no meaning without --pieces");
      pieces.offset = ParseDigits(offset);
      if (!pieces.offset) FailTask("--offset: '" + EscapeName(offset) + "' is not a number of bytes");
    }
    return MergePart(spec, part, rest.names[0], rest.names[1], pieces, state.cancel, *state.record);
  } else if (command == "borders") {
    needs(1, "DIR");
    const std::optional<std::uint64_t> run = ParseDigits(task["--run"]);
    if (!run) FailTask("--run: '" + EscapeName(task["--run"]) + "' is not a run's number");
    const JobSpec& spec = ParseLater(rest.names[0], rest.names[0] + "/" + command, rest.options, state);
    for (const std::uint64_t border : PartBorders(spec, parts, *run, rest.names[0])) {
      std::printf("%llu\n", static_cast<unsigned long long>(border));
    }
    if (std::fflush(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
  } else {
    needs(2, "DIR and OUTPUT");
    const JobSpec& spec = ParseLater(rest.names[0], rest.names[1], rest.options, state);
    ProveParts(spec, parts, rest.names[0], rest.names[1], !task["--trust"].empty(), state.cancel);
  }
  return std::nullopt;
}

int RunTask(int argc, char** argv) {
  if (AsksForCompletions(argc, argv)) return AnswerCompletions(CompleteTask, argc, argv);
  EndWhenOutOfMemory("gpusort: error: ", "out of memory", static_cast<int>(ErrorCode::kOutOfMemory));
  OpenStandardStreams();
  TaskState state{argc > 1 ? argv[1] : "--help"};
  state.ignore_sigpipe = HandleSignals(state.cancel);
  ReleaseUserSignal();
  const LogEnd end(state.record);
  try {
    const std::string& command = state.command;
    if (command == "--help" || command == "--help=man" || command == "--version") {
      std::fputs((command == "--help" ? kTaskHelp : command == "--version" ? VersionText({}) : TaskManual()).c_str(), stdout);
      return std::fflush(stdout) == 0 ? 0 : static_cast<int>(ErrorCode::kIo);
    }
    if (AsksForJsonLog(argc, argv)) InitLog("info", "", LogFormat::kJson);
    const std::optional<SortResult> result = DoTask(ParseTask(argc, argv), state);
    if (state.record) state.record->End({});
    end.Done(result);
    return EndProcess(0);
  } catch (...) {
    return EndProcess(end.Report());
  }
}

// As in main.cpp: SIGUSR1 must not end a task that has no handler yet.
[[gnu::section(".preinit_array"), gnu::used]] void (*const hold_user_signal)() = HoldUserSignal;

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) { return gpusort::RunTask(argc, argv); }
