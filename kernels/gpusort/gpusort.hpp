// The public functions of gpusort's header library, with their contracts. They sort and merge in memory:
//
//   MergeKeys(a, m, b, n, out)                          merges two sorted lists
//   MergePairs(a_keys, a_values, m, b_keys, b_values, n, out_keys, out_values)   merges two lists of keys with values
//   SortKeys(keys, n)                                   sorts in place
//   SortPairs(keys, values, n)                          sorts keys in place, and the values along with them
//   MergeRuns(runs, out)                                merges any number of sorted runs at once
//
// The versions for host threads (merge_host.hpp) take two more optional arguments: the order `less`, and an executor,
// which provides the threads. All functions are stable: equal keys keep their input order (a before b, an earlier run
// before a later run). The order may be any strict weak ordering. Iterators must be random-access iterators. Their
// items must be copyable and have a default constructor. Counts are 64-bit. Inputs and outputs must not overlap. A
// function returns when its output is complete. If the order or a copy throws an exception, the exception reaches the
// caller, and the output is unspecified.
//
// If nvcc compiles this header, merge.cuh adds versions of these functions for lists in GPU memory. They also take a
// CUDA stream and a workspace (scratch memory), and return errors as cudaError_t. The first comment of merge.cuh
// describes them.
#pragma once

#include "gpusort/host_device.hpp"
#include "gpusort/merge_host.hpp"
#if GPUSORT_CUDA_COMPILER
#include "gpusort/merge.cuh"
#endif

namespace gpusort {

/// Writes the stable merge of the sorted lists a[0, m) and b[0, n) to out[0, m + n).
template <typename ItA, typename ItB, typename Out, typename LessT, HostExecutor Executor>
void MergeKeys(ItA a, std::uint64_t m, ItB b, std::uint64_t n, Out out, LessT less, const Executor& executor);

/// Merges two sorted lists of keys as MergeKeys does, and moves each value along with its key. The value of a_keys[i]
/// is a_values[i], and the value of b_keys[i] is b_values[i].
template <typename KeyItA, typename ValueItA, typename KeyItB, typename ValueItB, typename KeyOut, typename ValueOut,
          typename LessT, HostExecutor Executor>
void MergePairs(KeyItA a_keys, ValueItA a_values, std::uint64_t m, KeyItB b_keys, ValueItB b_values, std::uint64_t n,
                KeyOut out_keys, ValueOut out_values, LessT less, const Executor& executor);

/// Sorts keys[0, n) in place. First divides the keys into parts and sorts each part with sort_tile(first, last, less).
/// Then merges the parts. The default for sort_tile is std::stable_sort. SortKeys is stable if sort_tile is stable.
/// Allocates scratch memory for n keys.
template <typename It, typename LessT, HostExecutor Executor, typename TileSorter>
void SortKeys(It keys, std::uint64_t n, LessT less, const Executor& executor, TileSorter sort_tile);

/// Sorts keys[0, n) in place, and moves values[i] along with keys[i]. Allocates scratch memory for 2 n pairs.
template <typename KeyIt, typename ValueIt, typename LessT, HostExecutor Executor>
void SortPairs(KeyIt keys, ValueIt values, std::uint64_t n, LessT less, const Executor& executor);

/// Writes the stable merge of any number of sorted runs to `out`. Reads and writes every item in memory only once.
/// Allocates up to three buffers of 256 KiB for each worker of the executor.
template <typename It, typename Out, typename LessT, HostExecutor Executor>
void MergeRuns(std::span<const Range<It>> runs, Out out, LessT less, const Executor& executor);

}  // namespace gpusort
