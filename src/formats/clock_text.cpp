#include "formats/clock_text.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"

namespace gpusort {
namespace {

constexpr WideNanos kNanosOfSecond = 1'000'000'000, kNanosOfMinute = 60 * kNanosOfSecond,
                    kNanosOfHour = 60 * kNanosOfMinute, kNanosOfDay = 24 * kNanosOfHour;
constexpr WideNanos kNanosOfMonth = 30 * kNanosOfDay, kNanosOfYear = 12 * kNanosOfMonth;

/// Takes a fraction of at most nine digits after its point, and returns it in billionths. Returns std::nullopt if the
/// fraction is longer.
std::optional<std::int64_t> TakeFraction(TextReader& reader) {
  constexpr std::size_t kMost = 9;
  std::size_t digits = reader.digits();
  if (digits > kMost) return std::nullopt;
  std::int64_t fraction = reader.TakeNumber(digits);
  for (; digits < kMost; ++digits) fraction *= 10;
  return fraction;
}

/// Takes h:mm[:ss[.fraction]] without a sign.
std::optional<WideNanos> TakeHours(TextReader& reader) {
  constexpr std::size_t kMost = 10;
  const std::size_t digits = reader.digits();
  if (digits == 0 || digits > kMost) return std::nullopt;
  WideNanos time = reader.TakeNumber(digits) * kNanosOfHour;
  unsigned minute = 0, second = 0;
  if (!reader.Take(':') || !reader.TakeTwo(minute) || minute > 59) return std::nullopt;
  time += minute * kNanosOfMinute;
  if (!reader.Take(':')) return time;
  if (!reader.TakeTwo(second) || second > 60) return std::nullopt;
  time += second * kNanosOfSecond;
  if (!reader.Take('.') && !reader.Take(',')) return time;
  if (reader.digits() == 0) return std::nullopt;
  const std::optional<std::int64_t> fraction = TakeFraction(reader);
  return fraction ? std::optional(time + *fraction) : std::nullopt;
}

struct TimeUnit {
  std::string_view names;  ///< in lower case, with a blank before and after each name
  WideNanos size;
};
constexpr TimeUnit kTimeUnits[] = {{" y yr yrs year years ", kNanosOfYear},
                                   {" mon mons month months ", kNanosOfMonth},
                                   {" w week weeks ", 7 * kNanosOfDay},
                                   {" d day days ", kNanosOfDay},
                                   {" h hr hrs hour hours ", kNanosOfHour},
                                   {" m min mins minute minutes ", kNanosOfMinute},
                                   {" s sec secs second seconds ", kNanosOfSecond},
                                   {" ms msec msecs millisecond milliseconds ", 1'000'000},
                                   {" us \u00B5s \u03BCs usec usecs microsecond microseconds ", 1'000},
                                   {" ns nsec nsecs nanosecond nanoseconds ", 1}};
constexpr TimeUnit kIsoDays[] = {
    {" y ", kNanosOfYear}, {" m ", kNanosOfMonth}, {" w ", 7 * kNanosOfDay}, {" d ", kNanosOfDay}};
constexpr TimeUnit kIsoHours[] = {{" h ", kNanosOfHour}, {" m ", kNanosOfMinute}, {" s ", kNanosOfSecond}};

/// Takes the letters of a unit and returns its size, or 0 if there is no such unit.
template <std::size_t kCount>
WideNanos TakeUnit(TextReader& reader, const TimeUnit (&units)[kCount], bool one_letter) {
  const char* const begin = reader.at;
  const auto in_name = [](char c) { return (Lower(c) >= 'a' && Lower(c) <= 'z') || static_cast<signed char>(c) < 0; };
  while (!reader.done() && in_name(*reader.at) && !(one_letter && reader.at > begin)) ++reader.at;
  const std::string name = " " + LowerText({begin, static_cast<std::size_t>(reader.at - begin)}) + " ";
  const auto* const found = std::ranges::find_if(
      units, [&](const TimeUnit& unit) { return unit.names.find(name) != std::string_view::npos; });
  return name.size() > 2 && found != std::end(units) ? found->size : 0;
}

/// A number without a sign, which a unit may follow.
struct UnitCount {
  std::int64_t whole = 0, billionths = 0;

  WideNanos Times(WideNanos unit) const { return whole * unit + billionths * unit / kNanosOfSecond; }
};
std::optional<UnitCount> TakeCount(TextReader& reader) {
  constexpr std::size_t kMost = 18;
  const std::size_t digits = reader.digits();
  if (digits > kMost) return std::nullopt;
  UnitCount count;
  count.whole = reader.TakeNumber(digits);
  if (!reader.Take('.') && !reader.Take(',')) return digits > 0 ? std::optional(count) : std::nullopt;
  if (reader.digits() == 0) {
    --reader.at;  // the comma after the number, or the point, is not part of it
    return digits > 0 ? std::optional(count) : std::nullopt;
  }
  const std::optional<std::int64_t> fraction = TakeFraction(reader);
  if (!fraction) return std::nullopt;
  count.billionths = *fraction;
  return count;
}

std::optional<WideNanos> InRange(WideNanos sum) {
  constexpr WideNanos kMost = WideNanos{9'000'000'000'000'000} * kNanosOfSecond;
  return sum < kMost && sum > -kMost ? std::optional(sum) : std::nullopt;
}

std::optional<WideNanos> ParseIso(TextReader reader, bool negative) {
  WideNanos sum = 0;
  bool hours = false, any = false;
  while (!reader.done()) {
    if (!hours && (reader.Take('T') || reader.Take('t'))) {
      hours = true;
      any = false;
      continue;
    }
    const bool minus = reader.TakeSign();
    const std::optional<UnitCount> count = TakeCount(reader);
    const WideNanos unit = hours ? TakeUnit(reader, kIsoHours, true) : TakeUnit(reader, kIsoDays, true);
    if (!count || unit == 0) return std::nullopt;
    sum += minus ? -count->Times(unit) : count->Times(unit);
    any = true;
  }
  if (!any) return std::nullopt;
  return InRange(negative ? -sum : sum);
}

/// The parts of an interval, as far as they are read.
struct IntervalParts {
  /// The sum of the first part and all parts with a sign, and the sum of the other parts.
  WideNanos sum = 0, unsigned_sum = 0;
  unsigned count = 0;
  bool units = false;     ///< true: a part has a unit
  bool years = false;     ///< true: a part is Y-M
  bool days = false;      ///< true: a part is a number without a unit
  bool hours = false;     ///< true: a part is h:mm
  bool negative = false;  ///< true: the first part has a minus sign

  /// Takes one part. Returns false if it has no known form.
  bool Take(TextReader& reader) {
    const bool minus = reader.Is('-'), sign = minus || reader.Is('+');
    reader.TakeSign();
    if (count == 0) negative = minus;
    TextReader ahead = reader;
    ahead.at += ahead.digits();
    const bool clock = ahead.Is(':'), pair = ahead.Is('-');
    WideNanos part = 0;
    if (clock) {
      const std::optional<WideNanos> time = hours ? std::nullopt : TakeHours(reader);
      if (!time) return false;
      part = *time;
      hours = true;
    } else if (pair) {
      const std::optional<UnitCount> year = TakeCount(reader);
      if (!year || count > 0) return false;
      ++reader.at;
      const std::optional<UnitCount> month = TakeCount(reader);
      if (!month || month->billionths > 0 || month->whole > 11) return false;
      part = year->whole * kNanosOfYear + month->whole * kNanosOfMonth;
      years = true;
    } else {
      const std::optional<UnitCount> number = TakeCount(reader);
      if (!number) return false;
      ahead = reader;
      ahead.SkipSpace();
      WideNanos unit = kNanosOfDay;
      const bool named = !ahead.done() && !IsDigit(*ahead.at) && !ahead.Is('-') && !ahead.Is('+');
      if (named) {
        reader = ahead;
        unit = TakeUnit(reader, kTimeUnits, false);
        if (unit == 0) return false;
        reader.Take(',');
      } else if (ahead.at == reader.at && !ahead.done()) {
        return false;
      } else if (ahead.done() && count == 0) {
        unit = kNanosOfSecond;
      } else if (days) {
        return false;
      }
      units |= named;
      days |= !named;
      part = number->Times(unit);
    }
    if ((clock || pair) && !reader.done() && !IsSpace(*reader.at)) return false;
    (sign || count == 0 ? sum : unsigned_sum) += minus ? -part : part;
    ++count;
    return true;
  }
};

}  // namespace

std::optional<ClockTime> ParseClock(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  const bool sign = reader.Is('-') || reader.Is('+'), minus = reader.TakeSign();
  const char* const begin = reader.at;
  const std::optional<WideNanos> hours = TakeHours(reader);
  if (!hours) return std::nullopt;
  ClockTime clock;
  clock.time = minus ? -*hours : *hours;
  reader.SkipSpace();
  const bool afternoon = reader.TakeWord("pm");
  if (afternoon || reader.TakeWord("am")) {
    const bool two = begin[1] != ':';
    if (sign || (two && begin[2] != ':') || *hours < kNanosOfHour || *hours >= 13 * kNanosOfHour) return std::nullopt;
    clock.time = *hours % (12 * kNanosOfHour) + (afternoon ? 12 * kNanosOfHour : 0);
    reader.SkipSpace();
  }
  std::optional<std::int64_t> offset;
  clock.zone_word = ZoneWordOf(reader.rest());
  if (!TakeZone(reader, offset) || !reader.done()) return std::nullopt;
  clock.MoveTo(offset.value_or(0));
  return clock;
}

std::optional<WideNanos> ParseInterval(std::string_view text) {
  TextReader reader = TextReader::Trimmed(text);
  TextReader iso = reader;
  const bool negative = iso.TakeSign();
  if (iso.Take('P') || iso.Take('p')) return ParseIso(iso, negative);
  if (reader.Take('@')) reader.SkipSpace();
  IntervalParts parts;
  bool ago = false;
  while (!reader.done()) {
    if (parts.units && IsWord(reader.rest(), "ago")) {
      ago = true;
      break;
    }
    if (!parts.Take(reader)) return std::nullopt;
    reader.SkipSpace();
  }
  // The notation of the SQL standard has no units. In this notation, a number of days precedes the hours or follows
  // Y-M.
  if (parts.count == 0 || (parts.units && (parts.years || parts.days))) return std::nullopt;
  if (parts.days && parts.count > 1 && !parts.hours && !parts.years) return std::nullopt;
  // Only in the notation of the SQL standard a sign at the front counts for later parts.
  const bool inherited = parts.negative && !parts.units;
  const WideNanos sum = parts.sum + (inherited ? -parts.unsigned_sum : parts.unsigned_sum);
  return InRange(ago ? -sum : sum);
}

}  // namespace gpusort
