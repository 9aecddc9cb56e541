// gpusort INPUT OUTPUT: parse, plan, sort, exit code. The main path goes on in external_sort.hpp.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "cli/completion.hpp"
#include "cli/confirm_output.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/help.hpp"
#include "cli/parse_options.hpp"
#include "cli/process.hpp"
#include "cli/reports.hpp"
#include "cli/sort_main.hpp"
#include "formats/locale_keys.hpp"
#include "io/file.hpp"
#include "job/check_sorted.hpp"
#include "job/external_sort.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "runs/journal.hpp"

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

/// Nothing if nothing was sorted.
std::optional<SortResult> RunJob(const JobSpec& spec, CancelFlag& cancel, JobRecord& record) {
  std::optional<SortResult> result;
  UseLocale(spec);
  switch (spec.action) {
    case Action::kHelp:
      std::fputs(HelpText(spec.help).c_str(), stdout);
      break;
    case Action::kVersion:
      std::fputs(VersionText(ListBackends()).c_str(), stdout);
      break;
    case Action::kCompletion:
      std::fputs(CompletionScript(spec.shell).c_str(), stdout);
      break;
    case Action::kExplain:
      std::fputs(ExplainSort(spec, cancel).c_str(), stdout);
      break;
    case Action::kStatus: {
      FileSystem files;
      std::fputs(DescribeJob(files, spec.survival.dir).c_str(), stdout);
      break;
    }
    case Action::kCheck:
      try {
        CheckSorted(spec, cancel);
      } catch (const Error& error) {
        if (!spec.reports.quiet || error.code() != ErrorCode::kNotSorted) throw;
        throw Error(ErrorCode::kNotSorted, "");
      }
      break;
    case Action::kSort:
      if (spec.order.debug) SayDoubts(spec);
      result = ExternalSort(spec, cancel, {}, &record);
      break;
  }
  if (std::fflush(stdout) != 0 && errno == EPIPE) throw BrokenPipe("standard output was closed");
  if (std::ferror(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
  return result;
}

// SIGUSR1 asks how far the job is. Until there is a handler for it, it waits: the loader calls this before any other
// code of the program or of a library.
[[gnu::section(".preinit_array"), gnu::used]] void (*const hold_user_signal)() = HoldUserSignal;

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  if (argc > 0 && IsNamedSort(argv[0])) {
    ReleaseUserSignal();
    return EndProcess(SortMain(argc, argv));
  }
  if (AsksForCompletions(argc, argv)) return AnswerCompletions(Complete, argc, argv);
  EndWhenOutOfMemory("gpusort: error: ", "out of memory", static_cast<int>(ErrorCode::kOutOfMemory));
  const unsigned closed = OpenStandardStreams();
  SaveAddresses();
  CancelFlag cancel;
  const bool ignore_sigpipe = HandleSignals(cancel);
  JobSpec spec;
  std::optional<JobRecord> record;
  const LogEnd end(record);
  try {
    if (AsksForJsonLog(argc, argv)) InitLog("info", "", LogFormat::kJson);
    spec = ParseOptions(argc, argv, RequireInput);
    if (spec.action == Action::kSort && !spec.survival.dir.empty()) KeepOnSignal();
    ReleaseUserSignal();
    spec.dialect.ignore_sigpipe = ignore_sigpipe;
    ReadNamedFiles(spec, cancel);
    CheckReportFiles(spec);
    InitLog(spec.reports.log_level, spec.reports.log_file, spec.reports.json_log ? LogFormat::kJson : LogFormat::kText);
    if (!spec.source.inputs.empty()) LogStart("gpusort", spec);
    EndWhenDriverIsStuck();
    RefuseClosedStreams(spec, closed);
    ConfirmOutput(spec, cancel);
    if (const std::string doubt = TakenForLines(spec); !doubt.empty()) LogWarn(doubt);
    record.emplace(spec);
    const std::optional<SortResult> result = RunJob(spec, cancel, *record);
    record->End({});
    end.Done(result);
    return EndProcess(0);
  } catch (...) {
    return EndProcess(end.Report());
  }
}
