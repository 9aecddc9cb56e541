// Converts sort keys to bytes or unsigned numbers that sort as the keys do. The code runs on CPUs and GPUs.
// - NumberMap converts records that are a single number.
// - Entry represents any other record by twelve bytes of its key and the index of the record.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpusort/host_device.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

template <typename Key, typename LessT>
struct EqualIsSame;

using Byte = unsigned char;

/// Returns the number in the `length` (1..8) bytes at `p`. The first byte is the most significant byte if `big_endian`,
/// otherwise the least significant byte.
GPUSORT_HD inline std::uint64_t LoadNumber(const Byte* p, std::uint32_t length, bool big_endian) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    const std::uint64_t byte = p[big_endian ? i : length - 1 - i];
    value = value << 8 | byte;
  }
  return value;
}

/// Maps the bits of numbers, loaded as a little-endian U, to unsigned numbers in the order of the key field. Unmap is
/// the inverse of Map for every bit pattern, including NaNs and both zeros.
template <typename U>
struct NumberMap {
  U magnitude_mask = 0;  ///< floats: the bits to flip in negative numbers; otherwise 0
  /// The bits to flip in each number. For numbers of one byte: 0x00 if unsigned, 0x80 if signed; in descending order
  /// 0xFF or 0x7F.
  U flip = 0;
  bool swap = false;  ///< true if the number is big-endian

  static GPUSORT_HD U Swap(U x) {
    U y = 0;
    for (unsigned i = 0; i < sizeof(U); ++i) y = static_cast<U>(y << 8 | (x >> (8 * i) & 0xFF));
    return y;
  }
  static GPUSORT_HD U SignFill(U x) { return static_cast<U>(U{0} - (x >> (8 * sizeof(U) - 1))); }

  GPUSORT_HD U Map(U x) const {
    if (swap) x = Swap(x);
    return static_cast<U>(x ^ (SignFill(x) & magnitude_mask) ^ flip);
  }
  GPUSORT_HD U Unmap(U y) const {
    // Map does two XORs. The next line undoes the XOR with `flip`, and the line after it the XOR with magnitude_mask.
    U x = static_cast<U>(y ^ flip);
    x = static_cast<U>(x ^ (SignFill(x) & magnitude_mask));
    return swap ? Swap(x) : x;
  }
  GPUSORT_HD bool identity() const { return magnitude_mask == 0 && flip == 0 && !swap; }
};

/// Returns the NumberMap for the key field `field`, which must have sizeof(U) bytes.
template <typename U>
GPUSORT_HD inline NumberMap<U> MakeNumberMap(const KeyField& field) {
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  NumberMap<U> map;
  // A field of bytes sorts like a big-endian number: the first byte is the most significant.
  map.swap = sizeof(U) > 1 && (field.big_endian || field.type == KeyType::kBytes);
  if (field.type == KeyType::kFloat) map.magnitude_mask = static_cast<U>(~sign);
  if (field.type == KeyType::kFloat || field.type == KeyType::kSigned) map.flip = sign;
  if (field.descending) map.flip = static_cast<U>(~map.flip);
  return map;
}

/// Returns the value of a number field (any type except kBytes) as an unsigned number of `field.length` bytes. These
/// unsigned numbers have the order in which the field is sorted.
GPUSORT_HD inline std::uint64_t MapNumber(const Byte* record, const KeyField& field) {
  const std::uint64_t bits = LoadNumber(record + field.offset, field.length, field.big_endian);
  const std::uint64_t sign = std::uint64_t{1} << (8 * field.length - 1);
  const std::uint64_t all = sign | (sign - 1);
  std::uint64_t x = bits;
  if (field.type == KeyType::kFloat) {
    x ^= (bits & sign) != 0 ? all : sign;
  } else if (field.type == KeyType::kSigned) {
    x ^= sign;
  }
  return field.descending ? x ^ all : x;
}

/// Returns eight bytes of a record's normalized key (bytes that sort as the key does), from byte `begin` on. The first
/// byte is the most significant. Bytes after the end of the key are 0.
GPUSORT_HD inline std::uint64_t KeyWord(const Byte* record, const RecordLayout& layout, std::uint64_t begin) {
  std::uint64_t word = 0;
  std::uint32_t have = 0;
  std::uint64_t field_begin = 0;
  for (std::uint32_t f = 0; f < layout.field_count && have < 8; ++f) {
    const KeyField& field = layout.fields[f];
    const std::uint64_t field_end = field_begin + field.length;
    const std::uint64_t at = begin + have;
    if (at < field_end) {
      std::uint32_t skip = static_cast<std::uint32_t>(at - field_begin);
      std::uint32_t take = field.length - skip;
      if (take > 8 - have) take = 8 - have;
      std::uint64_t part;
      if (field.type == KeyType::kBytes) {
        part = LoadNumber(record + field.offset + skip, take, true);
        if (field.descending) part ^= ~std::uint64_t{0} >> (64 - 8 * take);
      } else {
        part = MapNumber(record, field);
        const std::uint32_t below = field.length - skip - take;
        part >>= 8 * below;
        if (take < 8) part &= (std::uint64_t{1} << (8 * take)) - 1;
      }
      word |= part << (8 * (8 - have - take));
      have += take;
    }
    field_begin = field_end;
  }
  return word;
}

/// Compares two records by their normalized keys (bytes that sort as the keys do), from key byte `begin` on. The keys
/// must be equal before that byte. Returns a negative value, 0 or a positive value.
GPUSORT_HD inline int CompareKeys(const Byte* a, const Byte* b, const RecordLayout& layout, std::uint64_t begin = 0) {
  std::uint64_t field_begin = 0;
  for (std::uint32_t f = 0; f < layout.field_count; ++f) {
    const KeyField& field = layout.fields[f];
    const std::uint64_t field_end = field_begin + field.length;
    if (begin < field_end) {
      if (field.type == KeyType::kBytes) {
        // Skips the bytes of this field that come before byte `begin` of the key.
        const std::uint64_t skip = begin > field_begin ? begin - field_begin : 0;
        const Byte* x = a + field.offset + skip;
        const Byte* y = b + field.offset + skip;
        std::uint64_t n = field.length - skip;
#if !GPUSORT_ON_DEVICE
        const int order = std::memcmp(x, y, n);
        if (order != 0) return field.descending ? -order : order;
#else
        for (; n > 0; --n, ++x, ++y) {
          if (*x != *y) return (*x < *y) != field.descending ? -1 : 1;
        }
#endif
      } else {
        // A number is compared as a whole, even if `begin` lies inside the number.
        const std::uint64_t x = MapNumber(a, field);
        const std::uint64_t y = MapNumber(b, field);
        if (x != y) return x < y ? -1 : 1;
      }
    }
    field_begin = field_end;
  }
  return 0;
}

/// Stands for a record while records are sorted. Holds twelve bytes of the key and the index of the record (the row).
/// An entry is a little-endian number of 128 bits, and entries sort as these numbers.
struct alignas(16) Entry {
  std::uint64_t lo;  ///< key bytes 8..11 in the upper half, the row (below 2^32) in the lower half
  std::uint64_t hi;  ///< key bytes 0..7

  GPUSORT_HD std::uint32_t row() const { return static_cast<std::uint32_t>(lo); }
};

inline constexpr std::uint64_t kEntryKeyBytes = 12;

/// Makes the Entry that stands for `record` in a sort: its index `row`, and bytes [skip, skip + 12) of its normalized
/// key (bytes that sort as the key does). All records that are sorted together must have the same first `skip` key
/// bytes.
GPUSORT_HD inline Entry MakeEntry(const Byte* record, const RecordLayout& layout, std::uint64_t skip,
                                  std::uint32_t row) {
  Entry entry;
  entry.hi = KeyWord(record, layout, skip);
  const std::uint64_t next = layout.key_bytes > skip + 8 ? KeyWord(record, layout, skip + 8) : 0;
  entry.lo = (next & 0xFFFFFFFF00000000u) | row;
  return entry;
}

/// Orders entries (twelve key bytes and a record index) without looking at the records. Use this only if the entries
/// contain all key bytes in which the records may differ.
struct ExactEntryLess {
  GPUSORT_HD bool operator()(const Entry& a, const Entry& b) const { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }
};

/// A sort of entries need not be stable. All entries in one sort differ, because each has its own row.
template <>
struct EqualIsSame<Entry, ExactEntryLess> {
  static constexpr bool kValue = true;
  GPUSORT_HD static Entry Largest() { return {~std::uint64_t{0}, ~std::uint64_t{0}}; }
};

/// Orders entries by their twelve key bytes, and entries with equal bytes by the rest of the records' keys.
/// - Record r is at records + r * layout->stride.
/// - The CPU or GPU that compares must be able to read the records and the layout.
struct PrefixEntryLess {
  const Byte* records;
  const RecordLayout* layout;
  /// The position of the first key byte after the twelve key bytes that an entry contains.
  std::uint64_t rest;

  GPUSORT_HD bool operator()(const Entry& a, const Entry& b) const {
    if (a.hi != b.hi) return a.hi < b.hi;
    if ((a.lo ^ b.lo) >> 32 != 0) return a.lo < b.lo;
    const int order =
        CompareKeys(records + a.row() * layout->stride, records + b.row() * layout->stride, *layout, rest);
    return order != 0 ? order < 0 : a.row() < b.row();
  }
};

}  // namespace gpusort
