// The sort key of a gap, which is text between two rows of a dump that belongs to its place among the rows. The format
// writes the key, and runs/gap_filler.hpp reads it.
#pragma once

#include <cstdint>
#include <string>

#include "formats/keyed_record.hpp"

namespace gpusort {

struct GapKey {
  bool odd = false;         ///< see kOddPart; only set by ReadGapKey()
  std::uint64_t place = 0;  ///< the number of rows of its part of the dump before the gap, minus one
  std::string separator;    ///< the text after most rows of the part
  /// The number of statements with one row at the beginning of the part, and the text before and after their rows. Only
  /// the first gap of a part has them; otherwise 0.
  std::uint64_t singles = 0;
  std::string head, tail;
};

/// Writes the key. The caller must have written the number of the part with PutCount().
inline void PutGapKey(const GapKey& key, FieldWriter& out) {
  constexpr unsigned kSizeBytes = 3;
  const auto put = [&](const std::string& text) {
    for (const char c : text) out.Put(static_cast<unsigned char>(c));
  };
  out.Put(0);  // gaps are sorted before all rows
  out.PutWord(key.place);
  out.PutPart(std::uint64_t{key.separator.size()} << 40, kSizeBytes);
  put(key.separator);
  if (key.singles == 0) return;
  out.PutWord(key.singles);
  out.PutPart(std::uint64_t{key.head.size()} << 40, kSizeBytes);
  put(key.head);
  put(key.tail);
}

/// Reads a key without escapes (FieldWriter::Unescape), with the number of the part. Throws std::out_of_range if the
/// key is damaged.
inline GapKey ReadGapKey(const std::string& key) {
  std::size_t at = 0;
  const auto number = [&](unsigned bytes) {
    std::uint64_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8 | static_cast<unsigned char>(key.at(at++));
    return value;
  };
  const auto text = [&](std::uint64_t size) {
    at += size;
    return key.substr(at - size, size);
  };
  GapKey gap;
  std::uint64_t part = number(1);
  if (part == 255) part = number(8);
  gap.odd = (part & 2) != 0;
  ++at;
  gap.place = number(8);
  gap.separator = text(number(3));
  if (at >= key.size()) return gap;
  gap.singles = number(8);
  gap.head = text(number(3));
  gap.tail = key.substr(at);
  return gap;
}

}  // namespace gpusort
