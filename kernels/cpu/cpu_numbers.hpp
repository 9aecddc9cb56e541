// Sorts and merges records that are a single number of 4 or 8 bytes, on the CPU. The numbers are mapped to unsigned
// numbers of the same order (NumberMap). Each worker sorts one part of the numbers, and the parts are merged. Start at
// NumberSorter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gpusort/merge_host.hpp"
#include "kernels/cpu/cpu_sorter.hpp"
#include "kernels/cpu/vqsort.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

constexpr std::uint64_t kNumberTileBytes = kMergeTileBytes;
/// A tile (a small part of the output) that consists of at least this many parts of sorted runs is sorted instead of
/// merged, which is faster.
template <typename U>
constexpr std::size_t kSegmentsToSort = sizeof(U) == 8 ? 48 : 9;

/// Calls f(map_one, unmap). Both arguments are functions: map_one(x) applies `map` to the number x, and unmap(y)
/// applies the inverse of `map` to the number y. Tests map.swap (whether numbers are big-endian) only once for each
/// call of WithMap, so that the compiler can vectorize loops in `f`.
template <typename U, typename F>
void WithMap(const NumberMap<U>& map, F f) {
  const U mask = map.magnitude_mask, flip = map.flip;
  const auto swap = [](U x) {
    if constexpr (sizeof(U) == 8)
      return static_cast<U>(__builtin_bswap64(x));
    else
      return static_cast<U>(__builtin_bswap32(x));
  };
  const auto fill = [](U x) { return NumberMap<U>::SignFill(x); };
  if (map.swap) {
    f([=](U x) { return static_cast<U>(swap(x) ^ (fill(swap(x)) & mask) ^ flip); },
      [=](U y) { return swap(static_cast<U>(y ^ flip ^ (fill(static_cast<U>(y ^ flip)) & mask))); });
  } else {
    f([=](U x) { return static_cast<U>(x ^ (fill(x) & mask) ^ flip); },
      [=](U y) { return static_cast<U>(y ^ flip ^ (fill(static_cast<U>(y ^ flip)) & mask)); });
  }
}

template <typename U>
void UnmapInPlace(U* p, std::uint64_t n, const NumberMap<U>& map) {
  if (map.identity()) return;
  WithMap(map, [&](auto, auto unmap) {
    for (std::uint64_t i = 0; i < n; ++i) p[i] = unmap(p[i]);
  });
}

/// Applies `map` to the `n` numbers at address `from`, and stores the results at address `to`. `from` may be unaligned.
/// The two arrays must not overlap.
template <typename U>
void MapTo(const Byte* from, U* to, std::uint64_t n, const NumberMap<U>& map) {
  if (map.identity()) {
    std::memcpy(to, from, n * sizeof(U));
    return;
  }
  WithMap(map, [&](auto map_one, auto) {
    for (std::uint64_t i = 0; i < n; ++i) {
      U x;
      std::memcpy(&x, from + i * sizeof(U), sizeof(U));
      to[i] = map_one(x);
    }
  });
}

/// Applies `map` to p[0, n) in place. Returns true if the mapped numbers are in ascending order.
template <typename U>
bool MapAndCheck(U* p, std::uint64_t n, const NumberMap<U>& map) {
  constexpr std::uint64_t kChunk = 4096 / sizeof(U);
  bool sorted = true;
  for (std::uint64_t begin = 0; begin < n; begin += kChunk) {
    const std::uint64_t end = std::min(n, begin + kChunk);
    if (!map.identity()) {
      WithMap(map, [&](auto map_one, auto) {
        for (std::uint64_t i = begin; i < end; ++i) p[i] = map_one(p[i]);
      });
    }
    if (sorted) {
      unsigned descents = 0;
      for (std::uint64_t i = std::max<std::uint64_t>(begin, 1); i < end; ++i) descents += p[i] < p[i - 1];
      sorted = descents == 0;
    } else if (map.identity()) {
      break;
    }
  }
  return sorted;
}

/// An iterator over numbers in memory, which need not be aligned. Returns each number mapped to an unsigned number that
/// sorts in the same order (see NumberMap).
template <typename U>
class MappedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = U;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = U;

  MappedIterator() = default;
  MappedIterator(const Byte* p, const NumberMap<U>* map) : p_(p), map_(map) {}
  const Byte* address() const { return p_; }
  U operator*() const {
    U x;
    std::memcpy(&x, p_, sizeof(U));
    return map_->Map(x);
  }
  MappedIterator operator+(difference_type n) const { return {p_ + n * static_cast<difference_type>(sizeof(U)), map_}; }

 private:
  const Byte* p_ = nullptr;
  const NumberMap<U>* map_ = nullptr;
};

template <typename U>
class NumberSorter final : public SlotSorter {
 public:
  NumberSorter(const RecordLayout& layout, std::uint64_t slot_bytes)
      : map_(MakeNumberMap<U>(layout.fields[0])),
        tile_items_(std::min(std::max<std::uint64_t>(1, slot_bytes / sizeof(U)), kNumberTileBytes / sizeof(U))) {}

  std::uint64_t LaneBytes(unsigned workers) const override { return workers * WorkerBytes(); }

  Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
              const TeamExecutor& executor) const override {
    const std::uint64_t n = bytes / sizeof(U);
    U* const numbers = reinterpret_cast<U*>(in);
    const std::uint64_t part_items = DivideUp(n, executor.workers());
    std::vector<Range<const U*>> parts;
    for (std::uint64_t begin = 0; begin < n; begin += part_items) {
      parts.push_back({numbers + begin, std::min(part_items, n - begin)});
    }
    std::atomic<bool> all_sorted{true};
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
      U* const p = numbers + part * part_items;
      if (!MapAndCheck(p, parts[part].size, map_)) {
        all_sorted = false;
        VqSort(p, parts[part].size);
      }
    });
    bool in_order = true;
    for (std::size_t i = 1; i < parts.size(); ++i) in_order = in_order && parts[i].first[-1] <= parts[i].first[0];
    if (in_order) {
      executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
        UnmapInPlace(numbers + part * part_items, parts[part].size, map_);
      });
      return {true, all_sorted, n};
    }
    U* const to = reinterpret_cast<U*>(out);
    ForEachTile(
        std::span<const Range<const U*>>(parts), tile_items_, Less(), executor,
        [&](std::span<const Range<const U*>> segments, std::uint64_t begin, std::uint64_t size, unsigned worker) {
          MergeTile(segments, size, to + begin, Tile(memory, worker, 0));
          UnmapInPlace(to + begin, size, map_);
        });
    return {false, false, n};
  }

  void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
             const TeamExecutor& executor) const override {
    const auto aligned = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(U) == 0; };
    const bool aligned_out = aligned(out);
    bool as_it_is = map_.identity();
    for (const RecordSpan& piece : pieces) as_it_is = as_it_is && aligned(piece.data());

    const auto place = [&](std::uint64_t begin, unsigned worker) {
      return aligned_out ? reinterpret_cast<U*>(out) + begin : Tile(memory, worker, 2);
    };
    const auto finish = [&](U* from, std::uint64_t begin, std::uint64_t size) {
      UnmapInPlace(from, size, map_);
      if (!aligned_out) std::memcpy(out + begin * sizeof(U), from, size * sizeof(U));
    };

    if (as_it_is) {
      std::vector<Range<const U*>> runs;
      for (const RecordSpan& piece : pieces) {
        runs.push_back({reinterpret_cast<const U*>(piece.data()), piece.size() / sizeof(U)});
      }
      ForEachTile(
          std::span<const Range<const U*>>(runs), tile_items_, Less(), executor,
          [&](std::span<const Range<const U*>> segments, std::uint64_t begin, std::uint64_t size, unsigned worker) {
            U* const to = place(begin, worker);
            MergeTile(segments, size, to, Tile(memory, worker, 0));
            finish(to, begin, size);
          });
      return;
    }
    // Merges mapped copies of the numbers. Mapping the numbers in each comparison would take longer.
    std::vector<Range<MappedIterator<U>>> runs;
    for (const RecordSpan& piece : pieces) runs.push_back({{AsBytes(piece.data()), &map_}, piece.size() / sizeof(U)});
    ForEachTile(std::span<const Range<MappedIterator<U>>>(runs), tile_items_, Less(), executor,
                [&](std::span<const Range<MappedIterator<U>>> segments, std::uint64_t begin, std::uint64_t size,
                    unsigned worker) {
                  U* const to = place(begin, worker);
                  U* mapped = segments.size() == 1 ? to : Tile(memory, worker, 1);
                  std::vector<Range<const U*>> sources;
                  sources.reserve(segments.size());
                  for (const Range<MappedIterator<U>>& segment : segments) {
                    MapTo(segment.first.address(), mapped, segment.size, map_);
                    sources.push_back({mapped, segment.size});
                    mapped += segment.size;
                  }
                  if (segments.size() > 1) MergeTile(sources, size, to, Tile(memory, worker, 0));
                  finish(to, begin, size);
                });
  }

 private:
  std::uint64_t WorkerBytes() const { return RoundUp(3 * tile_items_ * sizeof(U), 64); }
  /// Returns one of the three scratch buffers of a worker. `index` is 0, 1 or 2.
  U* Tile(std::byte* memory, unsigned worker, unsigned index) const {
    return reinterpret_cast<U*>(memory + worker * WorkerBytes()) + index * tile_items_;
  }

  /// Merges the segments (parts of sorted runs) of a tile, a small part of the output. If there are many segments,
  /// sorts all numbers of the tile instead, which is faster. The result is the same, because equal numbers are
  /// identical.
  void MergeTile(std::span<const Range<const U*>> segments, std::uint64_t size, U* to, U* scratch) const {
    if (segments.size() < kSegmentsToSort<U>) {
      MergeTree<U>(segments, size, to, scratch, Less());
      return;
    }
    U* end = to;
    for (const Range<const U*>& segment : segments) end = std::copy_n(segment.first, segment.size, end);
    VqSort(to, size);
  }

  const NumberMap<U> map_;
  const std::uint64_t tile_items_;
};

}  // namespace gpusort::detail
