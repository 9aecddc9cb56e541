// What gpusort says: log lines on standard error and in a log file, and the one status line that progress shows.
// All writing to standard error goes through here under one lock, so a log line never tears the status line: it wipes
// it, prints itself and draws it again. In the JSON format each line is an object, for programs: the manual page has
// its events and fields. Nothing here throws, except InitLog. Start at InitLog; before it, warnings and errors go to
// standard error as text.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gpusort {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogEvent { kStarted, kPlan, kPhase, kProgress, kNote, kFailed, kDone };

/// A member of a line in the JSON format. Texts are escaped by EncodeName.
struct LogField {
  const char* name;
  std::variant<std::uint64_t, double, std::string, std::vector<std::string>> value;
};
using LogFields = std::vector<LogField>;

/// Call once, before other threads log. `level` (trace, debug, info, warn, error, off) is the least that standard error
/// shows. `file`, if not empty, is appended to, with UTC times: all from info on, or from `level` if that is lower.
/// Throws Error(kUsage) if the file cannot be opened.
void InitLog(const std::string& level, const std::string& file, LogFormat format = LogFormat::kText);
LogFormat CurrentLogFormat() noexcept;

/// One line each, whatever `message` holds: it is escaped by EscapeName (which leaves escaped names as they are). In
/// the JSON format they are notes.
void LogDebug(const std::string& message) noexcept;
void LogInfo(const std::string& message) noexcept;
void LogWarn(const std::string& message) noexcept;
void LogError(const std::string& message) noexcept;
/// The same, and on standard error also where memory for it is refused.
void LogError(const char* message) noexcept;
/// Only in the text format: what an event says in the other one. False if memory was refused.
bool LogText(LogLevel level, const std::string& message) noexcept;
/// While one lives, nothing of the above and below is logged: what is done is no part of the job.
class QuietLog {
 public:
  QuietLog() noexcept;
  ~QuietLog();
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

/// Only in the JSON format. An empty message is left out. False if memory was refused.
bool Log(LogEvent event, LogLevel level, const std::string& message, const LogFields& fields) noexcept;
/// At any level, and in text without one: "gpusort: doubt".
void SayDoubt(const std::string& doubt) noexcept;
/// "SIGTERM", "SIGRTMIN+3".
std::string SignalName(int signal);
/// Before the process ends, in a signal handler or where memory is refused: the event that it failed, by a signal or 0;
/// in text `message`, if there is one.
void SayFailed(int signal, int exit_code, const char* message) noexcept;

/// How long a status line may be now: the terminal's width, asked anew each time, less one column.
std::size_t StatusColumns() noexcept;
/// Draws `line` (printable ASCII) in place of the last one, cut to StatusColumns. Skipped if the terminal does
/// not take output now (it may be stopped by Ctrl-S, and nobody may wait for it).
void ShowStatusLine(const std::string& line) noexcept;
void ClearStatusLine() noexcept;
/// `line` and a newline, unless the reader of standard error is stuck. In the JSON format the event, with `fields`.
void PrintStatusLine(const std::string& line, const LogFields& fields) noexcept;

}  // namespace gpusort
