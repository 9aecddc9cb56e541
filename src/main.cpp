// gpusort INPUT OUTPUT: parse, plan, sort, exit code. The main path goes on in external_sort.hpp.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "backend.hpp"
#include "cli/completion.hpp"
#include "cli/confirm_output.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/help.hpp"
#include "cli/parse_options.hpp"
#include "cli/process.hpp"
#include "cli/reports.hpp"
#include "cli/sort_main.hpp"
#include "error.hpp"
#include "file.hpp"
#include "formats/locale_keys.hpp"
#include "job/check_sorted.hpp"
#include "job/external_sort.hpp"
#include "runs/journal.hpp"
#include "support/log.hpp"
#include "support/machine.hpp"
#include "support/out_of_memory.hpp"
#include "support/signals.hpp"

namespace gpusort {
namespace {

void RefuseClosedStreams(const Options& options, unsigned closed) {
  const bool reads = std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end();
  if (reads && (closed & 1u) != 0) throw Error(ErrorCode::kIo, "standard input is closed");
  const bool prints =
      options.action != Action::kSort && options.action != Action::kCheck;  // help, version, or the plan
  if ((prints || options.output == "-") && (closed & 2u) != 0) throw Error(ErrorCode::kIo, "standard output is closed");
}

void SayDoubts(const Options& options) {
  const TypedOrder typed{options.keys, options.ordering, options.lines->order.separator, options.stable,
                         options.unique};
  for (const std::string& doubt : DebugWarnings(typed, true)) SayDoubt(doubt);
}

/// Nothing if nothing was sorted.
std::optional<SortResult> RunJob(const Options& options, CancelFlag& cancel, JobRecord& record) {
  std::optional<SortResult> result;
  UseLocale(options);
  switch (options.action) {
    case Action::kHelp:
      std::fputs(HelpText(options.help).c_str(), stdout);
      break;
    case Action::kVersion:
      std::fputs(VersionText(ListBackends()).c_str(), stdout);
      break;
    case Action::kCompletion:
      std::fputs(CompletionScript(options.shell).c_str(), stdout);
      break;
    case Action::kExplain:
      std::fputs(ExplainSort(options, cancel).c_str(), stdout);
      break;
    case Action::kStatus: {
      FileSystem files;
      std::fputs(DescribeJob(files, options.resume_dir).c_str(), stdout);
      break;
    }
    case Action::kCheck:
      try {
        CheckSorted(options, cancel);
      } catch (const Error& error) {
        if (!options.quiet || error.code() != ErrorCode::kNotSorted) throw;
        throw Error(ErrorCode::kNotSorted, "");
      }
      break;
    case Action::kSort:
      if (options.debug) SayDoubts(options);
      result = ExternalSort(options, cancel, {}, &record);
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
  Options options;
  std::optional<JobRecord> record;
  const LogEnd end(record);
  try {
    if (AsksForJsonLog(argc, argv)) InitLog("info", "", LogFormat::kJson);
    options = ParseOptions(argc, argv, RequireInput);
    if (options.action == Action::kSort && !options.resume_dir.empty()) KeepOnSignal();
    ReleaseUserSignal();
    options.ignore_sigpipe = ignore_sigpipe;
    ReadNamedFiles(options, cancel);
    CheckReportFiles(options);
    InitLog(options.log_level, options.log_file, options.json_log ? LogFormat::kJson : LogFormat::kText);
    if (!options.inputs.empty()) LogStart("gpusort", options);
    EndWhenDriverIsStuck();
    RefuseClosedStreams(options, closed);
    ConfirmOutput(options, cancel);
    if (const std::string doubt = TakenForLines(options); !doubt.empty()) LogWarn(doubt);
    record.emplace(options);
    const std::optional<SortResult> result = RunJob(options, cancel, *record);
    record->End({});
    end.Done(result);
    return EndProcess(0);
  } catch (...) {
    return EndProcess(end.Report());
  }
}
