// Declares the sort and merge functions of the CUDA backend, which call <gpusort/merge.cuh>. The functions are defined
// elsewhere, because nvcc takes up to a minute for the kernels of one combination of key type and order. Each
// combination has its own source file, and several files compile at the same time. Start at KeySorts.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "gpusort/merge.cuh"

namespace gpusort::detail {

/// Sorts and merges keys of type `Key` in the order `LessT`. Only these combinations exist:
/// - 32-bit and 64-bit numbers with Less (sort_u32.cu, sort_u64.cu)
/// - Entry with ExactEntryLess (sort_entries.cu)
/// - Entry with PrefixEntryLess (sort_long_keys.cu)
template <typename Key, typename LessT>
struct KeySorts {
  /// Sorts `n` keys. Calls gpusort::SortKeys, whose comment describes the parameters.
  static cudaError_t Sort(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys, std::uint64_t n,
                          const LessT& less, cudaStream_t stream);
  /// Merges sorted runs of keys. Calls gpusort::MergeRuns, whose comment describes the parameters.
  static cudaError_t Merge(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                           const std::uint64_t* bounds, std::uint32_t runs, const LessT& less, cudaStream_t stream);
};

}  // namespace gpusort::detail
