// Merging of sorted lists by independent workers (merge path), for host and device. Each worker merges one part of the
// output, called a tile. Every merge is stable: of equal keys, those of earlier sorted runs come first. Start at
// MergePass.
//
// Sources: Siebert and Traff 2013 (co-rank). Green, McColl and Bader, GPU Merge Path, ICS 2012. Baxter, moderngpu
// (partition first, then merge tiles). Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, chapter 12.
#pragma once

#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// The default order: a < b. The code does not use std::less, because nvcc accepts std::less in GPU code only with the
/// option --expt-relaxed-constexpr.
struct Less {
  template <typename T>
  GPUSORT_HD constexpr bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

/// Returns the co-rank of k: how many of the first k items of the stable merge of `a` and `b` come from `a`. The caller
/// must know that the result is in [low, high]. Index is an unsigned type for all positions. 32 bits are faster than 64
/// bits, and are enough for lists in shared memory.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index CoRankBetween(Index k, IteratorA a, IteratorB b, Index low, Index high, LessT less) {
  while (low < high) {
    const Index i = low + (high - low) / 2;
    // a[i] is among the first k items of the merge unless b[k - 1 - i] is less than a[i].
    if (less(b[k - 1 - i], a[i])) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  return low;
}

/// Returns the co-rank of k: how many of the first k items of the stable merge of a[0, m) and b[0, n) come from `a`. k
/// must be at most m + n. Takes at most ceil(log2(min(k, m, n, m + n - k) + 1)) comparisons.
template <typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline std::uint64_t CoRank(std::uint64_t k, IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n,
                                       LessT less) {
  return CoRankBetween(k, a, b, k > n ? k - n : 0, k < m ? k : m, less);
}

/// Returns the same as CoRank: how many of the first k merged items come from `a`. Faster than CoRank if the items of
/// both lists have similar values. In the worst case, takes twice as many steps.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index CoRankNear(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index low = k > n ? k - n : 0;
  Index high = k < m ? k : m;
  if (low >= high) return low;
  Index step = 4;
  while (step * step * 4 < m + n) step *= 2;
  // A good first guess: m / (m + n) of the first k items come from `a`.
  Index i = static_cast<Index>(static_cast<float>(k) * static_cast<float>(m) / static_cast<float>(m + n));
  i = i < low ? low : i >= high ? high - 1 : i;
  const bool down = less(b[k - 1 - i], a[i]);
  if (down) {
    high = i;
  } else {
    low = i + 1;
  }
  while (high - low > step) {
    i = down ? high - step : low + step - 1;
    const bool before = less(b[k - 1 - i], a[i]);
    if (before) {
      high = i;
    } else {
      low = i + 1;
    }
    if (before != down) break;
    step *= 4;
  }
  return CoRankBetween(k, a, b, low, high, less);
}

/// Sets split[w] to how many of the first `rank` items of the stable merge come from sorted run w. Run w is
/// keys[begin[w], begin[w] + items[w]). `rank` must be at most the sum of `items`. Equal keys are merged in the order
/// of their runs.
template <int kWays, typename Iterator, typename LessT>
GPUSORT_HD inline void SplitRuns(std::uint64_t rank, Iterator keys, const std::uint64_t (&begin)[kWays],
                                 const std::uint64_t (&items)[kWays], LessT less, std::uint64_t (&split)[kWays]) {
  using Key = typename std::iterator_traits<Iterator>::value_type;
  std::uint64_t all = 0;
  GPUSORT_UNROLL
  for (int w = 0; w < kWays; ++w) all += items[w];
  // The result for sorted run w is in [split[w], high[w]]. The items between these indices are undecided. `left` is how
  // many of the undecided items are among the first `rank` items.
  std::uint64_t high[kWays];
  std::uint64_t left = rank;
  Key probe[kWays];
  GPUSORT_UNROLL
  for (int w = 0; w < kWays; ++w) {
    const std::uint64_t others = all - items[w];
    split[w] = rank > others ? rank - others : 0;
    high[w] = items[w] < rank ? items[w] : rank;
    left -= split[w];
    if (split[w] < high[w]) probe[w] = keys[begin[w] + split[w] + (high[w] - split[w]) / 2];
  }
  // The probe of a sorted run is its middle undecided item. Each step halves the undecided items of one run.
  while (left > 0) {
    std::uint64_t before = 0;  // the number of undecided items before the probe of each run, added up over all runs
    int least = -1, greatest = -1;
    Key least_key{}, greatest_key{};
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) {
      if (split[w] >= high[w]) continue;
      before += (high[w] - split[w]) / 2;
      if (least < 0 || less(probe[w], least_key)) {
        least = w;
        least_key = probe[w];
      }
      if (greatest < 0 || !less(probe[w], greatest_key)) {
        greatest = w;
        greatest_key = probe[w];
      }
    }
    // True: the least probe is among the first `rank` items. False: the greatest probe is not among them.
    const bool found = left > before;
    const int run = found ? least : greatest;
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) {
      if (w != run) continue;
      const std::uint64_t half = (high[w] - split[w]) / 2;
      if (found) {
        left -= half + 1;
        split[w] += half + 1;
      } else {
        high[w] = split[w] + half;
      }
      if (split[w] < high[w]) probe[w] = keys[begin[w] + split[w] + (high[w] - split[w]) / 2];
    }
  }
}

/// Finds how many of the first `rank` merged items come from each of kWays sorted runs. Each run is searched by kProbes
/// threads (workers). Repeat these steps until done() returns true:
/// - Each worker reads the key at the index Probe() of its run.
/// - Each worker calls Verdict() with the keys of all workers.
/// - Call Narrow() for each run with the results of its workers.
template <typename Index, int kWays, int kProbes>
struct SplitSearch {
  static_assert((kProbes & (kProbes - 1)) == 0);
  static constexpr int kWorkers = kWays * kProbes;
  Index rank;
  Index low[kWays], high[kWays];  ///< the result for sorted run w is in [low[w], high[w]]

  GPUSORT_HD SplitSearch(Index wanted, const std::uint64_t (&items)[kWays]) : rank(wanted) {
    Index all = 0;
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) all += static_cast<Index>(items[w]);
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) {
      const Index run = static_cast<Index>(items[w]);
      const Index others = all - run;
      low[w] = rank > others ? rank - others : 0;
      high[w] = run < rank ? run : rank;
    }
  }

  GPUSORT_HD static Index Probe(Index low, Index high, int p) {
    // kProbes is a power of two, because dividing by another number would take longer than the rest of the step.
    const Index items = high - low;
    return low + items / kProbes * p + items % kProbes * p / kProbes;
  }

  /// Returns 1 if the key probes[worker] is among the first `rank` keys of the merge, -1 if not, and 0 if unknown.
  /// - probes[v]: the key that worker v has read.
  /// - Do not call this if low[r] == high[r] for r = worker / kProbes, the sorted run of the worker.
  template <typename Key, typename LessT>
  GPUSORT_HD int Verdict(int worker, const Key* probes, LessT less) const {
    const int run = worker / kProbes;
    const Key own = probes[worker];
    // The lowest and the highest possible number of items that precede this worker's item in the merge.
    Index before_least = 0, before_most = 0;
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) {
      Index least = low[w], most = high[w];
      if (w == run) {
        least = most = Probe(low[w], high[w], worker % kProbes);
      } else if (low[w] < high[w]) {
        // Returns true if the key probes[w * kProbes + p] comes before `own` in the merge.
        const auto before = [&](int p) {
          const Key& other = probes[w * kProbes + p];
          return w < run ? !less(own, other) : less(other, own);
        };
        int count = 0;
        GPUSORT_UNROLL
        for (int step = kProbes / 2; step > 0; step /= 2) count += before(count + step - 1) ? step : 0;
        count += before(count) ? 1 : 0;
        if (count > 0) least = Probe(low[w], high[w], count - 1) + 1;
        if (count < kProbes) most = Probe(low[w], high[w], count);
      }
      before_least += least;
      before_most += most;
    }
    return before_most < rank ? 1 : before_least >= rank ? -1 : 0;
  }

  /// Narrows the range [low[w], high[w]] of sorted run w by the results of Verdict().
  /// - found: how many workers of the run got 1. Their keys are among the first `rank` keys.
  /// - beyond: how many workers of the run got -1. Their keys are not among the first `rank` keys.
  GPUSORT_HD void Narrow(int w, int found, int beyond) {
    const Index from = low[w], to = high[w];
    if (from == to) return;
    if (found > 0) low[w] = Probe(from, to, found - 1) + 1;
    if (beyond > 0) high[w] = Probe(from, to, kProbes - beyond);
  }

  GPUSORT_HD bool done() const {
    bool all = true;
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) all &= low[w] == high[w];
    return all;
  }
};

/// Merges the sorted lists a[0, m) and b[0, n) stably to out[0, m + n), one item at a time. A branch decides which list
/// the next item comes from.
template <typename Index, typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void SerialMerge(IteratorA a, Index m, IteratorB b, Index n, Output out, LessT less) {
  Index i = 0, j = 0, k = 0;
  while (i < m && j < n) {
    if (less(b[j], a[i])) {
      out[k++] = b[j++];
    } else {
      out[k++] = a[i++];
    }
  }
  while (i < m) out[k++] = a[i++];
  while (j < n) out[k++] = b[j++];
}

/// Merges the sorted ranges keys[a, a_end) and keys[b, b_end), but only the first kItems items of the output.
/// - keys: any type with operator[]
/// - last: a valid index. No index above it is read.
/// - out, from: set to the merged keys and to their indices in `keys`. Items after the end of the merge are
///   unspecified.
template <int kItems, typename Keys, typename Key, typename LessT>
GPUSORT_HD inline void SerialMergeItems(Keys keys, std::uint32_t a, std::uint32_t a_end, std::uint32_t b,
                                        std::uint32_t b_end, std::uint32_t last, Key (&out)[kItems],
                                        std::uint32_t (&from)[kItems], LessT less) {
  Key key_a = keys[a < last ? a : last];
  Key key_b = keys[b < last ? b : last];
  if (a + kItems <= a_end && b + kItems < b_end) {
    // Each range has at least kItems items. Neither range can end in this loop, so the loop does not test for the ends.
    // This saves a third of the instructions.
    GPUSORT_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const bool take_b = less(key_b, key_a);
      out[i] = take_b ? key_b : key_a;
      from[i] = take_b ? b : a;
      if (i + 1 == kItems) break;
      const std::uint32_t next = take_b ? ++b : ++a;
      const Key key = keys[next];
      if (take_b) {
        key_b = key;
      } else {
        key_a = key;
      }
    }
    return;
  }
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    const bool take_b = b < b_end && (a >= a_end || less(key_b, key_a));
    out[i] = take_b ? key_b : key_a;
    from[i] = take_b ? b : a;
    // A single instruction loads the next key, from either range. With one load in each branch, a warp whose threads
    // need different ranges would run both branches one after the other.
    const std::uint32_t next = take_b ? ++b : ++a;
    const Key key = keys[next < last ? next : last];
    if (take_b) {
      key_b = key;
    } else {
      key_a = key;
    }
  }
}

/// The input of one tile of a merge pass: the items [begin[w], end[w]) of each sorted run w of a group. begin[w] and
/// end[w] are indices in the list that contains the run. out_begin is the index in the output at which the tile begins.
template <int kWays>
struct alignas(16) WayTile {
  std::uint64_t begin[kWays];
  std::uint64_t end[kWays];
  std::uint64_t out_begin;
};

/// Returns how many items a block of `threads` GPU threads can merge from kWays sorted runs, with `items` items per
/// thread.
template <int kWays>
constexpr std::uint32_t WayTileItems(int threads, int items) {
  // Keeps kWays / 2 - 1 threads spare: each pair of sorted runs needs a whole number of threads.
  return static_cast<std::uint32_t>(threads - kWays / 2 + 1) * items;
}

/// The items [begin, begin + items) of a tile, which one thread writes in one level of pairwise merging. `items` may be
/// 0.
struct LevelShare {
  std::uint32_t begin = 0;
  std::uint32_t items = 0;
  std::uint32_t first = 0;  ///< the index in the tile where the thread starts to read the lower of its two sorted runs
};

/// Merges the items that one GPU thread must write to a tile in one round of pairwise merging.
/// - Returns the part of the tile to which the caller must write the keys in `out`.
/// - kLevel: the round, from 0
/// - bounds: before round 0, sorted run w of the tile is tile[bounds[w], bounds[w + 1])
/// - out, from: set to the merged keys and to their indices in the tile
template <int kLevel, int kWays, int kItems, typename Tile, typename Key, typename LessT>
GPUSORT_HD inline LevelShare MergeWaysShare(Tile tile, const std::uint32_t (&bounds)[kWays + 1], std::uint32_t thread,
                                            Key (&out)[kItems], std::uint32_t (&from)[kItems], LessT less) {
  constexpr int kHalf = 1 << kLevel;
  std::uint32_t begin = 0, middle = 0, end = 0, rank = 0, first_thread = 0;
  GPUSORT_UNROLL
  for (int p = 0; p < kWays; p += 2 * kHalf) {
    if (thread >= first_thread) {
      begin = bounds[p];
      middle = bounds[p + kHalf];
      end = bounds[p + 2 * kHalf];
      rank = (thread - first_thread) * kItems;
    }
    first_thread += (bounds[p + 2 * kHalf] - bounds[p] + kItems - 1) / kItems;
  }
  if (begin + rank >= end) return {};
  const std::uint32_t i =
      CoRankNear<std::uint32_t>(rank, tile + begin, middle - begin, tile + middle, end - middle, less);
  SerialMergeItems<kItems>(tile, begin + i, middle, middle + (rank - i), end, end - 1, out, from, less);
  const std::uint32_t left = end - begin - rank;
  return {begin + rank, left < kItems ? left : kItems, begin + i};
}

/// Two neighbouring sorted runs, `a` and `b`, that are merged. a_begin and b_begin are indices in the lists that
/// contain the runs. out_begin is the index in the output at which the merged items begin.
struct RunPair {
  std::uint64_t a_begin = 0;
  std::uint64_t a_items = 0;
  std::uint64_t b_begin = 0;
  std::uint64_t b_items = 0;
  std::uint64_t out_begin = 0;

  GPUSORT_HD std::uint64_t items() const { return a_items + b_items; }
};

/// One tile of a merge pass: the items [begin, begin + items) of the merge of one group of sorted runs. A tile may be
/// empty.
struct MergeTile {
  std::uint64_t group = 0;
  RunPair pair;  ///< the first half and the second half of the group's sorted runs, each half as one run
  std::uint64_t begin = 0;
  std::uint64_t items = 0;

  GPUSORT_HD std::uint64_t out_begin() const { return pair.out_begin + begin; }
  /// Returns true if the next tile continues the merge of the same group of sorted runs.
  GPUSORT_HD bool continued() const { return begin + items < pair.items(); }
};

// UniformRuns, BoundedRuns and TwoLists describe the sorted runs of a MergePass. A pass merges pairs of runs. The merge
// of each pair is divided into tiles of at most tile_items items.
// - FirstTile(p, tile_items): the number of the first tile of pair p. For p = pairs(), the number of all tiles.
// - PairOfTile(t, tile_items): the number of the pair that contains tile t

/// Sorted runs of equal length, one after the other in one list of `items` items. Each run has run_items (> 0) items;
/// the last run may be shorter.
struct UniformRuns {
  std::uint64_t items = 0;
  std::uint64_t run_items = 1;

  GPUSORT_HD std::uint64_t runs() const { return items / run_items + (items % run_items != 0); }
  GPUSORT_HD std::uint64_t pairs() const { return (runs() + 1) / 2; }
  GPUSORT_HD std::uint64_t bound(std::uint64_t run) const {
    const std::uint64_t at = run * run_items;
    return at < items ? at : items;
  }
  GPUSORT_HD RunPair pair(std::uint64_t p) const {
    const std::uint64_t begin = bound(2 * p), middle = bound(2 * p + 1), end = bound(2 * p + 2);
    return {begin, middle - begin, middle, end - middle, begin};
  }
  GPUSORT_HD std::uint64_t TilesOfPair(std::uint64_t tile_items) const {
    const std::uint64_t whole = 2 * run_items < items ? 2 * run_items : items;
    return (whole + tile_items - 1) / tile_items;
  }
  GPUSORT_HD std::uint64_t FirstTile(std::uint64_t p, std::uint64_t tile_items) const {
    const std::uint64_t end = bound(2 * p);
    if (end < 2 * p * run_items) {
      // Here p is the number of pairs, and the last pair, p - 1, is shorter than the others.
      const std::uint64_t begin = bound(2 * p - 2);
      return (p - 1) * TilesOfPair(tile_items) + (end - begin + tile_items - 1) / tile_items;
    }
    return p * TilesOfPair(tile_items);
  }
  GPUSORT_HD std::uint64_t PairOfTile(std::uint64_t tile, std::uint64_t tile_items) const {
    const std::uint64_t each = TilesOfPair(tile_items);
    // Divides 32-bit numbers if possible, because a 64-bit division costs a GPU thread about a hundred instructions.
    if (tile >> 32 == 0 && each >> 32 == 0) return static_cast<std::uint32_t>(tile) / static_cast<std::uint32_t>(each);
    return tile / each;
  }
  /// Returns the sorted runs that are left after `levels` rounds of pairwise merging.
  GPUSORT_HD UniformRuns Merged(std::uint32_t levels) const { return {items, run_items << levels}; }
};

/// Sorted runs of any lengths, one after the other in one list. A run may be empty.
/// - At level 0 there are `leaves` runs. Run r is the items [bounds[r], bounds[r + 1]).
/// - At level n, each run consists of 2^n neighbouring runs of level 0. The last run may consist of fewer.
/// - The CPU or GPU that uses this object must be able to read `bounds`.
struct BoundedRuns {
  const std::uint64_t* bounds = nullptr;
  std::uint64_t leaves = 0;
  std::uint32_t level = 0;

  GPUSORT_HD std::uint64_t runs() const { return leaves == 0 ? 0 : ((leaves - 1) >> level) + 1; }
  GPUSORT_HD std::uint64_t pairs() const { return (runs() + 1) / 2; }
  GPUSORT_HD std::uint64_t bound(std::uint64_t run) const {
    const std::uint64_t leaf = run << level;
    return bounds[leaf < leaves ? leaf : leaves];
  }
  GPUSORT_HD RunPair pair(std::uint64_t p) const {
    const std::uint64_t begin = bound(2 * p), middle = bound(2 * p + 1), end = bound(2 * p + 2);
    return {begin, middle - begin, middle, end - middle, begin};
  }
  // Returns the number of the first tile of pair p. Each pair has at most one tile more than it needs; that tile is
  // empty.
  GPUSORT_HD std::uint64_t FirstTile(std::uint64_t p, std::uint64_t tile_items) const {
    return (bound(2 * p) - bounds[0]) / tile_items + p;
  }
  GPUSORT_HD std::uint64_t PairOfTile(std::uint64_t tile, std::uint64_t tile_items) const {
    std::uint64_t low = 0, high = pairs() - 1;
    while (low < high) {
      const std::uint64_t p = low + (high - low + 1) / 2;
      if (FirstTile(p, tile_items) <= tile) {
        low = p;
      } else {
        high = p - 1;
      }
    }
    return low;
  }
  GPUSORT_HD BoundedRuns Merged(std::uint32_t levels) const { return {bounds, leaves, level + levels}; }
};

/// The sorted runs of a MergePass that merges two sorted lists, of m and n items, to a third list. Indices in each list
/// begin at 0.
struct TwoLists {
  std::uint64_t m = 0;
  std::uint64_t n = 0;

  GPUSORT_HD std::uint64_t runs() const { return 2; }
  GPUSORT_HD std::uint64_t pairs() const { return 1; }
  GPUSORT_HD RunPair pair(std::uint64_t) const { return {0, m, 0, n, 0}; }
  GPUSORT_HD std::uint64_t FirstTile(std::uint64_t p, std::uint64_t tile_items) const {
    return p == 0 ? 0 : (m + n) / tile_items + ((m + n) % tile_items != 0);
  }
  GPUSORT_HD std::uint64_t PairOfTile(std::uint64_t, std::uint64_t) const { return 0; }
  GPUSORT_HD TwoLists Merged(std::uint32_t) const { return *this; }
};

/// One round of merging sorted runs. Each group of kWays (2, 4 or 8) neighbouring runs becomes one run; the last group
/// may have fewer runs. The output is divided into tiles of at most tile_items (> 0) items. All items of a tile come
/// from the same group. RunsT is UniformRuns, BoundedRuns or TwoLists.
template <typename RunsT, int kWays = 2>
struct MergePass {
  RunsT runs;
  std::uint64_t tile_items = 1;

  static constexpr std::uint32_t kLevels = kWays == 2 ? 1 : kWays == 4 ? 2 : 3;
  static_assert(kWays == 1 << kLevels);

  /// Returns the sorted runs as they are after kLevels - 1 rounds of pairwise merging: two runs for each group.
  GPUSORT_HD RunsT halves() const { return runs.Merged(kLevels - 1); }
  GPUSORT_HD std::uint64_t groups() const { return halves().pairs(); }
  /// Returns the number of tiles of the output, including empty tiles.
  GPUSORT_HD std::uint64_t tiles() const { return halves().FirstTile(groups(), tile_items); }
  GPUSORT_HD MergeTile tile(std::uint64_t t) const {
    const RunsT pairs = halves();
    const std::uint64_t p = pairs.PairOfTile(t, tile_items);
    MergeTile tile{p, pairs.pair(p), (t - pairs.FirstTile(p, tile_items)) * tile_items, 0};
    const std::uint64_t all = tile.pair.items();
    if (tile.begin > all) tile.begin = all;
    tile.items = all - tile.begin < tile_items ? all - tile.begin : tile_items;
    return tile;
  }
  /// All items of `tile` come from one group of kWays sorted runs. Sets begin[w] and items[w] to the start and the
  /// length of run w of this group.
  GPUSORT_HD void group(const MergeTile& tile, std::uint64_t (&begin)[kWays], std::uint64_t (&items)[kWays]) const {
    if constexpr (kWays == 2) {
      begin[0] = tile.pair.a_begin;
      items[0] = tile.pair.a_items;
      begin[1] = tile.pair.b_begin;
      items[1] = tile.pair.b_items;
    } else {
      GPUSORT_UNROLL
      for (int w = 0; w < kWays; ++w) {
        begin[w] = runs.bound(tile.group * kWays + w);
        items[w] = runs.bound(tile.group * kWays + w + 1) - begin[w];
      }
    }
  }
};

/// Finds where `tile` begins in each sorted run of its group: sets split[w] to the number of items of run w in earlier
/// tiles.
/// - lists: if kWays is 2, run 0 is in lists.first() and run 1 in lists.last(). Otherwise all are in lists.first().
template <int kWays, typename Runs, typename Lists, typename LessT>
GPUSORT_HD inline void SplitGroup(const MergePass<Runs, kWays>& pass, const MergeTile& tile, const Lists& lists,
                                  LessT less, std::uint64_t (&split)[kWays]) {
  std::uint64_t begin[kWays], items[kWays];
  pass.group(tile, begin, items);
  if constexpr (kWays == 2) {
    split[0] = CoRankNear<std::uint64_t>(tile.begin, lists.first() + begin[0], items[0], lists.last() + begin[1],
                                         items[1], less);
    split[1] = tile.begin - split[0];
  } else {
    SplitRuns<kWays>(tile.begin, lists.first(), begin, items, less, split);
  }
}

/// Stores in `way_tiles` where tile t begins in each sorted run: after the first split[w] items of run w. Call this
/// once for each tile of the pass, in any order.
template <int kWays, typename Runs>
GPUSORT_HD inline void WriteCut(const MergePass<Runs, kWays>& pass, std::uint64_t t, const MergeTile& tile,
                                const std::uint64_t (&split)[kWays], WayTile<kWays>* way_tiles) {
  std::uint64_t begin[kWays], items[kWays];
  pass.group(tile, begin, items);
  way_tiles[t].out_begin = tile.out_begin();
  GPUSORT_UNROLL
  for (int w = 0; w < kWays; ++w) {
    way_tiles[t].begin[w] = begin[w] + split[w];
    // The last tile of a group ends where the sorted runs of the group end.
    if (!tile.continued()) way_tiles[t].end[w] = begin[w] + items[w];
    // Tile t - 1 ends where tile t begins.
    if (tile.begin > 0 && tile.items > 0) way_tiles[t - 1].end[w] = begin[w] + split[w];
  }
}

/// Returns how many rounds of pairwise merging turn `runs` sorted runs into one.
constexpr std::uint32_t LevelCount(std::uint64_t runs) {
  std::uint32_t levels = 0;
  for (; runs > 1; runs = (runs + 1) / 2) ++levels;
  return levels;
}

/// Returns how many merge passes turn `runs` sorted runs into one. A pass merges groups of 4 runs; the first pass may
/// merge groups of 2.
constexpr std::uint32_t PassCount(std::uint64_t runs) { return (LevelCount(runs) + 1) / 2; }

}  // namespace gpusort
