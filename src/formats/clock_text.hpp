// Parsers of times of day and of lengths of time, in the notations of databases, ISO 8601 and programs. The results do
// not depend on the locale. Start at ParseClock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/time_text.hpp"

namespace gpusort {

__extension__ using WideNanos = __int128;

/// A time of day such as 14:30, or a count of hours such as 100:30, with an optional time zone.
struct ClockTime {
  WideNanos time = 0;      ///< nanoseconds since midnight, in UTC; can be negative or more than a day
  std::int64_t east = 0;   ///< local time minus UTC, in seconds; 0 if there is no zone
  ZoneWord zone_word = 0;  ///< the abbreviation, such as CET, from which `east` was read; 0: none

  /// Changes the time zone and keeps the local time. `other` is local time minus UTC in the new zone, in seconds.
  void MoveTo(std::int64_t other) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    time -= WideNanos{other - east} * kSecond;
    east = other;
  }
};

/// Parses a time of day, such as 14:30:05.5, or a number of hours, such as -100:30. Returns std::nullopt for other
/// strings.
/// - The hours have at most ten digits, and the fraction of a second has at most nine.
/// - AM or PM may follow, and then a time zone that TakeZone() reads.
/// - Second 60, a leap second, counts as the second after 59.
std::optional<ClockTime> ParseClock(std::string_view text);

/// Parses a length of time and returns it in nanoseconds. A year counts as 12 months, a month as 30 days, and a day as
/// 24 hours. Returns std::nullopt unless `text` has one of these formats:
/// - Numbers with units: 1 year -2 mons 3 days 04:05:06, 1h30m, 250ms, @ 1 day 2 hours ago. The unit m means minutes.
/// - ISO 8601: P1Y2M3DT4H5M6.7S, P2W, -PT1H.
/// - The SQL standard: 1-2 3 4:05:06 means 1 year, 2 months, 3 days and 04:05:06 hours. Each part may have a sign. A
///   minus sign before the first part also applies to parts without a sign.
/// - A number of seconds: 90.5.
std::optional<WideNanos> ParseInterval(std::string_view text);

}  // namespace gpusort
