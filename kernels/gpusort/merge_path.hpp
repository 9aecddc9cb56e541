// The arithmetic of merging sorted lists by independent workers (merge path), for host and device. CoRank and SplitRuns
// find how many items of each list come before a position of the output, and SerialMerge merges from there on.
// MergePass describes one round of merging as data: groups of 2, 4 or 8 runs, and what each tile (a part of the output
// that one worker merges) reads and writes. Every merge is stable: of equal keys, those of earlier runs come first.
// Start at MergePass. Sources: Siebert and Traff 2013 (co-rank). Green, McColl and Bader, GPU Merge Path, ICS 2012.
// Baxter, moderngpu (partition first, then merge tiles). Hwu, Kirk and El Hajj, Programming Massively Parallel
// Processors, chapter 12.
#pragma once

#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// The default order. Used instead of std::less, which nvcc accepts as device code only with --expt-relaxed-constexpr.
struct Less {
  template <typename T>
  GPUSORT_HD constexpr bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

/// Returns the co-rank of k: the number of items of `a` among the first k items of the merge of `a` and `b`. It must be
/// in [low, high]. Index is the unsigned type of the arithmetic: 32 bits are enough, and faster, for lists in shared
/// memory.
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

/// Returns the co-rank of k. This is the number of items from `a` among the first k items of the stable merge of
/// a[0, m) and b[0, n). k must be at most m + n. Takes at most ceil(log2(min(k, m, n, m + n - k) + 1)) comparisons.
template <typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline std::uint64_t CoRank(std::uint64_t k, IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n,
                                       LessT less) {
  return CoRankBetween(k, a, b, k > n ? k - n : 0, k < m ? k : m, less);
}

/// Returns the same as CoRank, but starts to search near k * m / (m + n). The co-rank is the number of items of `a`
/// among the first k merged items. If both lists are random samples of the same values, it is usually within about
/// sqrt(m + n) / 4 of that place. From there the search goes toward the answer in growing steps, until it has passed
/// the answer, and then halves the interval. For 4096 items it takes 7 steps instead of 12; at worst twice as many.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index CoRankNear(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index low = k > n ? k - n : 0;
  Index high = k < m ? k : m;
  if (low >= high) return low;
  Index step = 4;
  while (step * step * 4 < m + n) step *= 2;
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

/// Finds how kWays sorted runs divide at output position `rank`: sets split[w] to the number of items of run w among
/// the first `rank` items of the stable merge. Run w is keys[begin[w], begin[w] + items[w]). `rank` must be at most the
/// sum of `items`. Keys of lower runs come before equal keys of higher runs. An item is unknown until the search knows
/// whether it is among the first `rank` items. Each step reads one key and halves the unknown part of one run, so there
/// are at most sum(log2(items[w]) + 1) steps.
///
/// Proof: each run's unknown part has a probe, the item in its middle. Let `before` be the number of unknown items that
/// precede the probes of their runs. At most `before` unknown items precede the least probe, so the least probe is
/// among the first `rank` items if more than `before` items are still to be found. At least `before` unknown items
/// precede the greatest probe, so otherwise the greatest probe is not among the first `rank` items.
template <int kWays, typename Iterator, typename LessT>
GPUSORT_HD inline void SplitRuns(std::uint64_t rank, Iterator keys, const std::uint64_t (&begin)[kWays],
                                 const std::uint64_t (&items)[kWays], LessT less, std::uint64_t (&split)[kWays]) {
  using Key = typename std::iterator_traits<Iterator>::value_type;
  std::uint64_t all = 0;
  GPUSORT_UNROLL
  for (int w = 0; w < kWays; ++w) all += items[w];
  // The search narrows an interval for each run: split[w] will end in [split[w], high[w]]. `left` is how many of the
  // first `rank` items are not found yet.
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
  while (left > 0) {
    std::uint64_t before = 0;
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

/// Does the work of SplitRuns with many workers, in steps. In each step, every worker looks at one item, called its
/// probe. The kProbes probes of a run divide the unknown part of the run into kProbes parts. After the step, only about
/// one of these parts is unknown. Worker w * kProbes + p has probe p of run w. Index is an unsigned type that can hold
/// the number of all items.
template <typename Index, int kWays, int kProbes>
struct SplitSearch {
  static_assert((kProbes & (kProbes - 1)) == 0);
  static constexpr int kWorkers = kWays * kProbes;
  Index rank;
  Index low[kWays], high[kWays];  ///< the result for run w is in [low[w], high[w]]

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

  /// Tells whether the item at which `worker` looks (its probe) is among the first `rank` items of the merge. Returns 1
  /// if it certainly is, -1 if it certainly is not, and 0 if that is not known yet. probes[v] is the key of the probe
  /// of worker v. If nothing of a run is unknown, its workers have no probes.
  template <typename Key, typename LessT>
  GPUSORT_HD int Verdict(int worker, const Key* probes, LessT less) const {
    const int run = worker / kProbes;
    const Key own = probes[worker];
    // The number of items that certainly precede this worker's item in the merge, and the number of items that may
    // precede it.
    Index before_least = 0, before_most = 0;
    GPUSORT_UNROLL
    for (int w = 0; w < kWays; ++w) {
      Index least = low[w], most = high[w];
      if (w == run) {
        least = most = Probe(low[w], high[w], worker % kProbes);
      } else if (low[w] < high[w]) {
        // Returns true if the item at which worker p of run w looks precedes the item at which this worker looks. If
        // their keys are equal, the item of the lower run precedes.
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

  /// Narrows the unknown part of run w by the results for its probes, the items at which workers looked. `found` is the
  /// number of probes that are among the first `rank` items of the merge; these are the first probes of the run.
  /// `beyond` is the number of probes that are not; these are the last ones.
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

/// Merges all of a[0, m) and b[0, n) to out[0, m + n) with one cursor in each list. A branch decides which cursor
/// moves.
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

/// Merges the items that one thread writes: the first kItems items of the merge of keys[a, a_end) and keys[b, b_end) to
/// `out`, and their indices in `keys` to `from`. `keys` may be any type with operator[]. If there are fewer items, the
/// rest of `out` and `from` is unspecified. `less` is only called with keys of the two ranges. The function reads no
/// index above `last`, which must be a valid index.
template <int kItems, typename Keys, typename Key, typename LessT>
GPUSORT_HD inline void SerialMergeItems(Keys keys, std::uint32_t a, std::uint32_t a_end, std::uint32_t b,
                                        std::uint32_t b_end, std::uint32_t last, Key (&out)[kItems],
                                        std::uint32_t (&from)[kItems], LessT less) {
  Key key_a = keys[a < last ? a : last];
  Key key_b = keys[b < last ? b : last];
  if (a + kItems <= a_end && b + kItems < b_end) {
    // Both ranges have at least kItems items, so neither can end in this loop, and the loop need not test for the ends.
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
    // One instruction loads the next key from `a` or from `b`. Two instructions in two branches would run one after the
    // other in a warp whose threads need different lists.
    const std::uint32_t next = take_b ? ++b : ++a;
    const Key key = keys[next < last ? next : last];
    if (take_b) {
      key_b = key;
    } else {
      key_a = key;
    }
  }
}

/// The input of one tile, the part of the output that one worker merges. A pass merges groups of kWays sorted runs. The
/// tile's items of run w of its group are the items [begin[w], end[w]) of the list that contains the run.
template <int kWays>
struct alignas(16) WayTile {
  std::uint64_t begin[kWays];
  std::uint64_t end[kWays];
  std::uint64_t out_begin;
};

/// Returns how many items a tile (the output of one thread block) may have in a kWays-way pass. The tile is merged
/// pairwise, level by level. On each level a thread writes at most `items` items, all of the same pair, so the last
/// thread of a pair may have less to do. kWays / 2 - 1 threads are therefore kept in reserve.
template <int kWays>
constexpr std::uint32_t WayTileItems(int threads, int items) {
  return static_cast<std::uint32_t>(threads - kWays / 2 + 1) * items;
}

/// The items that one thread writes on one level of pairwise merging inside a tile (the output of one thread block):
/// the items [begin, begin + items) of the tile, possibly none.
struct LevelShare {
  std::uint32_t begin = 0;
  std::uint32_t items = 0;
  std::uint32_t first = 0;  ///< where in the tile the thread starts to read the lower of its two runs
};

/// Does one thread's work on one level of merging the kWays sorted segments of a tile (its parts of the kWays runs).
/// Segment w is tile[bounds[w], bounds[w + 1]). Level kLevel (from 0) merges pairs of sorted groups, each of 2^kLevel
/// neighbouring segments.
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

/// Two neighbouring sorted runs and the place of their merge, as indices in the lists that contain the runs and the
/// output.
struct RunPair {
  std::uint64_t a_begin = 0;
  std::uint64_t a_items = 0;
  std::uint64_t b_begin = 0;
  std::uint64_t b_items = 0;
  std::uint64_t out_begin = 0;

  GPUSORT_HD std::uint64_t items() const { return a_items + b_items; }
};

/// One tile of the output of a pass: the items number [begin, begin + items) of the merge of one group of runs. A tile
/// may be empty (see MergePass::tiles).
struct MergeTile {
  std::uint64_t group = 0;
  RunPair pair;  ///< the two halves of the group's runs
  std::uint64_t begin = 0;
  std::uint64_t items = 0;

  GPUSORT_HD std::uint64_t out_begin() const { return pair.out_begin + begin; }
  /// Returns true if the next tile of the output comes from the same group of runs, which are merged to one run.
  GPUSORT_HD bool continued() const { return begin + items < pair.items(); }
};

// UniformRuns, BoundedRuns and TwoLists are three ways to describe the sorted runs of a MergePass. A pass merges runs
// pairwise and divides the output into tiles, which are numbered in order. FirstTile(p, tile_items) is the number of
// the first tile of pair p. FirstTile(pairs(), tile_items) is therefore the count of all tiles. PairOfTile is the
// inverse of FirstTile.

/// Sorted runs of run_items (> 0) items, one after the other in one list. The last run may be shorter.
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
  /// Returns the runs that are left after `levels` rounds of pairwise merging.
  GPUSORT_HD UniformRuns Merged(std::uint32_t levels) const { return {items, run_items << levels}; }
};

/// Sorted runs of any lengths, also 0, one after the other in one list. At level 0, run r is [bounds[r], bounds[r + 1])
/// for r < leaves. At level l a run consists of 2^l neighbouring runs of level 0, or fewer at the end. One array
/// therefore serves every round of pairwise merging. The processor that uses the object must be able to read `bounds`.
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
  // Returns the number of the first tile of pair p. A tile is a part of the output, of at most tile_items items. No
  // table of the tiles is needed: the output [begin, end) of a pair takes at most end / tile_items - begin / tile_items
  // + 1 tiles, so one spare tile for each pair is enough. Spare tiles that are not needed are empty.
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

/// Two sorted lists that are merged to a third list. They count as two runs, which form the only pair of a MergePass.
/// Positions in each list begin at 0.
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

/// One round of merging sorted runs. Each group of kWays (a power of two) neighbouring runs becomes one run; the last
/// group may have fewer runs. The output is divided into tiles of at most tile_items (> 0) items, and no tile contains
/// items of two groups. RunsT numbers the tiles of pairs of runs. To number the tiles of a group, the first and the
/// second half of its runs count as a pair of two longer runs.
template <typename RunsT, int kWays = 2>
struct MergePass {
  RunsT runs;
  std::uint64_t tile_items = 1;

  static constexpr std::uint32_t kLevels = kWays == 2 ? 1 : kWays == 4 ? 2 : 3;
  static_assert(kWays == 1 << kLevels);

  GPUSORT_HD RunsT halves() const { return runs.Merged(kLevels - 1); }
  GPUSORT_HD std::uint64_t groups() const { return halves().pairs(); }
  /// Returns the number of tiles of the output. The tiles that come from one group of runs are neighbours and in order.
  /// Empty tiles are the last of a group.
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
  /// Sets begin[w] and items[w] to the start and the length of run w of the group of runs from which the items of
  /// `tile` come.
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

/// Finds where a tile of the output begins in each run of its group. Sets split[w] to the number of items of run w that
/// come before the first item of the tile. `lists` knows which list contains each run.
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

/// Stores where tile t begins in the runs of its group: after the first split[w] items of run w. Sets the start of tile
/// t in way_tiles[t], and the end of tile t - 1 in way_tiles[t - 1]. After this call for all tiles of a pass,
/// `way_tiles` is complete.
template <int kWays, typename Runs>
GPUSORT_HD inline void WriteCut(const MergePass<Runs, kWays>& pass, std::uint64_t t, const MergeTile& tile,
                                const std::uint64_t (&split)[kWays], WayTile<kWays>* way_tiles) {
  std::uint64_t begin[kWays], items[kWays];
  pass.group(tile, begin, items);
  way_tiles[t].out_begin = tile.out_begin();
  GPUSORT_UNROLL
  for (int w = 0; w < kWays; ++w) {
    way_tiles[t].begin[w] = begin[w] + split[w];
    if (!tile.continued()) way_tiles[t].end[w] = begin[w] + items[w];
    // In run w, the tile before this one ends where this tile begins, so also stores that end. If this tile is empty,
    // the tile before it has stored its own end.
    if (tile.begin > 0 && tile.items > 0) way_tiles[t - 1].end[w] = begin[w] + split[w];
  }
}

/// Returns how many rounds of pairwise merging turn `runs` runs into one.
constexpr std::uint32_t LevelCount(std::uint64_t runs) {
  std::uint32_t levels = 0;
  for (; runs > 1; runs = (runs + 1) / 2) ++levels;
  return levels;
}

/// Returns how many passes turn `runs` runs into one. A pass merges groups of 4 runs, which is two levels of pairwise
/// merging. If the number of levels is odd, the first pass merges pairs.
constexpr std::uint32_t PassCount(std::uint64_t runs) { return (LevelCount(runs) + 1) / 2; }

}  // namespace gpusort
