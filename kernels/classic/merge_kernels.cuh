// The textbook merge kernels, for study and as a reference for the production merge (merge.cuh). Each function queues
// the stable merge of a[0, m) and b[0, n) to out[0, m + n) on `stream`, and returns. Items must be trivially copyable
// and aligned to at most 16 bytes. Start at the functions at the end of this file.
//
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12; J. Lv, Parallel Merge for
// Many-Core Architectures, Illinois 2016; Green, McColl and Bader, GPU Merge Path, ICS 2012.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "kernels/classic/merge_phases.hpp"

namespace gpusort::classic {
namespace detail {

/// Runs the phases of a merge on the threads of a GPU block. Has the interface of a Team, which merge_phases.hpp
/// describes. On a CPU, a Team is a loop over thread indices instead.
struct BlockTeam {
  template <typename Phase>
  __device__ __forceinline__ void Each(Phase phase) {
    phase(threadIdx.x);
  }
  __device__ __forceinline__ void Barrier() { __syncthreads(); }
  template <unsigned kWide, typename Probe>
  __device__ __forceinline__ unsigned CountLanes(std::uint32_t thread, Probe probe) {
    static_assert(kWide == 32, "a block that searches in warps has at least one");
    return __popc(__ballot_sync(0xFFFFFFFFu, probe(thread % kWide)));
  }
  template <typename T>
  struct PerThread {
    T value;
    __device__ __forceinline__ T& operator[](std::uint32_t) { return value; }
  };
};

// Packs the switches of a MergeConfig into one number, which is a template argument of the kernels. If a kernel took
// the MergeConfig itself, nvcc 13 would generate host code that does not compile. The number does not contain
// MergeConfig::blocks, so that configurations that differ only in `blocks` share one kernel.
constexpr unsigned SwitchesOf(const MergeConfig& config) {
  return config.share_co_ranks | config.branch_free << 1 | config.wide_partition << 2 | config.stage_output << 3;
}
GPUSORT_HD constexpr MergeConfig ConfigOf(int threads, int items_per_thread, unsigned switches) {
  return {
      0, threads, items_per_thread, (switches & 1) != 0, (switches & 2) != 0, (switches & 4) != 0, (switches & 8) != 0};
}

template <int kThreads, int kItems, unsigned kSwitches, typename A, typename B, typename Output, typename LessT>
__global__ void __launch_bounds__(kThreads)
    BasicMergeKernel(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less) {
  constexpr MergeConfig kConfig = ConfigOf(kThreads, kItems, kSwitches);
  __shared__ std::uint64_t co_ranks[kConfig.share_co_ranks ? kThreads + 1 : 1];
  BlockTeam team;
  BasicMergeBlock<kConfig>(team, co_ranks, blockIdx.x, gridDim.x, a, m, b, n, out, less);
}

template <int kThreads, int kItems, unsigned kSwitches, Buffering kBuffering, typename A, typename B, typename Output,
          typename LessT>
__global__ void __launch_bounds__(kThreads)
    BufferedMergeKernel(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less, std::uint64_t share) {
  constexpr MergeConfig kConfig = ConfigOf(kThreads, kItems, kSwitches);
  extern __shared__ __align__(16) unsigned char shared[];
  const BlockMemory<kConfig, kBuffering, typename std::iterator_traits<A>::value_type> memory(shared);
  BlockTeam team;
  const std::uint64_t begin = blockIdx.x * share;
  BufferedMergeBlock<kConfig, kBuffering>(team, memory, begin, Least<std::uint64_t>(begin + share, m + n), a, m, b, n,
                                          out, less);
}

/// Sets `blocks` to the number of thread blocks of `kernel` that the current GPU can run at the same time. Returns
/// cudaSuccess or the error.
template <typename Kernel>
cudaError_t ResidentBlocks(Kernel kernel, int threads, std::size_t shared_bytes, std::uint64_t& blocks) {
  int device = 0, processors = 0, blocks_each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, threads, shared_bytes);
  }
  if (error != cudaSuccess) return error;
  if (blocks_each == 0) return cudaErrorInvalidConfiguration;
  blocks = std::uint64_t{static_cast<unsigned>(processors)} * static_cast<unsigned>(blocks_each);
  return cudaSuccess;
}

template <MergeConfig kConfig, Buffering kBuffering, typename A, typename B, typename Output, typename LessT>
cudaError_t BufferedMerge(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less, cudaStream_t stream) {
  using Item = typename std::iterator_traits<A>::value_type;
  static_assert(std::is_trivially_copyable_v<Item>);
  static_assert(std::is_same_v<Item, typename std::iterator_traits<B>::value_type>);
  constexpr std::size_t kBytes = BlockMemory<kConfig, kBuffering, Item>::kBytes;
  const auto kernel = BufferedMergeKernel<kConfig.threads, kConfig.items_per_thread, SwitchesOf(kConfig), kBuffering, A,
                                          B, Output, LessT>;
  const std::uint64_t total = m + n;
  if (total == 0) return cudaSuccess;
  if constexpr (kBytes > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes));
    if (error != cudaSuccess) return error;
  }
  std::uint64_t blocks = kConfig.blocks;
  // The default is as many thread blocks as the GPU can run at the same time.
  if (blocks == 0) {
    const cudaError_t error = ResidentBlocks(kernel, kConfig.threads, kBytes, blocks);
    if (error != cudaSuccess) return error;
  }
  blocks = std::min(blocks, (total - 1) / kConfig.tile() + 1);
  const std::uint64_t share = (total - 1) / blocks + 1;
  blocks = (total - 1) / share + 1;
  kernel<<<static_cast<unsigned>(blocks), kConfig.threads, kBytes, stream>>>(a, m, b, n, out, less, share);
  return cudaGetLastError();
}

}  // namespace detail

/// Merges in global memory. Each thread writes kConfig.items_per_thread neighbouring items at a time. The number of
/// thread blocks is at most kConfig.blocks, or unlimited if this is 0.
template <MergeConfig kConfig, typename A, typename B, typename Output, typename LessT>
cudaError_t BasicMerge(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less,
                       cudaStream_t stream = nullptr) {
  const std::uint64_t total = m + n;
  if (total == 0) return cudaSuccess;
  const std::uint64_t most = kConfig.blocks > 0 ? kConfig.blocks : 0x7FFFFFFF;
  const std::uint64_t blocks = std::min(most, (total - 1) / kConfig.tile() + 1);
  detail::BasicMergeKernel<kConfig.threads, kConfig.items_per_thread, detail::SwitchesOf(kConfig)>
      <<<static_cast<unsigned>(blocks), kConfig.threads, 0, stream>>>(a, m, b, n, out, less);
  return cudaGetLastError();
}

/// Merges tile by tile in shared memory. A tile is kConfig.tile() items of output. Needs shared memory for 2 tiles, or
/// for 3 tiles if kConfig.stage_output is true.
template <MergeConfig kConfig, typename A, typename B, typename Output, typename LessT>
cudaError_t TiledMerge(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less,
                       cudaStream_t stream = nullptr) {
  return detail::BufferedMerge<kConfig, Buffering::kSingle>(a, m, b, n, out, less, stream);
}

/// Merges through shared memory as TiledMerge does, but loads every item only once. Loaded items that are not used for
/// one tile of output stay in shared memory for the next tile. Needs as much shared memory as TiledMerge.
template <MergeConfig kConfig, typename A, typename B, typename Output, typename LessT>
cudaError_t CircularMerge(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less,
                          cudaStream_t stream = nullptr) {
  return detail::BufferedMerge<kConfig, Buffering::kCircular>(a, m, b, n, out, less, stream);
}

/// Merges through shared memory as CircularMerge does, but keeps up to two tiles of each list there. A tile is
/// kConfig.tile() items. Loads a whole tile of a list when less than one tile of this list is left. Needs shared memory
/// for 4 tiles, or for 5 tiles if kConfig.stage_output is true.
template <MergeConfig kConfig, typename A, typename B, typename Output, typename LessT>
cudaError_t DoubleBufferMerge(A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less,
                              cudaStream_t stream = nullptr) {
  return detail::BufferedMerge<kConfig, Buffering::kDouble>(a, m, b, n, out, less, stream);
}

}  // namespace gpusort::classic
