// The arithmetic of merging two sorted lists by independent workers, for host and device.
// CoRank finds where an output rank cuts the two inputs; SerialMerge merges from a cut on; MergePass is one round of
// pairwise merging as data: runs in; pairs and output tiles out. It knows what each tile reads and writes, not who runs
// it. Every merge is stable: on equal keys, all of A comes before all of B. Start at MergePass.
// Sources: Siebert and Traff 2013 (co-rank); Green, McColl and Bader, GPU Merge Path, ICS 2012; Baxter, moderngpu
// (partition first, then merge tiles); Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, ch. 12.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// The default order. std::less is no device function unless nvcc is asked to make it one.
struct Less {
  template <typename T>
  GPUSORT_HD constexpr bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

/// How many of the first k items of the stable merge of a[0, m) and b[0, n) come from a. k <= m + n.
/// At most ceil(log2(min(k, m, n, m + n - k) + 1)) comparisons. Index is the unsigned type of the arithmetic: 32 bits
/// are enough, and cheaper, inside a tile.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index CoRankIn(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index low = k > n ? k - n : 0;
  Index high = k < m ? k : m;
  while (low < high) {
    const Index i = low + (high - low) / 2;
    // a[i] is among the first k unless b[k - 1 - i] is strictly before it.
    if (less(b[k - 1 - i], a[i])) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  return low;
}

/// CoRankIn with 64-bit ranks: lists of any length.
template <typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline std::uint64_t CoRank(std::uint64_t k, IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n,
                                       LessT less) {
  return CoRankIn<std::uint64_t>(k, a, m, b, n, less);
}

/// Merges all of a[0, m) and b[0, n) to out[0, m + n) with two cursors.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void SerialMerge(IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n, Output out, LessT less) {
  std::uint64_t i = 0, j = 0, k = 0;
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

/// One thread's share of a tile merge: the next kItems items of keys[a, a_end) merged with keys[b, b_end), and where in
/// `keys` each came from. Where fewer are left, the rest of `out` and `from` is unspecified (but no key outside the two
/// ranges is ever given to `less`). No index above `last` is read; it must be one of the array.
template <int kItems, typename Key, typename LessT>
GPUSORT_HD inline void SerialMergeItems(const Key* keys, std::uint32_t a, std::uint32_t a_end, std::uint32_t b,
                                        std::uint32_t b_end, std::uint32_t last, Key (&out)[kItems],
                                        std::uint32_t (&from)[kItems], LessT less) {
  Key key_a = keys[a < last ? a : last];
  Key key_b = keys[b < last ? b : last];
  GPUSORT_UNROLL
  for (int i = 0; i < kItems; ++i) {
    const bool take_b = b < b_end && (a >= a_end || less(key_b, key_a));
    out[i] = take_b ? key_b : key_a;
    from[i] = take_b ? b : a;
    // One load for both cases: threads of a warp take different sides.
    const std::uint32_t next = take_b ? ++b : ++a;
    const Key key = keys[next < last ? next : last];
    if (take_b) {
      key_b = key;
    } else {
      key_a = key;
    }
  }
}

/// A thread's phase of merging one tile that lies in shared memory as A's items, then B's: ranks
/// [thread * kItems, ... + kItems) of their merge, as SerialMergeItems leaves them. a_items + b_items > 0.
template <int kItems, typename Key, typename LessT>
GPUSORT_HD inline void MergeTileShare(const Key* tile, std::uint32_t a_items, std::uint32_t b_items,
                                      std::uint32_t thread, Key (&out)[kItems], std::uint32_t (&from)[kItems],
                                      LessT less) {
  const std::uint32_t all = a_items + b_items;
  const std::uint32_t rank = thread * kItems;
  if (rank >= all) return;
  const std::uint32_t i = CoRankIn<std::uint32_t>(rank, tile, a_items, tile + a_items, b_items, less);
  SerialMergeItems<kItems>(tile, i, a_items, a_items + (rank - i), all, all - 1, out, from, less);
}

/// Two neighbouring runs and where their merge goes. Positions count items of the lists that hold them.
struct RunPair {
  std::uint64_t a_begin = 0;
  std::uint64_t a_items = 0;
  std::uint64_t b_begin = 0;
  std::uint64_t b_items = 0;
  std::uint64_t out_begin = 0;

  GPUSORT_HD std::uint64_t items() const { return a_items + b_items; }
};

/// One output tile: ranks [begin, begin + items) of the merge of a pair. May be empty (see MergePass::tiles).
struct MergeTile {
  RunPair pair;
  std::uint64_t begin = 0;
  std::uint64_t items = 0;

  GPUSORT_HD std::uint64_t out_begin() const { return pair.out_begin + begin; }
  /// True if the next tile of the pass continues this pair.
  GPUSORT_HD bool continued() const { return begin + items < pair.items(); }
};

/// What a tile reads: positions in the lists that hold A and B.
struct TileInputs {
  std::uint64_t a_begin = 0;
  std::uint64_t a_items = 0;
  std::uint64_t b_begin = 0;
  std::uint64_t b_items = 0;
};

// The kinds of runs that a pass takes. Each gives pairs(), pair(p), and a numbering of output tiles: those of pair p
// start at FirstTile(p, tile_items), in order; PairOfTile is its inverse; FirstTile(pairs(), ...) is their count.

/// Runs of run_items items each (the last may be shorter), one after the other. run_items > 0.
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
      // Behind the last pair, which may be short.
      const std::uint64_t begin = bound(2 * p - 2);
      return (p - 1) * TilesOfPair(tile_items) + (end - begin + tile_items - 1) / tile_items;
    }
    return p * TilesOfPair(tile_items);
  }
  GPUSORT_HD std::uint64_t PairOfTile(std::uint64_t tile, std::uint64_t tile_items) const {
    const std::uint64_t each = TilesOfPair(tile_items);
    // A 64-bit division costs a GPU thread about a hundred instructions.
    if (tile >> 32 == 0 && each >> 32 == 0) return static_cast<std::uint32_t>(tile) / static_cast<std::uint32_t>(each);
    return tile / each;
  }
  /// The runs after one pass.
  UniformRuns Merged() const { return {items, 2 * run_items}; }
};

/// Runs of any lengths (0 too) one after the other: at level 0, run r is [bounds[r], bounds[r + 1]), r < leaves. At
/// level l a run is 2^l neighbouring ones (the last may have fewer), so one array serves every level of a merge tree.
/// `bounds` must be readable where this runs.
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
  // Needs no table: [begin, end) has at most end / tile - begin / tile + 1 tiles, so the spare one of each pair makes
  // room for all. Tiles that are not needed are empty: at most one a pair.
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
  BoundedRuns Merged() const { return {bounds, leaves, level + 1}; }
};

/// Two separate lists merged to a third: the runs of a single pair. Positions count from each list's own start.
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
};

/// One round of pairwise merging: runs 2p and 2p + 1 become run p. A last run without a partner is a pair whose B is
/// empty. The output is cut into tiles of at most tile_items (> 0) items, none across two pairs.
template <typename RunsT>
struct MergePass {
  RunsT runs;
  std::uint64_t tile_items = 1;

  GPUSORT_HD std::uint64_t pairs() const { return runs.pairs(); }
  GPUSORT_HD RunPair pair(std::uint64_t p) const { return runs.pair(p); }
  /// Number of tiles; some may be empty. Tiles of one pair are neighbours and in order, empty ones last.
  GPUSORT_HD std::uint64_t tiles() const { return runs.FirstTile(runs.pairs(), tile_items); }
  GPUSORT_HD MergeTile tile(std::uint64_t t) const {
    const std::uint64_t p = runs.PairOfTile(t, tile_items);
    MergeTile tile{runs.pair(p), (t - runs.FirstTile(p, tile_items)) * tile_items, 0};
    const std::uint64_t all = tile.pair.items();
    if (tile.begin > all) tile.begin = all;
    tile.items = all - tile.begin < tile_items ? all - tile.begin : tile_items;
    return tile;
  }
};

/// How many items of the pair's A come before rank `begin` of its merge; `a` and `b` are the lists that hold the runs.
template <typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline std::uint64_t PairCoRank(const RunPair& pair, std::uint64_t begin, IteratorA a, IteratorB b,
                                           LessT less) {
  return CoRank(begin, a + pair.a_begin, pair.a_items, b + pair.b_begin, pair.b_items, less);
}

/// What `tile` reads, given the co-ranks (PairCoRank) of its first rank and of the rank behind its last.
GPUSORT_HD inline TileInputs InputsOfTile(const MergeTile& tile, std::uint64_t first_co_rank,
                                          std::uint64_t end_co_rank) {
  const std::uint64_t a_items = end_co_rank - first_co_rank;
  return {tile.pair.a_begin + first_co_rank, a_items, tile.pair.b_begin + (tile.begin - first_co_rank),
          tile.items - a_items};
}

/// Number of passes that make one run of `runs`.
constexpr std::uint32_t PassCount(std::uint64_t runs) {
  std::uint32_t passes = 0;
  for (; runs > 1; runs = (runs + 1) / 2) ++passes;
  return passes;
}

/// Whether a pass to and fro between two lists has to copy its odd run, asked once a pass, in order, until one run is
/// left. A run that stays odd for an even number of passes stays where it is instead: in the input of the first, so
/// also in the output of the second, and so on.
class OddRunRule {
 public:
  /// True if the pass over `runs` runs has an odd one and leaves it alone.
  bool Skips(std::uint64_t runs) {
    if (runs <= 1 || runs % 2 == 0) return false;
    std::uint32_t odd_passes = 0;
    for (std::uint64_t r = runs; r > 1 && r % 2 != 0; r = (r + 1) / 2) ++odd_passes;
    const bool skips = ahead_ || odd_passes % 2 == 0;
    ahead_ = skips && !ahead_;
    return skips;
  }

 private:
  bool ahead_ = false;  ///< the odd run is in the output list of the coming pass
};

}  // namespace gpusort
