// Sort keys of days, points in time, times of day and intervals. ValueKey::Put describes the types.
#pragma once

#include <limits>
#include <string_view>

#include "formats/key_bytes.hpp"
#include "formats/time_text.hpp"

namespace gpusort::keys {

/// Returns -1 for the smallest value of the type, which PostgreSQL uses for -infinity, 1 for the greatest, which
/// PostgreSQL uses for infinity, and 0 for any other value.
template <typename Number>
int InfinityOf(Number number) {
  return number == std::numeric_limits<Number>::max() ? 1 : number == std::numeric_limits<Number>::min() ? -1 : 0;
}

void PutDay(const Day& day, KeyBytes& out);
/// Appends the key of the date in `text`. Returns false and appends nothing if `text` is no date.
bool PutDayText(std::string_view text, KeyBytes& out);
void PutInstant(const Instant& instant, KeyBytes& out);
/// Appends the key of the time of day that `reader` holds. Returns false and appends nothing if the text is no time of
/// day.
bool PutTimeText(TextReader reader, KeyBytes& out);
/// Appends the key of the length of time that `reader` holds. Returns false and appends nothing if the text is neither
/// an interval nor an infinity.
bool PutIntervalText(TextReader reader, KeyBytes& out);

}  // namespace gpusort::keys
