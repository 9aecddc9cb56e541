// Parsers of days and instants: ISO 8601 and RFC 3339, the forms that PostgreSQL, MySQL and Apache write, seconds since
// 1970, and formats in strptime's letters. The calendar is always the Gregorian one, as in ISO 8601 and PostgreSQL. A
// day that does not exist is no value. No function allocates memory or depends on the locale. Start at ParseInstant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/text_reader.hpp"

namespace gpusort {

/// Skips one of `names` at the front of `reader`, in full or its first three letters, in any case. Returns the index of
/// the name, or -1 if there is none.
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
/// Skips the letters at the front of `reader` if they are the name of a time zone, in any case. Returns the zone's
/// seconds east of UTC, or std::nullopt if they are no name.
std::optional<std::int64_t> TakeZoneName(TextReader& reader);
/// Skips a zone at the front, if there is one: a name, Z, +hh, +hhmm, +hh:mm or +hh:mm:ss. Sets `offset` to the zone's
/// seconds east of UTC. Returns false for a zone that is damaged.
bool TakeZone(TextReader& reader, std::optional<std::int64_t>& offset);

/// A day, or one of the two infinities, which are before and after all days.
struct Day {
  int infinite = 0;       ///< 0: a day; -1 or 1: before or after all days
  std::int64_t days = 0;  ///< days since 1970-01-01
};

/// An exact point in time, with a fraction of any length.
struct Instant {
  int infinite = 0;           ///< 0: an instant; -1 or 1: before or after all instants
  std::int64_t seconds = 0;   ///< seconds since 1970-01-01T00:00:00Z, without leap seconds, rounded down
  std::string_view fraction;  ///< the digits of the fraction in the parsed text, without trailing zeros
  bool from_next = false;     ///< true: the instant is `seconds` + 1 minus the fraction
  bool zoned = true;          ///< the text has a time zone; otherwise it is read as UTC
};

/// Parses YYYY-MM-DD (years of 4 to 7 digits, with a sign or " BC"; year 0 is 1 BC), YYYY/MM/DD, YYYYMMDD, infinity and
/// -infinity. Returns std::nullopt for any other text.
std::optional<Day> ParseDay(std::string_view text);

/// Parses an instant. Returns std::nullopt unless `text` has one of these forms:
/// * A day as in ParseDay, optionally with T, t or blanks and hh:mm[:ss[.fraction]], after YYYYMMDD also hhmm[ss]. A
///   zone may follow: Z, a name of a zone in any case, +hh, +hhmm, +hh:mm or +hh:mm:ss. 24:00:00 is the next
///   midnight, and a second 60 is the next second.
/// * Apache's 31/Dec/2026:23:59:59 +0100.
/// * Digits only: seconds since 1970 (up to 10 digits, optionally a fraction), milliseconds (11 to 14), microseconds
///   (15 to 17) or nanoseconds (18 and 19). So 20260101 alone is a second, not a day.
/// * infinity, -infinity.
std::optional<Instant> ParseInstant(std::string_view text);

/// Checks `format` and returns it in the form that ParseInstantBy takes. Throws Error(kUsage) for an unknown letter.
/// The letters are strptime's %Y %m %d %H %M %S %y %b %B %a %A %e %j %p %I %z %Z %s %T %D %F %R %n %t %%, and %f
/// (fraction).
std::string CheckedTimeFormat(std::string_view format);

/// The parts of a time as a text gives them. A number is 0 if the text does not give it, unless its comment says
/// otherwise.
struct TimeParts {
  static constexpr unsigned kNoYear = ~0u;
  unsigned year = kNoYear;
  unsigned month = 0, day = 0, day_of_year = 0, hour = 0, hour_of_half = 0, minute = 0, second = 0;
  unsigned week = 0, day_of_week = 0;  ///< of ISO 8601
  unsigned nanoseconds = 0;            ///< the fraction of a second if `fraction` is empty; instant() ignores it
  bool afternoon = false;              ///< `hour_of_half` is after noon
  std::string_view fraction;           ///< digits of the fraction of a second
  std::optional<std::int64_t> offset;  ///< seconds east of UTC; no value: the text has no time zone
  std::string_view zone;  ///< the name of a zone that only the IANA database has, and that exists: "Europe/Berlin"
  std::optional<std::int64_t> count;   ///< seconds since 1970, which replace all other parts but the fraction
  bool minus = false;                  ///< `count` and `fraction` are subtracted from 1970-01-01

  bool lacks_year() const { return year == kNoYear && !count && !lacks_date(); }
  bool lacks_date() const { return month == 0 && day == 0 && day_of_year == 0 && week == 0 && !count; }
  /// Returns the instant, in UTC if there is no offset. A year that is missing is 1972, a leap year, and a missing
  /// month or day is 1. Returns std::nullopt for a date that does not exist.
  std::optional<Instant> instant() const;
};

/// Reads a time by `format`, which CheckedTimeFormat() returned, at the front of `reader` and skips it. Returns false
/// if the text does not match. `reader` and `parts` are undefined then.
bool TakeTime(std::string_view format, TextReader& reader, TimeParts& parts);

/// Parses all of `text` by `format`. Names are English, %Z is the name of a zone, and the weekday is ignored.
/// Parts that the format lacks are taken from 1972-01-01 00:00:00. 1972 is a leap year, so February 29 exists.
std::optional<Instant> ParseInstantBy(std::string_view format, std::string_view text);

}  // namespace gpusort
