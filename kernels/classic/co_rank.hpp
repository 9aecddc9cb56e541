// Three searches for a co-rank. If the co-rank of k is 5, then 5 of the first k merged items come from list `a`, and
// the others from list `b`. `Index` is the unsigned type of positions.
//
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12; Siebert and Traff 2013;
// J. Lv, Parallel Merge for Many-Core Architectures, Illinois 2016; Green, McColl and Bader, GPU Merge Path, ICS 2012.
#pragma once

#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// Returns the co-rank of k: the number of items of `a` among the first k merged items. This is the search of the
/// textbook by Hwu, Kirk and El Hajj. Makes at most two comparisons in each step.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index TextbookCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  // Looks for the i with a[i - 1] <= b[j] and b[j - 1] < a[i], where j = k - i.
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

/// Returns the co-rank of k: the number of items of `a` among the first k merged items. Makes one comparison in each
/// step. The number of steps depends on k, m and n, but not on the keys.
template <typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index BranchFreeCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  Index low = k > n ? k - n : 0;
  Index count = (k < m ? k : m) - low;
  while (count > 0) {
    const Index half = (count + 1) / 2;
    const Index i = low + half - 1;
    // If a[i] is among the first k merged items, the search goes on after a[i], otherwise before a[i].
    // `count` shrinks by `half` in both cases, which avoids a branch.
    low += less(b[k - 1 - i], a[i]) ? 0 : half;
    count -= half;
  }
  return low;
}

/// Returns the index, below `count`, of the item that thread number `lane` compares in one step of WideCoRank. The
/// kWide compared items divide all `count` items into parts of about equal size. If `count` is at most kWide, every
/// item is compared.
template <unsigned kWide, typename Index>
GPUSORT_HD inline Index WideCandidate(Index count, unsigned lane) {
  return count * (lane + 1) / (kWide + 1);
}

/// Returns the co-rank of k: the number of items of `a` among the first k merged items. kWide threads of a warp search
/// together.
/// - count_lanes: must call probe(lane) for every `lane` in [0, kWide), and return how many calls returned true
/// - Index: must be able to store (kWide + 1) * max(k, m, n)
template <unsigned kWide, typename Index, typename IteratorA, typename IteratorB, typename LessT, typename CountLanes>
GPUSORT_HD inline Index WideCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less,
                                   CountLanes count_lanes) {
  Index low = k > n ? k - n : 0;
  Index count = (k < m ? k : m) - low;
  while (count > 0) {
    // Counts the compared items that are among the first k merged items.
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

/// Returns the co-rank of k: the number of items of `a` among the first k merged items. Runs on one thread.
template <unsigned kWide, typename Index, typename IteratorA, typename IteratorB, typename LessT>
GPUSORT_HD inline Index WideCoRank(Index k, IteratorA a, Index m, IteratorB b, Index n, LessT less) {
  return WideCoRank<kWide>(k, a, m, b, n, less, [](auto probe) {
    unsigned taken = 0;
    for (unsigned lane = 0; lane < kWide; ++lane) taken += probe(lane) ? 1 : 0;
    return taken;
  });
}

}  // namespace gpusort::classic
