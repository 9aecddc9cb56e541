// The CUDA backend. One arena in device memory holds the slots and the workspaces of the lanes. A lane here is the
// pipeline of one thread: two CUDA streams with a workspace of their own. Sort copies a batch to the device block by
// block, sorts it with <gpusort/merge.cuh> and leaves it in a slot. Merge copies slices to the device (or across
// devices), merges them and copies the result to the host. Records that are a single number are sorted as that number
// (NumberMap). Others are sorted through entries, and each record is moved once. Lanes overlap one another; the steps
// of one call follow each other. Start at CudaLane::Sort and CudaLane::Merge.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpusort/merge.cuh"
#include "kernels/backend.hpp"
#include "kernels/backend_module.hpp"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/key_sorts.cuh"
#include "kernels/cuda/line_sort.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/error.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/records.hpp"
#include "kernels/slot_pool.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

using detail::CheckCuda;
using detail::TryCuda;
using detail::CudaDevice;
using detail::CudaOrdinal;
using detail::DevicePtr;
using detail::Findings;
using detail::KeySorts;
using detail::Stream;

/// The number of blocks of a batch that may be in copy while the next block is requested. A source must be able to
/// spare them.
constexpr std::size_t kBlocksInFlight = 2;
/// The number of ranges that one launch of CountBeforeKernel takes. More ranges take several launches.
constexpr std::uint64_t kSearchRanges = 1024;
/// The maximum number of thread blocks of kernels that stride over records: enough to fill any device, few enough to
/// stop early together.
constexpr std::uint64_t kMostBlocks = 4096;
constexpr std::uint64_t kAlignment = 256;

[[noreturn]] void FailInternal(const std::string& what) { throw Error(ErrorCode::kInternal, "CUDA backend: " + what); }

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

// ---------------------------------------------------------------------------------------------------------------------
// Memory: the arena of slots, the workspaces of lanes, and the memory for searches.

/// Returns the size of the workspace for sorting `n` keys in two lists. The size depends on `n` alone.
template <typename Key, typename LessT>
std::uint64_t SortWorkspace(std::uint64_t n, LessT less) {
  std::size_t bytes = 0;
  DoubleBuffer<Key> keys;
  CheckCuda("SortKeys", [&] { return KeySorts<Key, LessT>::Sort(nullptr, bytes, keys, n, less, nullptr); });
  return bytes;
}

/// The division of a lane's part of the arena. Offsets are in bytes.
struct LaneShape {
  std::uint64_t rows = 0;      ///< the maximum number of records of a slot
  std::uint32_t max_runs = 0;  ///< the number of runs that one MergeRuns takes; more runs take several calls
  std::uint64_t entries_bytes = 0;
  std::uint64_t workspace_bytes = 0;

  std::optional<detail::LineSort> lines;  ///< divides the memory if records are lines

  LaneShape(const RecordLayout& layout, std::uint64_t slot_bytes) {
    if (!layout.fixed()) {
      // A window may have more lines than a batch. Windows of up to a million lines are always accepted.
      constexpr std::uint64_t kLeastRows = std::uint64_t{1} << 20;
      lines.emplace(slot_bytes, std::max(SlotRecords(layout, slot_bytes), std::min(slot_bytes, kLeastRows)));
      return;
    }
    rows = std::max<std::uint64_t>(1, slot_bytes / layout.stride);
    // A run costs 40 bytes of workspace. This is below 0.2 bytes a record, but in a window of few records every record
    // may be a run.
    max_runs = static_cast<std::uint32_t>(std::max<std::uint64_t>(2, std::min(rows, 4096 + rows / 256)));
    if (!layout.direct()) {
      entries_bytes = RoundUp(rows * sizeof(Entry), kAlignment);
      workspace_bytes = std::max({SortWorkspace<Entry>(rows, ExactEntryLess{}),
                                  SortWorkspace<Entry>(rows, PrefixEntryLess{nullptr, nullptr, 0}),
                                  std::uint64_t{MergeRunsWorkspace<Entry>(rows, max_runs)}});
    } else if (layout.stride == 4) {
      workspace_bytes = std::max(SortWorkspace<std::uint32_t>(rows, Less{}),
                                 std::uint64_t{MergeRunsWorkspace<std::uint32_t>(rows, max_runs)});
    } else {
      workspace_bytes = std::max(SortWorkspace<std::uint64_t>(rows, Less{}),
                                 std::uint64_t{MergeRunsWorkspace<std::uint64_t>(rows, max_runs)});
    }
    workspace_bytes = RoundUp(workspace_bytes, kAlignment);
  }

  std::uint64_t findings() const { return 0; }
  std::uint64_t entries(unsigned list) const { return kAlignment + list * entries_bytes; }
  std::uint64_t workspace() const { return entries(2); }
  std::uint64_t bytes() const { return lines ? lines->bytes() : workspace() + workspace_bytes; }
};

/// The maximum number of bytes of a slot that a kernel reads instead of a copy, and that maximum for all reads of one
/// kernel.
constexpr std::uint64_t kMostFetched = 4096, kFetchedTogether = 32 * kMostFetched;
/// The longest line, as a cut, that fits into the common part. A longer cut gets memory for its search.
constexpr std::uint64_t kCommonCut = 4096;

/// The part of the arena that all lanes share: the layout, and the memory of BytesBefore. Offsets are in bytes.
struct CommonShape {
  std::uint64_t cut_bytes = 0;   ///< size of a cut
  std::uint64_t keys_bytes = 0;  ///< size of the keys of an order of lines

  explicit CommonShape(const RecordLayout& record)
      : cut_bytes(record.fixed() ? record.stride : kCommonCut),
        keys_bytes(record.fixed() ? 0 : record.lines->key_count * sizeof(LineKey)) {}

  std::uint64_t layout() const { return 0; }
  std::uint64_t ranges() const { return RoundUp(sizeof(RecordLayout), kAlignment); }
  std::uint64_t counts() const { return ranges() + RoundUp(kSearchRanges * sizeof(detail::CountRange), kAlignment); }
  std::uint64_t cut() const { return counts() + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment); }
  std::uint64_t keys() const { return cut() + RoundUp(cut_bytes, kAlignment); }
  std::uint64_t bytes() const { return keys() + RoundUp(keys_bytes, kAlignment); }

  // The common part in pinned host memory: room for ranges, counts and fetched bytes.
  static constexpr std::uint64_t kPinnedCounts = RoundUp(kSearchRanges * sizeof(detail::CountRange), kAlignment);
  static constexpr std::uint64_t kPinnedFetched =
      kPinnedCounts + RoundUp(kSearchRanges * sizeof(std::uint64_t), kAlignment);
  static constexpr std::uint64_t kPinnedBytes = kPinnedFetched + kFetchedTogether;
};

class Arena : public SlotPool {
 public:
  Arena(DevicePtr device, const ArenaShape& shape, HostMemory& memory)
      : SlotPool(shape.slots, shape.lanes),
        device_(device),
        shape_(shape),
        lane_shape_(shape.layout, shape.slot_bytes),
        common_shape_(shape.layout),
        slot_pitch_(RoundUp(shape.slot_bytes, kAlignment)),
        device_bytes_(shape.slots * slot_pitch_ + shape.lanes * lane_shape_.bytes() + common_shape_.bytes()),
        memory_(device, device_bytes_),
        pinned_(device, memory, CommonShape::kPinnedBytes + shape.lanes * kAlignment),
        streams_(device) {
    static_assert(CommonShape::kPinnedBytes + 4 * kAlignment <= kMostPinnedByGpu);  // for more lanes than a plan has
    const detail::StreamPool::Borrowed stream(streams_);
    stream->Copy(common() + common_shape_.layout(), &shape_.layout, sizeof(RecordLayout), cudaMemcpyHostToDevice);
    if (!shape_.layout.fixed()) {
      line_order_ = *shape_.layout.lines;
      stream->Copy(common() + common_shape_.keys(), line_order_.keys, common_shape_.keys_bytes, cudaMemcpyHostToDevice);
      line_order_.keys = reinterpret_cast<const LineKey*>(common() + common_shape_.keys());
    }
    stream->Wait();
  }

  std::byte* slot_data(std::uint32_t slot) const override { return memory_.data() + slot * slot_pitch_; }
  const DevicePtr& device() const { return device_; }
  const ArenaShape& shape() const { return shape_; }
  const LaneShape& lane_shape() const { return lane_shape_; }
  std::uint64_t device_bytes() const { return device_bytes_; }
  detail::StreamPool& streams() { return streams_; }
  /// Returns the layout, in device memory.
  const RecordLayout* device_layout() const {
    return reinterpret_cast<const RecordLayout*>(common() + common_shape_.layout());
  }

  /// Returns the order of lines, whose keys are in device memory.
  const LineOrderView& device_line_order() const { return line_order_; }

  std::byte* lane_memory(std::uint32_t lane) const {
    return memory_.data() + shape_.slots * slot_pitch_ + lane * lane_shape_.bytes();
  }
  Findings* pinned_findings(std::uint32_t lane) const {
    return reinterpret_cast<Findings*>(pinned_.data() + CommonShape::kPinnedBytes + lane * kAlignment);
  }

  /// Copies up to kMostFetched bytes of device memory to the host.
  void Fetch(const std::byte* from, std::span<std::byte> out) {
    const std::lock_guard<std::mutex> lock(search_mutex_);
    const detail::StreamPool::Borrowed stream(streams_);
    std::byte* const pinned = pinned_.data() + CommonShape::kPinnedFetched;
    stream->Fetch(pinned, from, out.size());
    stream->Wait();
    std::memcpy(out.data(), pinned, out.size());
  }

  /// Does the work of Backend::Read.
  void Read(std::span<const SlotRead> reads) {
    const std::lock_guard<std::mutex> lock(search_mutex_);
    const detail::StreamPool::Borrowed stream(streams_);
    auto* const table = reinterpret_cast<detail::FetchedBytes*>(pinned_.data());
    std::byte* const fetched = pinned_.data() + CommonShape::kPinnedFetched;
    static_assert(kSearchRanges * sizeof(detail::FetchedBytes) <= CommonShape::kPinnedCounts);
    for (std::size_t first = 0, next = 0; first < reads.size(); first = next) {
      std::uint64_t bytes = 0, count = 0;
      for (; next < reads.size() && count < kSearchRanges; ++next) {
        const std::uint64_t size = reads[next].out.size();
        if (size > kMostFetched) {
          stream->Copy(reads[next].out.data(), reads[next].data, size, cudaMemcpyDeviceToHost);
          continue;
        }
        if (bytes + size > kFetchedTogether) break;
        table[count++] = {AsBytes(reads[next].data), static_cast<std::uint32_t>(bytes),
                          static_cast<std::uint32_t>(size)};
        bytes += size;
      }
      if (count > 0) stream->FetchAll(fetched, table, count);
      stream->Wait();
      const std::byte* from = fetched;
      for (; first < next; ++first) {
        if (reads[first].out.size() > kMostFetched) continue;
        std::memcpy(reads[first].out.data(), from, reads[first].out.size());
        from += reads[first].out.size();
      }
    }
  }

  void BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record, std::vector<std::uint64_t>& counts) {
    // Fixed records are counted in records, lines in bytes.
    const bool fixed = shape_.layout.fixed();
    const std::uint64_t stride = LeastRecordBytes(shape_.layout);
    const std::lock_guard<std::mutex> lock(search_mutex_);
    const detail::StreamPool::Borrowed stream(streams_);
    auto* const d_ranges = reinterpret_cast<detail::CountRange*>(common() + common_shape_.ranges());
    auto* const d_counts = reinterpret_cast<std::uint64_t*>(common() + common_shape_.counts());
    std::byte* const d_cut = CutMemory(RoundUp(cut_record.size(), detail::kLoadedBytes));
    std::byte* const pinned_counts = pinned_.data() + CommonShape::kPinnedCounts;
    detail::PadLoaded(*stream, d_cut, cut_record.size());
    // The cut stays valid until the wait below, whether it is pinned or not.
    stream->Copy(d_cut, cut_record.data(), cut_record.size(), cudaMemcpyHostToDevice);
    while (!ranges.empty()) {
      const std::span<const SearchRange> some = ranges.first(std::min<std::size_t>(ranges.size(), kSearchRanges));
      ranges = ranges.subspan(some.size());
      auto* const pinned_ranges = reinterpret_cast<detail::CountRange*>(pinned_.data());
      for (std::size_t i = 0; i < some.size(); ++i) {
        pinned_ranges[i] = {some[i].data, some[i].bytes / stride, some[i].inclusive};
      }
      stream->Copy(d_ranges, pinned_.data(), some.size() * sizeof(detail::CountRange), cudaMemcpyHostToDevice);
      if (fixed) {
        stream->Launch("CountBeforeKernel", detail::CountBeforeKernel<>, DivideUp(some.size(), detail::kRecordThreads),
                       detail::kRecordThreads, d_ranges, static_cast<std::uint32_t>(some.size()), AsBytes(d_cut),
                       shape_.layout, d_counts);
      } else {
        detail::CountLineBytesBefore(*stream, d_ranges, some.size(), AsBytes(d_cut), cut_record.size() - 1,
                                     shape_.layout.delimiter, line_order_, d_counts);
      }
      stream->Fetch(pinned_counts, d_counts, some.size() * sizeof(std::uint64_t));
      stream->Wait();
      const std::size_t have = counts.size();
      counts.resize(have + some.size());
      std::memcpy(counts.data() + have, pinned_counts, some.size() * sizeof(std::uint64_t));
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (counts[have + i] > some[i].bytes / stride) throw WrongResult("the GPU counts more records than there are");
        counts[have + i] *= stride;
      }
    }
  }

 private:
  std::byte* common() const { return lane_memory(shape_.lanes); }

  /// Returns device memory for a cut of `bytes` bytes. Memory for long cuts is kept: freeing it would wait for all
  /// lanes inside the driver.
  std::byte* CutMemory(std::uint64_t bytes) {
    if (bytes <= RoundUp(common_shape_.cut_bytes, kAlignment)) return common() + common_shape_.cut();
    if (bytes > long_cut_bytes_) {
      long_cut_bytes_ = std::max(bytes, 2 * long_cut_bytes_);
      long_cuts_.push_back(std::make_unique<detail::DeviceMemory>(device_, long_cut_bytes_));
    }
    return long_cuts_.back()->data();
  }

  const DevicePtr device_;
  const ArenaShape shape_;
  const LaneShape lane_shape_;
  const CommonShape common_shape_;
  const std::uint64_t slot_pitch_;
  const std::uint64_t device_bytes_;
  const detail::DeviceMemory memory_;  ///< slots, then lanes, then the common part
  const detail::PinnedMemory pinned_;  ///< for searches, then the findings of each lane
  detail::StreamPool streams_;
  LineOrderView line_order_;
  std::mutex search_mutex_;  ///< Guards the common part (except the layout), its pinned memory, and the members below.
  std::vector<std::unique_ptr<detail::DeviceMemory>> long_cuts_;
  std::uint64_t long_cut_bytes_ = 0;  ///< the size of the last long cut's memory
};

class CudaSortedRecords : public SortedSlot {
 public:
  CudaSortedRecords(Arena& arena, SlotPool::Slot slot, std::uint64_t bytes, std::uint64_t records, bool was_sorted)
      : SortedSlot(std::move(slot), bytes, records, was_sorted), arena_(arena) {}
  int device() const override { return arena_.device()->ordinal(); }

 private:
  void Copy(const std::byte* from, std::span<std::byte> out) const override {
    arena_.device()->Enter();
    if (out.size() <= kMostFetched) return arena_.Fetch(from, out);
    const detail::StreamPool::Borrowed stream(arena_.streams());
    stream->Copy(out.data(), from, out.size(), cudaMemcpyDeviceToHost);
    stream->Wait();
  }

  Arena& arena_;  ///< kept alive by the slot
};

// ---------------------------------------------------------------------------------------------------------------------

/// A lane's place in the arena, with the lane's parts of the memory.
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

class CudaLane : public Lane {
 public:
  explicit CudaLane(const std::shared_ptr<Arena>& arena)
      : seat_(arena),
        layout_(seat_.arena().shape().layout),
        shape_(seat_.arena().lane_shape()),
        stream_(seat_.arena().device()),
        bus_(seat_.arena().device()),
        turn_(seat_.arena().device()),
        upload_(seat_.arena().device()),
        kernels_(seat_.arena().device()),
        download_(seat_.arena().device()) {
    for (std::unique_ptr<Copied>& copied : copies_) copied = std::make_unique<Copied>(seat_.arena().device());
  }

  std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
    seat_.arena().device()->Enter();
    auto [in, out] = seat_.arena().TakeTwo();
    std::deque<Flight> flights;
    const detail::DrainAtExit drain(stream_), drain_bus(bus_);
    const std::uint64_t bytes = Load(source, in.data(), flights);
    std::uint64_t records = layout_.fixed() ? bytes / layout_.stride : 0;
    kernels_.Start(stream_);
    Sorted result;
    if (!layout_.fixed()) {
      const detail::LineSort::Result sorted = SortLines(in.data(), bytes, {}, out.data());
      if (sorted.too_many) throw WrongResult("a batch of more lines than a slot takes");
      records = sorted.rows;
      result = {sorted.was_sorted, sorted.was_sorted};
    } else if (!layout_.direct()) {
      result = SortRecords(in.data(), records, out.data());
    } else if (layout_.stride == 4) {
      result = SortNumbers<std::uint32_t>(in.data(), records, out.data());
    } else {
      result = SortNumbers<std::uint64_t>(in.data(), records, out.data());
    }
    kernels_.Stop(stream_);
    stream_.Wait();
    times_.kernels += kernels_.Take();
    return std::make_unique<CudaSortedRecords>(seat_.arena(), std::move(result.in_input ? in : out), bytes, records,
                                               result.was_sorted);
  }

  void Merge(std::span<const Piece> pieces, std::byte* out) override {
    const std::uint64_t unit = LeastRecordBytes(layout_);
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> bounds{0};  // In records, or in bytes for lines; only runs that are not empty.
    std::uint32_t run = 0;
    for (const Piece& piece : pieces) {
      if (piece.bytes % unit != 0) FailInternal("a piece to merge ends inside a record");
      if (piece.bytes == 0) continue;
      if (bytes > 0 && piece.run != run) bounds.push_back(bytes / unit);
      run = piece.run;
      bytes += piece.bytes;
    }
    if (bytes == 0) return;
    if (bytes > seat_.arena().shape().slot_bytes) FailInternal("the pieces to merge are larger than a slot");
    bounds.push_back(bytes / unit);
    seat_.arena().device()->Enter();
    if (bounds.size() == 2) {
      // Pieces from another GPU go through a slot, so that copies run in both directions and two GPUs use two buses.
      const bool foreign = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return IsForeign(p); });
      std::optional<std::pair<SlotPool::Slot, SlotPool::Slot>> slots;
      if (foreign) slots.emplace(seat_.arena().TakeTwo());
      const detail::DrainAtExit drain(bus_);
      std::byte* slot = foreign ? slots->first.data() : nullptr;
      download_.Start(bus_);
      for (const Piece& piece : pieces) {
        if (IsForeign(piece) && piece.bytes > 0) {
          CopyUp(slot, piece);
          bus_.Copy(out, slot, piece.bytes, cudaMemcpyDeviceToHost);
          slot += piece.bytes;
        } else if (piece.on_device()) {
          bus_.Copy(out, piece.data, piece.bytes, cudaMemcpyDeviceToHost);
        } else if (piece.bytes > 0) {
          std::memcpy(out, piece.data, piece.bytes);
        }
        out += piece.bytes;
      }
      download_.Stop(bus_);
      bus_.Wait();
      times_.download += download_.Take();
      return;
    }
    const std::vector<std::uint64_t> cuts = MergeOrCut(pieces, bytes, std::move(bounds), out);
    if (cuts.empty()) return;
    std::vector<Piece> low, high;
    std::uint64_t low_bytes = 0;
    std::size_t number = 0;
    std::uint64_t left = 0;  // bytes of this piece's run that remain before the cut
    for (const Piece& piece : pieces) {
      if (piece.bytes == 0) continue;
      if (number == 0 || piece.run != run) left = cuts[number++];
      run = piece.run;
      const std::uint64_t below = std::min(left, piece.bytes);
      if (below > 0) low.push_back({piece.data, below, run, piece.device});
      if (below < piece.bytes) high.push_back({piece.data + below, piece.bytes - below, run, piece.device});
      left -= below;
      low_bytes += below;
    }
    Merge(low, out);
    Merge(high, out + low_bytes);
  }

  DeviceTimes TakeTimes() override { return std::exchange(times_, {}); }
  int device() const override { return seat_.arena().device()->ordinal(); }

 private:
  /// Merges pieces of two or more runs. Run r has the records, or the bytes of lines, [bounds[r], bounds[r + 1]). If
  /// there are more lines than a lane's index takes, nothing is merged, and the function returns how many bytes of each
  /// run belong to a first half. Otherwise it returns an empty list.
  std::vector<std::uint64_t> MergeOrCut(std::span<const Piece> pieces, std::uint64_t bytes,
                                        std::vector<std::uint64_t> bounds, std::byte* out) {
    const auto [in, spare] = seat_.arena().TakeTwo();
    const detail::DrainAtExit drain(stream_), drain_bus(bus_);
    std::byte* to = in.data();
    upload_.Start(stream_);
    // Pieces in this GPU's memory are copied by one kernel: a stream needs more time for each copy than for the bytes
    // of a piece.
    detail::PieceTable own;
    bool copied = false;
    for (const Piece& piece : pieces) {
      if (piece.bytes == 0) continue;
      if (piece.device == device()) {
        own.Add(AsBytes(piece.data), static_cast<std::uint64_t>(to - in.data()), piece.bytes);
        if (own.full()) CopyPieces(own, in.data());
      } else {
        CopyUp(to, piece);
        copied = true;
      }
      to += piece.bytes;
    }
    CopyPieces(own, in.data());
    if (copied) GoOnBehind(bus_, stream_);
    upload_.Stop(stream_);
    kernels_.Start(stream_);
    const std::byte* merged;
    if (!layout_.fixed()) {
      // The starts of the lines of a window must be found in any case. Sorting the lines then costs less than their
      // transfer over the bus. The sort is stable, because pieces come in the order of their runs.
      const std::vector<std::uint32_t> ends(bounds.begin() + 1, bounds.end());
      const detail::LineSort::Result sorted = SortLines(in.data(), bytes, ends, spare.data());
      if (sorted.too_many) return CutInHalf(in.data(), bounds);
      merged = sorted.was_sorted ? in.data() : spare.data();
    } else if (!layout_.direct()) {
      merged = MergeRecords(in.data(), std::move(bounds), spare.data());
    } else if (layout_.stride == 4) {
      merged = MergeNumbers<std::uint32_t>(in.data(), std::move(bounds), spare.data());
    } else {
      merged = MergeNumbers<std::uint64_t>(in.data(), std::move(bounds), spare.data());
    }
    kernels_.Stop(stream_);
    if (!CudaDevice::Registered(out)) stream_.Wait();
    GoOnBehind(stream_, bus_);
    download_.Start(bus_);
    bus_.Copy(out, merged, bytes, cudaMemcpyDeviceToHost);
    download_.Stop(bus_);
    bus_.Wait();
    times_ += {upload_.Take(), kernels_.Take(), download_.Take()};
    return {};
  }

  bool IsForeign(const Piece& piece) const { return piece.on_device() && piece.device != device(); }

  /// Copies the pieces of the table and leaves the table empty.
  void CopyPieces(detail::PieceTable& pieces, std::byte* to) const {
    if (pieces.count > 0) {
      stream_.Launch("CopyPiecesKernel", detail::CopyPiecesKernel<>, pieces.tiles(), detail::kRecordThreads, pieces,
                     reinterpret_cast<Byte*>(to));
    }
    pieces.count = 0;
  }

  /// Copies a piece to this GPU's memory.
  void CopyUp(std::byte* to, const Piece& piece) const {
    if (IsForeign(piece)) return bus_.CopyAcross(to, piece.data, piece.device, piece.bytes);
    bus_.Copy(to, piece.data, piece.bytes, cudaMemcpyHostToDevice);
  }

  /// Makes work that `to` gets from now on wait for the work that `from` has got so far.
  void GoOnBehind(const Stream& from, const Stream& to) const {
    turn_.Record(from);
    to.WaitFor(turn_);
  }

  std::vector<std::uint64_t> CutInHalf(const std::byte* in, std::span<const std::uint64_t> bounds) {
    const auto read = [&](std::uint64_t begin, std::span<std::byte> to) {
      stream_.Copy(to.data(), in + begin, to.size(), cudaMemcpyDeviceToHost);
      stream_.Wait();
    };
    const auto before = [&](std::span<const SearchRange> ranges, RecordSpan cut) {
      std::vector<std::uint64_t> counts;
      seat_.arena().BytesBefore(ranges, cut, counts);
      return counts;
    };
    return CutLinesInHalf(in, bounds, layout_, read, before);
  }

  struct Sorted {
    bool in_input;  ///< true: the result is in the input slot; false: in the other slot
    bool was_sorted;
  };
  /// Marks the end of a block's copy and measures its time.
  struct Copied {
    detail::Event event;
    detail::Stopwatch time;
    explicit Copied(const DevicePtr& device) : event(device), time(device) {}
  };
  /// A block that may still be in copy.
  struct Flight {
    std::unique_ptr<InputBlock> block;
    Copied* copied;
  };

  /// Copies the batch to a slot and returns its size in bytes. Each block is given back as soon as its copy is known to
  /// be done.
  std::uint64_t Load(BatchSource& source, std::byte* to, std::deque<Flight>& flights) {
    std::uint64_t bytes = 0;
    std::size_t next_copy = 0;
    const auto land = [&] {
      times_.upload += flights.front().copied->time.Take();
      flights.pop_front();
    };
    for (;;) {
      while (flights.size() > kBlocksInFlight) {
        flights.front().copied->event.Wait();
        land();
      }
      while (!flights.empty() && flights.front().copied->event.Passed()) land();
      std::unique_ptr<InputBlock> block = source.Next();
      if (!block) break;
      const std::span<const std::byte> data = block->bytes();
      if (data.size() > seat_.arena().shape().slot_bytes - bytes) FailInternal("a batch is larger than a slot");
      if (data.empty()) continue;
      // The block is in `flights` before its copy starts. If an exception is thrown from here on, the block outlives
      // the copy.
      Copied& copied = *copies_[next_copy];
      flights.push_back({std::move(block), &copied});
      copied.time.Start(bus_);
      bus_.Copy(to + bytes, data.data(), data.size(), cudaMemcpyHostToDevice);
      copied.time.Stop(bus_);
      copied.event.Record(bus_);
      next_copy = (next_copy + 1) % copies_.size();
      bytes += data.size();
    }
    if (bytes == 0) FailInternal("an empty batch");
    if (layout_.fixed() && bytes % layout_.stride != 0) FailInternal("a batch ends inside a record");
    while (!flights.empty()) {
      flights.front().copied->event.Wait();
      land();
    }
    return bytes;
  }

  detail::LineSort::Result SortLines(std::byte* in, std::uint64_t bytes, std::span<const std::uint32_t> ends,
                                     std::byte* out) const {
    static_assert(sizeof(detail::LineFindings) <= kAlignment);
    // Either slot may become a run. The sizes of slots are multiples of the alignment.
    detail::PadLoaded(stream_, in, bytes);
    detail::PadLoaded(stream_, out, bytes);
    return shape_.lines->Sort(stream_, seat_.memory(), reinterpret_cast<detail::LineFindings*>(seat_.pinned_findings()),
                              AsBytes(in), bytes, ends, layout_.delimiter, seat_.arena().device_line_order(),
                              reinterpret_cast<Byte*>(out));
  }

  Findings* device_findings() const { return reinterpret_cast<Findings*>(seat_.memory() + shape_.findings()); }
  Entry* entries(unsigned list) const { return reinterpret_cast<Entry*>(seat_.memory() + shape_.entries(list)); }
  std::byte* workspace() const { return seat_.memory() + shape_.workspace(); }

  static std::uint64_t StridingBlocks(std::uint64_t items) {
    return std::min(DivideUp(items, detail::kRecordThreads), kMostBlocks);
  }

  /// Runs a kernel that fills Findings, waits for the kernel, and returns the findings.
  template <typename LaunchInspect>
  Findings Inspect(const LaunchInspect& launch) const {
    CheckCuda("cudaMemsetAsync",
              [&] { return cudaMemsetAsync(device_findings(), 0, sizeof(Findings), stream_.get()); });
    launch();
    stream_.Fetch(seat_.pinned_findings(), device_findings(), sizeof(Findings));
    stream_.Wait();
    const Findings found = *seat_.pinned_findings();
    if (found.differing > layout_.key_bytes) throw WrongResult("the GPU finds keys longer than they are");
    return found;
  }
  Findings InspectRecords(const std::byte* records, std::uint64_t n, bool want_prefix) const {
    return Inspect([&] {
      stream_.Launch("InspectRecordsKernel", detail::InspectRecordsKernel<>, StridingBlocks(n), detail::kRecordThreads,
                     AsBytes(records), n, layout_, want_prefix, device_findings());
    });
  }

  template <typename U>
  void MapNumbers(U* numbers, std::uint64_t n, const NumberMap<U>& map, bool back) const {
    if (map.identity()) return;
    stream_.Launch("MapNumbersKernel", detail::MapNumbersKernel<U>, StridingBlocks(n), detail::kRecordThreads, numbers,
                   n, map, back);
  }

  template <typename Key, typename LessT>
  void SortInBuffer(DoubleBuffer<Key>& keys, std::uint64_t n, const LessT& less) const {
    std::size_t bytes = shape_.workspace_bytes;
    CheckCuda("SortKeys",
              [&] { return KeySorts<Key, LessT>::Sort(workspace(), bytes, keys, n, less, stream_.get()); });
  }

  /// Does the work of MergeRuns for any number of runs. Changes `bounds`.
  template <typename Key, typename LessT>
  void MergeInBuffer(DoubleBuffer<Key>& keys, std::vector<std::uint64_t> bounds, const LessT& less) const {
    const auto merge = [&](DoubleBuffer<Key>& part, std::span<const std::uint64_t> part_bounds) {
      std::size_t bytes = shape_.workspace_bytes;
      CheckCuda("MergeRuns", [&] {
        return KeySorts<Key, LessT>::Merge(workspace(), bytes, part, part_bounds.data(),
                                           static_cast<std::uint32_t>(part_bounds.size() - 1), less, stream_.get());
      });
    };
    while (bounds.size() - 1 > shape_.max_runs) {
      // Groups of neighbouring runs become one run each. The merged groups are collected in `alternate`.
      std::vector<std::uint64_t> merged{0};
      for (std::size_t first = 0; first + 1 < bounds.size(); first += shape_.max_runs) {
        const std::size_t runs = std::min<std::size_t>(shape_.max_runs, bounds.size() - 1 - first);
        const std::uint64_t begin = bounds[first], end = bounds[first + runs];
        std::vector<std::uint64_t> part_bounds(bounds.begin() + first, bounds.begin() + first + runs + 1);
        for (std::uint64_t& bound : part_bounds) bound -= begin;
        DoubleBuffer<Key> part{keys.current + begin, keys.alternate + begin};
        merge(part, part_bounds);
        if (part.current != keys.alternate + begin) {
          stream_.Copy(keys.alternate + begin, part.current, (end - begin) * sizeof(Key), cudaMemcpyDeviceToDevice);
        }
        merged.push_back(end);
      }
      std::swap(keys.current, keys.alternate);
      bounds = std::move(merged);
    }
    merge(keys, bounds);
  }

  template <typename U>
  Sorted SortNumbers(std::byte* in, std::uint64_t n, std::byte* out) const {
    U* const numbers = reinterpret_cast<U*>(in);
    const NumberMap<U> map = MakeNumberMap<U>(layout_.fields[0]);
    const Findings found = Inspect([&] {
      stream_.Launch("InspectNumbersKernel", detail::InspectNumbersKernel<U>, StridingBlocks(n), detail::kRecordThreads,
                     numbers, n, map, device_findings());
    });
    if (found.out_of_order == 0) return {true, true};
    MapNumbers(numbers, n, map, false);
    DoubleBuffer<U> keys{numbers, reinterpret_cast<U*>(out)};
    SortInBuffer(keys, n, Less{});
    MapNumbers(keys.current, n, map, true);
    return {keys.current == numbers, false};
  }

  template <typename U>
  const std::byte* MergeNumbers(std::byte* in, std::vector<std::uint64_t> bounds, std::byte* spare) const {
    const std::uint64_t n = bounds.back();
    const NumberMap<U> map = MakeNumberMap<U>(layout_.fields[0]);
    DoubleBuffer<U> keys{reinterpret_cast<U*>(in), reinterpret_cast<U*>(spare)};
    MapNumbers(keys.current, n, map, false);
    MergeInBuffer(keys, std::move(bounds), Less{});
    MapNumbers(keys.current, n, map, true);
    return reinterpret_cast<const std::byte*>(keys.current);
  }

  /// Makes the entries of n records, calls order(keys, less) to sort them, and gathers the records to `out`. `order`
  /// must accept either comparator. All records have the first `skip` bytes of their normalized keys in common.
  template <typename Order>
  void ThroughEntries(const std::byte* in, std::uint64_t n, std::byte* out, std::uint64_t skip,
                      const Order& order) const {
    stream_.Launch("MakeEntriesKernel", detail::MakeEntriesKernel<>, StridingBlocks(n), detail::kRecordThreads,
                   AsBytes(in), n, layout_, skip, entries(0));
    DoubleBuffer<Entry> keys{entries(0), entries(1)};
    if (layout_.key_bytes - skip <= kEntryKeyBytes) {
      order(keys, ExactEntryLess{});
    } else {
      order(keys, PrefixEntryLess{AsBytes(in), seat_.arena().device_layout(), skip + kEntryKeyBytes});
    }
    switch (detail::GatherWordBytes(layout_.stride)) {
      case 16:
        return Gather<uint4>(in, out, keys.current, n);
      case 8:
        return Gather<std::uint64_t>(in, out, keys.current, n);
      case 4:
        return Gather<std::uint32_t>(in, out, keys.current, n);
      case 2:
        return Gather<std::uint16_t>(in, out, keys.current, n);
      default:
        return Gather<std::uint8_t>(in, out, keys.current, n);
    }
  }

  template <typename Word>
  void Gather(const std::byte* in, std::byte* out, const Entry* order, std::uint64_t n) const {
    const std::uint64_t record_words = layout_.stride / sizeof(Word);
    const std::uint64_t words = n * record_words;
    stream_.Launch("GatherKernel", detail::GatherKernel<Word>, DivideUp(words, detail::kGatherTile),
                   detail::kRecordThreads, reinterpret_cast<const Word*>(in), reinterpret_cast<Word*>(out), order,
                   words, static_cast<std::uint32_t>(record_words));
  }

  /// WantsPrefix says whether a common prefix of the normalized keys would help. Prefix returns its length in bytes.
  bool WantsPrefix() const { return layout_.key_bytes > kEntryKeyBytes; }
  std::uint64_t Prefix(const Findings& found) const { return WantsPrefix() ? layout_.key_bytes - found.differing : 0; }

  Sorted SortRecords(const std::byte* in, std::uint64_t n, std::byte* out) const {
    const Findings found = InspectRecords(in, n, WantsPrefix());
    if (found.out_of_order == 0) return {true, true};
    ThroughEntries(in, n, out, Prefix(found),
                   [&](DoubleBuffer<Entry>& keys, const auto& less) { SortInBuffer(keys, n, less); });
    return {false, false};
  }

  const std::byte* MergeRecords(const std::byte* in, std::vector<std::uint64_t> bounds, std::byte* out) const {
    const std::uint64_t n = bounds.back();
    const std::uint64_t skip = WantsPrefix() ? Prefix(InspectRecords(in, n, true)) : 0;
    ThroughEntries(in, n, out, skip,
                   [&](DoubleBuffer<Entry>& keys, const auto& less) { MergeInBuffer(keys, std::move(bounds), less); });
    return out;
  }

  const LaneSeat seat_;
  const RecordLayout& layout_;
  const LaneShape& shape_;
  // Copies have a stream of their own. On a single stream the kernel after a copy would wait for its turn among the
  // copies of other lanes, for milliseconds if the bus is always busy.
  const Stream stream_, bus_;
  const detail::Event turn_;
  std::array<std::unique_ptr<Copied>, kBlocksInFlight + 1> copies_;
  detail::Stopwatch upload_, kernels_, download_;
  DeviceTimes times_;
};

// ---------------------------------------------------------------------------------------------------------------------

/// Returns the UUID and the PCI address in the form of nvidia-smi.
std::string IdOf(const cudaDeviceProp& properties) {
  std::string text = "UUID GPU-";
  char part[32];
  for (int i = 0; i < 16; ++i) {
    std::snprintf(part, sizeof part, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(properties.uuid.bytes[i])));
    text += part;
  }
  std::snprintf(part, sizeof part, ", PCI %08X:%02X:%02X.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  return text + part;
}

/// Watches for driver calls that do not return, on a separate thread. The thread of such a call cannot be joined, so
/// the job cannot continue.
class DriverWatch {
 public:
  DriverWatch(DevicePtr device, StuckDriverHandler handler) : device_(std::move(device)), handler_(handler) {
    // If this thread is refused, only the user can end a call that hangs.
    if (handler_ != nullptr) static_cast<void>(StartThread(thread_, [this] { Watch(); }));
  }
  DriverWatch(const DriverWatch&) = delete;
  DriverWatch& operator=(const DriverWatch&) = delete;
  ~DriverWatch() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    end_.notify_one();
  }

 private:
  void Watch() {
    // A call may itself wait for the deadline. Registering a quarter of a large memory can take a minute as well. The
    // limit is shorter once another lane has found that the GPU hangs.
    constexpr std::chrono::seconds kGrace{5};
    std::unique_lock<std::mutex> lock(mutex_);
    while (!end_.wait_for(lock, std::chrono::milliseconds(500), [&] { return ended_; })) {
      const std::chrono::nanoseconds limit =
          kGrace + (device_->hung() ? std::chrono::nanoseconds{} : kPatience * device_->deadline());
      const std::chrono::nanoseconds longest = detail::TheDriverCalls().Longest();
      if (longest < limit) continue;
      handler_("GPU " + std::to_string(device_->ordinal()) + ": a call of its driver has not come back for " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(longest).count()) +
               " seconds, so that the process must end; give the command again with --device cpu");
    }
  }
  static constexpr int kPatience = 5;

  const DevicePtr device_;
  const StuckDriverHandler handler_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  Threads thread_;  ///< last: joined before the other members are destroyed
};

class CudaBackend : public ArenaBackend<Arena> {
 public:
  CudaBackend(int ordinal, std::chrono::seconds timeout, StuckDriverHandler handler)
      : device_(std::make_shared<CudaDevice>(ordinal, timeout)) {
    int count = 0;
    CheckCuda("cudaGetDeviceCount", [&] { return cudaGetDeviceCount(&count); });
    count *= detail::GpuTwins();
    if (ordinal < 0 || ordinal >= count) {
      throw Error(ErrorCode::kGpuLost,
                  "there is no GPU " + std::to_string(ordinal) + ": found " + std::to_string(count));
    }
    cudaDeviceProp properties;
    CheckCuda("cudaGetDeviceProperties", [&] { return cudaGetDeviceProperties(&properties, CudaOrdinal(ordinal)); });
    device_->Enter();
    // Creates the context. Fails if this build has no code for the device.
    cudaFuncAttributes attributes;
    CheckCuda("cudaFuncGetAttributes",
              [&] { return cudaFuncGetAttributes(&attributes, detail::InspectRecordsKernel<>); });
    std::size_t free_bytes = 0, all_bytes = 0;
    CheckCuda("cudaMemGetInfo", [&] { return cudaMemGetInfo(&free_bytes, &all_bytes); });
    limits_.name = "GPU " + std::to_string(ordinal) + ", " + properties.name;
    limits_.id = IdOf(properties);
    limits_.gpu = true;
    limits_.device = ordinal;
    limits_.device_bytes = free_bytes / detail::GpuTwins();
    watch_.emplace(device_, handler);
  }

  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    device_->Enter();  // the sizes of workspaces depend on the device
    // The common part exists once, but it can only be charged to a lane.
    return LaneShape(layout, slot_bytes).bytes() + CommonShape(layout).bytes();
  }

  std::unique_ptr<Lane> OpenLane() override {
    device_->Enter();
    return std::make_unique<CudaLane>(arena());
  }

  void Pin(void* data, std::uint64_t bytes) override {
    // The next call that needs a lost GPU reports the loss.
    if (data != nullptr && bytes > 0) device_->Register(data, bytes);
  }
  bool Unpin(void* data) override { return data == nullptr || device_->Unregister(data); }

  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) override {
    const std::shared_ptr<Arena> arena = this->arena();
    std::vector<std::uint64_t> counts;
    counts.reserve(ranges.size());
    if (ranges.empty()) return counts;
    device_->Enter();
    arena->BytesBefore(ranges, cut_record, counts);
    return counts;
  }

  void Read(std::span<const SlotRead> reads) override {
    const std::shared_ptr<Arena> arena = this->arena();
    device_->Enter();
    arena->Read(reads);
  }

  void ReachInto(int device) override {
    const int own = CudaOrdinal(device_->ordinal()), other = CudaOrdinal(device);
    int can = 0;
    // The next call that needs a lost GPU reports the loss. A direct path that exists already is no error.
    if (TryCuda([&] { return cudaSetDevice(own); }) != cudaSuccess ||
        TryCuda([&] { return cudaDeviceCanAccessPeer(&can, own, other); }) != cudaSuccess || can == 0) {
      return;
    }
    TryCuda([&] { return cudaDeviceEnablePeerAccess(other, 0); });
  }

  std::uint64_t device_peak() const override { return peak_; }

 private:
  std::shared_ptr<Arena> NewArena(const ArenaShape& shape, HostMemory& memory) override {
    if (shape.slots < 2) FailInternal("a lane needs two slots");
    device_->Enter();
    auto arena = std::make_shared<Arena>(device_, shape, memory);
    peak_ = std::max(peak_.load(), arena->device_bytes());
    return arena;
  }

  const DevicePtr device_;
  /// Set once the device is open, so that an opening that was given up is not watched.
  std::optional<DriverWatch> watch_;
  std::atomic<std::uint64_t> peak_{0};
};

/// Returns the result of `call`, a call of a driver that may not answer. A driver that does not answer blocks its
/// thread for ever, so the call runs on a separate thread, which is abandoned after `timeout`.
template <typename T>
T InTime(const std::string& who, std::chrono::seconds timeout, const std::function<T()>& call) {
  struct Calling {
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;
    T result{};
    std::exception_ptr error;
  };
  const auto calling = std::make_shared<Calling>();
  const auto body = [calling, call] {
    T result{};
    std::exception_ptr error;
    try {
      result = call();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(calling->mutex);
    calling->result = std::move(result);
    calling->error = error;
    calling->has_ended = true;
    calling->ended.notify_one();
  };
  Threads thread;
  if (!StartThread(thread, body).empty()) body();
  {
    std::unique_lock lock(calling->mutex);
    if (!calling->ended.wait_for(lock, timeout, [&] { return calling->has_ended; })) {
      thread.back().detach();
      detail::ThrowHangs(who, timeout);
    }
  }
  thread.clear();
  if (calling->error) std::rethrow_exception(calling->error);
  return std::move(calling->result);
}

std::unique_ptr<Backend> OpenInTime(int device, std::chrono::seconds timeout, StuckDriverHandler handler) {
  try {
    return InTime<std::unique_ptr<Backend>>("GPU " + std::to_string(device), timeout, [=] {
      return std::make_unique<CudaBackend>(device, timeout, handler);
    });
  } catch (const Error& error) {
    // A GPU whose memory is too full for a context is unusable. A smaller plan would not help.
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    throw GpuLost(device, error.what());
  }
}

int CountInTime(std::chrono::seconds timeout) {
  return InTime<int>("the GPUs' driver", timeout, [] {
    int count = 0;
    CheckCuda("cudaGetDeviceCount", [&] { return cudaGetDeviceCount(&count); });
    return count * detail::GpuTwins();
  });
}

bool AnyHangs() { return detail::a_gpu_hangs; }

constexpr CudaModule kModule{GPUSORT_MODULE_VERSION, OpenInTime, CountInTime, AnyHangs};

}  // namespace
}  // namespace gpusort

const gpusort::CudaModule* gpusort_cuda_module() { return &gpusort::kModule; }
