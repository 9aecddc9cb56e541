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

}  // namespace gpusort::keys
