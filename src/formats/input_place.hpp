// The place of a record in the inputs, as a field of a keyed record (formats/keyed_record.hpp). A job needs the places
// if the output depends on more than the keys: on the order of the input (--keep-order), or on the inputs that have a
// key (--minus, --intersect). The field comes after the sort key and is not compared with it. Start at InputPlace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/keyed_record.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// The value of RecordLayout::keys for records with columns that also have a field with their place: the byte of flags,
/// the keys of all columns, and the place.
inline constexpr std::uint32_t kPlacedKeys = kTableKeys + 1;

/// The place of a record: the index of its input, and its offset there in bytes.
struct InputPlace {
  /// The largest size of the field, with the kKeyEnd after it.
  static constexpr std::uint64_t kMostBytes = 21;

  std::uint64_t input = 0, offset = 0;

  /// Appends the field of this place to `out`, with the kKeyEnd after it. The bytes of two fields compare as the places
  /// do.
  void Append(std::vector<std::byte>& out) const;
  /// Reads the index of the input and the offset from the keys of `record`. Throws WrongResult if they are missing.
  static InputPlace Of(RecordSpan record);

  friend auto operator<=>(const InputPlace&, const InputPlace&) = default;
};

/// Removes the sort key from keyed records that have kPlacedKeys fields. The place of each record then is its sort key.
/// Works in place. The returned span is the beginning of `records`.
std::span<std::byte> KeysToPlaces(std::span<std::byte> records);
/// Returns the layout of the records that KeysToPlaces() returns.
RecordLayout PlacedLayout();
/// Appends `record`, which has no sort key, with the place of `placed`, a record that KeysToPlaces() has returned.
void AppendWithPlaceOf(RecordSpan placed, RecordSpan record, std::vector<std::byte>& out);

}  // namespace gpusort
