#include "formats/time_text.hpp"

#include <algorithm>
#include <type_traits>

#include "base/gnu_quote.hpp"
#include "formats/text_reader.hpp"
#include "formats/zone_names.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::size_t kMostYearDigits = 7;

struct Civil {
  std::int64_t year = 1972;
  unsigned month = 1;
  unsigned day = 1;
};

struct Clock {
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  std::string_view fraction;
};

constexpr std::string_view kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
constexpr std::string_view kWeekdays[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

constexpr std::uint32_t kEraYears = 400, kEraDays = 146097;

/// Years from a leap year on that is a multiple of 400 before all others, so that they are quick to divide.
std::uint32_t Counted(std::int64_t year) {
  constexpr std::int64_t kFirst = 25'000 * kEraYears;
  static_assert(kFirst > 9'999'999);
  return static_cast<std::uint32_t>(year + kFirst);
}

bool IsLeap(std::int64_t year) {
  const std::uint32_t counted = Counted(year);
  return counted % 4 == 0 && (counted % 100 != 0 || counted % 400 == 0);
}

/// Days since 1970-01-01, by eras of 400 years that begin in March: Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms".
std::optional<std::int64_t> DaysOf(const Civil& civil) {
  constexpr unsigned char kDays[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (civil.month < 1 || civil.month > 12) return std::nullopt;
  if (civil.day < 1 || civil.day > kDays[civil.month]) {
    if (civil.month != 2 || civil.day != 29 || !IsLeap(civil.year)) return std::nullopt;
  }
  const std::uint32_t year = Counted(civil.year) - (civil.month <= 2);
  const std::uint32_t era = year / kEraYears, of_era = year % kEraYears;
  const std::uint32_t of_year = (153 * (civil.month + (civil.month > 2 ? -3u : 9u)) + 2) / 5 + civil.day - 1;
  const std::uint32_t day = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return (std::int64_t{era} - Counted(0) / kEraYears) * kEraDays + day - 719468;
}

bool AllZeros(std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; }

/// Seconds since midnight.
std::optional<std::int64_t> SecondsOf(const Clock& clock) {
  if (clock.hour > 24 || clock.minute > 59 || clock.second > 60) return std::nullopt;
  if (clock.hour == 24 && (clock.minute > 0 || clock.second > 0 || !AllZeros(clock.fraction))) return std::nullopt;
  return (clock.hour * std::int64_t{60} + clock.minute) * 60 + clock.second;
}

/// An instant `minus` of which lies as far before 1970 as the numbers say.
Instant MakeInstant(std::int64_t seconds, std::string_view fraction, bool minus = false) {
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  Instant instant;
  instant.from_next = minus && !fraction.empty();
  instant.seconds = (minus ? -seconds : seconds) - instant.from_next;
  instant.fraction = fraction;
  return instant;
}

int TakeInfinity(TextReader& reader) {
  const std::string_view rest = reader.rest();
  if (rest.size() < 8 || rest.size() > 9) return 0;
  const bool sign = rest[0] == '-' || rest[0] == '+';
  if (!IsWord(rest.substr(sign), "infinity")) return 0;
  reader.at = reader.end;
  return rest[0] == '-' ? -1 : 1;
}

bool TakeDate(TextReader& reader, Civil& civil, bool* compact = nullptr) {
  const char* const begin = reader.at;
  const bool minus = reader.TakeSign();
  const bool sign = reader.at != begin;
  const std::size_t digits = reader.digits();
  if (digits == 8 && !sign) {
    civil.year = reader.TakeNumber(4);
    if (compact != nullptr) *compact = true;
    return reader.TakeTwo(civil.month) && reader.TakeTwo(civil.day);
  }
  if (digits < 4 || digits > kMostYearDigits) return false;
  civil.year = reader.TakeNumber(digits);
  if (minus) civil.year = -civil.year;
  const char between = reader.Is('/') && digits == 4 && !sign ? '/' : '-';
  return reader.Take(between) && reader.TakeTwo(civil.month) && reader.Take(between) && reader.TakeTwo(civil.day);
}

/// " BC", which only ends a text. False if the year cannot be one before Christ.
bool TakeBc(TextReader& reader, Civil& civil) {
  TextReader behind = reader;
  if (!behind.SkipSpace() || !IsWord(behind.rest(), "bc")) return true;
  reader.at = reader.end;
  civil.year = 1 - civil.year;
  return civil.year <= 0;
}

/// Takes the fraction after seconds: '.' or ',' and digits, or nothing.
bool TakeFraction(TextReader& reader, Clock& clock) {
  if (!reader.Take('.') && !reader.Take(',')) return true;
  clock.fraction = reader.rest().substr(0, reader.digits());
  reader.at += clock.fraction.size();
  return !clock.fraction.empty();
}

bool TakeClock(TextReader& reader, bool compact, Clock& clock) {
  if (!reader.TakeTwo(clock.hour)) return false;
  const bool colons = reader.Take(':');
  if ((!colons && !compact) || !reader.TakeTwo(clock.minute)) return false;
  if (colons ? !reader.Take(':') : reader.digits() == 0) return true;
  return reader.TakeTwo(clock.second) && TakeFraction(reader, clock);
}

/// YYYY-MM-DD?hh:mm:ss, ? one of T, t and a blank: nearly all there is, in half the time. False, and takes nothing, if
/// it is otherwise.
bool TakeUsual(TextReader& reader, Civil& civil, Clock& clock) {
  const char* const c = reader.at;
  if (reader.end - c < 19 || c[4] != '-' || c[7] != '-' || c[13] != ':' || c[16] != ':') return false;
  if (c[10] != 'T' && c[10] != ' ' && c[10] != 't') return false;
  bool digits = true;
  const auto two = [&](unsigned at) {
    const unsigned high = static_cast<unsigned char>(c[at] - '0'), low = static_cast<unsigned char>(c[at + 1] - '0');
    digits = digits & (high <= 9) & (low <= 9);
    return high * 10 + low;
  };
  civil = {two(0) * 100 + two(2), two(5), two(8)};
  clock = {two(11), two(14), two(17), {}};
  if (digits) reader.at += 19;
  return digits;
}

/// Takes a zone at the front, if there is one, and sets its seconds east of UTC. False if it is a broken one.
bool TakeZone(TextReader& reader, std::optional<std::int64_t>& offset) {
  if (reader.done()) return true;
  if (!reader.Is('+') && !reader.Is('-')) {
    const bool utc = reader.end - reader.at == 1 && Lower(*reader.at) == 'z';
    if (const std::optional<std::int64_t> named = utc ? std::nullopt : TakeZoneName(reader)) {
      offset = named;
    } else if (reader.Take('Z') || reader.Take('z') || reader.TakeWord("utc") || reader.TakeWord("gmt")) {
      offset = 0;
    }
    return true;
  }
  const bool minus = reader.TakeSign();
  unsigned hour = 0, minute = 0, second = 0;
  if (!reader.TakeTwo(hour)) return false;
  const bool colons = reader.Take(':');
  if (colons || reader.digits() > 0) {
    if (!reader.TakeTwo(minute)) return false;
    if (colons && reader.Take(':') && !reader.TakeTwo(second)) return false;
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  const std::int64_t east = (hour * std::int64_t{60} + minute) * 60 + second;
  offset = minus ? -east : east;
  return true;
}

std::optional<Instant> InstantOf(const Civil& civil, const Clock& clock, std::optional<std::int64_t> offset) {
  const std::optional<std::int64_t> days = DaysOf(civil), seconds = SecondsOf(clock);
  if (!days || !seconds) return std::nullopt;
  Instant instant = MakeInstant(*days * kDaySeconds + *seconds - offset.value_or(0), clock.fraction);
  instant.zoned = offset.has_value();
  return instant;
}

/// The number of the name at the front, in full or its three letters, from 0; or -1.
template <std::size_t kNames>
int TakeName(TextReader& reader, const std::string_view (&names)[kNames]) {
  for (std::size_t i = 0; i < kNames; ++i) {
    if (reader.TakeWord(names[i]) || reader.TakeWord(names[i].substr(0, 3))) return static_cast<int>(i);
  }
  return -1;
}

/// dd/Mon/yyyy:hh:mm:ss and a zone.
std::optional<Instant> ParseApache(TextReader reader) {
  Civil civil;
  Clock clock;
  std::optional<std::int64_t> offset;
  if (!reader.TakeTwo(civil.day) || !reader.Take('/')) return std::nullopt;
  const int month = TakeName(reader, kMonths);
  if (month < 0 || !reader.Take('/') || reader.digits() != 4) return std::nullopt;
  civil.month = static_cast<unsigned>(month) + 1;
  civil.year = reader.TakeNumber(4);
  if (!reader.Take(':') || !TakeClock(reader, false, clock)) return std::nullopt;
  reader.SkipSpace();
  if (!TakeZone(reader, offset) || !reader.done()) return std::nullopt;
  return InstantOf(civil, clock, offset);
}

/// Digits that count from 1970, of which `reader` holds `digits` and perhaps a fraction.
std::optional<Instant> ParseCount(TextReader reader, std::size_t digits, bool minus) {
  const std::size_t behind = digits <= 10 ? 0 : digits <= 14 ? 3 : digits <= 17 ? 6 : 9;
  const std::int64_t seconds = reader.TakeNumber(digits - behind);
  if (behind > 0 || reader.done()) return MakeInstant(seconds, reader.rest(), minus);
  ++reader.at;
  if (reader.done() || reader.digits() != reader.rest().size()) return std::nullopt;
  return MakeInstant(seconds, reader.rest(), minus);
}

/// The letters of a format after the letters that stand for several others were replaced.
constexpr std::string_view kFormatLetters = "YmdHMSybBaAejpIzZsf%";

}  // namespace

std::optional<Day> ParseDay(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  if (const int infinite = TakeInfinity(reader); infinite != 0) return Day{infinite, 0};
  Civil civil;
  if (!TakeDate(reader, civil) || !TakeBc(reader, civil) || !reader.done()) return std::nullopt;
  const std::optional<std::int64_t> days = DaysOf(civil);
  if (!days) return std::nullopt;
  return Day{0, *days};
}

std::optional<Instant> ParseInstant(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  Civil civil;
  Clock clock;
  std::optional<std::int64_t> offset;
  if (TakeUsual(reader, civil, clock)) {
    if (!TakeFraction(reader, clock)) return std::nullopt;
  } else {
    if (const int infinite = TakeInfinity(reader); infinite != 0) {
      Instant instant;
      instant.infinite = infinite;
      return instant;
    }
    TextReader number = reader;
    const bool minus = number.TakeSign();
    const std::size_t digits = number.digits();
    const char* const behind = number.at + digits;
    if (digits > 0 && digits <= 19 && (behind == reader.end || (digits <= 10 && (*behind == '.' || *behind == ',')))) {
      return ParseCount(number, digits, minus);
    }
    if (digits == 2) return ParseApache(reader);
    bool compact = false;
    if (!TakeDate(reader, civil, &compact) || !TakeBc(reader, civil)) return std::nullopt;
    if (reader.done()) return InstantOf(civil, clock, offset);
    if (!reader.Take('T') && !reader.Take('t') && !reader.SkipSpace()) return std::nullopt;
    if (!TakeClock(reader, compact, clock)) return std::nullopt;
  }
  const char* const behind = reader.at;
  reader.SkipSpace();
  if (!TakeZone(reader, offset)) return std::nullopt;
  if (!offset) reader.at = behind;
  if (!reader.done() && (!TakeBc(reader, civil) || !reader.done())) return std::nullopt;
  return InstantOf(civil, clock, offset);
}

std::string CheckedTimeFormat(std::string_view format) {
  std::string plain;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      plain += IsSpace(format[i]) ? ' ' : format[i];
      continue;
    }
    const char letter = ++i < format.size() ? format[i] : '\0';
    if (letter == 'T') {
      plain += "%H:%M:%S";
    } else if (letter == 'D') {
      plain += "%m/%d/%y";
    } else if (letter == 'F') {
      plain += "%Y-%m-%d";
    } else if (letter == 'R') {
      plain += "%H:%M";
    } else if (letter == 'n' || letter == 't') {
      plain += ' ';
    } else if (letter != '\0' && kFormatLetters.find(letter) != std::string_view::npos) {
      plain += {'%', letter};
    } else {
      throw Error(ErrorCode::kUsage, "time format " + QuoteWord(format) + ": unknown " +
                                         QuoteWord(format.substr(i - 1, 2)) +
                                         "; known are %Y %m %d %H %M %S %y %b %B %a %A %e %j %p %I %z %Z %s %f %T %D "
                                         "%F %R %n %t %%");
    }
  }
  return plain;
}

std::optional<Instant> ParseInstantBy(std::string_view format, std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  Civil civil;
  Clock clock;
  std::optional<std::int64_t> offset, count, day_of_year;
  bool minus = false, afternoon = false, twelve_hours = false, month_or_day = false;
  // A number of at most `most` digits.
  const auto take = [&](std::size_t most, std::int64_t low, std::int64_t high, auto& to) {
    reader.SkipSpace();
    const std::size_t digits = std::min(most, reader.digits());
    if (digits == 0) return false;
    const std::int64_t number = reader.TakeNumber(digits);
    to = static_cast<std::remove_reference_t<decltype(to)>>(number);
    return number >= low && number <= high;
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == ' ') {
      reader.SkipSpace();
      continue;
    }
    if (format[i] != '%') {
      if (!reader.Take(format[i])) return std::nullopt;
      continue;
    }
    bool good = true;
    switch (format[++i]) {
      case 'Y':
        good = take(4, 0, 9999, civil.year);
        break;
      case 'y':
        good = take(2, 0, 99, civil.year);
        civil.year += civil.year < 69 ? 2000 : 1900;
        break;
      case 'm':
        good = take(2, 1, 12, civil.month);
        month_or_day = true;
        break;
      case 'b':
      case 'B':
        if (const int month = TakeName(reader, kMonths); month >= 0) {
          civil.month = static_cast<unsigned>(month) + 1;
        } else {
          good = false;
        }
        month_or_day = true;
        break;
      case 'd':
      case 'e':
        good = take(2, 1, 31, civil.day);
        month_or_day = true;
        break;
      case 'j':
        good = take(3, 1, 366, day_of_year);
        break;
      case 'a':
      case 'A':
        good = TakeName(reader, kWeekdays) >= 0;
        break;
      case 'H':
        good = take(2, 0, 24, clock.hour);
        break;
      case 'I':
        good = take(2, 1, 12, clock.hour);
        twelve_hours = true;
        break;
      case 'p':
        afternoon = reader.TakeWord("pm");
        good = afternoon || reader.TakeWord("am");
        break;
      case 'M':
        good = take(2, 0, 59, clock.minute);
        break;
      case 'S':
        good = take(2, 0, 60, clock.second);
        break;
      case 'f':
        clock.fraction = reader.rest().substr(0, reader.digits());
        reader.at += clock.fraction.size();
        good = !clock.fraction.empty();
        break;
      case 's':
        reader.SkipSpace();
        minus = reader.TakeSign();
        good = reader.digits() > 0 && reader.digits() <= 12;
        if (good) count = reader.TakeNumber(reader.digits());
        break;
      case 'z':
        reader.SkipSpace();
        offset.reset();
        good = TakeZone(reader, offset) && offset.has_value();
        break;
      case 'Z':
        if (const std::optional<std::int64_t> named = TakeZoneName(reader)) {
          if (!offset) offset = named;
        } else {
          good = false;
        }
        break;
      default:
        good = reader.Take('%');
    }
    if (!good) return std::nullopt;
  }
  if (!reader.done()) return std::nullopt;
  if (count) return MakeInstant(*count, clock.fraction, minus);
  if (twelve_hours) clock.hour = clock.hour % 12 + (afternoon ? 12 : 0);
  if (!day_of_year || month_or_day) return InstantOf(civil, clock, offset);
  if (*day_of_year > 365 + IsLeap(civil.year)) return std::nullopt;
  std::optional<Instant> instant = InstantOf({civil.year, 1, 1}, clock, offset);
  if (instant) instant->seconds += (*day_of_year - 1) * kDaySeconds;
  return instant;
}

}  // namespace gpusort
