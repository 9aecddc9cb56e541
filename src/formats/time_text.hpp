// Parsers of days and instants, for example in ISO 8601, RFC 3339, seconds since 1970, and strptime formats. The
// calendar is Gregorian. Days that do not exist are refused. The results do not depend on the locale. Start at
// ParseInstant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/text_reader.hpp"

namespace gpusort {

/// Skips the name of a month or weekday at the beginning of `reader`. The name may be in full or be its first three
/// letters, in upper or lower case. Returns the index of the name in `names`, or -1 if there is no such name.
template <std::size_t kNames>
int TakeName(TextReader& reader, const std::string_view (&names)[kNames]) {
  for (std::size_t i = 0; i < kNames; ++i) {
    if (!reader.TakeWord(names[i].substr(0, 3))) continue;
    reader.TakeWord(names[i].substr(3));
    return static_cast<int>(i);
  }
  return -1;
}

inline constexpr std::string_view kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                               "july",    "august",   "september", "october", "november", "december"};
inline constexpr std::string_view kWeekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                                 "thursday", "friday", "saturday"};
/// An abbreviation of a time zone, such as CET: its index in a list, from 1 on. 0: none.
using ZoneWord = std::uint8_t;
/// Returns the abbreviation that `text` begins with, in upper or lower case, or 0.
ZoneWord ZoneWordOf(std::string_view text);
struct ZoneWordFacts {
  std::string_view name;   ///< the abbreviation in lower case
  std::int64_t east = 0;   ///< local time minus UTC in seconds, as times with this abbreviation are read
  bool ambiguous = false;  ///< true: there are zones with another offset that use the same abbreviation
};
/// Returns the meaning of the abbreviation `word`, which must not be 0.
ZoneWordFacts FactsOf(ZoneWord word);
/// Returns the largest ZoneWord, which is the number of known abbreviations.
ZoneWord LastZoneWord();
/// Skips the abbreviation of a time zone, such as CET, at the beginning of `reader`, in upper or lower case. Returns
/// local time minus UTC in seconds, or std::nullopt if there is no such abbreviation.
std::optional<std::int64_t> TakeZoneName(TextReader& reader);
/// Skips an optional time zone at the beginning of `reader`: an abbreviation such as CET, Z, +hh, +hhmm, +hh:mm or
/// +hh:mm:ss. Sets `offset` to local time minus UTC in seconds; leaves it unchanged if there is no zone. Returns false
/// if a sign is not followed by a valid zone.
bool TakeZone(TextReader& reader, std::optional<std::int64_t>& offset);

/// A day of the calendar, or one of the values -infinity and infinity, which come before and after all days.
struct Day {
  int infinite = 0;       ///< 0: a day; -1: before all days; 1: after all days
  std::int64_t days = 0;  ///< days since 1970-01-01
};

/// An exact point in time, with a fraction of any length.
struct Instant {
  int infinite = 0;           ///< 0: a point in time; -1: before all points in time; 1: after all of them
  std::int64_t seconds = 0;   ///< whole seconds since 1970-01-01T00:00:00Z, without leap seconds
  std::string_view fraction;  ///< the digits of the fraction of a second, without trailing zeros
  /// False: the time is `seconds + fraction`. True: the time is `seconds + 1 - fraction`, used for negative times with
  /// a fraction. For example, -0.25 has `seconds` -1, `fraction` "25" and `from_next` true.
  bool from_next = false;
  bool zoned = true;       ///< true: the timestamp had a time zone; false: it was read as UTC
  ZoneWord zone_word = 0;  ///< the abbreviation, such as CET, that named the time zone; 0: none
};

/// Parses a day: YYYY-MM-DD, YYYY/MM/DD, YYYYMMDD, infinity or -infinity. In the format YYYY-MM-DD, the year can have 4
/// to 7 digits and a sign. " BC" may follow a day; year 0 is 1 BC. Returns std::nullopt for any other string.
std::optional<Day> ParseDay(std::string_view text);

/// Parses a point in time. Returns std::nullopt unless `text` has one of these formats:
/// - A day as for ParseDay(), optionally with a time and a zone: 2026-12-31, 2026-12-31 23:59, 2026-12-31T23:59:59.5Z.
/// - A day of eight digits with a time, and optionally a zone: 20261231T235959, 20261231 23:59.
/// - The format of Apache: 31/Dec/2026:23:59:59 +0100.
/// - Seconds since 1970: up to 10 digits, optionally with a sign and a fraction, and after a fraction an exponent.
/// - Milliseconds (11 to 14 digits), microseconds (15 to 17) or nanoseconds (18 or 19) since 1970, optionally with a
///   sign.
/// - infinity or -infinity.
///
/// The zone can be Z, an abbreviation such as CET, an offset such as +01:00, or a name such as Europe/Berlin or
/// [Europe/Berlin]. A local time that occurs twice in a named zone means the second one.
std::optional<Instant> ParseInstant(std::string_view text);

/// Checks a time format of strptime, such as "%d.%m.%Y", and returns it in the form that ParseInstantBy takes.
/// - %f stands for the fraction of a second.
/// - Throws Error(kUsage) for an unknown conversion. The message lists all known ones.
std::string CheckedTimeFormat(std::string_view format);

/// The parts of a timestamp, such as the year. A number is 0 if the timestamp lacks this part, unless a comment says
/// otherwise.
struct TimeParts {
  static constexpr unsigned kNoYear = ~0u;
  unsigned year = kNoYear;
  unsigned month = 0, day = 0, day_of_year = 0, hour = 0, hour_of_half = 0, minute = 0, second = 0;
  unsigned week = 0, day_of_week = 0;  ///< the week of the year and the day of the week, as in ISO 8601
  unsigned nanoseconds = 0;            ///< the fraction of a second if `fraction` is empty; instant() ignores it
  bool afternoon = false;              ///< true: `hour_of_half` is in the afternoon (PM)
  std::string_view fraction;           ///< the digits of the fraction of a second
  std::optional<std::int64_t> offset;  ///< local time minus UTC, in seconds; no value: the timestamp has no time zone
  ZoneWord zone_word = 0;              ///< the abbreviation, such as CET, from which `offset` was read; 0: none
  std::string_view zone;               ///< the name of a zone of the IANA database, such as "Europe/Berlin"; or empty
  std::optional<std::int64_t> count;   ///< seconds since 1970; if set, only it, `fraction` and `minus` are used
  const char* clock = nullptr;         ///< the place of HH:MM in the timestamp; null: not known
  bool minus = false;                  ///< true: `count` and `fraction` are subtracted from 1970-01-01 instead of added

  bool lacks_year() const { return year == kNoYear && !count && !lacks_date(); }
  bool lacks_date() const { return month == 0 && day == 0 && day_of_year == 0 && week == 0 && !count; }
  /// Returns the point in time that the parts describe, or std::nullopt if the date does not exist. If there is no
  /// `offset`, the parts are taken as UTC. The default year is 1972, a leap year. The default month and day are 1.
  std::optional<Instant> instant() const;
};

/// Reads the timestamp at the beginning of `reader`, and moves `reader` to its end. `format` must be a result of
/// CheckedTimeFormat(). If there is no match, returns false, and `reader` and `parts` are undefined.
bool TakeTime(std::string_view format, TextReader& reader, TimeParts& parts);

/// Parses `text` by `format`, which must be a result of CheckedTimeFormat(). Returns std::nullopt unless the whole text
/// matches. Names are English, %Z is the abbreviation of a zone, and the weekday is ignored. Parts that the format
/// lacks are those of 1972-01-01 00:00:00. 1972 is a leap year, so February 29 exists.
std::optional<Instant> ParseInstantBy(std::string_view format, std::string_view text);

}  // namespace gpusort
