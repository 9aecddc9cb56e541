// Yang's row merge and column merge on a GPU. They merge many small pairs of sorted rows, one pair on each thread. All
// functions are stable, queue their work on `stream`, and neither allocate nor wait. Start at RowMergeSort.
//
// Source: K. Yang, Two Phase Multiway Merge Sort and new GPU merging algorithm on GPU.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/classic/row_column_merge.hpp"

namespace gpusort::classic {
namespace detail {

inline constexpr int kRowThreads = 128;

template <RowStorage kStorage, typename Input, typename Output, typename LessT>
__global__ void __launch_bounds__(kRowThreads)
    MergeRowPairsKernel(RowMatrix<kStorage> matrix, Input in, Output out, LessT less) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kRowThreads;
  for (std::uint64_t pair = std::uint64_t{blockIdx.x} * kRowThreads + threadIdx.x; pair < matrix.pairs();
       pair += threads) {
    MergeRowPair(matrix, pair, in, out, less);
  }
}

template <RowStorage kStorage, typename Input, typename Output, typename LessT>
__global__ void __launch_bounds__(kRowThreads)
    SortRowsKernel(RowMatrix<kStorage> matrix, Input in, Output out, LessT less) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kRowThreads;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * kRowThreads + threadIdx.x; row < matrix.rows(); row += threads) {
    SortRow(matrix, row, in, out, less);
  }
}

/// Returns how many thread blocks `threads` threads need, but at most the largest size of a grid.
inline unsigned RowBlocks(std::uint64_t threads) {
  return static_cast<unsigned>(std::min<std::uint64_t>((threads - 1) / kRowThreads + 1, 0x7FFFFFFF));
}

}  // namespace detail

/// Runs one pass of a merge sort: merges rows 0 and 1, 2 and 3, ... of `in` to the rows of `out`. `matrix` is the shape
/// of `in`, and matrix.Merged() is the shape of `out`. `in` must have room for matrix.slots() items, and `out` for
/// matrix.Merged().slots() items.
template <RowStorage kStorage, typename Input, typename Output, typename LessT>
cudaError_t MergeRowPairs(const RowMatrix<kStorage>& matrix, Input in, Output out, LessT less,
                          cudaStream_t stream = nullptr) {
  if (matrix.items == 0) return cudaSuccess;
  detail::MergeRowPairsKernel<<<detail::RowBlocks(matrix.pairs()), detail::kRowThreads, 0, stream>>>(matrix, in, out,
                                                                                                     less);
  return cudaGetLastError();
}

/// Divides the list in[0, matrix.items) into rows of matrix.row_items items, sorts each row, and writes the sorted rows
/// to `out`. One thread sorts each row.
template <RowStorage kStorage, typename Input, typename Output, typename LessT>
cudaError_t SortRows(const RowMatrix<kStorage>& matrix, Input in, Output out, LessT less,
                     cudaStream_t stream = nullptr) {
  if (matrix.items == 0) return cudaSuccess;
  detail::SortRowsKernel<<<detail::RowBlocks(matrix.rows()), detail::kRowThreads, 0, stream>>>(matrix, in, out, less);
  return cudaGetLastError();
}

/// Sorts in[0, items) to out[0, items). Does not change `in`. The three lists `in`, `out` and `spare` must not overlap.
/// - row_items: how many neighbouring items one thread sorts before the first merge
/// - out, spare: GPU memory for RowMergeSortSlots<kStorage>(items, row_items) items each
template <RowStorage kStorage, typename Input, typename Item, typename LessT>
cudaError_t RowMergeSort(Input in, std::uint64_t items, std::uint64_t row_items, Item* out, Item* spare, LessT less,
                         cudaStream_t stream = nullptr) {
  cudaError_t error = cudaSuccess;
  RunRowMergeSort<kStorage>(
      items, row_items, out, spare,
      [&](const RowMatrix<kStorage>& matrix, Item* to) { error = SortRows(matrix, in, to, less, stream); },
      [&](const RowMatrix<kStorage>& matrix, const Item* from, Item* to) {
        if (error == cudaSuccess) error = MergeRowPairs(matrix, from, to, less, stream);
      });
  return error;
}

}  // namespace gpusort::classic
