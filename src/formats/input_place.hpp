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

/// The number of fields before a record that is stored with its place: a field with flags, a field with the sort key,
/// and a field with the place (RecordLayout::keys).
inline constexpr std::uint32_t kPlacedKeys = kTableKeys + 1;

/// The place of a record: the index of its input, and its offset there in bytes.
struct InputPlace {
  /// The largest size in bytes of a field with a place, including the byte kKeyEnd that ends the field.
  static constexpr std::uint64_t kMostBytes = 21;

  std::uint64_t input = 0, offset = 0;

  /// Appends a field with this place to `out`, and the byte kKeyEnd that ends the field. The bytes of fields sort as
  /// the places do.
  void Append(std::vector<std::byte>& out) const;
  /// Reads the place from the fields before `record`. Throws WrongResult if the field with the place is missing.
  static InputPlace Of(RecordSpan record);

  friend auto operator<=>(const InputPlace&, const InputPlace&) = default;
};

/// Removes the sort keys from `records`, which have kPlacedKeys fields, so that the place of each record becomes its
/// sort key. Works in place. The returned span is the beginning of `records`.
std::span<std::byte> KeysToPlaces(std::span<std::byte> records);
/// Returns the layout of the records that KeysToPlaces() returns.
RecordLayout PlacedLayout();
/// Appends the place that stands in `placed`, and then `record`, to `out`. `placed` must be a record that
/// KeysToPlaces() has returned. `record` must have no sort key.
void AppendWithPlaceOf(RecordSpan placed, RecordSpan record, std::vector<std::byte>& out);

}  // namespace gpusort
