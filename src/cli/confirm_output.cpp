#include "cli/confirm_output.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/report_file.hpp"
#include "cli/parse_options.hpp"
#include "data/output_parts.hpp"
#include "io/path.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Refuse(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

/// Returns the facts of standard output if it is a regular file.
std::optional<struct stat> FileOnStandardOutput() {
  struct stat facts;
  if (::fstat(STDOUT_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return facts;
}

/// Throws an error if records would be read from or written to a terminal, unless the user named it.
void RefuseTerminal(const JobSpec& spec) {
  const bool sorts = spec.action == Action::kSort;
  if ((spec.source.implied && ::isatty(STDIN_FILENO) == 1) || (sorts && ::isatty(STDOUT_FILENO) == 1)) {
    Refuse(NoOutput(spec));
  }
}

/// Throws an error for `gpusort f >f`: the shell empties the input before the program starts.
void RefuseEmptiedInput(const JobSpec& spec) {
  const std::optional<struct stat> output = FileOnStandardOutput();
  if (!output || output->st_size > 0) return;
  for (const std::string& input : spec.source.inputs) {
    struct stat facts;
    if (input == "-" || ::stat(input.c_str(), &facts) != 0 || !SameFile(facts, *output)) continue;
    Refuse(
        fmt::format("the input '{}' is standard output as well, and the shell has emptied it: give gpusort -o FILE "
                    "FILE to sort a file in place",
                    EscapeName(input)));
  }
}

/// Returns the first output that exists and would be replaced, or "". A streamed output, such as /dev/stdout, replaces
/// no file.
std::string FindExisting(const JobSpec& spec) {
  std::vector<std::string> outputs = PartNames(spec);
  if (spec.target.split == 0) outputs.insert(outputs.begin(), spec.target.output);
  const auto exists = [](const std::string& output) {
    struct stat facts;
    return !IsStreamTarget(output) && ::stat(output.c_str(), &facts) == 0 &&
           (S_ISREG(facts.st_mode) || S_ISBLK(facts.st_mode));
  };
  const auto found = std::find_if(outputs.begin(), outputs.end(), exists);
  return found == outputs.end() ? "" : *found;
}

/// Returns true if a person at a terminal can read a question and answer it.
bool PersonSits() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1; }

/// Returns true if the job may ask at the terminal. It may not if standard input is an input, if standard error must be
/// JSON, or if the job is in the background, where reading would stop it.
bool CanAnswer(const JobSpec& spec) {
  struct stat terminal;
  const bool known = ::fstat(STDIN_FILENO, &terminal) == 0;
  const auto reads_it = [&](const std::string& input) {
    struct stat facts;
    return input == "-" || (known && ::stat(input.c_str(), &facts) == 0 && SameFile(facts, terminal));
  };
  return !spec.reports.json_log && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() &&
         std::none_of(spec.source.inputs.begin(), spec.source.inputs.end(), reads_it);
}

/// Reads a line from standard input. Returns true if it begins with y or Y.
bool ReadYes(const CancelFlag& cancel) {
  PipeReader answers(STDIN_FILENO, "standard input", cancel);
  std::string answer;
  std::byte one{};
  while (answers.ReadSome(std::span(&one, 1)) == 1 && one != std::byte{'\n'}) answer += static_cast<char>(one);
  const std::size_t first = answer.find_first_not_of(" \t");
  return first != answer.npos && (answer[first] == 'y' || answer[first] == 'Y');
}

}  // namespace

void ConfirmOutput(const JobSpec& spec, const CancelFlag& cancel) {
  if (spec.target.implied) RefuseTerminal(spec);
  if (spec.action != Action::kSort) return;
  if (spec.target.output == "-") RefuseEmptiedInput(spec);
  if (!spec.target.asks || !PersonSits()) return;
  const std::string existing = FindExisting(spec);
  if (existing.empty()) return;
  const std::string name = EscapeName(existing);
  const std::string refusal =
      fmt::format("output {}: it exists, and is replaced only with --force, or if -o names it", name);
  if (!CanAnswer(spec)) Refuse(refusal);
  std::string question = fmt::format("gpusort: the OUTPUT '{}' exists", name);
  if (::isatty(STDOUT_FILENO) != 1) {
    // For example, the user typed `gpusort *.log >all.log`, and there are two such files.
    question += ", and nothing goes to standard output (for several inputs give gpusort -o OUTPUT INPUT...)";
  }
  WriteReport(STDERR_FILENO, question + "; replace it? (y/n) ");
  if (!ReadYes(cancel)) Refuse(refusal);
}

}  // namespace gpusort
