#include "line_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

namespace gpusort {
namespace {

/// Up to here comparing whole lines beats encoding them once more.
constexpr std::uint64_t kFewLines = 12;
/// vqsort pays from here on.
constexpr std::uint64_t kManyEntries = 64;
/// Where keys that are no plain bytes still agree, comparing lines is cheaper: encoding costs what it skips.
constexpr std::uint64_t kLastSkip = 96;

class GroupSorter {
 public:
  GroupSorter(const LineBlock& lines, const LineOrderView& order)
      : lines_(lines),
        order_(order),
        plain_(order.key_count == 0 || (PlainSingleKey(order) && !order.last_resort)),
        decided_(ChunksDecide(order)) {}

  /// `group` holds rows in ascending order whose encoded keys agree before `skip`.
  void Sort(Entry* group, std::uint64_t count, std::uint64_t skip) const {
    if (skip > 0 && Identical(group, count)) return;
    for (;; skip = NextSkip(group, count, skip)) {
      if (count <= kFewLines || (!plain_ && skip > kLastSkip)) return SortByComparing(group, count);
      const Encoded encoded = Encode(group, count, skip);
      if (!encoded.all_equal) {
        if (!encoded.in_order) SortEntries(group, count);
        if (encoded.all_ended && decided_) return;  // what is equal now is equal
        break;
      }
      if (encoded.all_ended) {
        if (!decided_) SortByComparing(group, count);
        return;
      }
    }
    std::uint64_t begin = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
      if (i < count && SameKey(group[i], group[begin])) continue;
      if (i - begin > 1) Sort(group + begin, i - begin, skip + kEntryKeyBytes);
      begin = i;
    }
  }

 private:
  struct Encoded {
    bool all_equal = true;
    bool all_ended = true;
    bool in_order = true;
  };

  static bool SameKey(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

  /// True for the usual reason of equal keys, which needs no further chunks.
  bool Identical(const Entry* group, std::uint64_t count) const {
    const Byte* const first = lines_.line(group[0].row());
    const std::uint64_t length = lines_.length(group[0].row());
    return std::all_of(group + 1, group + count, [&](const Entry& entry) {
      return lines_.length(entry.row()) == length && std::equal(first, first + length, lines_.line(entry.row()));
    });
  }

  static void SortEntries(Entry* entries, std::uint64_t count) {
    if (count < kManyEntries) {
      std::sort(entries, entries + count, ExactEntryLess{});
      return;
    }
    static_assert(sizeof(Entry) == sizeof(hwy::uint128_t) && alignof(Entry) == alignof(hwy::uint128_t));
    hwy::Sorter()(reinterpret_cast<hwy::uint128_t*>(entries), count, hwy::SortAscending());
  }

  Encoded Encode(Entry* group, std::uint64_t count, std::uint64_t skip) const {
    Encoded encoded;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t row = group[i].row();
      const LineChunk chunk = EncodeChunk(lines_.line(row), lines_.length(row), order_, skip);
      group[i].hi = chunk.hi;
      group[i].lo = std::uint64_t{chunk.lo} << 32 | row;
      encoded.all_ended &= chunk.ended;
      if (i > 0) {
        encoded.all_equal &= SameKey(group[i - 1], group[i]);
        encoded.in_order &= ExactEntryLess{}(group[i - 1], group[i]);
      }
    }
    return encoded;
  }

  /// The chunks at `skip` are all equal. Plain keys are compared on, up to the first difference of any two.
  std::uint64_t NextSkip(const Entry* group, std::uint64_t count, std::uint64_t skip) const {
    skip += kEntryKeyBytes;
    if (!plain_) return skip;
    const KeyText first = Key(group[0].row());
    std::uint64_t common = first.size;
    for (std::uint64_t i = 1; i < count && common > skip; ++i) {
      const KeyText other = Key(group[i].row());
      if (other.size < common) common = other.size;
      if (common <= skip) break;
      common = static_cast<std::uint64_t>(
          std::mismatch(first.bytes + skip, first.bytes + common, other.bytes + skip).first - first.bytes);
    }
    return std::max(skip, common);
  }

  struct KeyText {
    const Byte* bytes;
    std::uint64_t size;
  };
  KeyText Key(std::uint64_t row) const {
    const Byte* line = lines_.line(row);
    const std::uint64_t length = lines_.length(row);
    if (order_.key_count == 0) return {line, length};
    const KeyRange range = FindKey(line, length, order_.keys[0], order_.separator);
    return {line + range.begin, range.size()};
  }

  void SortByComparing(Entry* group, std::uint64_t count) const {
    const auto before = [&](const Entry& a, const Entry& b) { return lines_.Compare(a.row(), b.row(), order_) < 0; };
    if (!std::is_sorted(group, group + count, before)) std::stable_sort(group, group + count, before);
  }

  const LineBlock& lines_;
  const LineOrderView& order_;
  const bool plain_;  ///< the encoded key is a range of the line, and cheap to encode from anywhere
  const bool decided_;
};

}  // namespace

void SortLineEntries(Entry* entries, std::uint64_t first, std::uint64_t count, const LineBlock& lines,
                     const LineOrderView& order) {
  for (std::uint64_t i = 0; i < count; ++i) entries[i] = {first + i, 0};
  GroupSorter(lines, order).Sort(entries, count, 0);
}

}  // namespace gpusort
