// Keys of days and instants. ValueKey::Put defines the types.
#pragma once

#include <limits>
#include <string_view>

#include "formats/key_bytes.hpp"
#include "formats/time_text.hpp"

namespace gpusort::keys {

/// Returns -1 or 1 for the least and the greatest binary number, which stand for the infinities.
template <typename Number>
int InfinityOf(Number number) {
  return number == std::numeric_limits<Number>::max() ? 1 : number == std::numeric_limits<Number>::min() ? -1 : 0;
}

void PutDay(const Day& day, KeyBytes& out);
/// Returns false and puts nothing if `text` is no date.
bool PutDayText(std::string_view text, KeyBytes& out);
void PutInstant(const Instant& instant, KeyBytes& out);

}  // namespace gpusort::keys
