// The places of the values that --sum adds. The places of a record form its mark, which is stored between the sort key
// and the record. The checksum of a record covers its mark. The mark is removed when the record is written. Start at
// ValuePlace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"

namespace gpusort {

/// The place of a value in its record.
struct ValuePlace {
  /// The largest number of bytes that Append() adds to the mark of a record.
  static constexpr std::uint64_t kMostBytes = 24;

  /// The reason why --sum cannot add the value; such a value has no place. Used only if this is no error as long as the
  /// output does not get the record (TableOptions::late_sums).
  enum class Flaw { kNone, kMissing, kNoNumber, kTooLong, kEscapes, kInKey, kInSum };

  std::uint64_t at = 0, size = 0;  ///< in bytes; quotes around the value do not belong to it
  bool known = false;              ///< false: the record has no place for the value
  bool null = true;                ///< true: the value is null or empty
  bool quoted = false;             ///< true: the value is in quotes
  Flaw flaw = Flaw::kNone;

  /// Appends the place to `mark`. The appended bytes need no escapes in a keyed record (formats/keyed_record.hpp).
  void Append(std::vector<std::byte>& mark) const;
  /// Removes a place from the front of `mark`. Throws WrongResult if there is none.
  static ValuePlace Take(RecordSpan& mark);

  friend bool operator==(const ValuePlace&, const ValuePlace&) = default;
};

/// Appends the byte that ends the mark of a record (the places of its values for --sum).
void EndMark(std::vector<std::byte>& mark);

/// A record, and its mark: the places of its values for --sum.
struct MarkedRecord {
  /// Throws WrongResult if `marked` begins with no mark.
  explicit MarkedRecord(RecordSpan marked);

  RecordSpan mark, record;
};

}  // namespace gpusort
