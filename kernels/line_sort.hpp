// Sorting the lines of one block of text by their entries {12 bytes of the encoded key, row}: encode, sort by Highway's
// vqsort, and refine what is still equal by the next twelve bytes. The result is the order of rows that a stable sort
// by CompareLines gives. Memory: the entries, which the caller owns. Start at SortLineEntries.
#pragma once

#include <cstdint>

#include "lines/line_order.hpp"

namespace gpusort {

/// Lines that lie one behind the other, each followed by one byte that does not belong to it.
struct LineBlock {
  const Byte* text = nullptr;
  const std::uint64_t* starts = nullptr;  ///< one more than there are lines

  const Byte* line(std::uint64_t row) const { return text + starts[row]; }
  std::uint64_t length(std::uint64_t row) const { return starts[row + 1] - starts[row] - 1; }
  int Compare(std::uint64_t a, std::uint64_t b, const LineOrderView& order) const {
    return CompareLines(line(a), length(a), line(b), length(b), order);
  }
};

/// Fills `entries` with the rows [first, first + count) in order; equal lines keep the order of their rows. Only row()
/// means something afterwards. Rows must be below 2^32.
void SortLineEntries(Entry* entries, std::uint64_t first, std::uint64_t count, const LineBlock& lines,
                     const LineOrderView& order);

}  // namespace gpusort
