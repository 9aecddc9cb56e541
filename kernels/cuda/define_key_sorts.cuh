// Defines the sort and merge functions that key_sorts.cuh declares (KeySorts). These functions contain kernels that
// compile slowly. Include this header only in the source files that instantiate KeySorts. Each of these files
// instantiates one combination of key type and order.
#pragma once

#include "kernels/cuda/key_sorts.cuh"

namespace gpusort::detail {

template <typename Key, typename LessT>
cudaError_t KeySorts<Key, LessT>::Sort(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                                       std::uint64_t n, const LessT& less, cudaStream_t stream) {
  return SortKeys(workspace, workspace_bytes, keys, n, less, stream);
}

template <typename Key, typename LessT>
cudaError_t KeySorts<Key, LessT>::Merge(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                                        const std::uint64_t* bounds, std::uint32_t runs, const LessT& less,
                                        cudaStream_t stream) {
  return MergeRuns(workspace, workspace_bytes, keys, bounds, runs, less, stream);
}

}  // namespace gpusort::detail
