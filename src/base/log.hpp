// Writes log lines to standard error and to a log file, and the status line that shows progress on a terminal.
// - In the JSON format each log line is an object. The manual page lists the events and their fields.
// - Before InitLog is called, warnings and errors go to standard error as text.
// - Only InitLog throws. Start at InitLog.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gpusort {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogEvent { kStarted, kPlan, kPhase, kProgress, kNote, kFailed, kDone };

/// A member of a log line in JSON. Log() escapes the strings in `value` by EncodeName().
struct LogField {
  using Value = std::variant<std::uint64_t, double, std::string, std::vector<std::string>>;
  // clang 14 needs a constructor for emplace_back().
  LogField(const char* its_name, Value its_value) : name(its_name), value(std::move(its_value)) {}

  const char* name;
  Value value;
};
using LogFields = std::vector<LogField>;

/// Opens the log. Call this once, before other threads log. Standard error shows the messages of `level` (trace, debug,
/// info, warn, error or off) and of all more severe levels. If `file` is not empty, the file gets the same messages and
/// also all messages of level info and above, with times in UTC. Throws Error(kUsage) if the file cannot be opened.
void InitLog(const std::string& level, const std::string& file, LogFormat format = LogFormat::kText);
LogFormat CurrentLogFormat() noexcept;

/// Each of these functions logs `message` as one line, escaped by EscapeName(). A name in `message` that is already
/// escaped does not change. In the JSON format, the line is an event `note`.
void LogDebug(const std::string& message) noexcept;
void LogInfo(const std::string& message) noexcept;
void LogWarn(const std::string& message) noexcept;
void LogError(const std::string& message) noexcept;
/// Logs `message`. If the system refuses memory for the log line, writes the message directly to standard error.
void LogError(const char* message) noexcept;
/// Logs `message` in the text format. Does nothing in the JSON format, where the caller logs an event by Log() instead.
/// Returns false if the system refused memory.
bool LogText(LogLevel level, const std::string& message) noexcept;
/// While this object exists, no thread logs anything. Used while a sample of the input is sorted to estimate times.
class QuietLog {
 public:
  QuietLog() noexcept;
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

/// Logs an event in the JSON format, and does nothing in the text format. Returns false if the system refused memory.
bool Log(LogEvent event, LogLevel level, const std::string& message, const LogFields& fields) noexcept;
/// Prints a warning of the option --debug to standard error, at every log level. In the text format, the line begins
/// with "gpusort: ".
void SayDoubt(const std::string& doubt) noexcept;
/// Returns the name of a signal, such as "SIGTERM" or "SIGRTMIN+3".
std::string SignalName(int signal);
/// Logs the event `failed` just before the process ends. In the text format, prints only `message`, or nothing if
/// `message` is null. `signal` is the signal that ends the process, or 0. Signal handlers may call this.
void SayFailed(int signal, int exit_code, const char* message) noexcept;

/// Returns how many characters the status line may have: the width of the terminal minus 1, or 79 if the width is
/// unknown. The last column stays free, because some terminals would begin a new line.
std::size_t StatusColumns() noexcept;
/// Replaces the status line on the terminal by the first StatusColumns() characters of `line`, which must be printable
/// ASCII. Does nothing while the terminal accepts no output, for example after Ctrl-S, so that the job never waits for
/// the terminal.
void ShowStatusLine(const std::string& line) noexcept;
void ClearStatusLine() noexcept;
/// Prints `line`, or in the JSON format the event `progress` with `fields`. Does nothing if printing would block.
void PrintStatusLine(const std::string& line, const LogFields& fields) noexcept;

}  // namespace gpusort
