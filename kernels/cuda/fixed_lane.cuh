// The common base class of the lanes for numbers and the lanes for records of fixed size. A lane is a worker of the
// CUDA backend. The base class inspects, sorts and merges records in GPU memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpusort/merge.cuh"
#include "kernels/cuda/key_sorts.cuh"
#include "kernels/cuda/lane.cuh"

namespace gpusort::cuda {

/// The maximum number of thread blocks of a kernel in which each thread handles many records. It is enough for any GPU,
/// and more blocks would cost time.
inline constexpr std::uint64_t kMostBlocks = 4096;

class FixedLaneBase : public CudaLane {
 protected:
  using CudaLane::CudaLane;

  std::byte* workspace() const { return lane_memory().data() + map().workspace(); }
  InspectResult* device_result() const {
    return reinterpret_cast<InspectResult*>(lane_memory().data() + map().inspect_result());
  }

  static std::uint64_t StridingBlocks(std::uint64_t items) {
    return std::min(DivideUp(items, kRecordThreads), kMostBlocks);
  }

  /// Calls launch(), which must launch a kernel that writes an InspectResult to device_result(). Waits for the kernel,
  /// and returns the result. Throws WrongResult if the result is impossible.
  template <typename LaunchInspect>
  InspectResult Inspect(const LaunchInspect& launch) const {
    CheckCuda("cudaMemsetAsync",
              [&] { return cudaMemsetAsync(device_result(), 0, sizeof(InspectResult), stream().get()); });
    launch();
    stream().Fetch(lane_memory().pinned_result(), device_result(), sizeof(InspectResult));
    stream().Wait();
    const InspectResult found = *lane_memory().pinned_result();
    if (found.differing > layout().key_bytes) throw WrongResult("the GPU finds keys longer than they are");
    return found;
  }
  template <typename Key, typename LessT>
  void SortInBuffer(DoubleBuffer<Key>& keys, std::uint64_t n, const LessT& less) const {
    std::size_t bytes = map().workspace_bytes;
    CheckCuda("SortKeys",
              [&] { return KeySorts<Key, LessT>::Sort(workspace(), bytes, keys, n, less, stream().get()); });
  }

  /// Merges any number of sorted runs with as many calls of MergeRuns as needed. Run r is the keys [bounds[r], bounds[r
  /// + 1]) of keys.current. Leaves the result in keys.current.
  template <typename Key, typename LessT>
  void MergeInBuffer(DoubleBuffer<Key>& keys, std::vector<std::uint64_t> bounds, const LessT& less) const {
    const auto merge = [&](DoubleBuffer<Key>& part, std::span<const std::uint64_t> part_bounds) {
      std::size_t bytes = map().workspace_bytes;
      CheckCuda("MergeRuns", [&] {
        return KeySorts<Key, LessT>::Merge(workspace(), bytes, part, part_bounds.data(),
                                           static_cast<std::uint32_t>(part_bounds.size() - 1), less, stream().get());
      });
    };
    while (bounds.size() - 1 > map().max_runs) {
      // One call of MergeRuns merges at most max_runs runs. Merges each group of max_runs neighbouring sorted runs to
      // one run, and collects the merged runs in `alternate`.
      std::vector<std::uint64_t> merged{0};
      for (std::size_t first = 0; first + 1 < bounds.size(); first += map().max_runs) {
        const std::size_t runs = std::min<std::size_t>(map().max_runs, bounds.size() - 1 - first);
        const std::uint64_t begin = bounds[first], end = bounds[first + runs];
        std::vector<std::uint64_t> part_bounds(bounds.begin() + first, bounds.begin() + first + runs + 1);
        for (std::uint64_t& bound : part_bounds) bound -= begin;
        DoubleBuffer<Key> part{keys.current + begin, keys.alternate + begin};
        merge(part, part_bounds);
        if (part.current != keys.alternate + begin) {
          stream().Copy(keys.alternate + begin, part.current, (end - begin) * sizeof(Key), cudaMemcpyDeviceToDevice);
        }
        merged.push_back(end);
      }
      std::swap(keys.current, keys.alternate);
      bounds = std::move(merged);
    }
    merge(keys, bounds);
  }
};

}  // namespace gpusort::cuda
