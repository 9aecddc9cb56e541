#include "base/log.hpp"

#include <fmt/core.h>
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
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/report_file.hpp"
#include "base/text.hpp"
#include "io/system_calls.hpp"

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

/// Returns a text such as "2026-11-23T03:20:19.123Z". A signal handler may call this.
std::array<char, 25> UtcNow() noexcept {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  std::array<char, 25> text{};
  fmt::format_to_n(text.data(), text.size() - 1, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                   std::clamp(static_cast<int>(date.year()), 0, 9999), static_cast<unsigned>(date.month()),
                   static_cast<unsigned>(date.day()), time.hours().count(), time.minutes().count(),
                   time.seconds().count(), time.subseconds().count());
  return text;
}

/// Returns a log line as a JSON object, without a newline.
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

/// Writes to standard error, which log lines and the status line share. Ignores errors, because there is no other place
/// to report them.
class ErrorScreen final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void Print(std::string_view text) {
    const std::lock_guard lock(screen_mutex_);
    // Erases the status line and draws it again below `text`.
    if (status_drawn) {
      WriteReport(STDERR_FILENO, fmt::format("{}{}{}", kWipe, text, status_.substr(0, StatusColumns())));
    } else {
      WriteReport(STDERR_FILENO, text);  // takes no memory
    }
  }

  void Show(const std::string& line) {
    const std::lock_guard lock(screen_mutex_);
    if (!Writable()) return;
    status_ = line.substr(0, StatusColumns());
    status_drawn = true;
    WriteReport(STDERR_FILENO, fmt::format("{}{}", kWipe, status_));
  }

  void Clear() {
    const std::lock_guard lock(screen_mutex_);
    if (!status_drawn.exchange(false)) return;
    if (Writable()) WriteReport(STDERR_FILENO, kWipe);
  }

  void PrintIfWritable(const std::string& line) {
    {
      const std::lock_guard lock(screen_mutex_);
      if (!Writable()) return;
    }
    Print(line + "\n");
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    Print({line.data(), line.size()});
  }
  void flush_() override {}

  static bool Writable() {
    pollfd waiting{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLOUT) != 0;
  }

  std::mutex screen_mutex_;
  std::string status_;
};

/// Writes each line by one call to an O_APPEND file. A killed process therefore loses no line. spdlog's own file sink
/// is not used: it creates missing folders, and retries for 50 ms.
class LogFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogFileSink(const std::string& path) : fd_(RequireReport("--log-file", path, true)), path_(path) {}
  LogFileSink(const LogFileSink&) = delete;
  LogFileSink& operator=(const LogFileSink&) = delete;
  ~LogFileSink() override { ::close(fd_); }

  /// Returns a warning once, after the first line that could not be written. Otherwise returns "".
  std::string TakeWarning() {
    if (error_ == 0 || said_.exchange(true)) return "";
    return fmt::format("the log in {} (--log-file) is not complete: {}", EscapeName(path_), detail::ErrnoText(error_));
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

/// The loggers of this process. The object is never destroyed, so that threads and destructors can log until the
/// process ends.
struct Loggers {
  std::shared_ptr<ErrorScreen> screen = std::make_shared<ErrorScreen>();
  std::unique_ptr<spdlog::logger> logger;
  std::shared_ptr<LogFileSink> log_file;  ///< null if there is none

  Loggers() { Open("warn", "", LogFormat::kText); }

  void Open(const std::string& level_name, const std::string& file, LogFormat format) {
    const auto pattern = [format](const char* text) {
      return std::make_unique<spdlog::pattern_formatter>(format == LogFormat::kJson ? "%v" : text,
                                                         spdlog::pattern_time_type::utc);
    };
    const spdlog::level::level_enum level = spdlog::level::from_str(level_name);
    screen->set_level(level);
    screen->set_formatter(pattern("gpusort: %l: %v"));
    auto fresh = std::make_unique<spdlog::logger>("gpusort", screen);
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

Loggers& State() {
  static Loggers* const state = new Loggers;
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
  for (const char* part : {"gpusort: error: ", message, "\n"}) WriteReport(STDERR_FILENO, part);
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
    State().screen->Print(
        (json ? JsonLine(LogEvent::kNote, LogLevel::kWarning, doubt, {}) : "gpusort: " + EscapeName(doubt)) + "\n");
  });
}

std::string SignalName(int signal) {
  if (const char* const name = ::sigabbrev_np(signal)) return fmt::format("SIG{}", name);
  return fmt::format("SIGRTMIN+{}", signal - SIGRTMIN);
}

void SayFailed(int signal, int exit_code, const char* message) noexcept {
  std::array<char, 512> line;
  std::size_t size = 0;
  if (log_format == LogFormat::kText) {
    if (message == nullptr) return;
    size = fmt::format_to_n(line.data(), line.size(), "{}gpusort: {:.400}\n", status_drawn ? kWipe : "", message).size;
  } else {
    std::array<char, 40> by{};
    const char* const name = ::sigabbrev_np(signal);
    if (name != nullptr) {
      fmt::format_to_n(by.data(), by.size() - 1, R"(,"signal":"SIG{}")", name);
    } else if (signal != 0) {
      fmt::format_to_n(by.data(), by.size() - 1, R"(,"signal":"SIGRTMIN+{}")", signal - SIGRTMIN);
    }
    std::array<char, 350> text{};
    for (std::size_t i = 0; message != nullptr && message[i] != 0 && i + 1 < text.size(); ++i) {
      const char c = message[i];
      text[i] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
    }
    size = fmt::format_to_n(line.data(), line.size(),
                            R"({{"ts":"{}","level":"error","event":"failed","exit_code":{}{}{}{}{}}})"
                            "\n",
                            UtcNow().data(), exit_code, by.data(), message != nullptr ? R"(,"message":")" : "",
                            text.data(), message != nullptr ? "\"" : "")
               .size;
  }
  WriteReport(STDERR_FILENO, {line.data(), std::min(size, line.size())});
}

std::size_t StatusColumns() noexcept {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  // One column stays free, because some terminals wrap when the last column is written.
  return known ? size.ws_col - 1 : 79;
}

void ShowStatusLine(const std::string& line) noexcept {
  NeverThrow([&] { State().screen->Show(line); });
}
void ClearStatusLine() noexcept {
  NeverThrow([] { State().screen->Clear(); });
}
void PrintStatusLine(const std::string& line, const LogFields& fields) noexcept {
  NeverThrow([&] {
    const bool json = log_format == LogFormat::kJson;
    State().screen->PrintIfWritable(json ? JsonLine(LogEvent::kProgress, LogLevel::kInfo, line, fields) : line);
  });
}

}  // namespace gpusort
