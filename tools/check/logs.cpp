#include "check/logs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>

#include "check/parallel.hpp"
#include "check/table.hpp"
#include "check/value.hpp"

namespace check {
namespace {

constexpr std::int64_t kDaySeconds = 86400;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool Take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

/// Reads between `least` and `most` digits, after which no further digit may follow.
bool TakeDigits(std::string_view& text, std::size_t least, std::size_t most, int& to) {
  std::size_t digits = 0;
  for (to = 0; digits < text.size() && digits < most && IsDigit(text[digits]); ++digits)
    to = to * 10 + text[digits] - '0';
  text.remove_prefix(digits);
  return digits >= least && (text.empty() || !IsDigit(text[0]));
}

/// Reads exactly `count` digits. More digits may follow.
bool TakeExactly(std::string_view& text, std::size_t count, int& to) {
  std::string_view part = text.substr(0, count);
  if (!TakeDigits(part, count, count, to)) return false;
  text.remove_prefix(count);
  return true;
}

std::size_t SkipBlanks(std::string_view& text) {
  const std::size_t blanks = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(blanks);
  return blanks;
}

// ---- Times -------------------------------------------------------------------------------------------------------

/// The parts of a time as a line has them.
struct Stamp {
  static constexpr int kNone = -1;
  int year = kNone, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::int64_t nanoseconds = 0;
  std::optional<std::int64_t> east;   ///< the offset of the zone from UTC, in seconds
  std::optional<std::int64_t> epoch;  ///< seconds since 1970; replaces all other parts
  bool lacks_day = false;
};

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/// Reads one of the names, which have three letters. Returns its number from 1, or 0 if there is none.
template <std::size_t kCount>
int TakeName(std::string_view& text, const std::string_view (&names)[kCount]) {
  const std::string name = Lowered(text.substr(0, 3));
  for (std::size_t i = 0; i < kCount; ++i) {
    if (name != names[i]) continue;
    text.remove_prefix(3);
    return static_cast<int>(i + 1);
  }
  return 0;
}

/// Reads a fraction of a second, or a colon and three digits, if there is one.
bool TakeFraction(std::string_view& text, std::int64_t& nanoseconds) {
  if (text.size() < 2 || !IsDigit(text[1])) return true;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
  if (text[0] != '.' && text[0] != ',' && (text[0] != ':' || digits != 3)) return true;
  text.remove_prefix(1);
  std::int64_t unit = 100000000;
  for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1), unit /= 10) nanoseconds += (text[0] - '0') * unit;
  return true;
}

/// Returns true if the clock can show the time: 24:00:00 is the end of a day.
bool IsPossible(const Stamp& stamp) {
  if (stamp.hour == 24) return stamp.minute == 0 && stamp.second == 0 && stamp.nanoseconds == 0;
  return stamp.hour < 24 && stamp.minute <= 59 && stamp.second <= 60;
}

/// Reads hh:mm:ss, a fraction if there is one, and AM or PM if there is one.
bool TakeClock(std::string_view& text, Stamp& stamp) {
  if (!TakeDigits(text, 1, 2, stamp.hour) || !Take(text, ":") || !TakeDigits(text, 2, 2, stamp.minute) ||
      !Take(text, ":") || !TakeDigits(text, 2, 2, stamp.second)) {
    return false;
  }
  TakeFraction(text, stamp.nanoseconds);
  std::string_view half = text;
  for (int blanks = 0; blanks < 2 && !half.empty() && IsBlank(half[0]); ++blanks) half.remove_prefix(1);
  const std::string word = Lowered(half.substr(0, 2));
  const bool pm = word == "pm";
  if ((pm || word == "am") && stamp.hour >= 1 && stamp.hour <= 12 && (half.size() == 2 || !IsLetter(half[2]))) {
    stamp.hour = stamp.hour % 12 + (pm ? 12 : 0);
    text = half.substr(2);
  }
  return IsPossible(stamp);
}

/// Returns true if the text begins with a blank and a year, and no further digit.
bool YearFollows(std::string_view text) {
  int year = 0;
  return Take(text, " ") && TakeExactly(text, 4, year) && (text.empty() || !IsDigit(text[0]));
}

/// Reads the hours after GMT or UTC, and perhaps minutes: "GMT+3", "GMT+5:30", "GMT+0530".
void TakeHoursAfterUtc(std::string_view& text, std::int64_t& east) {
  std::string_view rest = text;
  const bool west = Take(rest, "-");
  int hour = 0, minute = 0;
  if (!west && !Take(rest, "+")) return;
  std::string_view four = rest;
  if (TakeExactly(four, 2, hour) && TakeExactly(four, 2, minute)) {
    rest = four;
  } else {
    if (!TakeDigits(rest, 1, 2, hour)) return;
    std::string_view more = rest;
    const bool minutes = Take(more, ":") && TakeExactly(more, 2, minute);
    if (minutes) rest = more;
    if (!minutes) minute = 0;
  }
  east = (hour * 60 + minute) * (west ? -60 : 60);
  text = rest;
}

/// Reads a zone if there is one, perhaps after a blank. An abbreviation after a blank does not count if it could be the
/// beginning of a host's name. Two digits after a blank and '-' count if the first is 0, or if the number of a process
/// in brackets or the year of ctime follows.
void TakeZone(std::string_view& text, Stamp& stamp) {
  std::string_view rest = text;
  const bool blank = Take(rest, " ");
  std::int64_t east = 0;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    const bool west = rest[0] == '-';
    int hour = 0, minute = 0;
    rest.remove_prefix(1);
    if (!TakeExactly(rest, 2, hour)) return;
    const bool colon = Take(rest, ":");
    const bool minutes = colon || (!rest.empty() && IsDigit(rest[0]));
    if (minutes && !TakeDigits(rest, 2, 2, minute)) return;
    if (hour > 23 || minute > 59) return;
    const bool far_west = west && hour >= 10 && !rest.starts_with(" [") && !YearFollows(rest);
    if (blank && !minutes && (far_west || hour > 14)) return;
    east = (hour * 60 + minute) * (west ? -60 : 60);
  } else {
    const bool small = blank && rest.starts_with('z');
    const std::string_view name = rest.substr(0, 3);
    if (small || !TakeZoneName(rest, east) || (!rest.empty() && IsDigit(rest[0]))) return;
    if (name == "GMT" || name == "UTC") TakeHoursAfterUtc(rest, east);
    if (blank && !rest.empty() && std::strchr("-._/+", rest[0]) != nullptr) return;
  }
  stamp.east = east;
  text = rest;
}

/// A function that reads times of one form, without the zone.
using TakeForm = bool (*)(std::string_view& text, Stamp& stamp);

/// Reads 2026-11-23 (also with slashes or points), then T, blanks or " - ", and then the time of day.
bool Iso(std::string_view& text, Stamp& stamp) {
  if (!TakeDigits(text, 4, 4, stamp.year) || text.empty() || std::strchr("-/.", text[0]) == nullptr) return false;
  const std::string_view separator = text.substr(0, 1);
  if (!Take(text, separator) || !TakeDigits(text, 2, 2, stamp.month) || !Take(text, separator) ||
      !TakeDigits(text, 2, 2, stamp.day)) {
    return false;
  }
  if (!Take(text, "T") && !Take(text, "t") && !Take(text, " - ") && SkipBlanks(text) == 0) return false;
  return TakeClock(text, stamp);
}

/// Reads hh:mm:ss or hhmmss, and a fraction if there is one.
bool TakeDenseClock(std::string_view& text, Stamp& stamp) {
  if (text.size() > 2 && text[2] == ':') return TakeClock(text, stamp);
  return TakeExactly(text, 2, stamp.hour) && TakeExactly(text, 2, stamp.minute) &&
         TakeDigits(text, 2, 2, stamp.second) && TakeFraction(text, stamp.nanoseconds) && IsPossible(stamp);
}

/// Reads 20261123T221001, 20261123 22:10:01, 20261123-22:10:01 or 20261123221001.
bool Compact(std::string_view& text, Stamp& stamp) {
  if (!TakeExactly(text, 4, stamp.year) || !TakeExactly(text, 2, stamp.month) || !TakeExactly(text, 2, stamp.day)) {
    return false;
  }
  if (!Take(text, "T") && !Take(text, "t") && !Take(text, "-")) SkipBlanks(text);
  return TakeDenseClock(text, stamp);
}

/// Reads 23/Nov/2026:22:10:01.
bool CommonLog(std::string_view& text, Stamp& stamp) {
  return TakeDigits(text, 2, 2, stamp.day) && Take(text, "/") && (stamp.month = TakeName(text, kMonths)) != 0 &&
         Take(text, "/") && TakeDigits(text, 4, 4, stamp.year) && Take(text, ":") && TakeClock(text, stamp);
}

/// Reads Nov 23 22:10:01, Nov 23 2026 22:10:01 or Nov 23, 2026 10:10:01 PM.
bool MonthFirst(std::string_view& text, Stamp& stamp) {
  stamp.month = TakeName(text, kMonths);
  if (stamp.month == 0 || SkipBlanks(text) == 0 || !TakeDigits(text, 1, 2, stamp.day)) return false;
  Take(text, ",");
  if (SkipBlanks(text) == 0) return false;
  std::string_view year = text;
  if (TakeDigits(year, 4, 4, stamp.year) && SkipBlanks(year) > 0) {
    text = year;
  } else {
    stamp.year = Stamp::kNone;
  }
  return TakeClock(text, stamp);
}

/// Reads Mon Nov 23 22:10:01 2026 or Mon Nov 23 22:10:01 UTC 2026.
bool Ctime(std::string_view& text, Stamp& stamp) {
  if (TakeName(text, kDays) == 0 || SkipBlanks(text) == 0) return false;
  stamp.month = TakeName(text, kMonths);
  if (stamp.month == 0 || SkipBlanks(text) == 0 || !TakeDigits(text, 1, 2, stamp.day) || SkipBlanks(text) == 0 ||
      !TakeClock(text, stamp)) {
    return false;
  }
  TakeZone(text, stamp);
  std::string_view rest = text;
  if (SkipBlanks(rest) > 0 && !rest.empty() && !IsDigit(rest[0])) {  // a word that names no known zone
    while (!rest.empty() && rest[0] >= 'A' && rest[0] <= 'Z') rest.remove_prefix(1);
    text = rest;
  }
  return SkipBlanks(text) > 0 && TakeDigits(text, 4, 4, stamp.year);
}

/// Reads 23-Nov-2026 22:10:01, 23 Nov 2026 22:10:01 or 23.11.2026 22:10:01. A weekday may come first.
bool DayFirst(std::string_view& text, Stamp& stamp) {
  if (TakeName(text, kDays) != 0) {
    Take(text, ",");
    if (SkipBlanks(text) == 0) return false;
  }
  if (!TakeDigits(text, 1, 2, stamp.day) || text.empty()) return false;
  const std::string_view separator = text.substr(0, 1);
  if (separator == ".") {
    if (!Take(text, ".") || !TakeDigits(text, 2, 2, stamp.month) || !Take(text, ".")) return false;
  } else {
    if ((separator != "-" && separator != " ") || !Take(text, separator)) return false;
    stamp.month = TakeName(text, kMonths);
    if (stamp.month == 0 || !Take(text, separator)) return false;
  }
  if (!TakeDigits(text, 4, 4, stamp.year)) return false;
  Take(text, ",");
  return SkipBlanks(text) > 0 && TakeClock(text, stamp);
}

/// Reads E1123 22:10:01.123456 or I20261123 22:10:01.123456.
bool Glog(std::string_view& text, Stamp& stamp) {
  if (text.empty() || std::strchr("DEFIWV", text[0]) == nullptr) return false;
  text.remove_prefix(1);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 8 && !TakeExactly(text, 4, stamp.year)) return false;
  if (digits != 4 && digits != 8) return false;
  return TakeExactly(text, 2, stamp.month) && TakeExactly(text, 2, stamp.day) && SkipBlanks(text) > 0 &&
         TakeClock(text, stamp);
}

/// Reads 22:10:01. Only used if --date gives the day.
bool TimeOfDay(std::string_view& text, Stamp& stamp) {
  stamp.lacks_day = true;
  return text.size() > 2 && text[2] == ':' && TakeClock(text, stamp);
}

/// Reads 22.10.01 before the number of a job of JES2, such as JOB00123. Only used if --date gives the day.
bool Jes2(std::string_view& text, Stamp& stamp) {
  stamp.lacks_day = true;
  if (!TakeDigits(text, 2, 2, stamp.hour) || !Take(text, ".") || !TakeDigits(text, 2, 2, stamp.minute) ||
      !Take(text, ".") || !TakeDigits(text, 2, 2, stamp.second)) {
    return false;
  }
  std::string_view job = text;
  if (SkipBlanks(job) == 0 || (!Take(job, "JOB") && !Take(job, "STC") && !Take(job, "TSU"))) return false;
  constexpr std::size_t kLeast = 5;
  return job.find_first_not_of("0123456789") >= kLeast && job.size() >= kLeast && IsPossible(stamp);
}

/// Reads 11-23 22:10:01.123.
bool Logcat(std::string_view& text, Stamp& stamp) {
  return TakeDigits(text, 2, 2, stamp.month) && Take(text, "-") && TakeDigits(text, 2, 2, stamp.day) &&
         SkipBlanks(text) > 0 && TakeClock(text, stamp);
}

/// Reads 261123 22:10:01 or 261123 221001.
bool TwoDigitYear(std::string_view& text, Stamp& stamp) {
  if (!TakeExactly(text, 2, stamp.year) || !TakeExactly(text, 2, stamp.month) || !TakeDigits(text, 2, 2, stamp.day)) {
    return false;
  }
  stamp.year += stamp.year < 69 ? 2000 : 1900;
  return SkipBlanks(text) > 0 && TakeDenseClock(text, stamp);
}

/// Reads seconds since 1970, between 1990 and 2100, with a fraction, or with 3, 6 or 9 more digits.
bool Epoch(std::string_view& text, Stamp& stamp) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits < 10 || digits > 19 || (digits - 10) % 3 != 0) return false;
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + 10, seconds);
  if (seconds < 631152000 || seconds >= 4102444800) return false;
  std::int64_t unit = 100000000;
  for (std::size_t i = 10; i < digits; ++i, unit /= 10) stamp.nanoseconds += (text[i] - '0') * unit;
  text.remove_prefix(digits);
  if (digits == 10) TakeFraction(text, stamp.nanoseconds);
  stamp.epoch = seconds;
  return true;
}

/// Reads the hexadecimal seconds of OpenLDAP with their nanoseconds (8 digits) or microseconds (5 digits). The address
/// of a thread must follow.
bool Slapd(std::string_view& text, Stamp& stamp) {
  const std::size_t point = text.find('.'), blank = text.find(' ');
  if (point != 8 || blank == text.npos || !text.substr(blank).starts_with(" 0x")) return false;
  const std::string_view digits = text.substr(9, blank - 9);
  if (digits.size() != 8 && digits.size() != 5) return false;
  std::int64_t seconds = 0;
  const auto whole = [](std::string_view hex, std::int64_t& to) {
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), to, 16);
    return error == std::errc() && end == hex.data() + hex.size();
  };
  if (!whole(text.substr(0, 8), seconds) || !whole(digits, stamp.nanoseconds)) return false;
  if (digits.size() == 5) stamp.nanoseconds *= 1000;
  stamp.epoch = seconds;
  text.remove_prefix(blank);
  return seconds >= 631152000 && stamp.nanoseconds < 1000000000;
}

struct Form {
  const char* name;
  TakeForm take;
  bool zone = true;     ///< whether a zone may follow
  bool floats = false;  ///< whether the time may stand after any number of words
};

constexpr Form kForms[] = {
    {"ISO 8601", Iso},
    {"compact", Compact},
    {"common log", CommonLog, true, true},
    {"month first", MonthFirst},
    {"ctime", Ctime, false},
    {"day first", DayFirst},
    {"glog", Glog, false},
    {"logcat", Logcat, false},
    {"two digits of the year", TwoDigitYear, false},
    {"seconds since 1970", Epoch, false},
    {"time of day", TimeOfDay, false},
    {"JES2", Jes2, false},
    {"OpenLDAP", Slapd, false},
};

/// Returns the seconds since 1970 of the parts, in the zone of the log. Returns std::nullopt if there is no such day.
std::optional<std::int64_t> SecondsOf(const Stamp& stamp, int year) {
  using namespace std::chrono;
  const year_month_day date(std::chrono::year{year}, month(static_cast<unsigned>(stamp.month)),
                            day(static_cast<unsigned>(stamp.day)));
  if (!date.ok()) return std::nullopt;
  return std::int64_t{sys_days(date).time_since_epoch().count()} * kDaySeconds + (stamp.hour * 60 + stamp.minute) * 60 +
         stamp.second;
}

std::int64_t OffsetAt(std::int64_t utc) {
  const auto time = static_cast<std::time_t>(utc);
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts.tm_gmtoff;
}

/// The offsets from UTC before and after a change of the clock near a local time. They are equal if there is no change.
struct Offsets {
  std::int64_t before = 0, after = 0;
  /// Whether the local time exists before the change, and whether it exists after it. If both are true, it occurs
  /// twice.
  bool is_before = true, is_after = false;
};

Offsets OffsetsOf(std::int64_t local) {
  constexpr std::int64_t kQuarter = 900;
  thread_local std::int64_t cached = -1;
  thread_local Offsets offsets;  // the offsets are the same during a quarter of an hour
  if (local / kQuarter == cached) return offsets;
  cached = local / kQuarter;
  offsets.before = OffsetAt(local - kDaySeconds);
  offsets.after = OffsetAt(local + kDaySeconds);
  offsets.is_before = OffsetAt(local - offsets.before) == offsets.before;
  offsets.is_after = offsets.before != offsets.after && OffsetAt(local - offsets.after) == offsets.after;
  return offsets;
}

/// Returns the instant of a local time; both are in nanoseconds. If the local time occurs twice, returns the first of
/// the two instants, or the second if `second` is true. If it does not occur, moves it forward by the change of the
/// clock.
std::int64_t UtcOf(std::int64_t local, bool second = false) {
  constexpr std::int64_t kSecond = 1000000000;
  const Offsets offsets = OffsetsOf(local / kSecond);
  const bool after = offsets.is_after && (second || !offsets.is_before);
  return local - (after ? offsets.after : offsets.before) * kSecond;
}

bool IsTwice(std::int64_t local) {
  const Offsets offsets = OffsetsOf(local / 1000000000);
  return offsets.is_before && offsets.is_after;
}

std::int64_t MakeTime(std::int64_t seconds, std::int64_t nanoseconds) {
  constexpr std::int64_t kMost = kNoTime / 1000000000 - 1;
  return std::clamp(seconds, -kMost, kMost) * 1000000000 + nanoseconds;
}

// ---- Lines -------------------------------------------------------------------------------------------------------

/// Skips a byte order mark, colours, and the priority and version of syslog.
void SkipColours(std::string_view& line) {
  while (line.starts_with("\x1b[")) {
    const std::size_t end = line.find('m');
    if (end == line.npos) return;
    line.remove_prefix(end + 1);
  }
}

void SkipFront(std::string_view& line) {
  Take(line, "\xEF\xBB\xBF");
  SkipColours(line);
  std::string_view rest = line;
  int priority = 0;
  if (!Take(rest, "<") || !TakeDigits(rest, 1, 3, priority) || !Take(rest, ">")) return;
  line = rest;
  Take(line, "1 ");
}

bool SkipWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
  SkipBlanks(line);
  SkipColours(line);
  return !line.empty();
}

constexpr std::string_view kKeys[] = {"time=", "ts=", "t=", "timestamp=", "@timestamp=", "date=", "msg=audit("};
/// Names of JSON members that contain a time. A point separates a member from the object that contains it.
constexpr std::string_view kMembers[] = {"time",      "ts",
                                         "timestamp", "@timestamp",
                                         "t.$date",   "date",
                                         "t",         "__REALTIME_TIMESTAMP",
                                         "@t",        "requestReceivedTimestamp"};
constexpr unsigned kMostWords = 18;

/// Returns the bytes that may come before a time in a word: brackets and quotes, or a key of logfmt.
std::string_view LeadOf(std::string_view word) {
  for (const std::string_view key : kKeys) {
    if (word.starts_with(key)) return word.substr(0, key.size() + (word.substr(key.size(), 1) == "\""));
  }
  return word.substr(0, std::min<std::size_t>(word.find_first_not_of("[(\"'<*"), 3));
}

/// Where the times are in the lines of a log, and their form.
struct Shape {
  const Form* form = nullptr;  ///< null for --time and for JSON
  const std::string* format = nullptr;
  std::string_view member;
  unsigned word = 0;
  std::string lead;

  auto operator<=>(const Shape&) const = default;
};

/// Facts about a file that complete its times.
struct Context {
  const LogRules& rules;
  std::int64_t latest = 0;  ///< a local time; times without a year are not after it, unless the rules give the year
  bool utc = false;         ///< times of IIS at the front of lines, without a zone, are in UTC
};

/// The time of a line. A time without a zone is a local time, a time without a year is in 1972, and a time without a
/// day is on 1970-01-01.
struct Moment {
  std::int64_t time = kNoTime;
  bool lacks_zone = false, lacks_year = false, lacks_day = false;
};

/// Returns the moment that the parts describe, or std::nullopt if there is no such day.
std::optional<Moment> MomentOf(Stamp stamp, const Context& context) {
  if (stamp.second == 60) {  // second 60 comes after second 59 and counts to the same day
    stamp.second = 59;
    stamp.nanoseconds = 999999999;
  }
  if (stamp.epoch) return Moment{MakeTime(*stamp.epoch, stamp.nanoseconds)};
  Moment moment;
  std::optional<std::int64_t> seconds;
  if (stamp.lacks_day) {
    if (!context.rules.date) return std::nullopt;
    moment.lacks_day = true;
    seconds = (stamp.hour * 60 + stamp.minute) * 60 + stamp.second;
  } else if (stamp.year != Stamp::kNone) {
    seconds = SecondsOf(stamp, stamp.year);
  } else if (context.rules.year) {
    moment.lacks_year = true;
    seconds = SecondsOf(stamp, 1972);
  } else {
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(context.latest / kDaySeconds))};
    for (int year = static_cast<int>(date.year()) + 1, i = 0; i < 10; --year, ++i) {
      seconds = SecondsOf(stamp, year);
      if (seconds && *seconds <= context.latest) break;
    }
  }
  if (!seconds) return std::nullopt;
  moment.lacks_zone = !stamp.east;
  moment.time = MakeTime(*seconds - stamp.east.value_or(0), stamp.nanoseconds);
  return moment;
}

/// Reads a time of this form at the front of the text.
std::optional<Moment> TimeOfForm(const Form& form, std::string_view& text, const Context& context) {
  Stamp stamp;
  if (!form.take(text, stamp)) return std::nullopt;
  if (form.zone) TakeZone(text, stamp);
  if (!text.empty() && IsDigit(text[0])) return std::nullopt;
  return MomentOf(stamp, context);
}

std::int64_t TimeOfInstant(const Instant& instant) {
  std::int64_t nanoseconds = 0;
  const std::string fraction = "." + instant.fraction;
  std::string_view digits = fraction;
  TakeFraction(digits, nanoseconds);
  return MakeTime(instant.count, nanoseconds);
}

std::optional<Moment> TimeOfMember(std::string_view text, const Context& context) {
  std::string_view rest = text;
  std::optional<Moment> moment = TimeOfForm(kForms[0], rest, context);
  if (moment && rest.empty()) {
    if (moment->lacks_zone) moment->time = UtcOf(moment->time);
    moment->lacks_zone = false;
    return moment;
  }
  Rule rule;
  rule.type = Type::kTimestamp;
  const Value value = ReadValue(rule, text);
  const auto* const instant = std::get_if<Instant>(&value);
  if (instant == nullptr || instant->infinite != 0) return std::nullopt;
  return Moment{TimeOfInstant(*instant)};
}

/// Reads a time in a format of --time.
std::optional<Moment> TimeOfFormat(const std::string& format, std::string_view text, const Context& context) {
  const auto has = [&](std::string_view letters) {
    return std::ranges::any_of(letters, [&](char letter) {
      return format.find(std::string{'%', letter}) != format.npos;
    });
  };
  bool zoned = false;
  const std::optional<Instant> instant = TakeInstantBy(format, text, zoned);
  if (!instant) return std::nullopt;
  const std::int64_t time = TimeOfInstant(*instant);
  if (has("YysDF")) return Moment{time, !zoned};
  // Reads the parts again, without the year.
  constexpr std::int64_t kSecond = 1000000000;
  const std::int64_t of_day = instant->count - instant->count / kDaySeconds * kDaySeconds;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(instant->count / kDaySeconds))};
  Stamp stamp;
  stamp.month = static_cast<int>(static_cast<unsigned>(date.month()));
  stamp.day = static_cast<int>(static_cast<unsigned>(date.day()));
  stamp.hour = static_cast<int>(of_day / 3600);
  stamp.minute = static_cast<int>(of_day / 60 % 60);
  stamp.second = static_cast<int>(of_day % 60);
  stamp.nanoseconds = time - instant->count * kSecond;
  stamp.lacks_day = !has("dej");
  if (zoned) stamp.east = 0;
  return MomentOf(stamp, context);
}

/// Returns the time of a line with this shape, or std::nullopt if the line has none. Sets `at` to the offset of the
/// word with the time.
std::optional<Moment> TimeAt(const Shape& shape, std::string_view line, const Context& context, std::size_t& at) {
  const char* const begin = line.data();
  at = 0;
  if (!shape.member.empty()) {
    const std::optional<std::string> text = line.starts_with('{') ? FindMember(line, shape.member) : std::nullopt;
    return text ? TimeOfMember(*text, context) : std::nullopt;
  }
  SkipFront(line);
  if (shape.form != nullptr && shape.form->floats) {
    for (unsigned word = 0; word <= shape.word + kMostWords; ++word) {
      std::string_view text = line;
      at = static_cast<std::size_t>(line.data() - begin);
      if (Take(text, shape.lead)) {
        if (const auto time = TimeOfForm(*shape.form, text, context)) return time;
      }
      if (!SkipWord(line)) break;
    }
    return std::nullopt;
  }
  for (unsigned word = 0; word < shape.word; ++word) {
    if (!SkipWord(line)) return std::nullopt;
  }
  at = static_cast<std::size_t>(line.data() - begin);
  if (!Take(line, shape.lead)) return std::nullopt;
  if (shape.form != nullptr) {
    std::optional<Moment> moment = TimeOfForm(*shape.form, line, context);
    if (moment && context.utc && shape.word == 0 && shape.form == &kForms[0]) moment->lacks_zone = false;
    return moment;
  }
  return shape.format == nullptr ? std::nullopt : TimeOfFormat(*shape.format, line, context);
}

std::optional<Moment> TimeAt(const Shape& shape, std::string_view line, const Context& context) {
  std::size_t at = 0;
  return TimeAt(shape, line, context, at);
}

std::string_view LineAtOffset(std::string_view bytes, std::uint64_t offset) {
  std::string_view line = bytes.substr(offset);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::uint64_t AfterLine(std::string_view bytes, std::uint64_t offset) {
  const std::size_t end = bytes.find('\n', offset);
  return end == bytes.npos ? bytes.size() : end + 1;
}

constexpr std::size_t kMostLines = 512;
using Lines = std::bitset<kMostLines>;

std::string_view FrontOf(std::string_view bytes) {
  const std::string_view front = bytes.substr(0, std::size_t{64} << 10);
  const bool cut = front.size() < bytes.size() && front.find('\n') != front.npos;
  return cut ? front.substr(0, front.rfind('\n') + 1) : front;
}

/// Returns the lines at the front that do not begin with a blank. If all lines begin with a blank, or `all` is true,
/// returns all.
std::vector<std::string_view> SampleOf(std::string_view bytes, bool all = false) {
  const std::string_view front = FrontOf(bytes);
  std::vector<std::string_view> lines, indented;
  for (std::uint64_t at = 0; at < front.size() && lines.size() < kMostLines; at = AfterLine(front, at)) {
    const std::string_view line = LineAtOffset(front, at);
    if (line.empty() || line.find('\0') != line.npos) continue;
    if (all || !IsBlank(line[0])) lines.push_back(line);
    if (IsBlank(line[0]) && indented.size() < kMostLines) indented.push_back(line);
  }
  return lines.empty() ? indented : lines;
}

/// Returns true if the times of IIS are in UTC: the log names its columns, and does not say that the times are local.
bool IsUtc(std::string_view bytes) {
  bool columns = false;
  const std::string_view front = FrontOf(bytes);
  for (std::uint64_t at = 0; at < front.size(); at = AfterLine(front, at)) {
    const std::string_view line = LineAtOffset(front, at);
    if (line.starts_with("#Time Format: Local")) return false;
    columns =
        columns || (line.starts_with("#Fields:") && line.find("time") != line.npos && line.find("-local") == line.npos);
  }
  return columns;
}

/// Returns true if the line is a field of mail or HTTP, such as "Date: Mon, 23 Nov 2026 22:10:01 GMT". A level before a
/// time is no such name.
bool IsField(std::string_view line) {
  constexpr std::string_view kLevels[] = {"trace", "debug",  "info",  "notice",   "warn",  "warning",
                                          "error", "severe", "fatal", "critical", "emerg", "alert",
                                          "panic", "err",    "crit",  "verbose"};
  const std::string_view name = line.substr(0, line.find(": "));
  if (name.size() == line.size() || name.size() < 3 || std::ranges::find(kLevels, Lowered(name)) != std::end(kLevels)) {
    return false;
  }
  const auto of_name = [](char c) { return IsLetter(c) || c == '-' || c == ' '; };
  return name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && std::ranges::all_of(name, of_name);
}

/// Returns the first word of a line, perhaps after blanks, and sets `end` to the offset of its end.
std::string_view FirstWord(std::string_view line, std::size_t& end) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  end = std::min(line.find_first_of(" \t", begin), line.size());
  return line.substr(begin, end - begin);
}

constexpr std::size_t kAnyMargin = ~std::size_t{0};

/// Returns the line without the blanks before a level such as " INFO" that ends at the byte `margin`. If `margin` is
/// kAnyMargin, removes the blanks before any word. Returns other lines as they are.
std::string_view WithoutMargin(std::string_view line, std::size_t margin) {
  std::size_t end = 0;
  const std::string_view word = FirstWord(line, end);
  return margin == kAnyMargin || (margin != 0 && end == margin) ? line.substr(end - word.size()) : line;
}

/// Learns where the times of a log are: first the shape that most lines have, then other shapes for the rest. If as
/// many lines have one shape as another, takes the one whose times are further to the left, unless these times are all
/// equal. gpusort does the same.
std::vector<Shape> LearnShapes(const std::vector<std::string_view>& lines, const LogRules& rules,
                               const Context& context) {
  std::map<Shape, Lines> found;
  struct Times {
    std::size_t places = 0;  // the sum of the offsets of the times that a shape finds
    std::int64_t first = kNoTime;
    bool vary = false;
  };
  std::map<Shape, Times> times;
  const auto try_shape = [&](const Shape& shape, std::size_t line) {
    std::size_t at = 0;
    const auto moment = TimeAt(shape, lines[line], context, at);
    if (!moment || found[shape][line]) return;
    found[shape].set(line);
    Times& of = times[shape];
    of.places += at;
    if (of.first == kNoTime) of.first = moment->time;
    of.vary = of.vary || of.first != moment->time;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (rules.formats.empty() && lines[i].starts_with('{')) {
      for (const std::string_view member : kMembers) try_shape({nullptr, nullptr, member, 0, ""}, i);
    }
    std::string_view rest = lines[i];
    SkipFront(rest);
    for (unsigned word = 0; word <= kMostWords; ++word) {
      std::vector<std::string> leads = {""};
      if (const std::string_view lead = LeadOf(rest); !lead.empty()) leads.emplace_back(lead);
      for (const std::string& lead : leads) {
        for (const Form& form : kForms) {
          if (rules.formats.empty()) try_shape({&form, nullptr, "", form.floats ? 0 : word, lead}, i);
        }
        for (const std::string& format : rules.formats) try_shape({nullptr, &format, "", word, lead}, i);
      }
      if (!SkipWord(rest)) break;
    }
  }

  std::vector<Shape> shapes;
  Lines covered;
  const auto accept = [&](const Shape& shape) {
    shapes.push_back(shape);
    covered |= found[shape];
  };
  // JSON comes first, because a member in the middle of the line may look like a time of another form.
  const auto json = std::ranges::max_element(
      found, {}, [](const auto& entry) { return entry.first.member.empty() ? 0 : entry.second.count(); });
  if (json != found.end() && !json->first.member.empty() && 50 * json->second.count() >= lines.size()) {
    accept(json->first);
  }
  const auto are_fields = [&](const Lines& has) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (has[i] && !IsField(lines[i])) return false;
    }
    return true;
  };
  for (;;) {
    const Shape* best = nullptr;
    std::size_t most = 0;
    bool best_epoch = false;
    for (const auto& [shape, has] : found) {
      const std::size_t count = (has & ~covered).count();
      if (!shapes.empty() && rules.formats.empty() && are_fields(has & ~covered)) continue;
      const bool front = shape.word == 0;
      const bool half = 2 * covered.count() >= lines.size();
      if (shape.member.empty() && !shapes.empty() && !front &&
          (half ? rules.formats.empty() : 10 * count <= lines.size())) {
        continue;
      }
      if (!shape.member.empty() || 50 * count < lines.size() || count == 0) continue;
      const bool epoch = shape.form != nullptr && shape.form->take == Epoch;
      const bool earlier = best != nullptr && count == most &&
                           (best_epoch > epoch || (best_epoch == epoch && times[shape].places < times[*best].places));
      if (count > most || earlier) std::tie(best, most, best_epoch) = std::tuple(&shape, count, epoch);
    }
    if (best == nullptr) break;
    constexpr std::size_t kFew = 5;
    if (shapes.empty() && rules.formats.empty() && most >= kFew && !times[*best].vary) {
      const auto other = std::ranges::find_if(found, [&](const auto& entry) {
        return entry.first.member.empty() && 10 * entry.second.count() >= 9 * most && times[entry.first].vary;
      });
      if (other != found.end()) best = &other->first;
    }
    accept(*best);
  }
  // The limit of gpusort itself may be higher or lower.
  if (rules.formats.empty() && 10 * covered.count() < lines.size()) {
    shapes.clear();
  }
  return shapes;
}

/// Returns the byte at which words such as " INFO" and "ERROR" before the times end, or 0 if such words are not aligned
/// in this way. Returns kAnyMargin if the lines begin with aligned numbers, as those of vmstat -t do. Sets `shapes` to
/// the places of the times after these words.
std::size_t LearnMargin(std::string_view bytes, const LogRules& rules, const Context& context,
                        std::vector<Shape>& shapes) {
  const std::vector<std::string_view> lines = SampleOf(bytes, true);
  std::vector<std::string_view> words;
  for (const std::string_view line : lines) {
    words.push_back(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
  }
  shapes = LearnShapes(words, rules, context);
  std::map<std::size_t, std::size_t> ends;
  std::map<std::size_t, bool> sizes;
  std::size_t timed = 0, indented = 0, numbers = 0, blanks = 0;
  bool others = false, first = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool blank = IsBlank(lines[i][0]);
    blanks += blank;
    numbers += blank && !words[i].empty() && IsDigit(words[i][words[i][0] == '[' && words[i].size() > 1 ? 1 : 0]);
    if (!std::ranges::any_of(shapes, [&](const Shape& shape) { return TimeAt(shape, words[i], context).has_value(); }))
      continue;
    ++timed;
    indented += blank;
    first = first || i == 0;
    std::size_t end = 0;
    const std::string_view word = FirstWord(lines[i], end);
    if (std::ranges::all_of(word, IsLetter)) {
      ++ends[end];
      sizes[word.size()] = true;
    } else {
      others = others || !blank;
    }
  }
  if (indented == 0 || blanks == lines.size()) return 0;
  if (2 * numbers >= blanks) return 10 * indented >= 9 * numbers && indented <= numbers ? kAnyMargin : 0;
  if (others || ends.empty()) return 0;
  const auto most = std::ranges::max_element(ends, {}, [](const auto& entry) { return entry.second; });
  return 4 * most->second >= 3 * timed && (sizes.size() > 1 || first) ? most->first : 0;
}

/// Returns the records that begin in one piece of a file.
std::vector<LogRecord> RecordsOfPiece(std::string_view bytes, std::uint64_t begin, std::uint64_t end,
                                      const std::vector<Shape>& shapes, std::size_t margin, const Context& context,
                                      std::uint32_t number) {
  const bool only_json = shapes.size() == 1 && !shapes[0].member.empty();
  std::vector<LogRecord> records;
  std::optional<LogRecord> open;
  const auto close = [&](std::uint64_t at) {
    // Refuses larger records, which are no test of a sort.
    if (at - open->offset > 0xFFFFFFFFu) throw BadTable("a record has more than 4 GiB");
    open->bytes = static_cast<std::uint32_t>(at - open->offset);
    records.push_back(*open);
    open.reset();
  };
  std::uint64_t at = begin == 0 ? 0 : AfterLine(bytes, begin - 1);
  bool timed = true;
  if (begin == 0 && !bytes.empty()) {  // the lines before the first time belong to the first record
    open = LogRecord{kNoTime, 0, 0, number & 0xFFFFFF};
    timed = false;
  }
  for (; at < bytes.size() && (open || at < end); at = AfterLine(bytes, at)) {
    const std::string_view line = LineAtOffset(bytes, at);
    std::optional<Moment> moment;
    for (const Shape& shape : shapes) {
      if (!moment) moment = TimeAt(shape, WithoutMargin(line, margin), context);
    }
    if (!moment && only_json && line.starts_with('{')) moment = Moment{};
    const LogLines lines = context.rules.lines;
    const bool begins = !timed || lines == LogLines::kUntimed
                            ? moment.has_value()
                            : lines == LogLines::kNone || (!line.empty() && !IsBlank(line[0]));
    if (!begins) continue;
    if (!moment) moment = Moment{};
    if (timed) {
      if (open) close(at);
      if (at >= end) return records;
      open = LogRecord{kNoTime, at, 0, number & 0xFFFFFF};
    }
    timed = true;
    open->time = moment->time;
    open->lacks_zone = moment->lacks_zone;
    open->lacks_year = moment->lacks_year;
    open->lacks_day = moment->lacks_day;
  }
  if (open) close(bytes.size());
  return records;
}

constexpr std::string_view kCommit = "commit ", kEntry = "<![LOG[", kAudit = "--", kSnort = "[**] [";
constexpr std::string_view kRevision = "------------------------------------------------------------------------";

/// The texts with which the records of some programs begin, and the texts before the times in their lines.
struct LateTime {
  std::string_view start, before;
};
constexpr LateTime kLateTimes[] = {{">>>  [", ">>>  Section start "},
                                   {"Event[", "  Date:"},
                                   {"changeset:  ", "date:"},
                                   {"revno: ", "timestamp:"},
                                   {"LABEL:", "Date/Time:"},
                                   {"- cmd: ", "  when:"},
                                   {kRevision, "r"},
                                   {kAudit, "["},
                                   {kSnort, ""},
                                   {"__CURSOR=", "__REALTIME_TIMESTAMP="}};

/// Returns true if the line begins with `start`: in a log of ModSecurity with "--1a2b3c4d-A--".
bool BeginsWith(std::string_view start, std::string_view line) {
  if (!Take(line, start)) return false;
  return start != kAudit || line.find("-A--") == line.find_first_not_of(
                                                     "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHI"
                                                     "JKLMNOPQRSTUVWXYZ");
}

/// Returns the text with which each record of the file begins: kCommit in the output of git log, kEntry in a log of
/// Configuration Manager, and others. Returns an empty text for other logs, whose records begin with their times.
std::string_view StartOfRecords(std::string_view bytes, const LogRules& rules) {
  if (!rules.formats.empty() || rules.lines != LogLines::kUntimed) return {};
  Take(bytes, "\xEF\xBB\xBF");
  if (bytes.starts_with(kEntry)) return kEntry;
  const std::string_view line = LineAtOffset(bytes, 0);
  if (line.starts_with(kCommit) && line.find_first_not_of("0123456789abcdef", kCommit.size()) >= 14) return kCommit;
  std::uint64_t at = 0;
  for (int lines = 0; lines < 20 && at < bytes.size(); ++lines, at = AfterLine(bytes, at)) {
    for (const LateTime& late : kLateTimes) {
      if (BeginsWith(late.start, LineAtOffset(bytes, at))) return late.start;
    }
  }
  return {};
}

/// Returns the time in a line of a record that begins with `start`, or std::nullopt if the line has none.
std::optional<Moment> TimeInside(std::string_view start, std::string_view line, const Context& context) {
  if (start != kEntry) {
    const auto late = std::ranges::find(kLateTimes, start, &LateTime::start);
    if (start == kCommit) Take(line, "Author");
    if (!Take(line, start == kCommit ? "Date:" : late->before)) return std::nullopt;
    if (start == kRevision) {  // "12 | user | 2026-11-23 ..."
      if (line.empty() || !IsDigit(line[0])) return std::nullopt;
      for (int bars = 0; bars < 2; ++bars) line.remove_prefix(std::min(line.find('|'), line.size() - 1) + 1);
    }
    SkipBlanks(line);
    if ((start == kAudit || start == kSnort) && (line.empty() || !IsDigit(line[0]))) return std::nullopt;
    if (start == "revno: " && TakeName(line, kDays) != 0) SkipBlanks(line);
    for (const Form& form : kForms) {
      std::string_view text = line;
      Stamp stamp;
      if (!form.take(text, stamp)) continue;
      TakeZone(text, stamp);
      return MomentOf(stamp, context);
    }
    return std::nullopt;
  }
  const std::size_t end = line.find("]LOG]!><time=\"");
  if (end == line.npos) return std::nullopt;
  line.remove_prefix(line.find('"', end) + 1);
  Stamp stamp;
  if (!TakeClock(line, stamp)) return std::nullopt;
  const bool minus = line.starts_with('-');
  if (minus || line.starts_with('+')) {
    int minutes = 0;  // by which UTC is later
    line.remove_prefix(1);
    if (!TakeDigits(line, 1, 3, minutes)) return std::nullopt;
    stamp.east = (minus ? minutes : -minutes) * std::int64_t{60};
  }
  if (!Take(line, "\" date=\"") || !TakeDigits(line, 1, 2, stamp.month) || !Take(line, "-") ||
      !TakeDigits(line, 1, 2, stamp.day) || !Take(line, "-") || !TakeDigits(line, 4, 4, stamp.year)) {
    return std::nullopt;
  }
  return MomentOf(stamp, context);
}

/// Returns the records of a file in which each record begins with `start`.
std::vector<LogRecord> RecordsFrom(std::string_view start, std::string_view bytes, const Context& context,
                                   std::uint32_t number) {
  std::vector<LogRecord> records;
  bool started = false;  // the lines before the first start belong to the first record
  for (std::uint64_t at = 0; at < bytes.size(); at = AfterLine(bytes, at)) {
    const std::string_view line = LineAtOffset(bytes, at);
    const bool begins = BeginsWith(start, line);
    if (at == 0 || (begins && started)) records.push_back({kNoTime, at, 0, number & 0xFFFFFF});
    started = started || begins;
    LogRecord& record = records.back();
    const std::uint64_t size = AfterLine(bytes, at) - record.offset;
    if (size > 0xFFFFFFFFu) throw BadTable("a record has more than 4 GiB");
    record.bytes = static_cast<std::uint32_t>(size);
    if (record.time != kNoTime) continue;
    if (const auto moment = TimeInside(start, line, context)) {
      record.time = moment->time;
      record.lacks_zone = moment->lacks_zone;
      record.lacks_year = moment->lacks_year;
      record.lacks_day = moment->lacks_day;
    }
  }
  return records;
}

/// Completes times that lack their year, day or zone, from the records before them.
void CompleteTimes(const LogRules& rules, std::vector<LogRecord>& records) {
  using namespace std::chrono;
  constexpr std::int64_t kSecond = 1000000000, kHour = 3600 * kSecond, kDay = 24 * kHour;
  int year = rules.year.value_or(0);
  std::int64_t date = rules.date.value_or(0), last_time = kNoTime;
  std::int64_t before = 0;  // the local time of the record before
  bool follows = false;     // whether there is a record before
  bool second = false;
  // In a year without February 29, that day becomes March 1 and has no time.
  const auto in_year = [](std::int64_t time, int to) {
    const std::int64_t days_of_1972 = time / kDay;
    const year_month_day day{sys_days(days(days_of_1972))};
    const sys_days moved = sys_days(std::chrono::year(to) / day.month() / 1) + (day.day() - std::chrono::day(1));
    return std::int64_t{moved.time_since_epoch().count()} * kDay + (time - days_of_1972 * kDay);
  };
  for (LogRecord& record : records) {
    if (record.time == kNoTime) {
      if (rules.lines != LogLines::kUntimed) record.time = last_time;
      continue;
    }
    std::int64_t& time = record.time;
    const std::int64_t record_time = time;
    if (record.lacks_day) {
      const std::int64_t of_day = time;
      time = of_day + date * kDay;
      if (follows && time < before - 12 * kHour) time = of_day + ++date * kDay;
      // A record of the last hour of a day may come among the first records of the next day.
      if (follows && time > before && time - kDay >= before - kHour) time -= kDay;
    }
    if (record.lacks_year) {
      const std::int64_t here = in_year(time, year), earlier = in_year(time, year - 1), next = in_year(time, year + 1);
      time = here;
      if (follows && here < before - 31 * kDay) {
        time = next;
        ++year;
      }
      // A record of the last hour of a year may come among the first records of the next year.
      if (follows && here > before && earlier >= before - kHour) time = earlier;
      const auto day_of = [](std::int64_t at) { return year_month_day(sys_days(days(at / kDay))).day(); };
      if (day_of(time) != day_of(record_time)) {
        time = rules.lines != LogLines::kUntimed ? last_time : kNoTime;
        continue;
      }
    }
    if (record.lacks_zone) {
      // Whether the record belongs to the hour that occurs twice and that the log has just left.
      const bool late = time < before && !IsTwice(before);
      second = follows && IsTwice(time) && (second || late || time < before - 300 * kSecond);
      before = time;
      time = UtcOf(time, second);
    } else {
      before = time + OffsetAt((time - (time % kSecond + kSecond) % kSecond) / kSecond) * kSecond;
      second = IsTwice(before) && UtcOf(before) != time;
    }
    follows = true;
    last_time = time;
  }
}

}  // namespace

void SetZone(const std::string& zone) {
  if (!zone.empty()) {
    std::string_view offset = zone;
    Stamp stamp;
    if (zone[0] == '+' || zone[0] == '-') TakeZone(offset, stamp);
    if (stamp.east && offset.empty()) {
      const std::int64_t east = *stamp.east, minutes = std::abs(east) / 60;
      const std::string text = std::to_string(minutes / 60) + ":" + std::to_string(minutes % 60);
      // POSIX counts offsets to the west of UTC.
      ::setenv("TZ", ("<zone>" + std::string(east < 0 ? "+" : "-") + text).c_str(), 1);
    } else if (zone == "UTC" || std::filesystem::is_regular_file("/usr/share/zoneinfo/" + zone)) {
      ::setenv("TZ", zone.c_str(), 1);
    } else {
      throw BadRule("there is no zone '" + zone + "'");
    }
  }
  ::tzset();
  UseNamesOfLocalZone();
}

std::int64_t ReadBound(std::string_view text) {
  std::vector<std::string> formats = {"%Y-%m-%d", "@%s", "@%s.%f"};
  for (const char* const between : {"T", " "}) {
    for (const char* const clock : {"%H:%M", "%H:%M:%S", "%H:%M:%S.%f"}) {
      for (const char* const zone : {"", "%z"}) formats.push_back(std::string("%Y-%m-%d") + between + clock + zone);
    }
  }
  for (const std::string& format : formats) {
    bool zoned = false;
    std::string_view rest = text;
    const std::optional<Instant> instant = TakeInstantBy(format, rest, zoned);
    if (!instant || !rest.empty()) continue;
    const std::int64_t time = TimeOfInstant(*instant);
    return zoned ? time : UtcOf(time);
  }
  throw BadRule("'" + std::string(text) + "' is no time");
}

LogFile::LogFile(const std::string& path, const std::string& name) : name_(name) {
  const auto fail = [&](int error) { throw std::system_error(error, std::generic_category(), path); };
  const int file = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(errno);
  struct stat facts;
  if (::fstat(file, &facts) != 0) fail(errno);
  changed_ = std::time(nullptr);
  if (path != "-" && S_ISREG(facts.st_mode)) {
    changed_ = facts.st_mtim.tv_sec;
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size > 0) map_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    const int error = errno;
    ::close(file);
    if (map_ == MAP_FAILED) fail(error);
    bytes_ = {static_cast<const char*>(map_), size};
    return;
  }
  std::vector<char> buffer(std::size_t{1} << 20);
  for (ssize_t n; (n = ::read(file, buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) read_.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (path != "-") ::close(file);
  bytes_ = read_;
}

LogFile::~LogFile() {
  if (map_ != nullptr) ::munmap(map_, bytes_.size());
}

std::uint64_t LogFile::LineAt(std::uint64_t offset) const {
  const std::string_view before = bytes_.substr(0, offset);
  return 1 + static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
}

std::vector<LogRecord> LogFile::Records(const LogRules& rules, std::uint32_t number, unsigned threads) const {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  const Context context{rules, changed_ + kDaySeconds + OffsetAt(changed_ + kDaySeconds), IsUtc(bytes_)};
  const std::string_view start = StartOfRecords(bytes_, rules);
  std::vector<Shape> shapes;
  const std::size_t margin =
      start.empty() && rules.formats.empty() ? LearnMargin(bytes_, rules, context, shapes) : std::size_t{0};
  if (margin == 0) shapes = start.empty() ? LearnShapes(SampleOf(bytes_), rules, context) : std::vector<Shape>();
  if (start.empty() && shapes.empty() && bytes_.find_first_not_of(" \t\r\n") != bytes_.npos) {
    throw BadTable("too few of the first lines have a time in a form that gpusort_check knows; --time says the form");
  }
  std::vector<LogRecord> all;
  if (!start.empty()) all = RecordsFrom(start, bytes_, context, number);
  std::atomic<std::uint64_t> next = 0;
  InOrder<std::vector<LogRecord>> in_order;
  RunOnThreads(threads, [&] {
    for (std::uint64_t piece; start.empty() && (piece = next++) * kPiece < bytes_.size();) {
      const std::uint64_t begin = piece * kPiece, end = std::min(begin + kPiece, bytes_.size());
      in_order.Put(piece, RecordsOfPiece(bytes_, begin, end, shapes, margin, context, number),
                   [&](const std::vector<LogRecord>& part) { all.insert(all.end(), part.begin(), part.end()); });
    }
  });
  CompleteTimes(rules, all);
  if (rules.since || rules.until) {
    std::erase_if(all, [&](const LogRecord& record) {
      return record.time == kNoTime || (rules.since && record.time < *rules.since) ||
             (rules.until && record.time >= *rules.until);
    });
  }
  return all;
}

std::optional<LogDifference> FindDifference(std::string_view output, const std::vector<std::unique_ptr<LogFile>>& files,
                                            const std::vector<LogRecord>& records, unsigned threads) {
  constexpr std::size_t kMost = 1 << 16;
  const auto bytes_of = [&](const LogRecord& record) {
    return files[record.file]->bytes().substr(record.offset, record.bytes);
  };
  std::vector<std::uint64_t> begins;  // the start of every kMost-th record
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i % kMost == 0) begins.push_back(size);
    size += files[records[i].file]->prefix.size() + records[i].bytes + (bytes_of(records[i]).ends_with('\n') ? 0 : 1);
  }
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<LogDifference> first;
  RunOnThreads(threads, [&] {
    for (std::size_t part; (part = next++) < begins.size();) {
      std::uint64_t at = begins[part];
      for (std::size_t i = part * kMost; i < std::min((part + 1) * kMost, records.size()); ++i) {
        const std::string_view record = bytes_of(records[i]);
        const std::string& prefix = files[records[i].file]->prefix;
        const std::uint64_t place = at;
        bool same = at <= output.size() && output.substr(at).starts_with(prefix);
        at += prefix.size();
        same = same && at <= output.size() && output.substr(at).starts_with(record);
        at += record.size();
        if (!record.ends_with('\n')) same = same && output.substr(std::min(at++, output.size())).starts_with('\n');
        if (same) continue;
        const std::lock_guard lock(mutex);
        if (!first || first->record > i) first = LogDifference{i, place};
        return;
      }
    }
  });
  if (!first && output.size() > size) first = LogDifference{records.size(), size};
  return first;
}

std::string ShownTime(std::int64_t time) {
  if (time == kNoTime) return "no time";
  using namespace std::chrono;
  const auto day = floor<days>(sys_time<nanoseconds>(nanoseconds(time)));
  const year_month_day date(day);
  const std::int64_t rest = time - std::int64_t{day.time_since_epoch().count()} * 86400 * 1000000000;
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%09dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(rest / 3600000000000), static_cast<int>(rest / 60000000000 % 60),
                static_cast<int>(rest / 1000000000 % 60), static_cast<int>(rest % 1000000000));
  return text;
}

std::string Explain(const LogDifference& difference, const LogFile& output,
                    const std::vector<std::unique_ptr<LogFile>>& files, const std::vector<LogRecord>& records) {
  const auto shown = [&](const LogRecord& record) {
    const LogFile& file = *files[record.file];
    return "line " + std::to_string(file.LineAt(record.offset)) + " of " + file.name() + " (" + ShownTime(record.time) +
           ")";
  };
  const std::string_view rest = output.bytes().substr(std::min<std::size_t>(difference.byte, output.bytes().size()));
  const std::string place = "record " + std::to_string(difference.record + 1) + " (line " +
                            std::to_string(output.LineAt(difference.byte)) + ", byte " +
                            std::to_string(difference.byte) + ")";
  // Finds the longest record of the inputs that begins at this place of the output.
  std::optional<std::size_t> there;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string_view bytes = files[records[i].file]->bytes().substr(records[i].offset, records[i].bytes);
    const std::string& prefix = files[records[i].file]->prefix;
    if (!rest.starts_with(prefix)) continue;
    if (rest.substr(prefix.size()).starts_with(bytes) && (!there || records[*there].bytes < bytes.size())) there = i;
  }
  const std::size_t wanted = difference.record;
  if (wanted == records.size()) {
    return place + " is one too many: the inputs have " + std::to_string(records.size()) + " records" +
           (there ? "; it is " + shown(records[*there]) : "");
  }
  const std::string missing = "; " + shown(records[wanted]) + " comes here";
  if (rest.empty()) {
    return "the last " + std::to_string(records.size() - wanted) + " of " + std::to_string(records.size()) +
           " records are missing" + missing;
  }
  if (!there) return place + " is no record of the inputs" + missing;
  if (*there < wanted) return place + " is there twice: it is " + shown(records[*there]) + missing;
  if (records[*there].time == records[wanted].time) {
    return place + " is not in the order of the inputs: it is " + shown(records[*there]) + missing;
  }
  return place + " comes too early, or records are missing: it is " + shown(records[*there]) + missing;
}

}  // namespace check
