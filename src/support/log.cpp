#include "support/log.hpp"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>

#include "error.hpp"
#include "support/report_file.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

/// Or as much as the file takes: there is nowhere to report a log that cannot be written.
void WriteAll(int fd, std::string_view text) noexcept { WriteReport(fd, text); }

/// Standard error, shared by log lines and the status line.
class ErrorScreen {
 public:
  void Print(std::string_view text) {
    const std::lock_guard lock(mutex_);
    std::string out(drawn_ ? kWipe : "");
    out += text;
    if (drawn_) out += status_;
    WriteAll(STDERR_FILENO, out);
  }

  void Show(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!Writable()) return;
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    // One column stays free: some terminals wrap when the last one is written.
    status_ = line.substr(0, known ? size.ws_col - 1 : 79);
    drawn_ = true;
    WriteAll(STDERR_FILENO, std::string(kWipe) + status_);
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    if (!drawn_) return;
    drawn_ = false;
    if (Writable()) WriteAll(STDERR_FILENO, kWipe);
  }

  void PrintIfWritable(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (Writable()) WriteAll(STDERR_FILENO, line + "\n");
  }

 private:
  static bool Writable() {
    pollfd waiting{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLOUT) != 0;
  }

  static constexpr std::string_view kWipe = "\r\x1b[K";
  std::mutex mutex_;
  std::string status_;
  bool drawn_ = false;
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

/// Each line is one write of an O_APPEND file: nothing is lost if the process is killed. spdlog's own file sink would
/// make missing directories and try again for 50 ms.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& path) : fd_(OpenReport(path, true)) {
    if (fd_ < 0) {
      throw Error(ErrorCode::kUsage,
                  "--log-file: cannot open '" + EscapeName(path) + "': " + std::generic_category().message(errno));
    }
  }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override { ::close(fd_); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    WriteAll(fd_, {line.data(), line.size()});
  }
  void flush_() override {}

  const int fd_;
};

/// Never destroyed, so that threads and destructors may log until the end.
struct LogState {
  ErrorScreen screen;
  std::unique_ptr<spdlog::logger> logger;

  LogState() { Open("warn", ""); }

  void Open(const std::string& level_name, const std::string& file) {
    const spdlog::level::level_enum level = spdlog::level::from_str(level_name);
    auto error_sink = std::make_shared<ErrorSink>(screen);
    error_sink->set_level(level);
    error_sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("gpusort: %l: %v"));
    auto fresh = std::make_unique<spdlog::logger>("gpusort", std::move(error_sink));
    fresh->set_level(level);
    fresh->set_error_handler([](const std::string&) {});
    if (!file.empty()) {
      const spdlog::level::level_enum file_level = std::min(level, spdlog::level::info);
      auto file_sink = std::make_shared<FileSink>(file);
      file_sink->set_level(file_level);
      file_sink->set_formatter(
          std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l: %v", spdlog::pattern_time_type::utc));
      fresh->sinks().push_back(std::move(file_sink));
      fresh->set_level(file_level);
    }
    logger = std::move(fresh);
  }
};

LogState& State() {
  static LogState* const state = new LogState;
  return *state;
}

/// Out of memory, say: what is being reported matters more than the report.
template <typename Action>
void NeverThrow(Action action) noexcept {
  try {
    action();
  } catch (...) {
  }
}

void Log(spdlog::level::level_enum level, const std::string& message) noexcept {
  NeverThrow([&] {
    spdlog::logger& logger = *State().logger;
    if (logger.should_log(level)) logger.log(level, spdlog::string_view_t(EscapeName(message)));
  });
}

}  // namespace

void InitLog(const std::string& level, const std::string& file) { State().Open(level, file); }

void LogDebug(const std::string& message) noexcept { Log(spdlog::level::debug, message); }
void LogInfo(const std::string& message) noexcept { Log(spdlog::level::info, message); }
void LogWarn(const std::string& message) noexcept { Log(spdlog::level::warn, message); }
void LogError(const std::string& message) noexcept { Log(spdlog::level::err, message); }

void ShowStatusLine(const std::string& line) noexcept {
  NeverThrow([&] { State().screen.Show(line); });
}
void ClearStatusLine() noexcept {
  NeverThrow([] { State().screen.Clear(); });
}
void PrintStatusLine(const std::string& line) noexcept {
  NeverThrow([&] { State().screen.PrintIfWritable(line); });
}

}  // namespace gpusort
