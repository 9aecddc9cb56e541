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
#include "formats/quick_time.hpp"
#include "formats/record_format.hpp"
#include "formats/time_pattern.hpp"
#include "formats/time_text.hpp"
#include "formats/zone.hpp"

namespace gpusort {

/// A form of times, and the place of the time in each line: all that is needed to find and read the times of a log.
struct LogShape {
  enum Kind : std::uint8_t {
    kKnown,  ///< the form is one of KnownForms(); `format` is for TakeLogTime()
    kGiven,  ///< the user gave the form (--time); `format` is for TakeTime()
    kJson,   ///< the lines are JSON, and the time is one of their members
    kParts,  ///< the named groups of the regular expression `pattern` are the parts of the time
  };
  enum Place : std::uint8_t {
    kWord,    ///< the time follows `count` words, which end with blanks, and the text `lead`
    kColumn,  ///< the time follows the byte `separator`, which occurs `count` times, and the text `lead`
    kLabel,   ///< the time follows the text `lead` at the beginning of the line
    /// The time follows the first text `lead` that has a time after it. Empty `lead`: the time begins the first word
    /// that can be a time.
    kAnywhere,
  };
  std::string name;  ///< the name of the form in messages: "syslog"
  Kind kind = kKnown;
  std::string format;  ///< the format of the time, as `kind` says; for JSON, empty: a text that ParseInstant() reads
  std::string member;  ///< for JSON: the path of the member that holds the time
  Place place = kWord;
  unsigned count = 0;
  char separator = '\0';
  std::string lead;
  /// A regular expression for TimePattern, or empty. If `kind` is kParts, its named groups are the parts of the time.
  /// Otherwise its first group is the text in which `place` tells the place of the time. Without an expression, that
  /// text is the whole line.
  std::string pattern;
  bool indented = false;  ///< true: lines with a time may begin with a blank
  bool utc = false;       ///< true: a time without a zone is in UTC

  friend bool operator==(const LogShape&, const LogShape&) = default;
};

std::uint64_t NewLogId();

/// The forms of the times in one input, learnt from its first lines.
struct LogTimes {
  /// A number that no other LogTimes of this process has or had. Never 0.
  std::uint64_t id = NewLogId();
  /// If it is not empty, records begin with the lines that begin with this text, and the time of a record is in its
  /// first line that has one. Otherwise the lines with a time begin records.
  std::string start{};
  std::vector<LogShape> shapes;  ///< the forms; several if the input is a mixture, such as merged logs
  /// The latest time that a line can have: seconds since 1970, in local time; used to find missing years.
  std::int64_t latest = 0;
  std::uint64_t looked = 0;   ///< the number of lines that were examined, without lines that begin with a blank
  std::uint64_t matched = 0;  ///< the number of examined lines that have a time
  std::string note;           ///< how the order of day and month was found out; empty: the form of the times shows it
};

/// The options of the user about the times of logs.
struct LogForms {
  /// The formats of --time, as CheckedTimeFormat() returns them; empty: all known forms are tried.
  std::vector<std::string> times{};
  /// The regular expressions of --time-regex, for TimePattern; empty: the place of the time in a line is found.
  std::vector<std::string> patterns{};
  bool starts = true;  ///< false: LogTimes::start must stay empty
  bool dated = false;  ///< true: the user gives the date (--date), so that times without a date can be used
};

/// Finds out how times are written in `front`, the first bytes of an input. `latest` is LogTimes::latest. Throws
/// BadRecord if too few lines have a time, or if a time could be read in two ways. Half of the lines must have a time,
/// or one in ten if the first line has one. With LogForms::times or LogForms::patterns, a single line is enough.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Reads the time of `line`, which is without its newline, at the place that `shape` tells. Returns the end of the time
/// in the line, or null if there is no time at that place. `shape` must be neither JSON nor have a regular expression.
const char* TakeShape(const LogShape& shape, std::string_view line, TimeParts& parts);

/// The reason why a line without a usable time looks as if it began a record.
enum class LookAlike : std::uint8_t {
  kNone,        ///< the line does not look like the beginning of a record
  kImpossible,  ///< the line has a time that does not exist, such as February 30 or 25:00:00, at the usual place
  kOtherForm,   ///< the line begins with a time of another form than the times of this log
};
/// Returns whether `line`, which begins no record, looks as if it did, and why.
LookAlike LookAlikeOf(const LogTimes& log, std::string_view line);

/// Skips the beginning of a log line: a byte order mark, escape sequences of terminal colours, and the priority of
/// syslog ("<34>") with its version ("1 "). Each of them may be missing.
void SkipFront(TextReader& reader);
/// Returns the JSON object in a line: the line without a byte order mark, and without the brackets and commas of an
/// array around the object. Returns a line without such an object as it is.
std::string_view JsonObjectOf(std::string_view line);
/// Skips escape sequences that set terminal colours.
void SkipColours(TextReader& reader);
/// Reads a time at the front of `reader` and moves `reader` after it. Returns false if there is no time, or if it is
/// part of a longer number or word. `kind` is kKnown or kGiven, and `format` is as for that kind.
bool TakeWholeTime(LogShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts);
/// The greatest number of words that may stand before the time of a line.
inline constexpr unsigned kMostWords = 16;
/// Returns the point in time that `parts` describe, or std::nullopt if it does not exist. If they have no year, takes
/// the last year in which the time is not after `latest`.
std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest);

/// Returns the object `log` as text, for another process. The text can contain any bytes.
std::string SaveLog(const LogTimes& log);
/// Returns the object that SaveLog() turned into the text `saved`. Throws Error(kIntegrity) if `saved` is no such text.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The time that was read from a line that begins a record.
struct LogTime {
  /// The time: local time if `lacks_zone` is true, otherwise UTC. No value: the line is JSON, and it has no member for
  /// the time or no time in that member.
  std::optional<Instant> instant;
  bool lacks_zone = false;  ///< true: the text has no time zone
  std::int64_t east = 0;    ///< local time minus UTC in seconds, if the text gives an offset such as +0100
  bool lacks_year = false;  ///< true: the text has no year
  bool lacks_date = false;  ///< true: the text is only a time of day; `instant` is that time on 1970-01-01
};

/// Finds and reads the times of lines. One thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if the line begins a record.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line, false, ignored_); }
  /// Returns true if the line begins a record, and sets `time` to its time. The digits of the fraction lie in the line
  /// or in this object. If it returns false, `time` is undefined.
  bool Take(const LogTimes& log, std::string_view line, LogTime& time) { return Find(log, line, true, time); }
  LogTime Read(const LogTimes& log, std::string_view line) {
    LogTime time;
    return Take(log, line, time) ? time : LogTime{};
  }

 private:
  /// Returns true if the line has a time, and sets `time` to this time. If `needs` is false, the caller does not use
  /// `time`, and lines of a log that is all JSON are not parsed.
  bool Find(const LogTimes& log, std::string_view line, bool needs, LogTime& time);
  /// Sets quick_ and all_json_ for the log `log`. Call this when the reader goes on to another log.
  void Prepare(const LogTimes& log);
  bool FindMember(const LogTimes& log, std::string_view line, LogTime& time);
  bool FindPattern(const LogTimes& log, const LogShape& shape, std::string_view line, LogTime& time);
  bool FindAt(const LogTimes& log, const LogShape& shape, std::string_view line, QuickTime& quick, LogTime& time);
  /// Reads the time at the front of `text` with `quick`. Returns false if QuickTime cannot read it; another function
  /// must then try.
  static bool TakeQuick(const LogShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Calls quick.KeepDate() for the date of a time that was just read. `begin` is the beginning of the time in the
  /// line.
  void KeepDate(const char* begin, const TimeParts& parts, QuickTime& quick) const;
  /// Reads the text of a JSON member as ParseInstant() does. Returns false if it is no time.
  static bool TakeIso(std::string_view text, QuickTime& quick, LogTime& time);
  /// Reads the text of a JSON member in the form that `shape` tells. Returns false if it is no time.
  bool TakeMember(const LogTimes& log, const LogShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Stores the point in time that `parts` describe in `time`. Returns false if it does not exist.
  bool Keep(const TimeParts& parts, const LogTimes& log, const LogShape& shape, LogTime& time);
  void KeepInstant(Instant instant, LogTime& time);
  std::optional<Instant> FindInstant(const TimeParts& parts, std::int64_t latest);

  /// A time zone that some line names, with data to convert times quickly.
  struct Place {
    explicit Place(const std::string& name) : zone(name) {}
    const Zone zone;
    Zone::Span span;  ///< the range around the last time in this zone, in which the distance to UTC is the same
  };
  std::map<std::string, Place, std::less<>> places_;
  std::map<std::string, TimePattern> patterns_;
  std::uint64_t parsed_ = 0;  ///< the LogTimes::id of the log for whose JSON members `parser_` was made; 0: none
  std::optional<JsonRecords> parser_;
  std::vector<JsonValue> values_;
  LogTime ignored_;
  std::string fraction_;
  /// The date of the last line and its first second. Most lines have the date of the line before.
  struct {
    unsigned year = 0, month = 0, day = 0;
    std::int64_t midnight = 0;  ///< seconds since 1970
    std::int64_t latest = 0;
  } date_;
  std::uint64_t prepared_ = 0;    ///< the LogTimes::id of the log that Prepare() was called with; 0: none
  std::vector<QuickTime> quick_;  ///< one fast reader for each shape of this log
  bool all_json_ = false;         ///< true: all lines of this log are JSON
};

}  // namespace gpusort
