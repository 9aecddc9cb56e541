// The places of the values that --sum adds. They stand as a mark before each record, after its sort key. The checksum
// of a record covers its mark. The mark is removed when the record is written. Start at ValuePlace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/records/records.hpp"

namespace gpusort {

/// The place of a value in its record.
struct ValuePlace {
  /// The largest size of a place in the mark of a record.
  static constexpr std::uint64_t kMostBytes = 24;

  /// Why --sum cannot add the value. Used only if an error must wait until it is known that the output gets the record
  /// (TableOptions::late_sums); such a value has no place.
  enum class Flaw { kNone, kMissing, kNoNumber, kTooLong, kEscapes, kInKey, kInSum };

  std::uint64_t at = 0, size = 0;  ///< in bytes; quotes around the value do not belong to it
  bool known = false;              ///< false: the record has no place for the value
  bool null = true;                ///< true: the value is null or empty
  bool quoted = false;             ///< true: the value is in quotes
  Flaw flaw = Flaw::kNone;

  /// Appends the place to `mark`. No byte of it needs an escape in a keyed record (formats/keyed_record.hpp).
  void Append(std::vector<std::byte>& mark) const;
  /// Removes a place from the front of `mark`. Throws WrongResult if there is none.
  static ValuePlace Take(RecordSpan& mark);

  friend bool operator==(const ValuePlace&, const ValuePlace&) = default;
};

/// Appends the byte that ends the mark of a record.
void EndMark(std::vector<std::byte>& mark);

/// A record and the mark that stood before it.
struct MarkedRecord {
  /// Throws WrongResult if `marked` begins with no mark.
  explicit MarkedRecord(RecordSpan marked);

  RecordSpan mark, record;
};

}  // namespace gpusort
