// The sequential merge, in two forms. The parallel merges of this folder use it for the shares of their threads, and
// benchmarks use it as a reference. It merges a[0, m) and b[0, n) to out[0, m + n); of equal keys, the keys of a come
// first. Iterators are random-access iterators, or views with [] and +. Index is the unsigned type of the counts.
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12 (two cursors); J. Lv,
// Parallel Merge for Many-Core Architectures, Illinois 2016 (no branches inside).
#pragma once

#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// Merges with two cursors and a branch that decides which cursor moves. This is fast if long stretches of keys come
/// from one list, because a CPU then predicts the branch.
template <typename Index, typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void SequentialMerge(IteratorA a, Index m, IteratorB b, Index n, Output out, LessT less) {
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

/// Merges without a branch that depends on the keys until a list ends: the comparison selects the item to write and the
/// cursor to move. Threads of a warp stay together, and a CPU does not mispredict.
template <typename Index, typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void BranchFreeMerge(IteratorA a, Index m, IteratorB b, Index n, Output out, LessT less) {
  using Item = typename std::iterator_traits<IteratorA>::value_type;
  Index i = 0, j = 0, k = 0;
  while (i < m && j < n) {
    const Item head_a = a[i];
    const Item head_b = b[j];
    const bool take_b = less(head_b, head_a);
    out[k++] = take_b ? head_b : head_a;
    j += take_b;
    i += !take_b;
  }
  while (i < m) out[k++] = a[i++];
  while (j < n) out[k++] = b[j++];
}

}  // namespace gpusort::classic
