// gpusort INPUT OUTPUT: parse, plan, sort, exit code. The main path goes on in external_sort.hpp.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "backend.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/help.hpp"
#include "cli/parse_options.hpp"
#include "cli/reports.hpp"
#include "cli/sort_main.hpp"
#include "error.hpp"
#include "formats/locale_keys.hpp"
#include "job/check_sorted.hpp"
#include "job/external_sort.hpp"
#include "runs/journal.hpp"
#include "support/log.hpp"
#include "support/machine.hpp"
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

/// The log's first line. Names of many inputs would fill it.
void LogStart(const Options& options) {
  constexpr std::size_t kMostNames = 8;
  std::string text = VersionText({});
  text.pop_back();
  text += ", pid " + std::to_string(::getpid()) + ":";
  for (std::size_t i = 0; i < std::min(options.inputs.size(), kMostNames); ++i) {
    text += " '" + EscapeName(options.inputs[i]) + "'";
  }
  if (options.inputs.size() > kMostNames) {
    text += " and " + std::to_string(options.inputs.size() - kMostNames) + " more";
  }
  text += options.output.empty() ? " (--check)" : " to '" + EscapeName(options.output) + "'";
  LogInfo(text);
}

/// The log's last line: how the job ended, what the output has, and how long it took.
class LogEnd {
 public:
  void Done(const std::optional<SortResult>& result) const {
    const std::string wrote =
        result ? ", " + std::to_string(result->records) + " records, " + std::to_string(result->bytes) + " bytes" : "";
    LogInfo("done: exit code 0" + wrote + After());
  }
  void Failed(int code) const {
    const bool answered = code == static_cast<int>(ErrorCode::kNotSorted);
    LogInfo((answered ? "done: not sorted, exit code " : "failed: exit code ") + std::to_string(code) + After());
  }
  [[noreturn]] void Signal(int signal) const {
    LogInfo("failed: ended by signal " + std::to_string(signal) + After());
    EndBySignal(signal);
  }

 private:
  std::string After() const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
    char text[48];
    std::snprintf(text, sizeof text, ", %.3f seconds", time.count());
    return text;
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void SayDoubts(const Options& options) {
  const TypedOrder typed{options.keys, options.ordering, options.lines->order.separator, options.stable,
                         options.unique};
  for (const std::string& doubt : DebugWarnings(typed, true)) {
    std::fprintf(stderr, "gpusort: %s\n", EscapeName(doubt).c_str());
  }
}

/// Nothing if nothing was sorted.
std::optional<SortResult> RunJob(const Options& options, CancelFlag& cancel) {
  std::optional<SortResult> result;
  if (options.locale) UseLocale();
  switch (options.action) {
    case Action::kHelp:
      std::fputs(HelpText(options.help).c_str(), stdout);
      break;
    case Action::kVersion:
      std::fputs(VersionText(ListBackends()).c_str(), stdout);
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
      result = ExternalSort(options, cancel);
      break;
  }
  if (std::fflush(stdout) != 0 && errno == EPIPE) throw BrokenPipe("standard output was closed");
  if (std::ferror(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
  return result;
}

/// Says what the exception being handled is about and gives the exit code.
int Report(const LogEnd& end) {
  try {
    throw;
  } catch (const BrokenPipe&) {
    end.Signal(SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) {
      if (!KeepsOnSignal()) end.Signal(SignalReceived());
      LogError("stopped by a signal before anything was done; the same command goes on");
      return static_cast<int>(ErrorCode::kStopped);
    }
    if (*error.what() != 0) LogError(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    LogError("out of memory");
    return static_cast<int>(ErrorCode::kOutOfMemory);
  } catch (const std::exception& error) {
    LogError(std::string("internal error: ") + error.what());
    return static_cast<int>(ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  using namespace gpusort;
  if (argc > 0 && IsNamedSort(argv[0])) return SortMain(argc, argv);
  const unsigned closed = OpenStandardStreams();
  SaveAddresses();
  CancelFlag cancel;
  const bool ignore_sigpipe = HandleSignals(cancel);
  const LogEnd end;
  try {
    Options options = ParseOptions(argc, argv);
    if (options.action == Action::kSort && !options.resume_dir.empty()) KeepOnSignal();
    options.ignore_sigpipe = ignore_sigpipe;
    ReadNamedFiles(options);
    CheckReportFiles(options);
    InitLog(options.log_level, options.log_file);
    if (!options.inputs.empty()) LogStart(options);
    RefuseClosedStreams(options, closed);
    end.Done(RunJob(options, cancel));
    return 0;
  } catch (...) {
    const int code = Report(end);
    end.Failed(code);
    return code;
  }
}
