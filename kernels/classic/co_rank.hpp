// Three ways to find a co-rank: how many of the first k items of the stable merge of a[0, m) and b[0, n) come from a.
// All three give the same answer and take O(log min(m, n)) steps; a comparator that counts shows how many. They differ
// in how a step is made: TextbookCoRank moves both cursors and checks both sides, BranchFreeCoRank selects in place of
// branching, WideCoRank asks many lanes at once. Index is the unsigned type of the arithmetic: 32 bits do in a tile.
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12; Siebert and Traff 2013;
// J. Lv, Parallel Merge for Many-Core Architectures, Illinois 2016; Green, McColl and Bader, GPU Merge Path, ICS 2012.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// The book's search. The cut (i, j), i + j = k, is right when a[i - 1] <= b[j] and b[j - 1] < a[i]. Starts with all
/// that a can give; while one side of the cut is wrong, moves half of the way to the bound on that side.
/// At most 2 comparisons a step, and log2(min(k, m, n, m + n - k) + 1) + 1 steps, rounded up.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index TextbookCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index i = k < m ? k : m;
  Index j = k - i;
  Index i_low = k > n ? k - n : 0;
  Index j_low = k > m ? k - m : 0;
  for (;;) {
    if (i > 0 && j < n && less(b[j], a[i - 1])) {
      const Index delta = (i - i_low + 1) / 2;
      j_low = j;
      i -= delta;
      j += delta;
    } else if (j > 0 && i < m && !less(b[j - 1], a[i])) {
      const Index delta = (j - j_low + 1) / 2;
      i_low = i;
      i += delta;
      j -= delta;
    } else {
      return i;
    }
  }
}

/// One comparison a step, and a number of steps that depends on the lengths alone, never on the keys: the threads of a
/// warp that search lists of one length stay together. floor(log2(c)) + 1 steps, c = min(k, m, n, m + n - k) > 0.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index BranchFreeCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index low = k > n ? k - n : 0;
  Index count = (k < m ? k : m) - low;
  while (count > 0) {
    const Index half = (count + 1) / 2;
    const Index i = low + half - 1;
    // If a[i] is among the first k, so are all before it. If not, the other half is longer than it needs to be.
    low += less(b[k - 1 - i], a[i]) ? 0 : half;
    count -= half;
  }
  return low;
}

/// The candidate of a lane of kWide, which cut `count` unknown items in kWide + 1 equal parts. If there are no more
/// items than lanes, every item is somebody's candidate: the last step reads consecutive items of both lists.
template <unsigned kWide, typename Index>
GPUSORT_HD inline Index WideCandidate(Index count, unsigned lane) {
  return count * (lane + 1) / (kWide + 1);
}

/// Green, McColl and Bader's search: kWide candidates a step leave one part in kWide + 1, so a warp of 32 needs a fifth
/// of the steps. count_lanes(probe) calls probe(lane) for every lane in [0, kWide) and says how many were true.
/// (k, m, n) times kWide + 1 must fit Index.
template <unsigned kWide, typename Index, typename IteratorA, typename IteratorB, typename LessT, typename CountLanes>
GPUSORT_HD inline Index WideCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less,
                                   CountLanes count_lanes) {
  Index low = k > n ? k - n : 0;
  Index count = (k < m ? k : m) - low;
  while (count > 0) {
    // Candidates ascend, so those among the first k are the first so many lanes'.
    const unsigned taken = count_lanes([&](unsigned lane) {
      const Index i = low + WideCandidate<kWide>(count, lane);
      return !less(b[k - 1 - i], a[i]);
    });
    const Index begin = taken > 0 ? WideCandidate<kWide>(count, taken - 1) + 1 : 0;
    const Index end = taken < kWide ? WideCandidate<kWide>(count, taken) : count;
    low += begin;
    count = end - begin;
  }
  return low;
}

/// WideCoRank with the lanes as a loop.
template <unsigned kWide, typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index WideCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  return WideCoRank<kWide>(k, a, m, b, n, less, [](auto probe) {
    unsigned taken = 0;
    for (unsigned lane = 0; lane < kWide; ++lane) taken += probe(lane) ? 1 : 0;
    return taken;
  });
}

}  // namespace gpusort::classic
