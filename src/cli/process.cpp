#include "cli/process.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "base/out_of_memory.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "cli/parse_options.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "kernels/stuck_driver.hpp"

namespace gpusort {
namespace {

template <typename Action>
void UnlessOutOfMemory(Action action) noexcept {
  try {
    action();
  } catch (const std::bad_alloc&) {
  }
}

void EndByStuckDriver(const std::string& why) {
  constexpr int kCode = static_cast<int>(ErrorCode::kGpuLost);
  CurrentLogFormat() == LogFormat::kJson ? SayFailed(0, kCode, why.c_str()) : LogError(why);
  RemoveHiddenOutput();
  _exit(kCode);
}

}  // namespace

void LogStart(const std::string& program, const JobSpec& spec) {
  constexpr std::size_t kMostNames = 8;
  std::string version = VersionText({});
  version = version.substr(version.find(' ') + 1);
  version.pop_back();
  std::string text = program + " " + version + ", pid " + std::to_string(::getpid()) + ":";
  for (std::size_t i = 0; i < std::min(spec.source.inputs.size(), kMostNames); ++i) {
    text += " '" + EscapeName(spec.source.inputs[i]) + "'";
  }
  if (spec.source.inputs.size() > kMostNames) {
    text += " and " + std::to_string(spec.source.inputs.size() - kMostNames) + " more";
  }
  text += spec.target.output.empty() ? " (--check)" : " to '" + EscapeName(spec.target.output) + "'";
  LogText(LogLevel::kInfo, text);
  const auto end =
      spec.source.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(spec.source.inputs.size(), kMostNames));
  LogFields fields{{"version", version},
                   {"pid", static_cast<std::uint64_t>(::getpid())}};
  // Not copied: where memory for that is refused, GCC 12's variant frees a vector twice.
  fields.emplace_back("inputs", std::vector<std::string>(spec.source.inputs.begin(), end));
  fields.emplace_back("input_count", std::uint64_t{spec.source.inputs.size()});
  if (!spec.target.output.empty()) fields.emplace_back("output", spec.target.output);
  Log(LogEvent::kStarted, LogLevel::kInfo, "", fields);
}

void LogEnd::Done(const std::optional<SortResult>& result) const noexcept {
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

int LogEnd::Failed(ErrorCode code, const char* message, const Error* error) const noexcept {
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

void LogEnd::Signal(int signal) const noexcept {
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

void LogEnd::EndRecord(int code, int signal, const char* message) const noexcept {
  try {
    if (record_) record_->End({code, signal != 0 ? SignalName(signal) : "", message});
  } catch (const std::bad_alloc&) {
    // The job has said how it ended, and nothing may be said twice.
  } catch (const std::exception& error) {
    UnlessOutOfMemory([&] { LogWarn(error.what()); });
  }
}

std::string LogEnd::After() const {
  char text[48];
  std::snprintf(text, sizeof text, ", %.3f seconds", Seconds());
  return text;
}

int LogEnd::Report() const {
  try {
    throw;
  } catch (const BrokenPipe&) {
    Signal(SIGPIPE);
  } catch (const Error& error) {
    if (SignalReceived() != 0 && error.code() == ErrorCode::kCancelled) {
      if (!KeepsOnSignal()) Signal(SignalReceived());
      return Failed(ErrorCode::kStopped, "stopped by a signal before anything was done; the same command goes on");
    }
    return Failed(error.code(), error.what(), &error);
  } catch (const std::bad_alloc&) {
    return Failed(ErrorCode::kOutOfMemory, OutOfMemoryText());
  } catch (const std::system_error& error) {  // of a path, say
    const bool no_memory = error.code() == std::errc::not_enough_memory;
    return no_memory ? Failed(ErrorCode::kOutOfMemory, OutOfMemoryText()) : Failed(ErrorCode::kIo, error.what());
  } catch (const std::exception& error) {
    return Failed(ErrorCode::kInternal, (std::string("internal error: ") + error.what()).c_str());
  }
}

void EndWhenDriverIsStuck() { OnStuckDriver(EndByStuckDriver); }

int EndProcess(int code) {
  if (!AGpuHangs()) return code;
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace gpusort
