// The phases of sorting one tile by many threads that share memory, for host and device.
// Each thread takes kItems neighbouring items and sorts them in registers (SortItems); then runs of 1, 2, 4 ...
// threads' items are merged pairwise, each thread taking one share of the output (MergeShare). Between two phases all
// threads wait for each other. Stable; only real items are compared, so a tile may be short. SortTile is the whole
// algorithm with the threads as a loop: the reference of the kernels. Start there.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "gpusort/merge_path.hpp"

namespace gpusort {

/// Copies the thread's share of the tile; returns how many of its items exist. The others become a copy of the first
/// (or stay as they are if there is none).
template <int kItems, typename Item>
GPUSORT_HD inline std::uint32_t LoadShare(const Item* tile, std::uint32_t tile_items, std::uint32_t thread,
                                          Item (&items)[kItems]) {
  const std::uint32_t begin = thread * kItems;
  const std::uint32_t left = begin < tile_items ? tile_items - begin : 0;
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    if (static_cast<std::uint32_t>(i) < left) {
      items[i] = tile[begin + i];
    } else if (left > 0) {
      items[i] = items[0];
    }
  }
  return left < kItems ? left : kItems;
}

/// Writes the thread's share back, as far as it exists.
template <int kItems, typename Item>
GPUSORT_HD inline void StoreShare(Item* tile, std::uint32_t tile_items, std::uint32_t thread,
                                  const Item (&items)[kItems]) {
  const std::uint32_t begin = thread * kItems;
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    if (begin + i < tile_items) tile[begin + i] = items[i];
  }
}

/// True if the thread's share, and the item before it, are in order: if all threads say so, there is nothing to sort.
template <int kItems, typename Item, typename LessT>
GPUSORT_HD inline bool ShareInOrder(const Item* tile, std::uint32_t thread, const Item (&items)[kItems],
                                    std::uint32_t count, LessT less) {
  if (count == 0) return true;
  if (thread > 0 && less(items[0], tile[thread * kItems - 1])) return false;
  GPUSORT_UNROLL
  for (int i = 1; i < kItems; ++i) {
    if (static_cast<std::uint32_t>(i) < count && less(items[i], items[i - 1])) return false;
  }
  return true;
}

/// Stable sort of items[0, count) by odd-even transposition: no index depends on data, so the items stay in registers.
/// What lies behind count becomes a copy of the largest item.
template <int kItems, typename Item, typename LessT>
GPUSORT_HD inline void SortItems(Item (&items)[kItems], std::uint32_t count, LessT less) {
  if (count == 0) return;
  if (count < kItems) {
    Item largest = items[0];
    GPUSORT_UNROLL
    for (int i = 1; i < kItems; ++i) {
      if (static_cast<std::uint32_t>(i) < count) {
        if (less(largest, items[i])) largest = items[i];
      } else {
        items[i] = largest;
      }
    }
  }
  GPUSORT_UNROLL
  for (int round = 0; round < kItems; ++round) {
    GPUSORT_UNROLL
    for (int i = round & 1; i < kItems - 1; i += 2) {
      const Item low = items[i], high = items[i + 1];
      const bool swap = less(high, low);
      items[i] = swap ? high : low;
      items[i + 1] = swap ? low : high;
    }
  }
}

/// One level of merging inside a tile: runs of run_threads threads' items (a power of two) become runs of twice as
/// many. Leaves the thread's share of the result in `items`; what lies behind the tile's end is unspecified.
template <int kItems, typename Item, typename LessT>
GPUSORT_HD inline void MergeShare(const Item* tile, std::uint32_t tile_items, std::uint32_t thread,
                                  std::uint32_t run_threads, Item (&items)[kItems], LessT less) {
  const std::uint32_t in_pair = thread & (2 * run_threads - 1);
  const std::uint32_t run = run_threads * kItems;
  const std::uint32_t begin = (thread - in_pair) * kItems;
  const std::uint32_t rank = in_pair * kItems;
  if (begin + rank >= tile_items) return;
  const std::uint32_t middle = begin + run < tile_items ? begin + run : tile_items;
  const std::uint32_t end = middle + run < tile_items ? middle + run : tile_items;
  const Item* a = tile + begin;
  const Item* b = tile + middle;
  const std::uint32_t i = CoRankIn<std::uint32_t>(rank, a, middle - begin, b, end - middle, less);
  std::uint32_t from[kItems];
  // Nothing behind this pair is read: its neighbour may be a level further.
  SerialMergeItems<kItems>(tile, begin + i, middle, middle + (rank - i), end, end - 1, items, from, less);
}

/// Sorts tile[0, tile_items) as kThreads (a power of two) threads of kItems items do; tile_items <= kThreads * kItems.
/// `shares` is room for all threads' registers: kThreads * kItems items.
template <int kThreads, int kItems, typename Item, typename LessT>
inline void SortTile(Item* tile, std::uint32_t tile_items, Item* shares, LessT less) {
  using Share = Item[kItems];
  Share* share = reinterpret_cast<Share*>(shares);
  bool in_order = true;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t count = LoadShare<kItems>(tile, tile_items, t, share[t]);
    in_order &= ShareInOrder<kItems>(tile, t, share[t], count, less);
  }
  if (in_order) return;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    SortItems<kItems>(share[t], LoadShare<kItems>(tile, tile_items, t, share[t]), less);
    StoreShare<kItems>(tile, tile_items, t, share[t]);
  }
  for (std::uint32_t run = 1; run < kThreads; run *= 2) {
    for (std::uint32_t t = 0; t < kThreads; ++t) MergeShare<kItems>(tile, tile_items, t, run, share[t], less);
    for (std::uint32_t t = 0; t < kThreads; ++t) StoreShare<kItems>(tile, tile_items, t, share[t]);
  }
}

}  // namespace gpusort
