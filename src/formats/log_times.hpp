// Finds the timestamps in the lines of logs. The first lines of each input show how its timestamps are written (their
// format), and where in a line they are. Start at LearnLog.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/json_record.hpp"
#include "formats/quick_time.hpp"
#include "formats/record_format.hpp"
#include "formats/time_pattern.hpp"
#include "formats/time_text.hpp"
#include "formats/zone.hpp"

namespace gpusort {

/// How the timestamps of a log are written (their format), and where in a line they are.
struct TimeShape {
  enum Kind : std::uint8_t {
    kKnown,  ///< the format is one of KnownForms(); `format` is for TakeLogTime()
    kGiven,  ///< the user gave the format (--time); `format` is for TakeTime()
    kJson,   ///< the lines are JSON objects, and the timestamp is one of their members
    kParts,  ///< the named groups of the regular expression `pattern` are the parts of the timestamp
  };
  enum Place : std::uint8_t {
    kWord,    ///< the timestamp comes after `count` words, which blanks separate, and the string `lead`
    kColumn,  ///< the timestamp comes after `count` separators (see `separator`) and the string `lead`
    kLabel,   ///< the line begins with the string `lead`, and then the timestamp
    /// The timestamp comes after the string `lead`, anywhere in the line. If `lead` occurs several times, the first
    /// `lead` with a timestamp directly after it counts. Empty `lead`: the timestamp is the first word that can be a
    /// timestamp.
    kAnywhere,
  };
  std::string name;  ///< the name of the format in messages: "syslog"
  Kind kind = kKnown;
  std::string format;  ///< the format of the timestamp, see Kind; for JSON, empty: ParseInstant() reads the timestamp
  std::string member;  ///< for JSON: the path to the member that is the timestamp
  Place place = kWord;
  unsigned count = 0;
  char separator = '\0';
  std::string lead;
  /// The regular expression that finds the timestamp in a line (--time-regex), or empty. If `kind` is kParts, the named
  /// groups of the expression are the parts of the timestamp, such as the year. Otherwise the first group is a piece of
  /// the line, and `place` says where the timestamp is in this piece.
  std::string pattern;
  bool indented = false;  ///< true: lines with a timestamp may begin with a blank
  /// The offset where the first word of an indented line must end: 5 for " INFO". 0: any offset.
  unsigned margin = 0;
  bool utc = false;  ///< true: a timestamp without a zone is in UTC

  friend bool operator==(const TimeShape&, const TimeShape&) = default;
};

std::uint64_t NewLogId();

/// How the timestamps in one input are written, and where in a line they are. The first lines of the input show this.
struct LogTimes {
  /// A number that identifies the log. It is never 0, and never used for another log in this process.
  std::uint64_t id = NewLogId();
  /// The string with which each record begins, such as "commit " in the output of git log. '%' stands for one or more
  /// letters or digits. The timestamp can be in a later line of the record. Empty: each line with a timestamp begins a
  /// record.
  std::string start{};
  /// The string at the beginning of the last line of each record. '%' stands for letters or digits. Empty: unknown.
  std::string end{};
  std::vector<TimeShape> shapes;  ///< the formats; several if the input is a mixture, such as merged logs
  /// The latest timestamp that a line can have, in seconds since 1970-01-01 00:00:00 local time (see InstantOf).
  std::int64_t latest = 0;
  std::uint64_t looked = 0;   ///< the number of lines that were examined, without lines that begin with a blank
  std::uint64_t matched = 0;  ///< the number of examined lines that have a timestamp
  /// Warnings for the user. The value of each is a line of the log that shows the problem, or empty.
  std::map<std::string, std::string> notes;
};

/// Returns the message of a warning about a log. `note` is an element of LogTimes::notes.
std::string NoteText(const std::pair<const std::string, std::string>& note);

/// Returns true if `line` begins with `start`, which is LogTimes::start or LogTimes::end. A byte order mark may come
/// before it.
bool BeginsWithStart(std::string_view start, std::string_view line);

/// The options that the user gave about the timestamps of logs.
struct LogForms {
  /// The formats that --time gives, as CheckedTimeFormat() returns them. Empty: all known formats of timestamps can
  /// occur.
  std::vector<std::string> times{};
  /// The regular expressions that --time-regex gives. Empty: LearnLog() finds out where in a line the timestamp is.
  std::vector<std::string> patterns{};
  bool starts = true;  ///< false (with --multiline): LogTimes::start stays empty
  bool prose = false;  ///< true (with --multiline): most lines can be text that continues the records
  bool dated = false;  ///< true: the user gives the date (--date), so timestamps without a date can be used
};

/// Determines how timestamps are written in `front`, the first bytes of an input. `allowed` is the options of the user.
/// `latest` is the latest timestamp that a line can have (LogTimes::latest). Throws BadRecord if too few lines have a
/// timestamp, or if the timestamps are ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Reads the timestamp of `line` at the place that `shape` gives. `line` must not include its newline. Returns the end
/// of the timestamp in the line, or null if there is no timestamp at that place. Must not be called for shapes of JSON
/// lines or for shapes with a regular expression.
const char* TakeShape(const TimeShape& shape, std::string_view line, TimeParts& parts);

/// The kinds of lines that look like the beginning of a record, but are not.
enum class LookAlike : std::uint8_t {
  kNone,        ///< the line does not look like the beginning of a record
  kImpossible,  ///< the line has a timestamp that does not exist, such as February 30 or 25:00:00, at the usual place
  kOtherForm,   ///< the line begins with a timestamp in another format than those of this log
};
/// Returns why `line`, which begins no record, looks like the beginning of a record, or kNone if it does not.
LookAlike LookAlikeOf(const LogTimes& log, std::string_view line);

/// Skips everything before the first word of a log line, such as a byte order mark or the "<34>1 " of syslog.
void SkipFront(TextReader& reader);
/// Returns the JSON object in a line, {...}. Leaves out a byte order mark before it, and the brackets and commas of a
/// JSON array around it. Returns the whole line if it has no JSON object.
std::string_view JsonObjectOf(std::string_view line);
/// Skips escape sequences for the colours of a terminal.
void SkipColours(TextReader& reader);
/// Reads the timestamp at the beginning of `reader`, and moves `reader` to its end. Returns false if there is no
/// timestamp.
/// - `kind`: kGiven if the user gave the format (--time), otherwise kKnown
/// - `format`: the format of the timestamp, as in TimeShape::format
bool TakeWholeTime(TimeShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts);
/// The largest number of words before the timestamp of a line. Later words are not searched for a timestamp, because
/// this would take too long for long lines.
inline constexpr unsigned kMostWords = 18;
/// Returns the point in time that `parts` describe, or std::nullopt if there is no such timestamp. A timestamp without
/// a year gets the last year in which it is not after `latest`.
std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest);

/// Returns `log` as a string of any bytes. LoadLog() can make the object again from this string, also in another
/// process.
std::string SaveLog(const LogTimes& log);
/// Makes the object again from `saved`, which SaveLog() has returned. Throws Error(kIntegrity) if `saved` is no such
/// string.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The timestamp that was read from a line that begins a record.
struct LogTime {
  /// The timestamp, in local time if `lacks_zone` is true, otherwise in UTC. No value: the line is a JSON object, and
  /// its member for the timestamp is missing or is not a timestamp.
  std::optional<Instant> instant;
  bool lacks_zone = false;  ///< true: the timestamp has no time zone
  std::int64_t east = 0;    ///< local time minus UTC in seconds, if the timestamp gives an offset such as +0100
  bool lacks_year = false;  ///< true: the timestamp has no year
  bool lacks_date = false;  ///< true: the timestamp is only a time of day; `instant` is this time on 1970-01-01
};

/// Finds and reads the timestamps in the lines of logs. Only one thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if `line` begins a record because it has a timestamp. If all lines of the log are JSON, any JSON
  /// object begins a record.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line, false, ignored_); }
  /// Returns true if `line` begins a record, and stores the timestamp of the line in `time`.
  /// - The bytes of time.instant->fraction are valid until the next call, and only while `line` is valid.
  /// - If the result is false, `time` is undefined.
  bool Take(const LogTimes& log, std::string_view line, LogTime& time) { return Find(log, line, true, time); }
  LogTime Read(const LogTimes& log, std::string_view line) {
    LogTime time;
    return Take(log, line, time) ? time : LogTime{};
  }

 private:
  /// Returns true if `line` begins a record (see Begins). Sets `time` to the timestamp in the line. If `needs` is
  /// false, the caller must not use `time`, and the function may be faster.
  bool Find(const LogTimes& log, std::string_view line, bool needs, LogTime& time);
  /// Prepares this reader for the lines of `log`. Must be called before the first line of another log is read.
  void Prepare(const LogTimes& log);
  bool FindMember(const LogTimes& log, std::string_view line, LogTime& time);
  bool FindPattern(const LogTimes& log, const TimeShape& shape, std::string_view line, LogTime& time);
  bool FindAt(const LogTimes& log, const TimeShape& shape, std::string_view line, QuickTime& quick, LogTime& time);
  /// Reads the timestamp at the beginning of `text` with the fast reader `quick`. Returns false if `quick` cannot read
  /// the timestamp. The caller must then try a slower function.
  static bool TakeQuick(const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Passes the date of a timestamp to the fast reader `quick`. The timestamp was just read as `parts`, and begins in
  /// the line at `begin`. Most of the next lines have the same date, so `quick` can read their timestamps.
  void KeepDate(const char* begin, const TimeParts& parts, QuickTime& quick) const;
  /// Reads `text`, the value of a JSON member, as a timestamp in one of the formats that ParseInstant() knows. Returns
  /// false if `text` is no such timestamp.
  static bool TakeIso(std::string_view text, QuickTime& quick, LogTime& time);
  /// Reads `text`, the value of a JSON member, as a timestamp in the format that `shape` gives. Returns false if `text`
  /// is no such timestamp.
  bool TakeMember(const LogTimes& log, const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Sets `time` to the point in time that `parts` describe. Returns false if there is no such timestamp, for example
  /// for February 30.
  bool Keep(const TimeParts& parts, const LogTimes& log, const TimeShape& shape, LogTime& time);
  void KeepInstant(Instant instant, LogTime& time);
  /// Sets the fraction of a second in `time`. `digits` is a number of nanoseconds: "5000" for 5 microseconds.
  void KeepNanoseconds(std::string_view digits, LogTime& time);
  std::optional<Instant> FindInstant(const TimeParts& parts, std::int64_t latest);

  /// A time zone that a line of the log names, and data that make the conversion of timestamps in this zone fast.
  struct NamedZone {
    explicit NamedZone(const std::string& name) : zone(name) {}
    const Zone zone;
    Zone::Span span;  ///< a range around the last timestamp in which the offset from UTC is constant
  };
  std::map<std::string, NamedZone, std::less<>> zones_;
  std::map<std::string, TimePattern> patterns_;
  std::uint64_t parsed_ = 0;  ///< the LogTimes::id of the log that `parser_` was made for; 0: none
  std::optional<JsonRecords> parser_;
  std::vector<JsonValue> values_;
  LogTime ignored_;
  std::string fraction_;
  /// The date of the last line that was read, and the first second of that day. They are stored because the next line
  /// usually has the same date.
  struct {
    unsigned year = 0, month = 0, day = 0;
    std::int64_t midnight = 0;  ///< seconds since 1970
    std::int64_t latest = 0;
  } date_;
  std::uint64_t prepared_ = 0;    ///< the LogTimes::id of the log of the last Prepare(); 0: none
  std::vector<QuickTime> quick_;  ///< one fast reader for each shape of this log
  bool all_json_ = false;         ///< true: all lines of this log are JSON
};

}  // namespace gpusort
