// The GPU memory of a CUDA backend, called the arena. It is one allocation with the buffers for records (slots), the
// working memory of the workers (lanes), and the memory for searches. Start at Arena.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/line_sort.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/error.hpp"
#include "kernels/slot_pool.hpp"

namespace gpusort::cuda {

using namespace detail;

/// The maximum number of ranges of records that BytesBefore searches in one kernel launch. More ranges take several
/// launches.
inline constexpr std::uint64_t kSearchRanges = 1024;
inline constexpr std::uint64_t kAlignment = 256;

[[noreturn]] inline void FailInternal(const std::string& what) {
  throw Error(ErrorCode::kInternal, "CUDA backend: " + what);
}

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

/// The offsets, in bytes, of the arrays in the working memory of one lane (a worker of the backend).
struct LaneMemoryMap {
  std::uint64_t rows = 0;      ///< the maximum number of records in a buffer (slot)
  std::uint32_t max_runs = 0;  ///< the maximum number of sorted runs that one call of MergeRuns merges
  std::uint64_t entries_bytes = 0;
  std::uint64_t workspace_bytes = 0;

  std::optional<LineSort> lines;  ///< the layout of the working memory if the records are lines

  LaneMemoryMap(const RecordLayout& layout, std::uint64_t slot_bytes);
  std::uint64_t inspect_result() const { return 0; }
  std::uint64_t entries(unsigned list) const { return kAlignment + list * entries_bytes; }
  std::uint64_t workspace() const { return entries(2); }
  std::uint64_t bytes() const { return lines ? lines->bytes() : workspace() + workspace_bytes; }
};

/// A read of up to kMostFetched bytes from GPU memory counts as short. A kernel does short reads, because a normal copy
/// would wait for large copies of other streams. One launch reads up to kFetchedTogether bytes.
inline constexpr std::uint64_t kMostFetched = 4096, kFetchedTogether = 32 * kMostFetched;
/// The longest line, in bytes, that BytesBefore can search for without allocating more GPU memory.
inline constexpr std::uint64_t kCommonCut = 4096;

/// The offsets, in bytes, of the arrays in the GPU memory that all lanes (workers) share. One array contains the
/// RecordLayout. The other arrays are for BytesBefore, which counts the bytes of the records before a given record, the
/// cut.
struct CommonMemoryMap {
  std::uint64_t cut_bytes = 0;   ///< the maximum size in bytes of the record for BytesBefore (the cut)
  std::uint64_t keys_bytes = 0;  ///< the size of the key descriptions (LineKey) if the records are lines

  explicit CommonMemoryMap(const RecordLayout& record)
      : cut_bytes(record.fixed() ? record.stride : kCommonCut),
        keys_bytes(record.fixed() ? 0 : record.lines->key_count * sizeof(LineKey)) {}

  std::uint64_t layout() const { return 0; }
  std::uint64_t ranges() const { return RoundUp(sizeof(RecordLayout), kAlignment); }
  std::uint64_t counts() const { return ranges() + RoundUp(kSearchRanges * sizeof(CountRange), kAlignment); }
  std::uint64_t cut() const { return counts() + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment); }
  std::uint64_t keys() const { return cut() + RoundUp(cut_bytes, kAlignment); }
  std::uint64_t bytes() const { return keys() + RoundUp(keys_bytes, kAlignment); }

  // The offsets in the pinned (page-locked) host memory for searches and short reads. This memory has room for ranges,
  // for counts, and for the bytes that are read.
  static constexpr std::uint64_t kPinnedCounts = RoundUp(kSearchRanges * sizeof(CountRange), kAlignment);
  static constexpr std::uint64_t kPinnedFetched =
      kPinnedCounts + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment);
  static constexpr std::uint64_t kPinnedBytes = kPinnedFetched + kFetchedTogether;
};

/// The memory of a backend on one GPU. It consists of slots (buffers for records), the working memory of each lane
/// (worker), and the memory that all lanes share (see CommonMemoryMap), in this order.
class Arena : public SlotPool {
 public:
  Arena(DevicePtr device, const ArenaShape& shape, HostMemory& memory);

  std::byte* slot_data(std::uint32_t slot) const override { return memory_.data() + slot * slot_pitch_; }
  const DevicePtr& device() const { return device_; }
  const ArenaShape& shape() const { return shape_; }
  const LaneMemoryMap& lane_map() const { return lane_map_; }
  std::uint64_t device_bytes() const { return device_bytes_; }
  StreamPool& streams() { return streams_; }
  /// Returns the address of the RecordLayout of the records, in GPU memory.
  const RecordLayout* device_layout() const {
    return reinterpret_cast<const RecordLayout*>(common() + common_map_.layout());
  }

  /// Returns the order in which lines are compared. The keys of this order are in GPU memory.
  const LineOrderView& device_line_order() const { return line_order_; }

  std::byte* lane_memory(std::uint32_t lane) const {
    return memory_.data() + shape_.slots * slot_pitch_ + lane * lane_map_.bytes();
  }
  InspectResult* pinned_result(std::uint32_t lane) const {
    return reinterpret_cast<InspectResult*>(pinned_.data() + CommonMemoryMap::kPinnedBytes + lane * kAlignment);
  }

  /// Copies out.size() bytes, at most kMostFetched, from GPU memory at `from` to host memory at `out`.
  void Fetch(const std::byte* from, std::span<std::byte> out);
  /// Does the work of Backend::Read for data in the memory of this GPU: copies all `reads` to host memory.
  void Read(std::span<const SlotRead> reads);
  /// Does the work of Backend::BytesBefore for ranges of records in the memory of this GPU. Appends one result for each
  /// range to `counts`: the size in bytes of the records before cut_record.
  void BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record, std::vector<std::uint64_t>& counts);

 private:
  std::byte* common() const { return lane_memory(shape_.lanes); }

  /// Returns at least `bytes` bytes of GPU memory, for the record that BytesBefore searches for.
  std::byte* CutMemory(std::uint64_t bytes);

  const DevicePtr device_;
  const ArenaShape shape_;
  const LaneMemoryMap lane_map_;
  const CommonMemoryMap common_map_;
  const std::uint64_t slot_pitch_;
  const std::uint64_t device_bytes_;
  const DeviceMemory memory_;  ///< slots, then the working memory of each lane, then the part that all lanes share
  const PinnedMemory pinned_;  ///< memory for searches, followed by one InspectResult for each lane
  StreamPool streams_;
  LineOrderView line_order_;
  std::mutex search_mutex_;  ///< guards the memory that all lanes share, its pinned memory, and the members below
  std::vector<std::unique_ptr<DeviceMemory>> long_cuts_;
  std::uint64_t long_cut_bytes_ = 0;  ///< the size of the newest memory for long cuts, in bytes
};

/// The working memory of one lane (a worker of the backend), which is a part of the arena (the backend's GPU memory).
/// The constructor takes a free lane number from the arena. The destructor gives the number back.
class LaneMemory {
 public:
  explicit LaneMemory(const std::shared_ptr<Arena>& arena) : arena_(*arena), number_(arena) {}
  Arena& arena() const { return arena_; }
  std::byte* data() const { return arena_.lane_memory(number_.lane()); }
  InspectResult* pinned_result() const { return arena_.pinned_result(number_.lane()); }

 private:
  Arena& arena_;
  const SlotPool::LaneNumber number_;
};

}  // namespace gpusort::cuda
