// Sort keys of days, points in time, times of day and intervals. ValueKey::Put describes the types.
#pragma once

#include <limits>
#include <string_view>

#include "formats/clock_text.hpp"
#include "formats/key_bytes.hpp"
#include "formats/time_text.hpp"

namespace gpusort::keys {

/// Returns -1 if `number` is the smallest value of its type, which PostgreSQL uses for -infinity. Returns 1 if it is
/// the largest value, which PostgreSQL uses for infinity. Otherwise returns 0.
template <typename Number>
int InfinityOf(Number number) {
  return number == std::numeric_limits<Number>::max() ? 1 : number == std::numeric_limits<Number>::min() ? -1 : 0;
}

void PutDay(const Day& day, KeyBytes& out);
/// Appends the sort key of the date in `text`. Returns false and appends nothing if `text` is no date.
bool PutDayText(std::string_view text, KeyBytes& out);
void PutInstant(const Instant& instant, KeyBytes& out);
void PutClock(const ClockTime& clock, KeyBytes& out);
/// Appends the sort key of the length of time in `reader`. Returns false and appends nothing if the string is neither
/// an interval nor an infinity.
bool PutIntervalText(TextReader reader, KeyBytes& out);

}  // namespace gpusort::keys
