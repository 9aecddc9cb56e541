// Finds the times in the lines of logs. The first lines of each input show how its times are written (their form) and
// where in a line they stand. Start at LearnLog.
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

/// How the times of a log are written (their form), and where in a line they stand. This is all that is needed to find
/// and read the times.
struct TimeShape {
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
    /// The time follows the text `lead`, anywhere in the line. If a line has the text several times, the first one with
    /// a time after it counts. Empty `lead`: the time is the first word that can be a time.
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
  /// The regular expression of --time-regex that finds the time in a line, or empty. If `kind` is kParts, its named
  /// groups are the parts of the time, such as the year. Otherwise its first group is the piece of the line in which
  /// `place` says where the time is. Without an expression, this piece is the whole line.
  std::string pattern;
  bool indented = false;  ///< true: lines with a time may begin with a blank
  /// Used for lines that begin with a blank. If not 0, such a line has a time only if its first word ends at this byte
  /// of the line. Programs that align levels such as " INFO" and "ERROR" write such lines.
  unsigned margin = 0;
  bool utc = false;  ///< true: a time without a zone is in UTC

  friend bool operator==(const TimeShape&, const TimeShape&) = default;
};

std::uint64_t NewLogId();

/// How the times in one input are written, and where they stand. This was found out from the first lines of the input.
struct LogTimes {
  /// A number that no other LogTimes of this process has or had. A LogTimeReader keeps it, to find out whether the data
  /// that it has prepared are for this log. Never 0.
  std::uint64_t id = NewLogId();
  /// The text with which the first line of each record begins, such as "commit " in the output of git log. '%' stands
  /// for letters and digits. The time of such a record stands in this or a later line. Empty: each line with a time
  /// begins a record.
  std::string start{};
  std::vector<TimeShape> shapes;  ///< the forms; several if the input is a mixture, such as merged logs
  /// The latest time that a line can have: seconds since 1970, in local time. If the times have no year, each gets the
  /// last year in which it is not after `latest`.
  std::int64_t latest = 0;
  std::uint64_t looked = 0;   ///< the number of lines that were examined, without lines that begin with a blank
  std::uint64_t matched = 0;  ///< the number of examined lines that have a time
  std::string note;           ///< how the order of day and month was found out; empty: the form of the times shows it
};

/// Returns true if `line` begins with `times.start`, perhaps after a byte order mark.
bool BeginsWithStart(const LogTimes& times, std::string_view line);

/// The options that the user gave about the times of logs.
struct LogForms {
  /// The formats that --time gives, as CheckedTimeFormat() returns them. Empty: all known forms of times are tried.
  std::vector<std::string> times{};
  /// The regular expressions that --time-regex gives. Empty: LearnLog() finds out where in a line the time stands.
  std::vector<std::string> patterns{};
  bool starts = true;  ///< false (--multiline): no fixed text may mark the first lines of records (LogTimes::start)
  bool dated = false;  ///< true: the user gives the date (--date), so that times without a date can be used
};

/// Finds out how times are written in `front`, the first bytes of an input. `latest` is the latest time that a line can
/// have (see LogTimes::latest). Throws BadRecord if too few lines have a time, or if the times could be read in two
/// ways, such as 01/02. Usually half of the lines must have a time. Fewer are enough if the first line has one, because
/// long stack traces have none. If the user gives the form or a regular expression, a single line is enough.
std::shared_ptr<const LogTimes> LearnLog(std::string_view front, const LogForms& allowed, std::int64_t latest);

/// Reads the time of `line`, which must be without its newline, at the place in the line that `shape` gives. Returns
/// the end of the time in the line, or null if there is no time at that place. Not for shapes of JSON lines and shapes
/// with a regular expression.
const char* TakeShape(const TimeShape& shape, std::string_view line, TimeParts& parts);

/// The reason why a line that begins no record looks as if it should: it has something like a time where a time is
/// expected. A warning at the end of the job tells of such lines.
enum class LookAlike : std::uint8_t {
  kNone,        ///< the line does not look like the beginning of a record
  kImpossible,  ///< the line has a time that does not exist, such as February 30 or 25:00:00, at the usual place
  kOtherForm,   ///< the line begins with a time of another form than the times of this log
};
/// Returns why `line`, which begins no record, looks as if it should begin one. Returns kNone if it does not.
LookAlike LookAlikeOf(const LogTimes& log, std::string_view line);

/// Skips what may stand before the first word of a log line: a byte order mark, escape sequences of terminal colours,
/// and the priority of syslog ("<34>") with its version ("1 ").
void SkipFront(TextReader& reader);
/// Returns the JSON object in a line, {...}, without a byte order mark before it, and without the brackets and commas
/// of a JSON array around it. Returns the line as it is if it has no JSON object.
std::string_view JsonObjectOf(std::string_view line);
/// Skips escape sequences that set terminal colours.
void SkipColours(TextReader& reader);
/// Reads a time at the front of `reader`, and moves `reader` to the end of the time. Returns false if there is no time,
/// or if the time is part of a longer number or word. `kind` is kKnown for a form that gpusort knows, or kGiven for a
/// form that the user gave (--time). `format` is the TimeShape::format of this form.
bool TakeWholeTime(TimeShape::Kind kind, std::string_view format, TextReader& reader, TimeParts& parts);
/// The greatest number of words that may stand before the time of a line. Later words are not searched for a time, so
/// that long lines do not take long.
inline constexpr unsigned kMostWords = 16;
/// Returns the point in time that `parts` describe, or std::nullopt if there is no such time. If `parts` have no year,
/// uses the last year in which the time is not after `latest`, the latest time that a line can have (LogTimes::latest).
std::optional<Instant> InstantOf(TimeParts parts, std::int64_t latest);

/// Returns `log` as text, from which another process can make the object again by LoadLog(). The text can contain any
/// bytes.
std::string SaveLog(const LogTimes& log);
/// Returns the object that SaveLog() turned into the text `saved`. Throws Error(kIntegrity) if `saved` is no such text.
std::shared_ptr<const LogTimes> LoadLog(std::string_view saved);

/// The time that was read from a line that begins a record.
struct LogTime {
  /// The time: in local time if `lacks_zone` is true, otherwise in UTC. No value: the line is a JSON object without the
  /// member that holds the time, or that member is not a time.
  std::optional<Instant> instant;
  bool lacks_zone = false;  ///< true: the text has no time zone
  std::int64_t east = 0;    ///< local time minus UTC in seconds, if the text gives an offset such as +0100
  bool lacks_year = false;  ///< true: the text has no year
  bool lacks_date = false;  ///< true: the text is only a time of day; `instant` is that time on 1970-01-01
};

/// Finds and reads the times in the lines of logs. One thread at a time may use a reader.
class LogTimeReader {
 public:
  /// Returns true if `line` begins a record: it has a time, or it is a JSON object in a log of JSON lines only.
  bool Begins(const LogTimes& log, std::string_view line) { return Find(log, line, false, ignored_); }
  /// Returns true if `line` begins a record, and sets `time` to the time in the line. The digits of the fraction of a
  /// second lie in `line` or in this object, so they are valid until the next call. If Take() returns false, `time` is
  /// undefined.
  bool Take(const LogTimes& log, std::string_view line, LogTime& time) { return Find(log, line, true, time); }
  LogTime Read(const LogTimes& log, std::string_view line) {
    LogTime time;
    return Take(log, line, time) ? time : LogTime{};
  }

 private:
  /// Returns true if `line` begins a record, and sets `time` to the time in the line. `needs` is false if the caller
  /// does not use `time`. In a log of JSON lines only, each line begins a record. If `needs` is false, such a line is
  /// not parsed.
  bool Find(const LogTimes& log, std::string_view line, bool needs, LogTime& time);
  /// Prepares this reader for the lines of `log`: makes a fast reader for each form of its times, and finds out whether
  /// all lines are JSON. Must be called when the reader goes on to another log.
  void Prepare(const LogTimes& log);
  bool FindMember(const LogTimes& log, std::string_view line, LogTime& time);
  bool FindPattern(const LogTimes& log, const TimeShape& shape, std::string_view line, LogTime& time);
  bool FindAt(const LogTimes& log, const TimeShape& shape, std::string_view line, QuickTime& quick, LogTime& time);
  /// Reads the time at the front of `text` with the fast reader `quick`. Returns false if `quick` cannot read it. The
  /// caller must then try a slower function.
  static bool TakeQuick(const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Tells the fast reader `quick` the date of a time that was just read as `parts`. Most of the next lines have the
  /// same date, so `quick` can read their times. `begin` is the beginning of the time in the line.
  void KeepDate(const char* begin, const TimeParts& parts, QuickTime& quick) const;
  /// Reads `text`, the value of a JSON member, as a time in a form that ParseInstant() knows. Returns false if it is no
  /// time.
  static bool TakeIso(std::string_view text, QuickTime& quick, LogTime& time);
  /// Reads `text`, the value of a JSON member, as a time in the form that `shape` gives. Returns false if it is no
  /// time.
  bool TakeMember(const LogTimes& log, const TimeShape& shape, std::string_view text, QuickTime& quick, LogTime& time);
  /// Stores the point in time that `parts` describe in `time`. Returns false if there is no such time, as on February
  /// 30.
  bool Keep(const TimeParts& parts, const LogTimes& log, const TimeShape& shape, LogTime& time);
  void KeepInstant(Instant instant, LogTime& time);
  /// Sets the fraction of a time to a number of nanoseconds of at most nine digits.
  void KeepNanoseconds(std::string_view digits, LogTime& time);
  std::optional<Instant> FindInstant(const TimeParts& parts, std::int64_t latest);

  /// A time zone that some line of the log names, with data that make the conversion of times in this zone fast.
  struct NamedZone {
    explicit NamedZone(const std::string& name) : zone(name) {}
    const Zone zone;
    Zone::Span span;  ///< the range around the last time in this zone, in which the distance to UTC is the same
  };
  std::map<std::string, NamedZone, std::less<>> zones_;
  std::map<std::string, TimePattern> patterns_;
  std::uint64_t parsed_ = 0;  ///< the LogTimes::id of the log for whose JSON members `parser_` was made; 0: none
  std::optional<JsonRecords> parser_;
  std::vector<JsonValue> values_;
  LogTime ignored_;
  std::string fraction_;
  /// The date of the last line that was read, and the first second of that day. They are kept because most lines have
  /// the date of the line before.
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
