// Finds, counts and compares the records in a block of memory. Host only. Start at RecordSpan.
// - The records have a fixed size, or they are lines, which end with a delimiter.
// - The bytes of a line include its delimiter. Comparisons ignore the delimiter.
// - Pass whole records to a function, unless its comment allows other bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// The bytes of one record or of several consecutive records.
using RecordSpan = std::span<const std::byte>;

inline const Byte* AsBytes(const std::byte* p) { return reinterpret_cast<const Byte*>(p); }

namespace detail {

inline const std::byte* FindDelimiter(const std::byte* p, const std::byte* end, unsigned char delimiter) {
  // Tests the first byte before it calls memchr. Empty lines are common, and for them the call would take longer than
  // the rest of the work.
  if (p != end && *p == static_cast<std::byte>(delimiter)) return p;
  return p == end ? nullptr
                  : static_cast<const std::byte*>(std::memchr(p, delimiter, static_cast<std::size_t>(end - p)));
}
inline const std::byte* FindLastDelimiter(const std::byte* p, const std::byte* end, unsigned char delimiter) {
  return p == end ? nullptr : static_cast<const std::byte*>(::memrchr(p, delimiter, static_cast<std::size_t>(end - p)));
}

/// Counts the bytes in [p, p + n) that equal `value`. Twice as fast as std::count, because 64 counters of one byte each
/// stay in vector registers.
inline std::uint64_t CountBytes(const std::byte* p, std::uint64_t n, unsigned char value) {
  constexpr std::uint64_t kLanes = 64, kMost = 255;
  std::uint64_t total = 0;
  while (n >= kLanes) {
    const std::uint64_t rounds = std::min(n / kLanes, kMost);
    unsigned char lanes[kLanes] = {};
    for (std::uint64_t i = 0; i < rounds; ++i, p += kLanes) {
      for (std::uint64_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<unsigned char>(p[j]) == value ? 1 : 0;
    }
    for (const unsigned char lane : lanes) total += lane;
    n -= rounds * kLanes;
  }
  for (; n > 0; --n, ++p) total += static_cast<unsigned char>(*p) == value ? 1 : 0;
  return total;
}

}  // namespace detail

/// Returns the size of the smallest possible record, in bytes. The smallest line has 1 byte, the delimiter.
inline std::uint64_t LeastRecordBytes(const RecordLayout& layout) { return layout.fixed() ? layout.stride : 1; }

/// The average size of a line, in bytes, that is assumed when the memory of a job is planned.
inline constexpr std::uint64_t kUsualLine = 32;

/// Returns the maximum number of records that are sorted together in a buffer of slot_bytes bytes. For lines, this is
/// the number of lines of kUsualLine bytes that fit into the buffer, but at least 1024. Shorter lines do not raise the
/// maximum.
inline std::uint64_t SlotRecords(const RecordLayout& layout, std::uint64_t slot_bytes) {
  return layout.fixed() ? slot_bytes / layout.stride : std::max<std::uint64_t>(1024, slot_bytes / kUsualLine);
}

/// Returns the size of the first record in bytes, or 0 if there is no whole record. `bytes` may end within a record.
inline std::uint64_t FirstRecordBytes(RecordSpan bytes, const RecordLayout& layout) {
  if (layout.fixed()) return bytes.size() < layout.stride ? 0 : layout.stride;
  const std::byte* const end = detail::FindDelimiter(bytes.data(), bytes.data() + bytes.size(), layout.delimiter);
  return end == nullptr ? 0 : static_cast<std::uint64_t>(end - bytes.data()) + 1;
}
/// Returns the first record of `bytes`. Throws WrongResult if there is no whole record, because the bytes may come from
/// a GPU that made an error.
inline RecordSpan FirstRecord(RecordSpan bytes, const RecordLayout& layout) {
  const std::uint64_t size = FirstRecordBytes(bytes, layout);
  if (size == 0) throw WrongResult("records that end inside a record");
  return bytes.first(size);
}

/// Returns the record without the encoded keys (bytes that sort as the keys do) that gpusort has put before it. The
/// returned bytes are those that were read from the input and will be written. Throws WrongResult if a key is missing.
inline RecordSpan Body(RecordSpan record, const RecordLayout& layout) {
#if !GPUSORT_ON_DEVICE
  // A fast path for two keys that both end within the first 32 bytes of the record, which is the most common case.
  if (layout.keys == 2 && record.size() >= 16) {
    std::uint32_t found = detail::EqualMask16(AsBytes(record.data()), kKeyEnd);
    if ((found & (found - 1)) == 0 && record.size() >= 32) {
      found |= detail::EqualMask16(AsBytes(record.data()) + 16, kKeyEnd) << 16;
    }
    const std::uint32_t second = found & (found - 1);
    if (second != 0) return record.subspan(static_cast<std::size_t>(__builtin_ctz(second)) + 1);
  }
#endif
  for (std::uint32_t key = 0; key < layout.keys; ++key) {
    const std::byte* const end = detail::FindDelimiter(record.data(), record.data() + record.size(), kKeyEnd);
    if (end == nullptr) throw WrongResult("a record lost its key");
    record = record.subspan(static_cast<std::size_t>(end - record.data()) + 1);
  }
  return record;
}

/// Returns the total size of the whole records at the beginning of `bytes`, which may end within a record.
inline std::uint64_t WholeRecordBytes(RecordSpan bytes, const RecordLayout& layout) {
  if (layout.fixed()) return bytes.size() / layout.stride * layout.stride;
  const std::byte* const last = detail::FindLastDelimiter(bytes.data(), bytes.data() + bytes.size(), layout.delimiter);
  return last == nullptr ? 0 : static_cast<std::uint64_t>(last - bytes.data()) + 1;
}

/// Returns the offset of the record that contains the byte bytes[at].
inline std::uint64_t RecordBegin(RecordSpan bytes, std::uint64_t at, const RecordLayout& layout) {
  return WholeRecordBytes(bytes.first(at), layout);
}

/// Returns the last record of `bytes`, which must not be empty.
inline RecordSpan LastRecord(RecordSpan bytes, const RecordLayout& layout) {
  return bytes.subspan(RecordBegin(bytes, bytes.size() - 1, layout));
}

inline std::uint64_t CountRecords(RecordSpan bytes, const RecordLayout& layout) {
  if (layout.fixed()) return bytes.size() / layout.stride;
  return detail::CountBytes(bytes.data(), bytes.size(), layout.delimiter);
}

/// Calls f(record) for each record of `bytes`, in order.
template <typename F>
void ForEachRecord(RecordSpan bytes, const RecordLayout& layout, F f) {
  if (layout.fixed()) {
    for (std::uint64_t at = 0; at < bytes.size(); at += layout.stride) f(bytes.subspan(at, layout.stride));
    return;
  }
  while (!bytes.empty()) {
    const std::uint64_t size = FirstRecordBytes(bytes, layout);
    if (size == 0) throw WrongResult("records that end inside a record");
    f(bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

/// Compares two records. Returns a negative value if `a` comes before `b`, 0 if their keys are equal, and a positive
/// value if `a` comes after `b`.
inline int CompareRecords(RecordSpan a, RecordSpan b, const RecordLayout& layout) {
  if (layout.fixed()) return CompareKeys(AsBytes(a.data()), AsBytes(b.data()), layout);
  return CompareLines(AsBytes(a.data()), a.size() - 1, AsBytes(b.data()), b.size() - 1, *layout.lines);
}

/// Returns the total size of the records in `bytes` whose key is less than the key of the record `cut`. If `inclusive`
/// is true, also counts records whose key is equal. `bytes` must be sorted.
inline std::uint64_t BytesBefore(RecordSpan bytes, RecordSpan cut, bool inclusive, const RecordLayout& layout) {
  const std::uint64_t unit = LeastRecordBytes(layout);
  std::uint64_t low = 0, high = bytes.size();  // always at the beginnings of records
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / unit / 2 * unit;
    const std::uint64_t begin = layout.fixed() ? middle : low + RecordBegin(bytes.subspan(low), middle - low, layout);
    const RecordSpan record = FirstRecord(bytes.subspan(begin), layout);
    const int order = CompareRecords(record, cut, layout);
    if (order < 0 || (order == 0 && inclusive)) {
      low = begin + record.size();
    } else {
      high = begin;
    }
  }
  return low;
}

inline constexpr std::uint64_t kInOrder = ~std::uint64_t{0};

/// Returns the offset of the first line that is out of order, that is, less than the line before it. Returns kInOrder
/// if there is no such line. If `strict` is true, a line that is equal to the line before it also counts as out of
/// order.
inline std::uint64_t FirstLineDisorder(RecordSpan bytes, const RecordLayout& layout, bool strict) {
  NeighbourLines neighbours(*layout.lines);
  std::uint64_t begin = 0;
  while (begin < bytes.size()) {
    const std::uint64_t size = FirstRecordBytes(bytes.subspan(begin), layout);
    if (size == 0) throw WrongResult("lines that end inside a line");
    const int compared = neighbours.Next(AsBytes(bytes.data()) + begin, size - 1);
    if (compared > 0 || (strict && compared == 0)) return begin;
    begin += size;
  }
  return kInOrder;
}

}  // namespace gpusort
