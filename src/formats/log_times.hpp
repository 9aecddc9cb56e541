// Finds the times in the lines of logs. The format of each input is learnt from its first lines: the form of its times,
// and the place in a line where they stand. Start at LearnLog.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_record.hpp"
#include "formats/record_format.hpp"
#include "formats/time_text.hpp"

namespace gpusort {

/// A form of times, and the place in a line where a time of this form stands.
struct LogShape {
  std::string name;     ///< the form of the time, for people: "syslog"
  std::string format;   ///< the form of the time, for TakeTime(); empty if the lines are JSON
  std::string member;   ///< the path of the member that holds the time, if the lines are JSON
  unsigned token = 0;   ///< the number of words, with blanks between them, before the time
  std::string lead;     ///< the bytes before the time in its word: "[", "time="
  bool floats = false;  ///< more words may come before the time than `token` says
};

/// The forms of the times of one input, as its first lines show them.
struct LogTimes {
  std::vector<LogShape> shapes;  ///< more than one if the input is a mixture, such as logs that were merged
  std::int64_t latest = 0;       ///< no time of the input is later: seconds since 1970, in local time
  std::uint64_t looked = 0;      ///< the number of lines that were looked at, without those that begin with a blank
  std::uint64_t matched = 0;     ///< how many of these lines have a time
};

/// The forms of times that the user allows.
struct LogForms {
  std::vector<std::string> times{};  ///< forms of CheckedTimeFormat(); empty: all known forms
  bool dated = false;                ///< the user gives the date, so times of day without a date can be used
};

/// Learns the forms of the times in `front`, the first bytes of an input. `latest` is LogTimes::latest. Throws
/// BadRecord if too few lines have a time, or if the time is ambiguous. Half of the lines are enough, or one in ten if
/// the first line begins with a time. With LogForms::times, a single line is enough.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Returns what LearnLog() found as text, for another process. The text holds any bytes.
std::string SaveLog(const LogTimes& log);
/// Returns the object that SaveLog() was called with. Throws Error(kIntegrity) for any other text.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The time of a line that begins a record.
struct LogTime {
  /// The time, as local time if `lacks_zone` is true. No value: the line is JSON and lacks the member, or the member is
  /// no time.
  std::optional<Instant> instant;
  bool lacks_zone = false;         ///< the text names no zone
  bool lacks_year = false;         ///< the text names no year
  bool lacks_date = false;         ///< the text is a time of day: `instant` is that of 1970-01-01
};

/// Reads the times of lines. One thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if the line begins a record.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line) != Found::kNothing; }
  /// Returns the time of a line that begins a record. The fraction of the instant lies in the line or in this object.
  LogTime Read(const LogTimes& log, std::string_view line);

 private:
  enum class Found : std::uint8_t { kNothing, kTime, kJson };

  /// Looks for a time in the line and keeps it in time_.
  Found Find(const LogTimes& log, std::string_view line);
  std::optional<Instant> ReadMember(const std::string& member, std::string_view line);

  std::string member_;  ///< the path that `parser_` finds
  std::optional<JsonRecords> parser_;
  LogTime time_;
  // The front of the last line in which Find() found a time, up to some bytes after the time. Every line with this
  // front has the same time. The line that shows the end of a record is therefore not parsed again as the first line
  // of the next record.
  std::string front_;
  bool whole_ = false;  ///< front_ is the whole line
  std::size_t fraction_at_ = 0;
  const LogTimes* of_ = nullptr;
};

}  // namespace gpusort
