// The device memory of a CUDA backend: one allocation with the slots, the workspaces of the lanes, and the memory for
// searches. Start at Arena.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/line_sort.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/error.hpp"
#include "kernels/slot_pool.hpp"

namespace gpusort::cuda {

using namespace detail;

/// The number of ranges that one launch of CountBeforeKernel takes. More ranges take several launches.
inline constexpr std::uint64_t kSearchRanges = 1024;
inline constexpr std::uint64_t kAlignment = 256;

[[noreturn]] inline void FailInternal(const std::string& what) {
  throw Error(ErrorCode::kInternal, "CUDA backend: " + what);
}

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

/// The layout of one lane's workspace in the arena. Offsets are in bytes.
struct LaneShape {
  std::uint64_t rows = 0;      ///< the maximum number of records in a slot
  std::uint32_t max_runs = 0;  ///< the number of runs that one call of MergeRuns takes
  std::uint64_t entries_bytes = 0;
  std::uint64_t workspace_bytes = 0;

  std::optional<LineSort> lines;  ///< the layout of the workspace if the records are lines

  LaneShape(const RecordLayout& layout, std::uint64_t slot_bytes);
  std::uint64_t findings() const { return 0; }
  std::uint64_t entries(unsigned list) const { return kAlignment + list * entries_bytes; }
  std::uint64_t workspace() const { return entries(2); }
  std::uint64_t bytes() const { return lines ? lines->bytes() : workspace() + workspace_bytes; }
};

/// Short reads (up to kMostFetched bytes) are done by kernels, each for up to kFetchedTogether bytes in total.
inline constexpr std::uint64_t kMostFetched = 4096, kFetchedTogether = 32 * kMostFetched;
/// The longest cut (a line) that fits the common part of the arena. The search for a longer cut allocates memory.
inline constexpr std::uint64_t kCommonCut = 4096;

/// The layout of the part of the arena that all lanes share: a RecordLayout, and memory for BytesBefore.
struct CommonShape {
  std::uint64_t cut_bytes = 0;   ///< the size of a cut, the record that divides ranges
  std::uint64_t keys_bytes = 0;  ///< the size of the keys of an order of lines

  explicit CommonShape(const RecordLayout& record)
      : cut_bytes(record.fixed() ? record.stride : kCommonCut),
        keys_bytes(record.fixed() ? 0 : record.lines->key_count * sizeof(LineKey)) {}

  std::uint64_t layout() const { return 0; }
  std::uint64_t ranges() const { return RoundUp(sizeof(RecordLayout), kAlignment); }
  std::uint64_t counts() const { return ranges() + RoundUp(kSearchRanges * sizeof(CountRange), kAlignment); }
  std::uint64_t cut() const { return counts() + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment); }
  std::uint64_t keys() const { return cut() + RoundUp(cut_bytes, kAlignment); }
  std::uint64_t bytes() const { return keys() + RoundUp(keys_bytes, kAlignment); }

  // The layout of the common part's pinned host memory: room for ranges, counts and fetched bytes.
  static constexpr std::uint64_t kPinnedCounts = RoundUp(kSearchRanges * sizeof(CountRange), kAlignment);
  static constexpr std::uint64_t kPinnedFetched =
      kPinnedCounts + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment);
  static constexpr std::uint64_t kPinnedBytes = kPinnedFetched + kFetchedTogether;
};

/// The memory of a backend on one GPU: slots, then the workspaces of the lanes, then the common part.
class Arena : public SlotPool {
 public:
  Arena(DevicePtr device, const ArenaShape& shape, HostMemory& memory);

  std::byte* slot_data(std::uint32_t slot) const override { return memory_.data() + slot * slot_pitch_; }
  const DevicePtr& device() const { return device_; }
  const ArenaShape& shape() const { return shape_; }
  const LaneShape& lane_shape() const { return lane_shape_; }
  std::uint64_t device_bytes() const { return device_bytes_; }
  StreamPool& streams() { return streams_; }
  /// Returns the layout of the records, in device memory.
  const RecordLayout* device_layout() const {
    return reinterpret_cast<const RecordLayout*>(common() + common_shape_.layout());
  }

  /// Returns the order of lines. Its keys are in device memory.
  const LineOrderView& device_line_order() const { return line_order_; }

  std::byte* lane_memory(std::uint32_t lane) const {
    return memory_.data() + shape_.slots * slot_pitch_ + lane * lane_shape_.bytes();
  }
  Findings* pinned_findings(std::uint32_t lane) const {
    return reinterpret_cast<Findings*>(pinned_.data() + CommonShape::kPinnedBytes + lane * kAlignment);
  }

  /// Copies up to kMostFetched bytes from device memory to the host.
  void Fetch(const std::byte* from, std::span<std::byte> out);
  /// Implements Backend::Read for one GPU.
  void Read(std::span<const SlotRead> reads);
  /// Implements Backend::BytesBefore for one GPU. Appends the results to `counts`.
  void BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record, std::vector<std::uint64_t>& counts);

 private:
  std::byte* common() const { return lane_memory(shape_.lanes); }

  /// Returns device memory for a cut of `bytes` bytes. Memory for long cuts is kept, because freeing would wait for all
  /// lanes inside the driver.
  std::byte* CutMemory(std::uint64_t bytes);

  const DevicePtr device_;
  const ArenaShape shape_;
  const LaneShape lane_shape_;
  const CommonShape common_shape_;
  const std::uint64_t slot_pitch_;
  const std::uint64_t device_bytes_;
  const DeviceMemory memory_;  ///< slots, then workspaces of lanes, then the common part
  const PinnedMemory pinned_;  ///< memory for searches, then the findings of each lane
  StreamPool streams_;
  LineOrderView line_order_;
  std::mutex search_mutex_;  ///< guards the common part (except the layout), its pinned memory, and the members below
  std::vector<std::unique_ptr<DeviceMemory>> long_cuts_;
  std::uint64_t long_cut_bytes_ = 0;  ///< the size of the memory for the last long cut
};

/// A lane's place in the arena: its number and its parts of the memory.
class LaneSeat {
 public:
  explicit LaneSeat(const std::shared_ptr<Arena>& arena) : arena_(*arena), seat_(arena) {}
  Arena& arena() const { return arena_; }
  std::byte* memory() const { return arena_.lane_memory(seat_.lane()); }
  Findings* pinned_findings() const { return arena_.pinned_findings(seat_.lane()); }

 private:
  Arena& arena_;
  const SlotPool::Seat seat_;
};

}  // namespace gpusort::cuda
