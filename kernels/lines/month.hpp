// The order of the sort option -M: by the three-letter names of months.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/text.hpp"

namespace gpusort::detail {

/// Returns the number (1..12) of the month whose three-letter name, in upper or lower case, follows the leading blanks.
/// Returns 0 if there is no such name.
GPUSORT_HD inline int ReadMonth(const KeyText& text) {
  const Byte* const line = text.line;
  const std::uint64_t at = SkipBlanks(line, text.begin, text.end);
  if (text.end - at < 3) return 0;
  const unsigned name = ToUpper(line[at]) << 16 | ToUpper(line[at + 1]) << 8 | ToUpper(line[at + 2]);
  switch (name) {
    case 'J' << 16 | 'A' << 8 | 'N':
      return 1;
    case 'F' << 16 | 'E' << 8 | 'B':
      return 2;
    case 'M' << 16 | 'A' << 8 | 'R':
      return 3;
    case 'A' << 16 | 'P' << 8 | 'R':
      return 4;
    case 'M' << 16 | 'A' << 8 | 'Y':
      return 5;
    case 'J' << 16 | 'U' << 8 | 'N':
      return 6;
    case 'J' << 16 | 'U' << 8 | 'L':
      return 7;
    case 'A' << 16 | 'U' << 8 | 'G':
      return 8;
    case 'S' << 16 | 'E' << 8 | 'P':
      return 9;
    case 'O' << 16 | 'C' << 8 | 'T':
      return 10;
    case 'N' << 16 | 'O' << 8 | 'V':
      return 11;
    case 'D' << 16 | 'E' << 8 | 'C':
      return 12;
    default:
      return 0;
  }
}

GPUSORT_HD inline int CompareMonth(const KeyText& a, const KeyText& b) { return ReadMonth(a) - ReadMonth(b); }

template <typename Writer>
GPUSORT_HD inline void PutMonth(Writer& out, const KeyText& text) {
  out.Put(static_cast<unsigned>(ReadMonth(text)));
}

}  // namespace gpusort::detail
