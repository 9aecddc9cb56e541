// Describes where records and their keys are in a block of bytes. KeySpec is the order that a user asks for.
// RecordLayout has the same values as plain data, which CUDA kernels take by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {

/// The type of a key field. Numbers are ordered by value (floats by totalOrder of IEEE 754), bytes as unsigned bytes.
enum class KeyType : std::uint8_t { kUnsigned, kSigned, kFloat, kBytes };

/// One field of a key: `length` bytes at byte `offset` of the record. A number has 1, 2, 4 or 8 bytes, a float 4 or 8.
struct KeyField {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  KeyType type = KeyType::kBytes;
  bool big_endian = false;
  bool descending = false;

  friend bool operator==(const KeyField&, const KeyField&) = default;
};

inline constexpr std::size_t kMaxKeyFields = 64;

/// The order of records: a list of key fields, the most significant first. If all fields of two records are equal,
/// their positions in the input decide, so every sort has exactly one result.
struct KeySpec {
  std::vector<KeyField> fields;
};

/// Ends each encoded key that is stored before a record (an encoded key is bytes that sort as the key does). All bytes
/// of encoded keys are greater than kKeyEnd, so that a key comes before all longer keys that begin with it.
inline constexpr unsigned char kKeyEnd = 1;

struct LineOrderView;  // defined in lines/line_key.hpp

/// Describes where the records in a block of bytes are, and where their keys are. Trivially copyable for CUDA kernels.
/// - Records of fixed size: record i is at byte i * stride.
/// - Delimited records, such as lines: `stride` is 0, and each record ends with the byte `delimiter`, which is not
///   compared.
/// - Call fixed() once before a loop over records, and not for each record.
struct RecordLayout {
  std::uint64_t stride = 0;
  std::uint64_t key_bytes = 0;  ///< the length of the normalized key: the sum of the lengths of the fields
  std::uint32_t field_count = 0;
  unsigned char delimiter = 0;
  KeyField fields[kMaxKeyFields] = {};
  const LineOrderView* lines = nullptr;  ///< the order of delimited records; must outlive the layout
  /// The number of encoded sort keys before each delimited record. The byte kKeyEnd follows each key. A key contains
  /// neither kKeyEnd nor `delimiter`.
  std::uint32_t keys = 0;

  bool fixed() const { return stride != 0; }
  bool keyed() const { return keys != 0; }
  /// Returns true if a record is nothing but one number of 4 or 8 bytes, which is its own key. Such records are sorted
  /// directly as unsigned integers.
  bool direct() const {
    return field_count == 1 && fields[0].offset == 0 && fields[0].length == stride && (stride == 4 || stride == 8);
  }
  /// Compares all members. Two layouts of lines are equal only if `lines` points to the same object.
  friend bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

/// Returns the layout of records of `record_bytes` bytes in the order of `spec`. An empty spec orders whole records as
/// bytes, ascending. Throws Error(kUsage) in these cases:
/// - The record size is 0 or over 1 GiB.
/// - There are more than kMaxKeyFields fields.
/// - A field is not inside the record, or its length does not fit its type.
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

/// Returns the layout of lines that end with the byte `delimiter`, in the order `order`, which must outlive the layout.
inline RecordLayout MakeLineLayout(unsigned char delimiter, const LineOrderView& order) {
  RecordLayout layout;
  layout.delimiter = delimiter;
  layout.lines = &order;
  return layout;
}
RecordLayout MakeLineLayout(unsigned char, LineOrderView&&) = delete;  // the layout would outlive the order

}  // namespace gpusort
