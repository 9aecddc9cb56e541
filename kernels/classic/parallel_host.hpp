// The textbook parallel merge on CPU cores. Each thread merges one range of the output. Short lists are merged on one
// thread. MergeKeys in merge_host.hpp has a faster inner merge.
//
// Sources: J. Lv, Parallel Merge for Many-Core Architectures, Illinois 2016; Siebert and Traff 2013.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "gpusort/merge_host.hpp"
#include "gpusort/merge_path.hpp"

namespace gpusort::classic {

/// The number of output items for which one more thread saves time. Starting a thread takes about 20 us. Merging 2^16
/// items of the cheapest kind (4 bytes, predictable branches) takes 40 us or more.
inline constexpr std::uint64_t kItemsThatPayAThread = std::uint64_t{1} << 16;

/// Returns the number of threads, from 1 to `threads`, that merge `items` items in the shortest time.
inline unsigned ThreadsThatPay(std::uint64_t items, unsigned threads) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(items / kItemsThatPayAThread, 1, std::max<std::uint64_t>(threads, 1)));
}

/// Calls SerialMerge. Never inlined, to keep benchmarks comparable.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT>
[[gnu::noinline]] void MergeOnThisThread(IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n, Output out,
                                         LessT less) {
  // The speed of this short loop changes by a third with its address in memory.
  SerialMerge<std::uint64_t>(a, m, b, n, out, less);
}

/// Merges a[0, m) and b[0, n) to out[0, m + n). Divides the output into at most executor.workers() parts of equal
/// length, which `executor` merges in parallel.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT, HostExecutor Executor>
void ParallelMerge(IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n, Output out, LessT less,
                   const Executor& executor) {
  const std::uint64_t total = m + n;
  const unsigned shares = ThreadsThatPay(total, executor.workers());
  if (shares == 1) {
    MergeOnThisThread(a, m, b, n, out, less);
    return;
  }
  executor.ForEach(shares, [&](std::uint64_t share, unsigned) {
    const auto bound = [&](std::uint64_t s) { return total / shares * s + std::min<std::uint64_t>(s, total % shares); };
    const std::uint64_t begin = bound(share), end = bound(share + 1);
    const std::uint64_t i = CoRank(begin, a, m, b, n, less), i_end = CoRank(end, a, m, b, n, less);
    const std::uint64_t j = begin - i, j_end = end - i_end;
    MergeOnThisThread(gpusort::detail::Advance(a, i), i_end - i, gpusort::detail::Advance(b, j), j_end - j,
                      gpusort::detail::Advance(out, begin), less);
  });
}

/// Merges a[0, m) and b[0, n) to out[0, m + n) on up to `threads` threads, including the calling thread. Never uses
/// more threads than the machine has cores. If `threads` is 0, uses one thread for each core.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT>
void ParallelMerge(IteratorA a, std::uint64_t m, IteratorB b, std::uint64_t n, Output out, LessT less,
                   unsigned threads = 0) {
  if (threads == 1 || ThreadsThatPay(m + n, 2) == 1) {
    // Tests the number of items first, because asking for the number of cores takes longer than merging a thousand
    // items.
    MergeOnThisThread(a, m, b, n, out, less);
    return;
  }
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  ParallelMerge(a, m, b, n, out, less, ThreadExecutor(threads == 0 ? cores : std::min(threads, cores)));
}

}  // namespace gpusort::classic
