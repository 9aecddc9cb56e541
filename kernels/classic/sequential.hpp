// The sequential merge, in two forms: what every parallel merge here does once it has cut its share, and the reference
// that all are measured against. a[0, m) and b[0, n) go to out[0, m + n), on equal keys a first. Any random-access
// iterators, or views with [] and +; Index is the unsigned type of the counts.
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12 (two cursors); J. Lv,
// Parallel Merge for Many-Core Architectures, Illinois 2016 (no branches inside).
#pragma once

#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// Two cursors; a branch says which moves. Where keys come in stretches of one list it is predicted, and this is fast.
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

/// The comparison selects what is written and which cursor moves; no branch depends on the keys until a list ends. A
/// warp's threads stay together, and a CPU guesses nothing.
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
