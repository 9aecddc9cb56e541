// What gpusort says: log lines on standard error and in a log file, and the one status line that progress shows.
// All writing to standard error goes through here under one lock, so a log line never tears the status line: it wipes
// it, prints itself and draws it again. Nothing here throws, except InitLog. Start at InitLog; before it, warnings and
// errors go to standard error.
#pragma once

#include <string>

namespace gpusort {

/// Call once, before other threads log. `level` (trace, debug, info, warn, error, off) is the least that standard error
/// shows. `file`, if not empty, is appended to, with UTC times: all from info on, or from `level` if that is lower.
/// Throws Error(kUsage) if the file cannot be opened.
void InitLog(const std::string& level, const std::string& file);

/// One line each, whatever `message` holds: it is escaped by EscapeName (which leaves escaped names as they are).
void LogDebug(const std::string& message) noexcept;
void LogInfo(const std::string& message) noexcept;
void LogWarn(const std::string& message) noexcept;
void LogError(const std::string& message) noexcept;

/// Draws `line` (printable ASCII) in place of the last one, cut to the terminal's width. Skipped if the terminal does
/// not take output now (it may be stopped by Ctrl-S, and nobody may wait for it).
void ShowStatusLine(const std::string& line) noexcept;
void ClearStatusLine() noexcept;
/// Where standard error is no terminal: `line` and a newline, unless the reader of standard error is stuck.
void PrintStatusLine(const std::string& line) noexcept;

}  // namespace gpusort
