// The kernels of the public headers, for tools/kernel-resources: every function for the types of the benchmarks, and
// the textbook kernels in their fastest form. This file is compiled, but never linked.
#include <cstdint>

#include "gpusort/merge.cuh"
#include "kernels/classic/merge_kernels.cuh"
#include "kernels/classic/row_column_merge.cuh"
#include "kernels/records/key.hpp"

namespace gpusort {

template <typename Key, typename LessT>
cudaError_t CallsForKeys(void* workspace, std::size_t& bytes, const Key* in, Key* out, std::uint64_t n,
                         const std::uint64_t* bounds, std::uint32_t runs, LessT less) {
  cudaError_t error = MergeKeys(workspace, bytes, in, n, in + n, n, out, less);
  if (error == cudaSuccess) error = SortKeys(workspace, bytes, in, out, n, less);
  if (error == cudaSuccess) error = MergeRuns(workspace, bytes, in, out, bounds, runs, less);
  return error;
}
template cudaError_t CallsForKeys(void*, std::size_t&, const std::int32_t*, std::int32_t*, std::uint64_t,
                                  const std::uint64_t*, std::uint32_t, Less);
template cudaError_t CallsForKeys(void*, std::size_t&, const std::int64_t*, std::int64_t*, std::uint64_t,
                                  const std::uint64_t*, std::uint32_t, Less);
template cudaError_t CallsForKeys(void*, std::size_t&, const Entry*, Entry*, std::uint64_t, const std::uint64_t*,
                                  std::uint32_t, ExactEntryLess);

template <typename Key, typename Value>
cudaError_t CallsForPairs(void* workspace, std::size_t& bytes, const Key* in, const Value* values_in, Key* out,
                          Value* values_out, std::uint64_t n) {
  cudaError_t error = MergePairs(workspace, bytes, in, values_in, n, in + n, values_in + n, n, out, values_out, Less{});
  if (error == cudaSuccess) error = SortPairs(workspace, bytes, in, values_in, out, values_out, n, Less{});
  return error;
}
template cudaError_t CallsForPairs(void*, std::size_t&, const std::int32_t*, const std::int32_t*, std::int32_t*,
                                   std::int32_t*, std::uint64_t);
template cudaError_t CallsForPairs(void*, std::size_t&, const std::int64_t*, const std::int64_t*, std::int64_t*,
                                   std::int64_t*, std::uint64_t);

cudaError_t Textbook(const std::int32_t* a, std::uint64_t m, const std::int32_t* b, std::uint64_t n,
                     std::int32_t* out) {
  // The members: blocks, threads, items_per_thread, share_co_ranks, branch_free, and for kernels with windows also
  // wide_partition and stage_output.
  constexpr classic::MergeConfig kBasic{0, 256, 8, true, true};
  constexpr classic::MergeConfig kWindow{0, 256, 8, true, true, true, true};
  cudaError_t error = classic::BasicMerge<kBasic>(a, m, b, n, out, Less{});
  if (error == cudaSuccess) error = classic::TiledMerge<kWindow>(a, m, b, n, out, Less{});
  if (error == cudaSuccess) error = classic::CircularMerge<kWindow>(a, m, b, n, out, Less{});
  if (error == cudaSuccess) error = classic::DoubleBufferMerge<kWindow>(a, m, b, n, out, Less{});
  const classic::RowMatrix<classic::RowStorage::kRowMajor> rows{m, 16};
  if (error == cudaSuccess) error = classic::MergeRowPairs(rows, a, out, Less{});
  const classic::RowMatrix<classic::RowStorage::kColumnMajor> columns{m, 16};
  if (error == cudaSuccess) error = classic::MergeRowPairs(columns, a, out, Less{});
  return error;
}

}  // namespace gpusort
