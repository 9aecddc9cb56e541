// Sort keys for gaps. A gap is the bytes between two rows of a database dump, such as the SQL between two INSERTs.
// - Sorting moves rows but not gaps: a gap after the third row of the input comes after the third row of the output.
// - A part of a dump is a group of rows that are sorted together, or the SQL between two groups.
#pragma once

#include <cstdint>
#include <string>

#include "formats/keyed_record.hpp"

namespace gpusort {

struct GapKey {
  std::uint64_t part = 0;  ///< the index of the part of the dump with the gap; PutGapKey() ignores it
  /// The gap (bytes between two rows) follows row number `place` of its group of rows. The first row has the number 0.
  std::uint64_t place = 0;
  std::string separator;  ///< the bytes after most rows, such as a comma and a newline
  /// The number of INSERT statements with only one row at the start of the group. 0 in later gaps of the group.
  std::uint64_t singles = 0;
  std::string head, tail;  ///< the bytes before and after the row of each of these statements; empty if `singles` is 0
};

/// Returns true for the parts 2, 3, 6, 7, 10, 11 and so on of a dump. Every second group of rows is one of them.
inline bool IsOddPart(std::uint64_t part) { return (part & 2) != 0; }

/// Writes the sort key of a gap, the bytes between two rows of a dump. Before this call, the caller must write the
/// index of the part of the dump that contains the gap, by out.PutCount().
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

/// Reads the sort key of a gap, the bytes between two rows of a dump, as PutCount() and PutGapKey() have written it.
/// The escapes of `key` must have been removed by FieldWriter::Unescape(). Throws std::out_of_range if the key is
/// damaged.
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
  gap.part = number(1);
  if (gap.part == 255) gap.part = number(8);
  ++at;
  gap.place = number(8);
  gap.separator = text(number(3));
  if (at >= key.size()) return gap;
  gap.singles = number(8);
  gap.head = text(number(3));
  gap.tail = key.substr(at);
  return gap;
}

/// Returns the index of the part of a dump that `record` belongs to. `record` must begin with a sort key, whose first
/// bytes are this index.
inline std::uint64_t PartOfDump(RecordSpan record) {
  constexpr std::size_t kMost = 9;
  const std::string bytes = FieldWriter::Unescape(record, kMost);
  if (bytes.empty()) return 0;
  std::uint64_t part = static_cast<unsigned char>(bytes[0]);
  if (part < 255) return part;
  part = 0;
  for (std::size_t i = 1; i < bytes.size(); ++i) part = part << 8 | static_cast<unsigned char>(bytes[i]);
  return part;
}

}  // namespace gpusort
