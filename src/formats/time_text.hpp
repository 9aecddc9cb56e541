// Days and instants out of text: ISO 8601 and RFC 3339, what PostgreSQL, MySQL and Apache write, counts of seconds
// since 1970, and formats in strptime's letters. The calendar is the Gregorian one at all times (as in ISO 8601 and
// PostgreSQL); days that are in no calendar are no value. Nothing allocates or asks the locale. Start at ParseInstant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpusort {

/// A day, or one of the two infinities, which are before and after all days.
struct Day {
  int infinite = 0;       ///< -1, 0 or 1
  std::int64_t days = 0;  ///< since 1970-01-01
};

/// A point of time, exactly.
struct Instant {
  int infinite = 0;           ///< -1, 0 or 1
  std::int64_t seconds = 0;   ///< since 1970-01-01T00:00:00Z, without leap seconds; rounded down
  std::string_view fraction;  ///< of a second: the digits after the point, in the text; the last is not 0
  bool from_next = false;     ///< the fraction is counted back from the next second
  bool zoned = true;          ///< the text says of which zone it is; if not, it is taken as UTC
};

/// YYYY-MM-DD (years of 4 to 7 digits, with a sign or " BC"; year 0 is 1 BC), YYYY/MM/DD, YYYYMMDD, infinity,
/// -infinity.
std::optional<Day> ParseDay(std::string_view text);

/// Takes these forms:
/// * A day as above, perhaps with T, t or blanks and hh:mm[:ss[.fraction]] after it, after YYYYMMDD also hhmm[ss]. A
///   zone may follow: Z, a name of zone_names.hpp in any case, +hh, +hhmm, +hh:mm, +hh:mm:ss. 24:00:00 is the next
///   midnight, and a second 60 is the next second.
/// * Apache's 31/Dec/2026:23:59:59 +0100.
/// * Digits alone: seconds since 1970 (up to 10, a fraction may follow), milliseconds (11 to 14), microseconds (15 to
///   17), nanoseconds (18 and 19). So 20260101 alone is a second, not a day.
/// * infinity, -infinity.
std::optional<Instant> ParseInstant(std::string_view text);

/// Returns `format` as ParseInstantBy takes it. Throws Error(kUsage) about an unknown letter. The letters are
/// strptime's %Y %m %d %H %M %S %y %b %B %a %A %e %j %p %I %z %Z %s %T %D %F %R %n %t %% and also %f, the digits of a
/// fraction.
std::string CheckedTimeFormat(std::string_view format);
/// All of `text` by a format. Names are English; %Z is a name of zone_names.hpp; the weekday counts for nothing. What
/// the format does not say is that of 1972-01-01 00:00:00, a leap year, so that days without a year all exist.
std::optional<Instant> ParseInstantBy(std::string_view format, std::string_view text);

}  // namespace gpusort
