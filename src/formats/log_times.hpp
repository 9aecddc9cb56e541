// Finds the times in the lines of logs. The first lines of each input show how its times are written (their form), and
// where in a line they are. Start at LearnLog.
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

/// How the times of a log are written (their form), and where in a line they are.
struct TimeShape {
  enum Kind : std::uint8_t {
    kKnown,  ///< the form is one of KnownForms(); `format` is for TakeLogTime()
    kGiven,  ///< the user gave the form (--time); `format` is for TakeTime()
    kJson,   ///< the lines are JSON objects, and the time is one of their members
    kParts,  ///< the named groups of the regular expression `pattern` are the parts of the time
  };
  enum Place : std::uint8_t {
    kWord,    ///< the time comes after `count` words, which blanks separate, and the text `lead`
    kColumn,  ///< the time comes after `count` separators (see `separator`) and the text `lead`
    kLabel,   ///< the line begins with the text `lead`, and then the time
    /// The time comes after the text `lead`, anywhere in the line. If the line has this text several times, the time
    /// comes after the first of these texts that is directly followed by a time. Empty `lead`: the time is the first
    /// word that can be a time.
    kAnywhere,
  };
  std::string name;  ///< the name of the form in messages: "syslog"
  Kind kind = kKnown;
  std::string format;  ///< the format of the time, see Kind; for JSON, empty: ParseInstant() reads the time
  std::string member;  ///< for JSON: the path to the member that is the time
  Place place = kWord;
  unsigned count = 0;
  char separator = '\0';
  std::string lead;
  /// The regular expression that finds the time in a line (--time-regex), or empty. If `kind` is kParts, the named
  /// groups of the expression are the parts of the time, such as the year. Otherwise the first group is a piece of the
  /// line, and `place` says where the time is in this piece.
  std::string pattern;
  bool indented = false;  ///< true: lines with a time may begin with a blank
  /// Only for indented lines: the offset in bytes where the first word must end if the line has a time. For example, it
  /// is 5 if " INFO" is aligned with "ERROR". 0: the word can end anywhere.
  unsigned margin = 0;
  bool utc = false;  ///< true: a time without a zone is in UTC

  friend bool operator==(const TimeShape&, const TimeShape&) = default;
};

std::uint64_t NewLogId();

/// How the times in one input are written, and where in a line they are. The first lines of the input show this.
struct LogTimes {
  /// A number that no other LogTimes in this process has or had, never 0. A LogTimeReader compares it to detect that it
  /// reads another log.
  std::uint64_t id = NewLogId();
  /// The text with which each record begins, such as "commit " in the output of git log. '%' stands for one or more
  /// letters or digits. The time can be in a later line of the record. Empty: each line with a time begins a record.
  std::string start{};
  /// The text at the beginning of the last line of each record, in the same letters as `start`. Empty: unknown.
  std::string end{};
  std::vector<TimeShape> shapes;  ///< the forms; several if the input is a mixture, such as merged logs
  /// The latest time that a line can have, in seconds since 1970-01-01 00:00:00 local time. For a time without a year,
  /// the latest year is assumed in which the time is not after `latest`.
  std::int64_t latest = 0;
  std::uint64_t looked = 0;   ///< the number of lines that were examined, without lines that begin with a blank
  std::uint64_t matched = 0;  ///< the number of examined lines that have a time
  /// Warnings for the user, such as how the order of day and month was determined. The second text of each is a line
  /// that shows it, or empty.
  std::map<std::string, std::string> notes;
};

/// Returns one of LogTimes::notes as a text.
std::string NoteText(const std::pair<const std::string, std::string>& note);

/// Returns true if `line` begins with `start`, which is LogTimes::start or LogTimes::end. A byte order mark may come
/// before it.
bool BeginsWithStart(std::string_view start, std::string_view line);

/// The options that the user gave about the times of logs.
struct LogForms {
  /// The formats that --time gives, as CheckedTimeFormat() returns them. Empty: all known forms of times can occur.
  std::vector<std::string> times{};
  /// The regular expressions that --time-regex gives. Empty: LearnLog() finds out where in a line the time is.
  std::vector<std::string> patterns{};
  bool starts = true;  ///< false (with --multiline): LogTimes::start stays empty
  bool dated = false;  ///< true: the user gives the date (--date), so times without a date can be used
};

/// Determines how times are written in `front`, the first bytes of an input. `allowed` is the options of the user.
/// `latest` is the latest time that a line can have (LogTimes::latest). Throws BadRecord if too few lines have a time,
/// or if the times are ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Reads the time of `line` at the place that `shape` gives. `line` must not include its newline. Returns the end of
/// the time in the line, or null if there is no time at that place. Must not be called for shapes of JSON lines or for
/// shapes with a regular expression.
const char* TakeShape(const TimeShape& shape, std::string_view line, TimeParts& parts);

/// Why a line that begins no record looks like the beginning of a record: it has something like a time where times are
/// expected. A warning at the end of the job tells of such lines.
enum class LookAlike : std::uint8_t {
  kNone,        ///< the line does not look like the beginning of a record
  kImpossible,  ///< the line has a time that does not exist, such as February 30 or 25:00:00, at the usual place
  kOtherForm,   ///< the line begins with a time of another form than the times of this log
};
/// Returns why `line`, which begins no record, looks like the beginning of a record, or kNone if it does not.
LookAlike LookAlikeOf(const LogTimes& log, std::string_view line);

/// Skips everything before the first word of a log line: a byte order mark, escape sequences for the colours of a
/// terminal, and the priority of syslog ("<34>") with its version ("1 "). All of these are optional.
void SkipFront(TextReader& reader);
/// Returns the JSON object in a line, {...}. Leaves out a byte order mark before it, and the brackets and commas of a
/// JSON array around it. Returns the whole line if it has no JSON object.
std::string_view JsonObjectOf(std::string_view line);
/// Skips escape sequences for the colours of a terminal.
void SkipColours(TextReader& reader);
/// Reads the time at the beginning of `reader`, and moves `reader` to the end of the time. Returns false if there is no
/// time, or if the time is part of a longer number or word. `kind` is kKnown for a form that gpusort knows, or kGiven
/// for a form that the user gave (--time). `format` is the TimeShape::format of this form.
bool TakeWholeTime(TimeShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts);
/// The largest number of words before the time of a line. Later words are not searched for a time, because this would
/// take too long for long lines.
inline constexpr unsigned kMostWords = 18;
/// Returns the point in time that `parts` describe, or std::nullopt if there is no such time. If the year is missing,
/// the latest year is assumed in which the time is not after `latest` (LogTimes::latest).
std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest);

/// Returns `log` as text. LoadLog() can make the object again from this text, also in another process. The text can
/// contain any bytes.
std::string SaveLog(const LogTimes& log);
/// Makes the object again from `saved`, which SaveLog() has returned. Throws Error(kIntegrity) if `saved` is no such
/// text.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The time that was read from a line that begins a record.
struct LogTime {
  /// The time, in local time if `lacks_zone` is true, otherwise in UTC. No value: the line is a JSON object, and its
  /// member for the time is missing or is not a time.
  std::optional<Instant> instant;
  bool lacks_zone = false;  ///< true: the text has no time zone
  std::int64_t east = 0;    ///< local time minus UTC in seconds, if the text gives an offset such as +0100
  bool lacks_year = false;  ///< true: the text has no year
  bool lacks_date = false;  ///< true: the text is only a time of day; `instant` is that time on 1970-01-01
};

/// Finds and reads the times in the lines of logs. Only one thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if `line` begins a record because it has a time. If all lines of the log are JSON, any JSON object
  /// begins a record.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line, false, ignored_); }
  /// Returns true if `line` begins a record, and sets `time` to the time in the line. If the result is false, `time` is
  /// undefined. The text time.instant->fraction refers to bytes of `line` or of this object. It is valid until the next
  /// call.
  bool Take(const LogTimes& log, std::string_view line, LogTime& time) { return Find(log, line, true, time); }
  LogTime Read(const LogTimes& log, std::string_view line) {
    LogTime time;
    return Take(log, line, time) ? time : LogTime{};
  }

 private:
  /// Returns true if `line` begins a record (see Begins). Sets `time` to the time in the line. If `needs` is false, the
  /// caller must not use `time`, and the function may be faster.
  bool Find(const LogTimes& log, std::string_view line, bool needs, LogTime& time);
  /// Prepares this reader for the lines of `log`. Must be called before the first line of another log is read.
  void Prepare(const LogTimes& log);
  bool FindMember(const LogTimes& log, std::string_view line, LogTime& time);
  bool FindPattern(const LogTimes& log, const TimeShape& shape, std::string_view line, LogTime& time);
  bool FindAt(const LogTimes& log, const TimeShape& shape, std::string_view line, QuickTime& quick, LogTime& time);
  /// Reads the time at the beginning of `text` with the fast reader `quick`. Returns false if `quick` cannot read the
  /// time. The caller must then try a slower function.
  static bool TakeQuick(const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Passes the date of a time to the fast reader `quick`. The time was just read as `parts`, and begins in the line at
  /// `begin`. Most of the next lines have the same date, so `quick` can read their times.
  void KeepDate(const char* begin, const TimeParts& parts, QuickTime& quick) const;
  /// Reads `text`, the value of a JSON member, as a time in one of the forms that ParseInstant() knows. Returns false
  /// if `text` is no such time.
  static bool TakeIso(std::string_view text, QuickTime& quick, LogTime& time);
  /// Reads `text`, the value of a JSON member, as a time in the form that `shape` gives. Returns false if `text` is no
  /// such time.
  bool TakeMember(const LogTimes& log, const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Sets `time` to the point in time that `parts` describe. Returns false if there is no such time, for example for
  /// February 30.
  bool Keep(const TimeParts& parts, const LogTimes& log, const TimeShape& shape, LogTime& time);
  void KeepInstant(Instant instant, LogTime& time);
  /// Sets the fraction of the second in `time` to a number of nanoseconds, given as one to nine digits.
  void KeepNanoseconds(std::string_view digits, LogTime& time);
  std::optional<Instant> FindInstant(const TimeParts& parts, std::int64_t latest);

  /// A time zone that a line of the log names, and data that make the conversion of times in this zone fast.
  struct NamedZone {
    explicit NamedZone(const std::string& name) : zone(name) {}
    const Zone zone;
    Zone::Span span;  ///< the range around the last time in which the offset from UTC does not change
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
