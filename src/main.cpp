// gpusort INPUT OUTPUT: parse, plan, sort, exit code. The main path goes on in job/sort_job.hpp.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "cli/command_line.hpp"
#include "cli/completion.hpp"
#include "cli/confirm_output.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/help.hpp"
#include "cli/install_sort.hpp"
#include "cli/parse_options.hpp"
#include "cli/process.hpp"
#include "formats/locale_keys.hpp"
#include "io/file.hpp"
#include "job/check_sorted.hpp"
#include "job/sort_job.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "runs/journal.hpp"
#include "sort.hpp"

namespace gpusort {
namespace {

void RefuseClosedStreams(const JobSpec& spec, unsigned closed) {
  const bool reads = std::find(spec.source.inputs.begin(), spec.source.inputs.end(), "-") != spec.source.inputs.end();
  if (reads && (closed & 1u) != 0) throw Error(ErrorCode::kIo, "standard input is closed");
  const bool prints = spec.action != Action::kSort && spec.action != Action::kCheck;  // help, version, or the plan
  if ((prints || spec.target.output == "-") && (closed & 2u) != 0)
    throw Error(ErrorCode::kIo, "standard output is closed");
}

void SayDoubts(const JobSpec& spec) {
  const TypedOrder typed{spec.order.keys, spec.order.ordering, spec.order.lines->order.separator, spec.order.stable,
                         spec.order.unique};
  for (const std::string& doubt : DebugWarnings(typed, true)) SayDoubt(doubt);
}

void Check(const JobSpec& spec, CancelFlag& cancel) {
  try {
    CheckSorted(spec, cancel);
  } catch (const Error& error) {
    if (!spec.reports.quiet || error.code() != ErrorCode::kNotSorted) throw;
    throw Error(ErrorCode::kNotSorted, "");
  }
}

/// Does the action of the command line. Returns std::nullopt if nothing was sorted.
std::optional<SortResult> Act(Process& process) {
  const JobSpec& spec = process.spec;
  UseLocale(spec);
  switch (spec.action) {
    case Action::kHelp:
      Print(HelpText(spec.help));
      break;
    case Action::kVersion:
      Print(VersionText(ListBackends()));
      break;
    case Action::kCompletion:
      Print(CompletionScript(spec.shell));
      break;
    case Action::kInstallSort:
      Print(InstallSort(spec.target.output));
      break;
    case Action::kExplain: {
      const Explanation plan = ExplainJob(spec, process.cancel);
      Print(plan.text);
      if (plan.error) throw *plan.error;
      break;
    }
    case Action::kStatus: {
      FileSystem files;
      Print(DescribeJob(files, spec.survival.dir));
      break;
    }
    case Action::kCheck:
      Check(spec, process.cancel);
      break;
    case Action::kSort:
      if (spec.order.debug) SayDoubts(spec);
      return SortJob(spec, process.cancel, {}, &*process.record);
  }
  return std::nullopt;
}

int RunJob(Process& process, const std::vector<std::string>& words) {
  if (AsksForJsonLog(words)) InitLog("info", "", LogFormat::kJson);
  ParseJob(process, words);
  BeginJob(process, "gpusort");
  RefuseClosedStreams(process.spec, process.closed_streams);
  ConfirmOutput(process.spec, process.cancel);
  for (const std::string& doubt : {TakenForLines(process.spec), MisnamedOutput(process.spec)}) {
    if (!doubt.empty()) LogWarn(doubt);
  }
  process.record.emplace(process.spec);
  EndJob(process, Act(process));
  return 0;
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  if (argc > 0 && IsNamedSort(argv[0])) return SortMain(argc, argv);
  if (AsksForCompletions(argc, argv)) return AnswerCompletions(Complete, argc, argv);
  return RunProcess(kJobDialect, [&](Process& process) { return RunJob(process, WordsOf(argc, argv)); });
}
