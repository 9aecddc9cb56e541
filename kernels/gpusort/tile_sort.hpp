// The phases of sorting one tile (the items of one thread block) by threads that share memory, for host and device.
// Each thread sorts kItems neighbouring items in registers (SortItems). Then the runs of 1, 2, 4 ... threads are merged
// pairwise, and each thread writes kItems items of the output, its share (MergeShare). All threads wait for each other
// between two phases. The sort is stable. It compares only existing items, so a tile may be short. Equal integers are
// identical (EqualIsSame) and need no stability: sorting networks (Batcher 1968) sort and merge them in registers. In a
// network, no branch and no address waits for a comparison. The kernels run these phases, and so does a test, with a
// loop over the threads. Start at MergeShare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpusort/host_device.hpp"
#include "gpusort/merge_path.hpp"

namespace gpusort {

/// Copies kItems neighbouring items of the tile, the thread's share, to `items`. Returns how many of these items exist,
/// because a tile may be short. Fills the rest of `items` with copies of the first item. If no item exists, leaves
/// `items` unchanged.
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

/// Writes the thread's kItems items back to their places in the tile (the items of the thread block in shared memory).
/// Leaves out items after the end of the tile.
template <int kItems, typename Item>
GPUSORT_HD inline void StoreShare(Item* tile, std::uint32_t tile_items, std::uint32_t thread,
                                  const Item (&items)[kItems]) {
  const std::uint32_t begin = thread * kItems;
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    if (begin + i < tile_items) tile[begin + i] = items[i];
  }
}

/// Returns true if the thread's items (`count` of its kItems items exist) are in order and also not less than the item
/// before them in the tile. The tile (the items of the thread block) is sorted if this is true for all threads.
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

/// Sorts items[0, count) stably by odd-even transposition. No index depends on data, so the items stay in registers.
/// Sets the items from `count` on to copies of the largest item.
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

/// Does one thread's work on one level of pairwise merging inside a tile. Each run has the items of run_threads (a
/// power of two) threads. Leaves the thread's kItems items of the result in `items`. Items after the end of the tile
/// are unspecified.
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
  // Reads no items after this pair of runs, because threads of the next pair may already have written their results.
  SerialMergeItems<kItems>(tile, begin + i, middle, middle + (rank - i), end, end - 1, items, from, less);
}

namespace detail {

/// A sorting network: a list of pairs of registers to compare and exchange, in this order, and the register in which
/// each item of the result is.
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

/// Makes a sorting network for any number of items: Batcher's merge exchange (Knuth, TAOCP 3, 5.2.2 M). For 33 items it
/// compares and exchanges 207 pairs; odd-even transposition would take 528.
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

/// Makes Batcher's bitonic merge, a sorting network for items that ascend and then descend. The number of wires (inputs
/// of the network) is a power of two. Wires after the last item have imaginary items that are smaller than all others.
/// The result of an exchange with such a wire is known in advance, so it takes no instruction.
template <int kItems>
constexpr Network<kItems> BitonicNetwork() {
  Network<kItems> network;
  int wires = 1;
  while (wires < kItems) wires *= 2;
  int item[2 * kItems] = {};  // the item on each wire; -1 for an imaginary item
  for (int w = 0; w < wires; ++w) item[w] = w < kItems ? w : -1;
  for (int d = wires / 2; d > 0; d /= 2) {
    for (int w = 0; w < wires; ++w) {
      if ((w & d) != 0) continue;
      const int a = item[w], b = item[w + d];
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

/// Runs a sorting network on items in registers. The indices are template arguments, so that the items stay in
/// registers.
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

/// A reversed view of a list: item t is last[-t].
template <typename Item>
struct Backwards {
  const Item* last;
  GPUSORT_HD const Item& operator[](std::uint32_t t) const { return *(last - t); }
};

}  // namespace detail

/// Says whether keys that are equal in the order LessT are identical in every byte. The order of such keys cannot be
/// observed, so sorting networks, which are not stable, may sort them. Largest() returns a key that is not before any
/// other key. Specialize this template for your own orders.
template <typename Key, typename LessT>
struct EqualIsSame {
  static constexpr bool kValue = std::is_integral_v<Key> && !std::is_same_v<Key, bool> && std::is_same_v<LessT, Less>;
  static constexpr Key kLargest = kValue ? std::numeric_limits<Key>::max() : Key{};
  GPUSORT_HD static Key Largest() { return kLargest; }
};

/// The items that one thread writes in a merge by a sorting network: items number [rank, rank + kItems) of the merge of
/// two runs. The run tile[begin, middle) ascends, and the run tile[middle, end) descends, because a network needs items
/// that ascend and then descend.
struct NetworkShare {
  std::uint32_t begin, middle, end, rank;

  GPUSORT_HD bool empty() const { return rank >= end - begin; }
};

/// First phase of a merge by sorting networks: returns how many items of the ascending run come before the items that
/// this thread writes.
template <typename Item, typename LessT>
GPUSORT_HD inline std::uint32_t NetworkCoRank(const Item* tile, const NetworkShare& share, LessT less) {
  return CoRankNear<std::uint32_t>(share.rank, tile + share.begin, share.middle - share.begin,
                                   detail::Backwards<Item>{tile + (share.end - 1)}, share.end - share.middle, less);
}

/// Second phase of a merge by sorting networks: loads and merges the items that this thread writes (its share). `first`
/// and `end` are the numbers of items of the ascending run before the share and before the next thread's share. For the
/// last thread, `end` is the length of the ascending run. A share of fewer than kItems items is filled up with copies
/// of `largest`, which sort to its end.
template <int kItems, typename Item, typename LessT>
GPUSORT_HD inline void NetworkMerge(const Item* tile, const NetworkShare& share, std::uint32_t first, std::uint32_t end,
                                    Item largest, Item (&items)[kItems], LessT less) {
  const std::uint32_t ascending = end - first;
  const std::uint32_t a = share.begin + first;
  // The items from the descending run go to the last places of `items`: items[i] gets tile[b + i].
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

/// Returns which items the thread writes when pairs of runs are merged by a sorting network. A run consists of the
/// items of `run_threads` threads. Runs with odd numbers are in descending order, so that each pair ascends and then
/// descends, as the network needs it.
template <int kItems>
GPUSORT_HD inline NetworkShare NetworkShareOf(std::uint32_t thread, std::uint32_t run_threads) {
  const std::uint32_t in_pair = thread & (2 * run_threads - 1);
  const std::uint32_t begin = (thread - in_pair) * kItems;
  return {begin, begin + run_threads * kItems, begin + 2 * run_threads * kItems, in_pair * kItems};
}

/// Third phase of a merge by sorting networks: writes the thread's items back to the tile. Together, the items of
/// run_threads threads are a run. Runs with odd numbers are stored in reverse order, because the next merge needs pairs
/// of an ascending and a descending run.
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
