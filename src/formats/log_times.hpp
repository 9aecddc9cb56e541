// Finds the times in the lines of logs. The format of each input is learnt from its first lines: the form of its times,
// and the place in a line where they stand. Start at LearnLog.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_record.hpp"
#include "formats/record_format.hpp"
#include "formats/time_pattern.hpp"
#include "formats/time_text.hpp"
#include "formats/zone.hpp"

namespace gpusort {

/// A form of times, and the place in a line where a time of this form stands.
struct LogShape {
  enum Kind : std::uint8_t {
    kKnown,  ///< `format` is for TakeLogTime()
    kGiven,  ///< `format` is for TakeTime()
    kJson,   ///< the lines are JSON
    kParts,  ///< the named groups of `pattern` are the parts of the time
  };
  enum Place : std::uint8_t {
    kWord,      ///< after `count` words with blanks between them, and `lead`
    kColumn,    ///< after `count` bytes `separator`, and `lead`
    kLabel,     ///< after `lead`, with which the line begins
    kAnywhere,  ///< after the first `lead` that has a time after it; if `lead` is empty, at the front of a word
  };
  std::string name;  ///< the form of the time, for people: "syslog"
  Kind kind = kKnown;
  std::string format;  ///< the form of the time; of a member: empty if ParseInstant() reads it
  std::string member;  ///< the path of the member that holds the time, if the lines are JSON
  Place place = kWord;
  unsigned count = 0;
  char separator = '\0';
  std::string lead;
  /// The regular expression that finds the time, for TimePattern. Unless `kind` is kParts, its first group is the text
  /// in which the time has its place. Empty: the line is that text.
  std::string pattern;
  bool indented = false;  ///< lines with a time may begin with a blank
  bool utc = false;       ///< times without a zone are in UTC

  friend bool operator==(const LogShape&, const LogShape&) = default;
};

std::uint64_t NewLogId();

/// The forms of the times of one input, as its first lines show them.
struct LogTimes {
  /// Differs from the ID of every other log that was learnt or loaded, also if that object is gone. Never 0.
  std::uint64_t id = NewLogId();
  std::vector<LogShape> shapes;  ///< more than one if the input is a mixture, such as logs that were merged
  std::int64_t latest = 0;       ///< no time of the input is later: seconds since 1970, in local time
  std::uint64_t looked = 0;      ///< the number of lines that were looked at, without those that begin with a blank
  std::uint64_t matched = 0;     ///< how many of these lines have a time
  std::string note;              ///< how the order of day and month is known; empty: the form says it
};

/// The forms of times that the user allows.
struct LogForms {
  std::vector<std::string> times{};  ///< forms of CheckedTimeFormat(); empty: all known forms
  std::vector<std::string> patterns{};  ///< regular expressions for TimePattern; empty: times have a fixed place
  bool dated = false;                ///< the user gives the date, so times of day without a date can be used
};

/// Learns the forms of the times in `front`, the first bytes of an input. `latest` is LogTimes::latest. Throws
/// BadRecord if too few lines have a time, or if the time is ambiguous. Half of the lines are enough, or one in ten if
/// the first line has a time. With LogForms::times or LogForms::patterns, a single line is enough.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Reads the time of a line, which ends without its newline. Returns the end of the time in the line, or null if there
/// is no time at the place of `shape`. `shape` must not be JSON, and must have no regular expression.
const char* TakeShape(const LogShape& shape, std::string_view line, TimeParts& parts);

/// A line that begins no record although it looks as if it did.
enum class LookAlike : std::uint8_t {
  kNone,        ///< the line does not look so
  kImpossible,  ///< the time at the place of the times does not exist: February 30, or 25:00:00
  kOtherForm,   ///< a time of another form stands at the front of the line
};
/// Looks at a line that begins no record.
LookAlike LookAlikeOf(const LogTimes& log, std::string_view line);

/// Skips a byte order mark, colours, and the priority of syslog ("<34>") with its version ("1 ").
void SkipFront(TextReader& reader);
/// Skips sequences that set colours.
void SkipColours(TextReader& reader);
/// Takes a time of a known or given form that is no part of a longer number or word.
bool TakeWholeTime(LogShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts);
/// The greatest number of words before a time.
inline constexpr unsigned kMostWords = 16;
/// Returns the instant of the parts. A year that they lack is the last one in which the instant is not after `latest`.
std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest);

/// Returns what LearnLog() found as text, for another process. The text holds any bytes.
std::string SaveLog(const LogTimes& log);
/// Returns the object that SaveLog() was called with. Throws Error(kIntegrity) for any other text.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The time of a line that begins a record.
struct LogTime {
  /// The time, as local time if `lacks_zone` is true. No value: the line is JSON and lacks the member, or the member is
  /// no time.
  std::optional<Instant> instant;
  bool lacks_zone = false;  ///< the text names no zone
  std::int64_t east = 0;    ///< local time minus UTC in seconds, if the text gives it as an offset
  bool lacks_year = false;  ///< the text names no year
  bool lacks_date = false;  ///< the text is a time of day: `instant` is that of 1970-01-01
};

/// Reads the times of lines. One thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if the line begins a record.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line, false); }
  /// Returns the time of a line that begins a record. The fraction of the instant lies in this object.
  LogTime Read(const LogTimes& log, std::string_view line);

 private:
  /// Returns true if the line has a time, and sets time_ to it. `needs` is false if the caller does not need the time.
  /// If all lines of the log are JSON, the line is not parsed then, and time_ has no instant.
  bool Find(const LogTimes& log, std::string_view line, bool needs);
  bool FindMember(const LogTimes& log, std::string_view line);
  bool FindPattern(const LogTimes& log, const LogShape& shape, std::string_view line);
  bool FindAt(const LogTimes& log, const LogShape& shape, std::string_view line);
  /// Keeps the time of the parts in time_. Returns false if they are no time.
  bool Keep(const TimeParts& parts, const LogTimes& log, const LogShape& shape);
  void KeepInstant(Instant instant);
  std::optional<Instant> FindInstant(const TimeParts& parts, std::int64_t latest);

  /// A zone that a line names.
  struct Place {
    explicit Place(const std::string& name) : zone(name) {}
    const Zone zone;
    Zone::Span span;  ///< of the last time in this zone
  };
  std::map<std::string, Place, std::less<>> places_;
  std::map<std::string, TimePattern> patterns_;
  std::uint64_t parsed_ = 0;  ///< the LogTimes::id of the log whose members `parser_` finds
  std::optional<JsonRecords> parser_;
  std::vector<JsonValue> values_;
  LogTime time_;
  std::string fraction_;
  /// The last date, because most lines have the date of the line before.
  struct {
    unsigned year = 0, month = 0, day = 0;
    std::int64_t midnight = 0;  ///< seconds since 1970
    std::int64_t latest = 0;
  } date_;
  // The front of the last line in which Find() found a time, up to some bytes after the time. Every line with this
  // front has the same time. The line that shows the end of a record is therefore not parsed again as the first line
  // of the next record.
  std::string front_;
  bool whole_ = false;  ///< front_ is the whole line
  std::uint64_t of_ = 0;  ///< the LogTimes::id of the log that front_ is from; 0: there is no such line
};

}  // namespace gpusort
