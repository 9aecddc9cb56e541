#include "formats/time_keys.hpp"

namespace gpusort::keys {
namespace {

void PutInfinite(int sign, KeyBytes& out) { out.Put(sign < 0 ? kLeast : kGreatest); }

}  // namespace

void PutDay(const Day& day, KeyBytes& out) {
  constexpr std::int64_t kYearZero = 719528;  // 3 bytes for the years 0 to 27474
  if (day.infinite != 0) return PutInfinite(day.infinite, out);
  PutUsual<3>(day.days + kYearZero, out);
}

bool PutDayText(std::string_view text, KeyBytes& out) {
  const std::optional<Day> day = ParseDay(text);
  if (day) PutDay(*day, out);
  return day.has_value();
}

void PutInstant(const Instant& instant, KeyBytes& out) {
  constexpr std::int64_t kYearZero = 62167219200;  // 5 bytes for the years 0 to 7978
  if (instant.infinite != 0) return PutInfinite(instant.infinite, out);
  PutUsual<5>(2 * (instant.seconds + kYearZero) + !instant.fraction.empty(), out);
  if (instant.fraction.empty()) return;
#if defined(__SSE2__)
  if (!instant.from_next && instant.fraction.size() <= ShortDigits::kMost) {
    const auto count = static_cast<unsigned>(instant.fraction.size());
    return ShortDigits(instant.fraction).PutPairs(0, count - 1, out);
  }
#endif
  DigitPairs pairs(out);
  const std::size_t last = instant.fraction.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const auto digit = static_cast<unsigned>(instant.fraction[i] - '0');
    pairs.Add(!instant.from_next ? digit : (i == last ? 10 : 9) - digit);
  }
  pairs.End();
}

namespace {

/// Puts a time as the instant that is this long after 1970.
void PutNanos(WideNanos time, KeyBytes& out) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto part = static_cast<std::int64_t>(time % kSecond);
  Instant instant;
  instant.seconds = static_cast<std::int64_t>(time / kSecond) - (part < 0);
  std::int64_t rest = part < 0 ? part + kSecond : part;
  char digits[9];
  std::size_t size = sizeof(digits);
  for (std::size_t i = size; i-- > 0; rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  while (size > 0 && digits[size - 1] == '0') --size;
  instant.fraction = {digits, size};
  PutInstant(instant, out);
}

}  // namespace

void PutClock(const ClockTime& clock, KeyBytes& out) {
  PutNanos(clock.time, out);
  // Of two equal times in UTC, the one in the eastern zone comes first.
  constexpr std::int64_t kDay = 86400;
  out.Put(clock.east > 0 ? kText - 1 : clock.east == 0 ? kText : kText + 1);
  if (clock.east != 0) PutFixed<3>(static_cast<std::uint64_t>(kDay - clock.east), out);
}

bool PutIntervalText(TextReader reader, KeyBytes& out) {
  TextReader words = reader;
  const bool negative = words.TakeSign();
  if (IsWord(words.rest(), "infinity")) {
    PutInfinite(negative ? -1 : 1, out);
    return true;
  }
  const std::optional<WideNanos> time = ParseInterval(reader.rest());
  if (time) PutNanos(*time, out);
  return time.has_value();
}

}  // namespace gpusort::keys
