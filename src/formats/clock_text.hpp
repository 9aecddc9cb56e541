// Parsers of times of day and of lengths of time, in the notations of databases, ISO 8601 and programs. The results do
// not depend on the locale. Start at ParseClock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpusort {

__extension__ using WideNanos = __int128;

/// A time of day such as 14:30, or a count of hours such as 100:30, with an optional time zone.
struct ClockTime {
  WideNanos time = 0;     ///< nanoseconds since midnight, in UTC; can be negative or more than a day
  std::int64_t east = 0;  ///< local time minus UTC, in seconds; 0 if the text has no zone
};

/// Parses a time of day or a count of hours: h:mm[:ss[.fraction]], such as 14:30 or -100:30:15.5. As in MySQL's TIME,
/// the hours can be any number of at most ten digits, with an optional sign. AM or PM may follow, and then a zone that
/// TakeZone() reads. Second 60, a leap second, counts as the second after 59. The fraction has at most nine digits.
/// Returns std::nullopt for any other text.
std::optional<ClockTime> ParseClock(std::string_view text);

/// Parses a length of time and returns it in nanoseconds. A year has 12 months, a month has 30 days, and a day has 24
/// hours, as in PostgreSQL's comparison of intervals. Returns std::nullopt unless `text` has one of these forms:
/// * Numbers with units, and h:mm[:ss[.fraction]], each with an optional sign: 1 year -2 mons 3 days 04:05:06, 1h30m,
///   250ms, @ 1 day 2 hours ago. A comma may follow a unit. The units are years, months, weeks, days, hours, minutes,
///   seconds, milliseconds, microseconds and nanoseconds, with the usual abbreviations. m stands for minutes.
/// * ISO 8601: P1Y2M3DT4H5M6.7S, P2W, -PT1H.
/// * The SQL standard: +1-2 -3 +4:05:06 for years and months, days, and hours. A sign at the beginning counts for all
///   parts that have no sign of their own.
/// * A number alone: seconds.
std::optional<WideNanos> ParseInterval(std::string_view text);

}  // namespace gpusort
