// The order of the sort option -h: numbers with a suffix such as K or M. Suffixes are compared first, then the digits.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/numeric.hpp"
#include "kernels/lines/text.hpp"

namespace gpusort::detail {

/// Returns the rank of the suffix of a number such as 12K: 0 without a suffix, 1 for K, 2 for M and so on. The rank is
/// negative for a negative number, and 0 for the number 0. A small k counts as K. Other small letters count as suffixes
/// only if the key has the option -f.
GPUSORT_HD inline int HumanUnit(const KeyText& text) {
  const Byte* const line = text.line;
  const std::uint64_t end = text.end;
  std::uint64_t at = SkipBlanks(line, text.begin, end);
  const bool minus = at < end && line[at] == '-';
  at += minus;
  bool nonzero = false;
  for (; at < end && IsDigit(line[at]); ++at) nonzero |= line[at] != '0';
  if (at < end && line[at] == '.') {
    for (++at; at < end && IsDigit(line[at]); ++at) nonzero |= line[at] != '0';
  }
  if (!nonzero || at == end) return 0;
  constexpr char kUnits[] = "KMGTPEZYRQ";
  const unsigned suffix = text[at] == 'k' ? 'K' : text[at];
  int unit = 0;
  for (int i = 0; i < 10; ++i) unit = static_cast<unsigned>(kUnits[i]) == suffix ? i + 1 : unit;
  return minus ? -unit : unit;
}

GPUSORT_HD inline int CompareHuman(const KeyText& a, const KeyText& b) {
  const int units = HumanUnit(a) - HumanUnit(b);
  return units != 0 ? units : CompareNumeric(a, b);
}

template <typename Writer>
GPUSORT_HD inline void PutHuman(Writer& out, const KeyText& text) {
  out.Put(static_cast<unsigned>(0x80 + HumanUnit(text)));
  PutNumeric(out, text);
}

}  // namespace gpusort::detail
