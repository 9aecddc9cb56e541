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
#include <system_error>

#include "backend.hpp"
#include "cli/completion.hpp"
#include "cli/confirm_output.hpp"
#include "cli/debug_warnings.hpp"
#include "cli/help.hpp"
#include "cli/parse_options.hpp"
#include "cli/reports.hpp"
#include "cli/sort_main.hpp"
#include "error.hpp"
#include "file.hpp"
#include "formats/locale_keys.hpp"
#include "job/check_sorted.hpp"
#include "job/external_sort.hpp"
#include "stuck_driver.hpp"
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

/// The log's first line. Names of many inputs would fill it.
void LogStart(const Options& options) {
  constexpr std::size_t kMostNames = 8;
  std::string text = VersionText({});
  text.pop_back();
  const std::string version = text.substr(text.find(' ') + 1);
  text += ", pid " + std::to_string(::getpid()) + ":";
  for (std::size_t i = 0; i < std::min(options.inputs.size(), kMostNames); ++i) {
    text += " '" + EscapeName(options.inputs[i]) + "'";
  }
  if (options.inputs.size() > kMostNames) {
    text += " and " + std::to_string(options.inputs.size() - kMostNames) + " more";
  }
  text += options.output.empty() ? " (--check)" : " to '" + EscapeName(options.output) + "'";
  LogText(LogLevel::kInfo, text);
  const auto end = options.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(options.inputs.size(), kMostNames));
  LogFields fields{{"version", version},
                   {"pid", static_cast<std::uint64_t>(::getpid())}};
  // Not copied: where memory for that is refused, GCC 12's variant frees a vector twice.
  fields.emplace_back("inputs", std::vector<std::string>(options.inputs.begin(), end));
  fields.emplace_back("input_count", std::uint64_t{options.inputs.size()});
  if (!options.output.empty()) fields.emplace_back("output", options.output);
  Log(LogEvent::kStarted, LogLevel::kInfo, "", fields);
}

/// The log's last line: how the job ended, what the output has, and how long it took. There is none where memory for it
/// is refused.
class LogEnd {
 public:
  /// `record`, if there is one by then, ends with it.
  explicit LogEnd(std::optional<JobRecord>& record) : record_(record) {}

  void Done(const std::optional<SortResult>& result) const noexcept {
    UnlessOutOfMemory([&] {
      const std::string wrote =
          result ? ", " + std::to_string(result->records) + " records, " + std::to_string(result->bytes) + " bytes"
                 : "";
      LogText(LogLevel::kInfo, "done: exit code 0" + wrote + After());
      LogFields fields = Fields(0);
      if (result) {
        fields.emplace_back("records", result->records);
        fields.emplace_back("bytes", result->bytes);
        fields.emplace_back("runs", result->runs);
        fields.emplace_back("temp_bytes_written", result->temp_written);
      }
      Log(LogEvent::kDone, LogLevel::kInfo, "", fields);
    });
  }
  /// Gives the exit code back. `error`: if there is one. The message comes out whatever memory there is.
  int Failed(ErrorCode code, const char* message, const Error* error = nullptr) const noexcept {
    const int number = static_cast<int>(code);
    const bool answered = code == ErrorCode::kNotSorted, silent = *message == 0;
    const bool json = CurrentLogFormat() == LogFormat::kJson;
    if (!json && !silent) LogError(message);
    bool said = !json;
    UnlessOutOfMemory([&] {
      LogText(LogLevel::kInfo,
              (answered ? "done: not sorted, exit code " : "failed: exit code ") + std::to_string(number) + After());
      LogFields fields = Fields(number);
      if (SignalReceived() != 0) fields.emplace_back("signal", SignalName(SignalReceived()));
      if (const auto* const system = dynamic_cast<const SystemError*>(error)) {
        fields.emplace_back("errno", detail::ErrnoName(system->number()));
        fields.emplace_back("path", system->path());
        if (system->offset()) fields.emplace_back("offset", *system->offset());
      }
      said = Log(answered ? LogEvent::kDone : LogEvent::kFailed, silent ? LogLevel::kInfo : LogLevel::kError, message,
                 fields);
    });
    if (!said) SayFailed(0, number, message);
    EndRecord(number, SignalReceived(), message);
    return number;
  }
  [[noreturn]] void Signal(int signal) const noexcept {
    bool said = false;
    UnlessOutOfMemory([&] {
      LogText(LogLevel::kInfo, "failed: ended by signal " + std::to_string(signal) + After());
      LogFields fields = Fields(128 + signal);
      fields.emplace_back("signal", SignalName(signal));
      said = Log(LogEvent::kFailed, LogLevel::kError, "", fields);
    });
    if (!said) SayFailed(signal, 128 + signal, nullptr);
    EndRecord(128 + signal, signal, "");
    EndBySignal(signal);
  }

 private:
  void EndRecord(int code, int signal, const char* message) const noexcept {
    try {
      if (record_) record_->End({code, signal != 0 ? SignalName(signal) : "", message});
    } catch (const std::bad_alloc&) {
      // The job has said how it ended, and nothing may be said twice.
    } catch (const std::exception& error) {
      UnlessOutOfMemory([&] { LogWarn(error.what()); });
    }
  }
  template <typename Action>
  static void UnlessOutOfMemory(Action action) noexcept {
    try {
      action();
    } catch (const std::bad_alloc&) {
    }
  }
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  LogFields Fields(int code) const { return {{"exit_code", static_cast<std::uint64_t>(code)}, {"seconds", Seconds()}}; }
  std::string After() const {
    char text[48];
    std::snprintf(text, sizeof text, ", %.3f seconds", Seconds());
    return text;
  }

  std::optional<JobRecord>& record_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

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

/// Says what the exception being handled is about and how the job ended; gives the exit code.
int Report(const LogEnd& end) {
  try {
    throw;
  } catch (const BrokenPipe&) {
    end.Signal(SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) {
      if (!KeepsOnSignal()) end.Signal(SignalReceived());
      return end.Failed(ErrorCode::kStopped, "stopped by a signal before anything was done; the same command goes on");
    }
    return end.Failed(error.code(), error.what(), &error);
  } catch (const std::bad_alloc&) {
    return end.Failed(ErrorCode::kOutOfMemory, OutOfMemoryText());
  } catch (const std::system_error& error) {  // of a path, say
    const bool no_memory = error.code() == std::errc::not_enough_memory;
    return no_memory ? end.Failed(ErrorCode::kOutOfMemory, OutOfMemoryText()) : end.Failed(ErrorCode::kIo, error.what());
  } catch (const std::exception& error) {
    return end.Failed(ErrorCode::kInternal, (std::string("internal error: ") + error.what()).c_str());
  }
}

void EndByStuckDriver(const std::string& why) {
  constexpr int kCode = static_cast<int>(ErrorCode::kGpuLost);
  CurrentLogFormat() == LogFormat::kJson ? SayFailed(0, kCode, why.c_str()) : LogError(why);
  RemoveHiddenOutput();
  _exit(kCode);
}

/// The driver ends a process in the usual way only when the GPU has done its work, and one that hangs never has.
int End(int code) {
  if (!AGpuHangs()) return code;
  std::fflush(nullptr);
  _exit(code);
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
    return End(SortMain(argc, argv));
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
    if (!options.inputs.empty()) LogStart(options);
    OnStuckDriver(EndByStuckDriver);
    RefuseClosedStreams(options, closed);
    ConfirmOutput(options, cancel);
    if (const std::string doubt = TakenForLines(options); !doubt.empty()) LogWarn(doubt);
    record.emplace(options);
    const std::optional<SortResult> result = RunJob(options, cancel, *record);
    record->End({});
    end.Done(result);
    return End(0);
  } catch (...) {
    return End(Report(end));
  }
}
