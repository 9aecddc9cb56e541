// Describes where records and their keys are in a block of bytes. KeySpec is the order that a user asks for.
// RecordLayout has the same facts as plain data, which kernels take by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {

/// The type of a key field. Numbers are ordered by value (floats by IEEE totalOrder), bytes as unsigned bytes.
enum class KeyType : std::uint8_t { kUnsigned, kSigned, kFloat, kBytes };

/// One field of a key: `length` bytes at `offset` in the record. A number has 1, 2, 4 or 8 bytes, a float 4 or 8.
struct KeyField {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  KeyType type = KeyType::kBytes;
  bool big_endian = false;
  bool descending = false;

  friend bool operator==(const KeyField&, const KeyField&) = default;
};

inline constexpr std::size_t kMaxKeyFields = 64;

/// The order of records: fields, the most significant first. If all fields are equal, the position in the input
/// decides, so every sort has exactly one result.
struct KeySpec {
  std::vector<KeyField> fields;
};

/// The byte that ends the key of a keyed record. It is smaller than every byte of a key, so that a prefix sorts first.
inline constexpr unsigned char kKeyEnd = 1;

struct LineOrderView;  // defined in lines/line_key.hpp

/// Says where record i and its key are in a block of bytes. Fixed record i is at i * stride. Delimited records have
/// stride 0: each ends with `delimiter`, which belongs to the record's bytes and is never compared (see records.hpp).
/// The struct is trivially copyable, so that kernels can take it by value. Kernels could not use a std::variant of
/// fixed and delimited records. Code that loops over records calls fixed() once, before the loop.
struct RecordLayout {
  std::uint64_t stride = 0;
  std::uint64_t key_bytes = 0;  ///< the length of the normalized key: the sum of the lengths of the fields
  std::uint32_t field_count = 0;
  unsigned char delimiter = 0;
  KeyField fields[kMaxKeyFields] = {};
  const LineOrderView* lines = nullptr;  ///< the order of delimited records; must outlive the layout
  /// The number of encoded keys before each delimited record, each ended by kKeyEnd. The record itself, as it is read
  /// and written, follows the keys. A key contains neither the delimiter nor kKeyEnd.
  std::uint32_t keys = 0;

  bool fixed() const { return stride != 0; }
  bool keyed() const { return keys != 0; }
  /// Returns true if record and key are the same number of 4 or 8 bytes. Such a number is sorted without entries.
  bool direct() const {
    return field_count == 1 && fields[0].offset == 0 && fields[0].length == stride && (stride == 4 || stride == 8);
  }
  /// Two layouts of lines are equal if they refer to the same LineOrderView, at the same address.
  friend bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

/// Returns the layout of fixed records of `record_bytes` bytes in the order of `spec`. An empty spec orders whole
/// records as bytes, ascending. Throws Error(kUsage) if record_bytes is 0, a field is not inside the record, a length
/// does not fit its type, or there are more than kMaxKeyFields fields.
inline RecordLayout MakeFixedLayout(std::uint64_t record_bytes, const KeySpec& spec) {
  const auto fail = [](const std::string& why) { throw Error(ErrorCode::kUsage, why); };
  constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;
  if (record_bytes == 0) fail("the record size is 0");
  if (record_bytes > kMaxRecordBytes) fail("the record size is over 1 GiB");
  if (spec.fields.size() > kMaxKeyFields) {
    fail("there are " + std::to_string(spec.fields.size()) + " keys; at most " + std::to_string(kMaxKeyFields));
  }
  RecordLayout layout;
  layout.stride = record_bytes;
  const auto add = [&](const KeyField& field) {
    const bool number = field.type != KeyType::kBytes;
    const bool power = field.length == 1 || field.length == 2 || field.length == 4 || field.length == 8;
    if (field.length == 0 || (number && !power) || (field.type == KeyType::kFloat && field.length < 4)) {
      fail("a key field of " + std::to_string(field.length) + " bytes does not fit its type");
    }
    if (field.offset > record_bytes || field.length > record_bytes - field.offset) {
      fail("the key at offset " + std::to_string(field.offset) + " of " + std::to_string(field.length) +
           " bytes reaches beyond the record of " + std::to_string(record_bytes) + " bytes");
    }
    layout.fields[layout.field_count++] = field;
    layout.key_bytes += field.length;
  };
  if (spec.fields.empty()) {
    KeyField whole;
    whole.length = static_cast<std::uint32_t>(record_bytes);
    add(whole);
  }
  for (const KeyField& field : spec.fields) add(field);
  return layout;
}

/// Returns the layout of lines that end with `delimiter`. `order` must outlive the layout.
inline RecordLayout MakeLineLayout(unsigned char delimiter, const LineOrderView& order) {
  RecordLayout layout;
  layout.delimiter = delimiter;
  layout.lines = &order;
  return layout;
}

}  // namespace gpusort
