// The sort key of a gap. A gap is text between two rows of a database dump, such as the SQL between two INSERT
// statements. The rows are sorted, but a gap stays in its place: after the same number of rows as in the input. The key
// of a gap contains this number. formats/sql_dump_keys.cpp writes the key, and runs/gap_filler.hpp reads it.
#pragma once

#include <cstdint>
#include <string>

#include "formats/keyed_record.hpp"

namespace gpusort {

struct GapKey {
  std::uint64_t part = 0;  ///< the index of the gap's part of the dump. PutGapKey() ignores it
  /// The gap is directly after the row with this index. The index counts the rows that are sorted together, from 0.
  std::uint64_t place = 0;
  std::string separator;  ///< the text after most rows, such as a comma and a newline
  /// A group of rows that are sorted together can begin with INSERT statements that have one row each. `singles` is the
  /// number of these statements. `head` and `tail` are the text before and after the row of each of them. GapFiller
  /// adds this text to a row that moves to the place of such a statement. Only the first gap (text between two rows) of
  /// a group stores these values. In later gaps, `singles` is 0, and the texts are empty.
  std::uint64_t singles = 0;
  std::string head, tail;
};

/// Returns true if kOddPart is set in the INSERT statements of a part of a dump. `part` is the index of the part. Parts
/// with rows have every second index, and the other indices belong to the SQL between them. The bit 2 of the index
/// therefore changes from each part with rows to the next.
inline bool IsOddPart(std::uint64_t part) { return (part & 2) != 0; }

/// Writes the sort key of a gap (text between two rows of a dump, which stays in its place). Before this call, the
/// caller must write the index of the gap's part of the dump by out.PutCount(). A part is a group of rows that are
/// sorted together, or the SQL before or after such a group.
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

/// Reads the sort key of a gap (text between two rows of a dump, which stays in its place). `key` consists of the index
/// of the gap's part of the dump, and what PutGapKey() wrote. The escapes of `key` must have been removed by
/// FieldWriter::Unescape(). Throws std::out_of_range if the key is damaged.
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

/// Returns the index of the part of a dump that a record belongs to. `record` is a keyed record: a sort key, which
/// begins with this index, and then the record of the dump.
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
