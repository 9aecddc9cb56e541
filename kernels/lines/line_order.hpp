// The order of text lines as GNU sort 9.10 defines it in the C locale. Lines are passed without the newline at their
// end, and may contain any byte. Start at CompareLines.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "gpusort/host_device.hpp"
#include "kernels/lines/chunk.hpp"
#include "kernels/lines/fields.hpp"
#include "kernels/lines/general.hpp"
#include "kernels/lines/human.hpp"
#include "kernels/lines/line_key.hpp"
#include "kernels/lines/month.hpp"
#include "kernels/lines/numeric.hpp"
#include "kernels/lines/random.hpp"
#include "kernels/lines/text.hpp"
#include "kernels/lines/version.hpp"

namespace gpusort {
namespace detail {

GPUSORT_HD inline int CompareKeyTexts(const KeyText& a, const KeyText& b, const std::uint64_t salt[2]) {
  switch (a.key->ordering) {
    case LineOrdering::kNumeric:
      return CompareNumeric(a, b);
    case LineOrdering::kGeneral:
      return CompareGeneral(a, b);
    case LineOrdering::kHuman:
      return CompareHuman(a, b);
    case LineOrdering::kMonth:
      return CompareMonth(a, b);
    case LineOrdering::kVersion:
      return CompareVersion(a, b);
    case LineOrdering::kRandom:
      return CompareRandom(a, b, salt);
    case LineOrdering::kHost:
      return CompareByHost(a, b);
    case LineOrdering::kBytes:
      break;
  }
  if (a.key->plain()) return CompareBytes(a.line + a.begin, a.end - a.begin, b.line + b.begin, b.end - b.begin);
  return CompareText(a, b);
}

/// Compares two lines by one key. In line `a`, the key is the range `x` of bytes; in line `b`, it is the range `y`.
GPUSORT_HD inline int CompareFound(const Byte* a, const KeyRange& x, const Byte* b, const KeyRange& y,
                                   const LineKey& key, const std::uint64_t salt[2]) {
  const int order = CompareKeyTexts({a, x.begin, x.end, &key}, {b, y.begin, y.end, &key}, salt);
  return key.reverse ? (order < 0) - (order > 0) : order;
}

/// Compares all bytes of two lines whose keys are equal. Returns 0 instead if the order has keys and last_resort is
/// false (sort -s or -u).
GPUSORT_HD inline int CompareLast(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size,
                                  const LineOrderView& view) {
  if (view.key_count != 0 && !view.last_resort) return 0;
  const int order = CompareBytes(a, a_size, b, b_size);
  return view.last_resort_reverse ? (order < 0) - (order > 0) : order;
}

}  // namespace detail

/// Iterates over the sort keys at the beginning of a line (see LineOrderView::keyed). Starts at the first key of
/// `view`. Host only.
class KeyedFields {
 public:
  KeyedFields(const Byte* line, std::uint64_t size, const LineOrderView& view)
      : line_(line), size_(size), separator_(view.separator) {
    for (std::uint64_t field = 0; field < view.keys[0].begin_field; ++field) Next();
  }
  KeyRange Next() {
    const void* const end = std::memchr(line_ + at_, separator_, size_ - at_);
    const KeyRange field{at_, static_cast<std::uint64_t>(static_cast<const Byte*>(end) - line_)};
    at_ = field.end + 1;
    return field;
  }

 private:
  const Byte* const line_;
  const std::uint64_t size_;
  const int separator_;
  std::uint64_t at_ = 0;
};

/// Compares two lines as CompareLines does, but faster. Both must be keyed lines, which begin with encoded keys (see
/// LineOrderView::keyed).
inline int CompareKeyedLines(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size,
                             const LineOrderView& view) {
  KeyedFields of_a(a, a_size, view), of_b(b, b_size, view);
  for (std::uint32_t k = 0; k < view.key_count; k += 2) {
    const KeyRange p = of_a.Next(), q = of_b.Next();
    const int order = detail::CompareBytes(a + p.begin, p.size(), b + q.begin, q.size());
    if (order != 0) return order;
    const LineKey& ties = view.keys[k + 1];
    if (!ties.host->Settled(a) || !ties.host->Settled(b)) {
      const KeyRange x = FindKey(a, a_size, ties, view.separator), y = FindKey(b, b_size, ties, view.separator);
      const int tie = detail::CompareFound(a, x, b, y, ties, view.salt);
      if (tie != 0) return tie;
    }
  }
  return 0;
}

/// Compares two lines. Returns a negative value, 0 or a positive value. If the result is 0, sort -s keeps the lines in
/// the order of the input, and sort -u drops the second line.
GPUSORT_HD inline int CompareLines(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size,
                                   const LineOrderView& view) {
#if !GPUSORT_ON_DEVICE
  if (view.keyed) return CompareKeyedLines(a, a_size, b, b_size, view);
#endif
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    const LineKey& key = view.keys[k];
    const KeyRange x = FindKey(a, a_size, key, view.separator);
    const KeyRange y = FindKey(b, b_size, key, view.separator);
    const int order = detail::CompareFound(a, x, b, y, key, view.salt);
    if (order != 0) return order;
  }
  return detail::CompareLast(a, a_size, b, b_size, view);
}

namespace detail {

/// Appends the encoding of one key. Encodings sort as the keys do. No encoding is a prefix of another encoding, so
/// bytes that are appended later never change the order of different keys.
template <typename Writer>
GPUSORT_HD inline void PutKey(Writer& out, const KeyText& text, const std::uint64_t salt[2]) {
  switch (text.key->ordering) {
    case LineOrdering::kBytes:
      return PutText(out, text);
    case LineOrdering::kNumeric:
      return PutNumeric(out, text);
    case LineOrdering::kGeneral:
      return PutGeneral(out, text);
    case LineOrdering::kHuman:
      return PutHuman(out, text);
    case LineOrdering::kMonth:
      return PutMonth(out, text);
    case LineOrdering::kVersion:
      return PutVersion(out, text);
    case LineOrdering::kRandom:
      return PutRandom(out, text, salt);
    case LineOrdering::kHost:
      break;
  }
}

/// Appends the encoded key of a line (bytes that sort as the line does). Stops before a key that only the host can
/// compare (kHost).
template <typename Writer>
GPUSORT_HD inline void PutKeys(Writer& out, const Byte* line, std::uint64_t length, const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    const LineKey& key = view.keys[k];
    if (key.ordering == LineOrdering::kHost) return;
    const KeyRange range = FindKey(line, length, key, view.separator);
    out.set_reverse(key.reverse);
    if (k + 1 == view.key_count && !view.last_resort && key.plain()) {
      out.PutRest(line, range.begin, range.end);
    } else {
      PutKey(out, {line, range.begin, range.end, &key}, view.salt);
    }
    if (out.full()) return;
  }
  // Without keys, or as the last resort, the whole line follows.
  if (view.key_count == 0 || view.last_resort) {
    out.set_reverse(view.last_resort_reverse);
    out.PutRest(line, 0, length);
  }
}

}  // namespace detail

/// Returns the bytes [skip, skip + 12) of a line's encoded key: bytes that sort as the line does.
/// - To compare two lines, compare their chunks, `hi` before `lo`, for skip = 0, 12, 24 and so on.
/// - If all chunks are equal and ChunksDecide() returns false, call CompareLines().
/// - Bytes after the end of the key are 0x00, or 0xFF if the last key is reversed (-r).
GPUSORT_HD inline LineChunk EncodeChunk(const Byte* line, std::uint64_t length, const LineOrderView& view,
                                        std::uint64_t skip) {
  detail::ChunkWriter out(skip);
  detail::PutKeys(out, line, length, view);
  return out.chunk();
}

/// Compares each line with the line before it. Finds each key of a line at most once, and only if the comparison needs
/// the key.
class NeighbourLines {
 public:
  explicit NeighbourLines(const LineOrderView& order)
      : order_(order), ranges_(2 * std::size_t{order.key_count}), have_{0, 0} {}

  /// Compares the previous line with `line`, as CompareLines() does. Returns -1 for the first line. `line` has no
  /// delimiter. Its bytes must stay valid until the next call has returned.
  int Next(const Byte* line, std::uint64_t size) {
    const int compared = last_ == nullptr ? -1 : Compare(line, size);
    last_ = line;
    last_size_ = size;
    have_[0] = have_[1];
    have_[1] = 0;
    side_ = !side_;
    return compared;
  }

 private:
  int Compare(const Byte* line, std::uint64_t size) {
    if (order_.keyed) return CompareKeyedLines(last_, last_size_, line, size, order_);
    KeyRange* const before = ranges_.data() + (side_ ? order_.key_count : 0);
    KeyRange* const here = ranges_.data() + (side_ ? 0 : order_.key_count);
    for (std::uint32_t k = 0; k < order_.key_count; ++k) {
      const LineKey& key = order_.keys[k];
      if (have_[0] == k) before[have_[0]++] = FindKey(last_, last_size_, key, order_.separator);
      here[have_[1]++] = FindKey(line, size, key, order_.separator);
      const int order = detail::CompareFound(last_, before[k], line, here[k], key, order_.salt);
      if (order != 0) return order;
    }
    return detail::CompareLast(last_, last_size_, line, size, order_);
  }

  const LineOrderView& order_;
  /// The keys found in the previous line and in the new line. Each of the two lines has one half of the array.
  std::vector<KeyRange> ranges_;
  std::uint32_t have_[2];  ///< how many keys were found: [0] in the previous line, [1] in the new line
  bool side_ = false;      ///< true: the second half of ranges_ belongs to the previous line
  const Byte* last_ = nullptr;
  std::uint64_t last_size_ = 0;
};

}  // namespace gpusort
