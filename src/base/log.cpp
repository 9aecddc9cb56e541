#include "base/log.hpp"

#include <poll.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

// Global, because signal handlers cannot be passed arguments.
std::atomic<LogFormat> log_format{LogFormat::kText};
std::atomic<bool> status_drawn{false};
std::atomic<bool> quiet{false};

constexpr std::string_view kWipe = "\r\x1b[K";

// Set by spdlog's error handler, which runs in the thread that logs: spdlog reports errors in no other way.
thread_local bool line_lost = false;

constexpr const char* kEventNames[] = {"started", "plan", "phase", "progress", "note", "failed", "done"};
constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error"};
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

/// Returns a text such as "2026-11-23T03:20:19.123Z". Calls no library function that a signal handler must not call.
std::array<char, 25> UtcNow() noexcept {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  std::array<char, 25> text{"0000-00-00T00:00:00.000Z"};
  const auto put = [&](std::size_t end, std::size_t digits, auto number) {
    auto rest = static_cast<std::uint64_t>(number);
    for (; digits > 0; --digits, rest /= 10) text[--end] = static_cast<char>('0' + rest % 10);
  };
  put(4, 4, std::clamp(static_cast<int>(date.year()), 0, 9999));
  put(7, 2, static_cast<unsigned>(date.month()));
  put(10, 2, static_cast<unsigned>(date.day()));
  put(13, 2, time.hours().count());
  put(16, 2, time.minutes().count());
  put(19, 2, time.seconds().count());
  put(23, 3, time.subseconds().count());
  return text;
}

/// Returns one object, without the end of the line.
std::string JsonLine(LogEvent event, LogLevel level, const std::string& message, const LogFields& fields) {
  using Json = nlohmann::ordered_json;
  Json json{{"ts", UtcNow().data()},
            {"level", kLevelNames[static_cast<std::size_t>(level)]},
            {"event", kEventNames[static_cast<std::size_t>(event)]}};
  for (const LogField& field : fields) {
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::string>) {
            json[field.name] = EncodeName(value);
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            json[field.name] = Json::array();
            for (const std::string& text : value) json[field.name].push_back(EncodeName(text));
          } else {
            json[field.name] = value;
          }
        },
        field.value);
  }
  if (!message.empty()) json["message"] = EscapeName(message);
  return json.dump();
}

/// Writes as much of `text` as the stream takes: there is no place to report that standard error fails.
void WriteAll(int fd, std::string_view text) noexcept { WriteReport(fd, text); }

/// Standard error, shared by log lines and the status line.
class ErrorScreen {
 public:
  void Print(std::string_view text) {
    const std::lock_guard lock(mutex_);
    // The text itself takes no memory.
    if (!status_drawn) return WriteAll(STDERR_FILENO, text);
    WriteAll(STDERR_FILENO, std::string(kWipe) + std::string(text) + status_.substr(0, StatusColumns()));
  }

  void Show(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!Writable()) return;
    status_ = line.substr(0, StatusColumns());
    status_drawn = true;
    WriteAll(STDERR_FILENO, std::string(kWipe) + status_);
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    if (!status_drawn.exchange(false)) return;
    if (Writable()) WriteAll(STDERR_FILENO, kWipe);
  }

  void PrintIfWritable(const std::string& line) {
    {
      const std::lock_guard lock(mutex_);
      if (!Writable()) return;
    }
    Print(line + "\n");
  }

 private:
  static bool Writable() {
    pollfd waiting{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLOUT) != 0;
  }

  std::mutex mutex_;
  std::string status_;
};

class ErrorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ErrorSink(ErrorScreen& screen) : screen_(screen) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    screen_.Print({line.data(), line.size()});
  }
  void flush_() override {}

  ErrorScreen& screen_;
};

/// Writes each line by one call to an O_APPEND file, so that a killed process loses no line. spdlog's own file sink
/// would create missing folders, and would retry for 50 ms.
class LogFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogFileSink(const std::string& path) : fd_(OpenReport(path, true)), path_(path) {
    if (fd_ < 0) {
      throw Error(ErrorCode::kUsage,
                  "--log-file: cannot open '" + EscapeName(path) + "': " + std::generic_category().message(errno));
    }
  }
  LogFileSink(const LogFileSink&) = delete;
  LogFileSink& operator=(const LogFileSink&) = delete;
  ~LogFileSink() override { ::close(fd_); }

  /// Returns a warning once, after the first line that could not be written. Otherwise returns "".
  std::string TakeWarning() {
    if (error_ == 0 || said_.exchange(true)) return "";
    return "the log in " + EscapeName(path_) + " (--log-file) is not complete: " + detail::ErrnoText(error_);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const int error = WriteReport(fd_, {line.data(), line.size()});
    if (error != 0 && error_ == 0) error_ = error;
  }
  void flush_() override {}

  const int fd_;
  const std::string path_;
  std::atomic<int> error_{0};  ///< errno of the first line that could not be written
  std::atomic<bool> said_{false};
};

/// Never destroyed, so that threads and destructors can log until the process ends.
struct LogState {
  ErrorScreen screen;
  std::unique_ptr<spdlog::logger> logger;
  std::shared_ptr<LogFileSink> log_file;  ///< null if there is none

  LogState() { Open("warn", "", LogFormat::kText); }

  void Open(const std::string& level_name, const std::string& file, LogFormat format) {
    const auto pattern = [format](const char* text) {
      return std::make_unique<spdlog::pattern_formatter>(format == LogFormat::kJson ? "%v" : text,
                                                         spdlog::pattern_time_type::utc);
    };
    const spdlog::level::level_enum level = spdlog::level::from_str(level_name);
    auto error_sink = std::make_shared<ErrorSink>(screen);
    error_sink->set_level(level);
    error_sink->set_formatter(pattern("gpusort: %l: %v"));
    auto fresh = std::make_unique<spdlog::logger>("gpusort", std::move(error_sink));
    fresh->set_level(level);
    fresh->set_error_handler([](const std::string&) { line_lost = true; });
    log_file = nullptr;
    if (!file.empty()) {
      const spdlog::level::level_enum file_level = std::min(level, spdlog::level::info);
      auto file_sink = std::make_shared<LogFileSink>(file);
      file_sink->set_level(file_level);
      file_sink->set_formatter(pattern("%Y-%m-%dT%H:%M:%S.%eZ %l: %v"));
      log_file = file_sink;
      fresh->sinks().push_back(std::move(file_sink));
      fresh->set_level(file_level);
    }
    logger = std::move(fresh);
    log_format = format;
  }
};

LogState& State() {
  static LogState* const state = new LogState;
  return *state;
}

/// Runs `action`. Returns false if it throws, for example if memory is refused: a lost line must not end the job.
template <typename Action>
bool NeverThrow(Action action) noexcept {
  try {
    action();
    return true;
  } catch (...) {
    return false;
  }
}

/// Calls `make_line` only if the level is shown. Returns false if memory was refused.
template <typename MakeLine>
bool LogLine(LogLevel level, MakeLine make_line) noexcept {
  line_lost = false;
  const bool done = NeverThrow([&] {
    spdlog::logger& logger = *State().logger;
    const spdlog::level::level_enum known = kLevels[static_cast<std::size_t>(level)];
    if (!quiet && logger.should_log(known)) logger.log(known, spdlog::string_view_t(make_line()));
  });
  const bool said = done && !line_lost;
  NeverThrow([] {
    LogFileSink* const file = State().log_file.get();
    if (file == nullptr) return;
    if (const std::string warning = file->TakeWarning(); !warning.empty()) LogWarn(warning);
  });
  return said;
}

bool LogNote(LogLevel level, const std::string& message) noexcept {
  return LogText(level, message) && Log(LogEvent::kNote, level, message, {});
}

}  // namespace

void InitLog(const std::string& level, const std::string& file, LogFormat format) { State().Open(level, file, format); }
LogFormat CurrentLogFormat() noexcept { return log_format; }

QuietLog::QuietLog() noexcept { quiet = true; }
QuietLog::~QuietLog() { quiet = false; }

void LogDebug(const std::string& message) noexcept { LogNote(LogLevel::kDebug, message); }
void LogInfo(const std::string& message) noexcept { LogNote(LogLevel::kInfo, message); }
void LogWarn(const std::string& message) noexcept { LogNote(LogLevel::kWarning, message); }
void LogError(const std::string& message) noexcept { LogNote(LogLevel::kError, message); }
void LogError(const char* message) noexcept {
  bool said = false;
  NeverThrow([&] { said = LogNote(LogLevel::kError, message); });
  if (said) return;
  for (const char* part : {"gpusort: error: ", message, "\n"}) WriteAll(STDERR_FILENO, part);
}

bool LogText(LogLevel level, const std::string& message) noexcept {
  return log_format != LogFormat::kText || LogLine(level, [&] { return EscapeName(message); });
}

bool Log(LogEvent event, LogLevel level, const std::string& message, const LogFields& fields) noexcept {
  return log_format != LogFormat::kJson || LogLine(level, [&] { return JsonLine(event, level, message, fields); });
}

void SayDoubt(const std::string& doubt) noexcept {
  NeverThrow([&] {
    const bool json = log_format == LogFormat::kJson;
    State().screen.Print(
        (json ? JsonLine(LogEvent::kNote, LogLevel::kWarning, doubt, {}) : "gpusort: " + EscapeName(doubt)) + "\n");
  });
}

std::string SignalName(int signal) {
  if (const char* const name = ::sigabbrev_np(signal)) return std::string("SIG") + name;
  return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
}

void SayFailed(int signal, int exit_code, const char* message) noexcept {
  if (log_format == LogFormat::kText && message == nullptr) return;
  std::array<char, 512> line{};
  std::size_t size = 0;
  constexpr std::string_view kEnd = "\"}\n";
  const auto put = [&](std::string_view text) {
    size += text.copy(line.data() + size, line.size() - kEnd.size() - size);
  };
  const auto put_number = [&](int number) {
    std::array<char, 12> digits{};
    std::size_t at = digits.size();
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    put({digits.data() + at, digits.size() - at});
  };
  if (log_format == LogFormat::kText) {
    if (status_drawn) put(kWipe);
    put("gpusort: ");
    put(message);
    put("\n");
  } else {
    put(R"({"ts":")");
    put(UtcNow().data());
    put(R"(","level":"error","event":"failed","exit_code":)");
    put_number(exit_code);
    if (signal != 0) {
      put(R"(,"signal":"SIG)");
      if (const char* const name = ::sigabbrev_np(signal)) {
        put(name);
      } else {
        put("RTMIN+");
        put_number(signal - SIGRTMIN);
      }
      if (message != nullptr) put("\"");
    }
    if (message != nullptr) {
      put(R"(,"message":")");
      for (const char* c = message; *c != 0; ++c) {
        const char shown = *c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c;
        put({&shown, 1});
      }
    }
    size += kEnd.copy(line.data() + size, kEnd.size());
  }
  WriteAll(STDERR_FILENO, {line.data(), size});
}

std::size_t StatusColumns() noexcept {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  // One column stays free: some terminals wrap when the last one is written.
  return known ? size.ws_col - 1 : 79;
}

void ShowStatusLine(const std::string& line) noexcept {
  NeverThrow([&] { State().screen.Show(line); });
}
void ClearStatusLine() noexcept {
  NeverThrow([] { State().screen.Clear(); });
}
void PrintStatusLine(const std::string& line, const LogFields& fields) noexcept {
  NeverThrow([&] {
    const bool json = log_format == LogFormat::kJson;
    State().screen.PrintIfWritable(json ? JsonLine(LogEvent::kProgress, LogLevel::kInfo, line, fields) : line);
  });
}

}  // namespace gpusort
