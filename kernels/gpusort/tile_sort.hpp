// Functions that sort a tile: the items that one GPU thread block sorts.
// - SortItems sorts the items of one thread. MergeShare then merges sorted runs in pairs. This sort is stable.
// - Sorting networks can also sort and merge items, but are not stable. Use them only if EqualIsSame::kValue is true.
// - All threads of a block must wait for each other between two functions.
// Start at MergeShare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpusort/host_device.hpp"
#include "gpusort/merge_path.hpp"

namespace gpusort {

/// Copies kItems items of a tile to `items`, from index thread * kItems on.
/// - Returns the number of copied items, which is smaller at the end of the tile.
/// - Sets the rest of `items` to copies of the first item. If no item was copied, leaves `items` unchanged.
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

/// Writes the thread's kItems items back to the tile, from index thread * kItems on. A tile is the items of one thread
/// block. Skips places after the end of the tile.
template <int kItems, typename Item>
GPUSORT_HD inline void StoreShare(Item* tile, std::uint32_t tile_items, std::uint32_t thread,
                                  const Item (&items)[kItems]) {
  const std::uint32_t begin = thread * kItems;
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    if (begin + i < tile_items) tile[begin + i] = items[i];
  }
}

/// Returns true if items[0, count) are in order, and items[0] is not less than tile[thread * kItems - 1], the item
/// before it. `items` and `count` are the results of LoadShare. If ShareInOrder returns true for every thread, the tile
/// is sorted.
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

/// Sorts items[0, count) stably by odd-even transposition. No index depends on the data, so the items can stay in
/// registers. Sets the remaining items to copies of the largest item. If `count` is 0, leaves all items unchanged.
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

/// Merges neighbouring sorted runs of a tile in pairs, and sets `items` to kItems items of the output.
/// - The items of the output begin at index thread * kItems. Elements of `items` after the end of the tile are
///   unspecified.
/// - A run has run_threads * kItems items. The last run may be shorter. run_threads must be a power of two.
/// - The tile does not change.
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
  const std::uint32_t i = CoRankNear<std::uint32_t>(rank, a, middle - begin, b, end - middle, less);
  std::uint32_t from[kItems];
  // The argument `end - 1` prevents reads after the end of this pair of sorted runs. Threads of the next pair may
  // already have written their results there.
  SerialMergeItems<kItems>(tile, begin + i, middle, middle + (rank - i), end, end - 1, items, from, less);
}

namespace detail {

/// A sorting network for kItems items in registers. Step i, of `count` steps, compares the registers low[i] and high[i]
/// and exchanges them if they are out of order. After the last step, item i of the result is in register order[i].
template <int kItems>
struct Network {
  static constexpr int kMost = 1024;
  int count = 0;
  unsigned char low[kMost] = {}, high[kMost] = {};
  unsigned char order[kItems] = {};

  constexpr void Add(int a, int b) {
    low[count] = static_cast<unsigned char>(a);
    high[count] = static_cast<unsigned char>(b);
    ++count;
  }
};

/// Returns a sorting network for kItems items in any order: Batcher's merge exchange (Knuth, TAOCP volume 3, section
/// 5.2.2, algorithm M). For 33 items the network has 207 steps; odd-even transposition would have 528.
template <int kItems>
constexpr Network<kItems> SortingNetwork() {
  Network<kItems> network;
  int top = 1;
  while (top * 2 < kItems) top *= 2;
  for (int p = top; p > 0; p /= 2) {
    int q = top, r = 0, d = p;
    for (;;) {
      for (int i = 0; i + d < kItems; ++i) {
        if ((i & p) == r) network.Add(i, i + d);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
  for (int i = 0; i < kItems; ++i) network.order[i] = static_cast<unsigned char>(i);
  return network;
}

/// Returns a sorting network for items that first ascend and then descend: Batcher's bitonic merge.
template <int kItems>
constexpr Network<kItems> BitonicNetwork() {
  // The network has 2^n wires. Item i begins on wire i, and the wires after the last item are empty.
  Network<kItems> network;
  int wires = 1;
  while (wires < kItems) wires *= 2;
  int item[2 * kItems] = {};  // the item on each wire; -1: the wire is empty
  for (int w = 0; w < wires; ++w) item[w] = w < kItems ? w : -1;
  for (int d = wires / 2; d > 0; d /= 2) {
    for (int w = 0; w < wires; ++w) {
      if ((w & d) != 0) continue;
      const int a = item[w], b = item[w + d];
      // An empty wire counts as the smallest item. An exchange with an empty wire needs no step.
      if (b < 0) {
        item[w] = b;
        item[w + d] = a;
      } else if (a >= 0) {
        network.Add(a, b);
      }
    }
  }
  for (int i = 0; i < kItems; ++i) network.order[i] = static_cast<unsigned char>(item[wires - kItems + i]);
  return network;
}

template <int kItems>
struct SortNetworkOf {
  static constexpr Network<kItems> kNetwork = SortingNetwork<kItems>();
};
template <int kItems>
struct MergeNetworkOf {
  static constexpr Network<kItems> kNetwork = BitonicNetwork<kItems>();
};

template <typename Item, typename LessT>
GPUSORT_HD inline void Exchange(Item& low, Item& high, LessT less) {
  const Item a = low, b = high;
  const bool swap = less(b, a);
  low = swap ? b : a;
  high = swap ? a : b;
}

/// Runs the sorting network NetworkOf::kNetwork on `items`. All indices are compile-time constants, so the items can
/// stay in registers.
template <typename NetworkOf, int kItems, typename Item, typename LessT, std::size_t... kStep, std::size_t... kPlace>
GPUSORT_HD inline void RunNetwork(Item (&items)[kItems], [[maybe_unused]] LessT less, std::index_sequence<kStep...>,
                                  std::index_sequence<kPlace...>) {
  (Exchange(items[std::integral_constant<int, NetworkOf::kNetwork.low[kStep]>::value],
            items[std::integral_constant<int, NetworkOf::kNetwork.high[kStep]>::value], less),
   ...);
  const Item sorted[kItems] = {items[std::integral_constant<int, NetworkOf::kNetwork.order[kPlace]>::value]...};
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) items[i] = sorted[i];
}

template <template <int> typename NetworkOf, int kItems, typename Item, typename LessT>
GPUSORT_HD inline void RunNetwork(Item (&items)[kItems], LessT less) {
  constexpr int kSteps = NetworkOf<kItems>::kNetwork.count;
  RunNetwork<NetworkOf<kItems>, kItems>(items, less, std::make_index_sequence<kSteps>{},
                                        std::make_index_sequence<kItems>{});
}

/// A view of a list in reverse order: item t of the view is last[-t].
template <typename Item>
struct Backwards {
  const Item* last;
  GPUSORT_HD const Item& operator[](std::uint32_t t) const { return *(last - t); }
};

}  // namespace detail

/// Says whether an order allows a sort that is not stable. Specialize this template for your own orders.
/// - kValue: true if keys that are equal in the order LessT are identical in every byte.
/// - Largest() returns a key that is not less than any other key.
template <typename Key, typename LessT>
struct EqualIsSame {
  static constexpr bool kValue = std::is_integral_v<Key> && !std::is_same_v<Key, bool> && std::is_same_v<LessT, Less>;
  static constexpr Key kLargest = kValue ? std::numeric_limits<Key>::max() : Key{};
  GPUSORT_HD static Key Largest() { return kLargest; }
};

/// The items [rank, rank + kItems) of the output of a merge, which one thread writes. The inputs are two sorted runs in
/// a tile: tile[begin, middle), in ascending order, and tile[middle, end), in descending order.
struct NetworkShare {
  std::uint32_t begin, middle, end, rank;

  GPUSORT_HD bool empty() const { return rank >= end - begin; }
};

/// Returns how many items of the first sorted run, tile[share.begin, share.middle), come before `share` in the merged
/// output.
template <typename Item, typename LessT>
GPUSORT_HD inline std::uint32_t NetworkCoRank(const Item* tile, const NetworkShare& share, LessT less) {
  return CoRankNear<std::uint32_t>(share.rank, tile + share.begin, share.middle - share.begin,
                                   detail::Backwards<Item>{tile + (share.end - 1)}, share.end - share.middle, less);
}

/// Sets `items` to the items of the output that `share` describes. Call NetworkCoRank first.
/// - `first`: the result of NetworkCoRank for this thread.
/// - `end`: the result for the next thread. For the last thread of a merge: the number of items in the first sorted
///   run.
/// - If fewer than kItems items are left, the rest of `items` is set to `largest`.
template <int kItems, typename Item, typename LessT>
GPUSORT_HD inline void NetworkMerge(const Item* tile, const NetworkShare& share, std::uint32_t first, std::uint32_t end,
                                    Item largest, Item (&items)[kItems], LessT less) {
  const std::uint32_t ascending = end - first;
  const std::uint32_t a = share.begin + first;
  // The input of the network first ascends, from tile[a + i], and then descends, from tile[b + i].
  const std::uint32_t b = share.end - (share.rank - first) - kItems;
  const std::uint32_t left = share.end - share.begin - share.rank;
  if (left >= kItems) {
    GPUSORT_UNROLL
    for (int i = 0; i < kItems; ++i) items[i] = tile[(static_cast<std::uint32_t>(i) < ascending ? a : b) + i];
  } else {
    const std::uint32_t descending = left - ascending;
    GPUSORT_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const std::uint32_t slot = i;
      items[i] = slot < ascending ? tile[a + slot] : slot + descending >= kItems ? tile[b + slot] : largest;
    }
  }
  detail::RunNetwork<detail::MergeNetworkOf>(items, less);
}

/// Returns the items of the output that `thread` writes when neighbouring sorted runs are merged in pairs.
/// - A run has run_threads * kItems items. run_threads must be a power of two.
/// - In each pair, the first run must ascend, and the second run must descend.
template <int kItems>
GPUSORT_HD inline NetworkShare NetworkShareOf(std::uint32_t thread, std::uint32_t run_threads) {
  const std::uint32_t in_pair = thread & (2 * run_threads - 1);
  const std::uint32_t begin = (thread - in_pair) * kItems;
  return {begin, begin + run_threads * kItems, begin + 2 * run_threads * kItems, in_pair * kItems};
}

/// Writes the merged items of one thread back to the tile. A sorted run of the result has run_threads * kItems items.
/// - Stores runs 0, 2, 4 and so on in ascending order.
/// - Stores runs 1, 3, 5 and so on in descending order.
template <int kItems, typename Item>
GPUSORT_HD inline void NetworkStore(Item* tile, std::uint32_t thread, std::uint32_t run_threads,
                                    const Item (&items)[kItems]) {
  const std::uint32_t in_run = thread & (run_threads - 1);
  if ((thread & run_threads) != 0) {
    Item* const last = tile + ((thread - in_run + run_threads) * kItems - 1 - in_run * kItems);
    GPUSORT_UNROLL
    for (int i = 0; i < kItems; ++i) *(last - i) = items[i];
  } else {
    GPUSORT_UNROLL
    for (int i = 0; i < kItems; ++i) tile[thread * kItems + i] = items[i];
  }
}

}  // namespace gpusort
