// Writes log lines to standard error and to a log file, and the status line that shows progress. Start at InitLog.
// All output to standard error goes through this file, under one lock. A log line wipes the status line, prints itself
// and draws the status line again. In the JSON format each line is an object; the manual page lists events and fields.
// The same calls write both formats, so that neither can lack a message. Only InitLog throws. Before InitLog, warnings
// and errors go to standard error as text.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gpusort {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogEvent { kStarted, kPlan, kPhase, kProgress, kNote, kFailed, kDone };

/// A member of an object in the JSON format. EncodeName escapes its texts, so that programs can restore the bytes.
struct LogField {
  const char* name;
  std::variant<std::uint64_t, double, std::string, std::vector<std::string>> value;
};
using LogFields = std::vector<LogField>;

/// Call this once, before other threads log. Standard error shows `level` (trace, debug, info, warn, error, off) and
/// above. If `file` is not empty, appends lines with UTC times to it: info and above, or `level` and above if that is
/// more. Throws Error(kUsage) if the file cannot be opened.
void InitLog(const std::string& level, const std::string& file, LogFormat format = LogFormat::kText);
LogFormat CurrentLogFormat() noexcept;

/// Each call logs one line: EscapeName escapes `message`, and leaves names in it that are escaped already. In the JSON
/// format the line is a note.
void LogDebug(const std::string& message) noexcept;
void LogInfo(const std::string& message) noexcept;
void LogWarn(const std::string& message) noexcept;
void LogError(const std::string& message) noexcept;
/// Logs to standard error also if memory for the line is refused.
void LogError(const char* message) noexcept;
/// Logs only in the text format, for a fact that is an event in the JSON format. Returns false if memory was refused.
bool LogText(LogLevel level, const std::string& message) noexcept;
/// Suppresses all logging for as long as the object lives, for work that is not a part of the job.
class QuietLog {
 public:
  QuietLog() noexcept;
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

/// Logs only in the JSON format. Leaves out an empty message. Returns false if memory was refused.
bool Log(LogEvent event, LogLevel level, const std::string& message, const LogFields& fields) noexcept;
/// Prints "gpusort: doubt" at any level. In the JSON format this is a warning.
void SayDoubt(const std::string& doubt) noexcept;
/// Returns a name such as "SIGTERM" or "SIGRTMIN+3".
std::string SignalName(int signal);
/// Writes the event `failed` before the process ends, without memory: call this in a signal handler, or if memory is
/// refused. A reader gets its last event even if a second signal or a fault ends the process. `signal` is 0 if there is
/// none. The text format prints `message` only, if it is not null.
void SayFailed(int signal, int exit_code, const char* message) noexcept;

/// Returns the longest status line that fits: the current width of the terminal less one column.
std::size_t StatusColumns() noexcept;
/// Replaces the status line by `line` (printable ASCII), cut to StatusColumns. Does nothing if the terminal does not
/// take output now: Ctrl-S may have stopped it, and the job must not wait for it.
void ShowStatusLine(const std::string& line) noexcept;
void ClearStatusLine() noexcept;
/// Prints `line` and a newline, or the event with `fields` in the JSON format. Does nothing if standard error does not
/// take output now.
void PrintStatusLine(const std::string& line, const LogFields& fields) noexcept;

}  // namespace gpusort
