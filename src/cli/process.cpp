#include "cli/process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "cli/named_files.hpp"
#include "cli/parse_options.hpp"
#include "data/output_parts.hpp"
#include "io/output_file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "watch/report_files.hpp"

namespace gpusort {
namespace {

template <typename Action>
void UnlessOutOfMemory(Action action) noexcept {
  try {
    action();
  } catch (const std::bad_alloc&) {
  }
}

double Seconds(const Process& process) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - process.begin).count();
}

LogFields Fields(const Process& process, int code) {
  return {{"exit_code", static_cast<std::uint64_t>(code)}, {"seconds", Seconds(process)}};
}

std::string After(const Process& process) {
  char text[48];
  std::snprintf(text, sizeof text, ", %.3f seconds", Seconds(process));
  return text;
}

/// Logs the first event of a job: the program with its version, the process, the inputs and the output. Leaves out the
/// names of many inputs.
void LogStart(const std::string& program, const JobSpec& spec) {
  constexpr std::size_t kMostNames = 8;
  std::string version = VersionText({});
  version = version.substr(version.find(' ') + 1);
  version.pop_back();
  std::string text = program + " " + version + ", pid " + std::to_string(::getpid()) + ":";
  for (std::size_t i = 0; i < std::min(spec.source.inputs.size(), kMostNames); ++i) {
    text += " " + InQuotes(spec.source.inputs[i]);
  }
  if (spec.source.inputs.size() > kMostNames) {
    text += " and " + std::to_string(spec.source.inputs.size() - kMostNames) + " more";
  }
  text += spec.target.output.empty() ? " (--check)" : " to " + InQuotes(spec.target.output);
  LogText(LogLevel::kInfo, text);
  const auto end =
      spec.source.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(spec.source.inputs.size(), kMostNames));
  LogFields fields{{"version", version}, {"pid", static_cast<std::uint64_t>(::getpid())}};
  // Constructed in place and not copied. If memory for a copy is refused, GCC 12's std::variant frees a vector twice.
  fields.emplace_back("inputs", std::vector<std::string>(spec.source.inputs.begin(), end));
  fields.emplace_back("input_count", std::uint64_t{spec.source.inputs.size()});
  if (!spec.target.output.empty()) fields.emplace_back("output", spec.target.output);
  Log(LogEvent::kStarted, LogLevel::kInfo, "", fields);
}

void LogDone(const Process& process, const std::optional<SortResult>& result) noexcept {
  UnlessOutOfMemory([&] {
    const std::string wrote =
        result ? ", " + std::to_string(result->records) + " records, " + std::to_string(result->bytes) + " bytes" : "";
    LogText(LogLevel::kInfo, "done: exit code 0" + wrote + After(process));
    LogFields fields = Fields(process, 0);
    if (result) {
      fields.emplace_back("records", result->records);
      fields.emplace_back("bytes", result->bytes);
      fields.emplace_back("runs", result->runs);
      fields.emplace_back("temp_bytes_written", result->temp_written);
    }
    Log(LogEvent::kDone, LogLevel::kInfo, "", fields);
  });
}

void EndRecord(Process& process, int code, int signal, const char* message) noexcept {
  try {
    if (process.record) process.record->End({code, signal != 0 ? SignalName(signal) : "", message});
  } catch (const std::bad_alloc&) {
    // The end of the job was already reported, and must not be reported twice.
  } catch (const std::exception& error) {
    UnlessOutOfMemory([&] { LogWarn(error.what()); });
  }
}

/// Reports an error, even if there is no memory, and returns its exit code.
int Failed(Process& process, ErrorCode code, const char* message, const Error* error = nullptr) noexcept {
  const int number = static_cast<int>(code);
  const bool answered = code == ErrorCode::kNotSorted, silent = *message == 0;
  const bool json = CurrentLogFormat() == LogFormat::kJson;
  if (!json && !silent) LogError(message);
  bool said = !json;
  UnlessOutOfMemory([&] {
    LogText(LogLevel::kInfo, (answered ? "done: not sorted, exit code " : "failed: exit code ") +
                                 std::to_string(number) + After(process));
    LogFields fields = Fields(process, number);
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
  EndRecord(process, number, SignalReceived(), message);
  return number;
}

[[noreturn]] void FailBySignal(Process& process, int signal) noexcept {
  bool said = false;
  UnlessOutOfMemory([&] {
    LogText(LogLevel::kInfo, "failed: ended by signal " + std::to_string(signal) + After(process));
    LogFields fields = Fields(process, 128 + signal);
    fields.emplace_back("signal", SignalName(signal));
    said = Log(LogEvent::kFailed, LogLevel::kError, "", fields);
  });
  if (!said) SayFailed(signal, 128 + signal, nullptr);
  EndRecord(process, 128 + signal, signal, "");
  EndBySignal(signal);
}

int Report(Process& process) {
  try {
    throw;
  } catch (const BrokenPipe&) {
    FailBySignal(process, SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) {
      if (!KeepsOnSignal()) FailBySignal(process, SignalReceived());
      return Failed(process, ErrorCode::kStopped,
                    "stopped by a signal before anything was done; the same command continues");
    }
    return Failed(process, error.code(), error.what(), &error);
  } catch (const std::bad_alloc&) {
    return Failed(process, ErrorCode::kOutOfMemory, OutOfMemoryText());
  } catch (const std::system_error& error) {  // for example an error of std::filesystem
    const bool no_memory = error.code() == std::errc::not_enough_memory;
    return no_memory ? Failed(process, ErrorCode::kOutOfMemory, OutOfMemoryText())
                     : Failed(process, ErrorCode::kIo, error.what());
  } catch (const std::exception& error) {
    return Failed(process, ErrorCode::kInternal, (std::string("internal error: ") + error.what()).c_str());
  }
}

void EndByStuckDriver(const std::string& why) {
  constexpr int kCode = static_cast<int>(ErrorCode::kGpuLost);
  CurrentLogFormat() == LogFormat::kJson ? SayFailed(0, kCode, why.c_str()) : LogError(why);
  RemoveHiddenOutput();
  _exit(kCode);
}

void Start(Process& process) {
  process.closed_streams = OpenStandardStreams();
  SaveAddresses();
  process.ignores_sigpipe = HandleSignals(process.cancel);
}

// SIGUSR1 asks how far the job is, and waits until there is a handler for it. The loader calls this function before any
// other code of the program or of a library.
[[gnu::section(".preinit_array"), gnu::used]] void (*const hold_user_signal)() = HoldUserSignal;

}  // namespace

constinit const ProcessDialect kJobDialect{"gpusort: error: ", "out of memory",
                                           static_cast<int>(ErrorCode::kOutOfMemory), Start, Report};

int RunProcess(const ProcessDialect& dialect, const std::function<int(Process&)>& body) {
  EndWhenOutOfMemory(dialect.front, dialect.out_of_memory, dialect.out_of_memory_code);
  Process process;
  dialect.start(process);
  int code = 0;
  try {
    code = body(process);
  } catch (...) {
    BeginLastWords();
    code = dialect.report(process);
    EndLastWords(code);
  }
  // At a normal exit, the driver would wait for the GPU.
  if (!AGpuHangs()) return code;
  std::fflush(nullptr);
  _exit(code);
}

void ParseJob(Process& process, std::span<const std::string> words, const std::vector<std::string>& known) {
  JobSpec& spec = process.spec = ParseOptions(words, RequireInput);
  if (spec.action == Action::kSort && !spec.survival.dir.empty()) KeepOnSignal();
  ReleaseUserSignal();
  spec.dialect.ignore_sigpipe = process.ignores_sigpipe;
  ReadNamedFiles(spec, process.cancel, known);
  ChooseParts(spec);
}

void BeginJob(Process& process, const std::string& program) {
  const JobSpec& spec = process.spec;
  // The target of --install-sort is a folder, and InstallSort says what is wrong with it.
  if (spec.action != Action::kInstallSort) CheckReportFiles(spec, PartNames(spec));
  InitLog(spec.reports.log_level, spec.reports.log_file, spec.reports.json_log ? LogFormat::kJson : LogFormat::kText);
  if (!spec.source.inputs.empty()) LogStart(program, spec);
  OnStuckDriver(EndByStuckDriver);
}

void EndJob(Process& process, const std::optional<SortResult>& result) {
  if (process.record) process.record->End({});
  LogDone(process, result);
}

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0 && errno == EPIPE) throw BrokenPipe("standard output was closed");
  if (std::ferror(stdout) != 0) throw Error(ErrorCode::kIo, "cannot write to standard output");
}

}  // namespace gpusort
