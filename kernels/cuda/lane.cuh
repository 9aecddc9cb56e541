// A lane is one worker of the CUDA backend, with its own memory and two CUDA streams. Only one thread at a time may use
// a lane. Several lanes work in parallel. The derived classes are in numbers.cu, fixed.cu and lines.cu. Start at
// CudaLane.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cuda/arena.cuh"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/record_kernels.cuh"
#include "kernels/records/record.hpp"

namespace gpusort::cuda {

/// The number of input blocks that Sort may still be copying to the GPU when it requests the next block. The caller's
/// BatchSource must be able to return one more block before any of these blocks is destroyed.
inline constexpr std::size_t kBlocksInFlight = 2;

class CudaLane : public Lane {
 public:
  explicit CudaLane(const std::shared_ptr<Arena>& arena);
  std::unique_ptr<SortedRecords> Sort(BatchSource& source) override;
  void Merge(std::span<const RunPiece> pieces, std::byte* out) override;
  DeviceTimes TakeTimes() override { return std::exchange(times_, {}); }
  int device() const override { return lane_memory_.arena().device()->ordinal(); }

 protected:
  struct Sorted {
    bool in_input;  ///< true: the result is in the input buffer; false: in the other buffer
    bool was_sorted;
    std::uint64_t records;
  };
  struct Merged {
    /// The merged records, in one of the buffers `in` and `spare` of MergeSlot. Null if the sorted runs are too large
    /// to merge at once.
    const std::byte* data;
    /// Used only if `data` is null: the size, in bytes, of the first part of each sorted run. The caller must merge the
    /// first parts of all runs, and then the other parts.
    std::vector<std::uint64_t> cuts = {};
  };
  /// Sorts the records in the GPU buffer [in, in + bytes). `out` must be another GPU buffer of the same size. When the
  /// function returns, the work may still be queued on stream().
  virtual Sorted SortSlot(std::byte* in, std::uint64_t bytes, std::byte* out) = 0;
  /// Merges sorted runs, which lie back to back in the GPU buffer `in`. Run r is [bounds[r], bounds[r + 1]), counted in
  /// records or, for lines, in bytes. `spare` must be another GPU buffer of the same size.
  virtual Merged MergeSlot(std::byte* in, std::uint64_t bytes, std::vector<std::uint64_t> bounds, std::byte* spare) = 0;

  const RecordLayout& layout() const { return layout_; }
  const LaneMemoryMap& map() const { return map_; }
  const LaneMemory& lane_memory() const { return lane_memory_; }
  const Stream& stream() const { return stream_; }

 private:
  /// The state of the copy of one block to the GPU. `event` tells when the copy is done, so that the block can go back
  /// to its owner. `time` measures how long the copy takes.
  struct Copied {
    Event event;
    Stopwatch time;
    explicit Copied(const DevicePtr& device) : event(device), time(device) {}
  };
  /// An input block whose copy to the GPU may not be done yet.
  struct Flight {
    std::unique_ptr<InputBlock> block;
    Copied* copied;
  };

  std::vector<std::uint64_t> MergeOrCut(std::span<const RunPiece> pieces, std::uint64_t bytes,
                                        std::vector<std::uint64_t> bounds, std::byte* out);
  bool IsForeign(const RunPiece& piece) const { return piece.on_device() && piece.device != device(); }
  void CopyOut(std::span<const RunPiece> pieces, std::byte* out);
  void CopyPieces(PieceTable& pieces, std::byte* to) const;
  void CopyUp(std::byte* to, const RunPiece& piece) const;
  void GoOnBehind(const Stream& from, const Stream& to) const;
  std::uint64_t Load(BatchSource& source, std::byte* to, std::deque<Flight>& flights);

  const LaneMemory lane_memory_;
  const RecordLayout& layout_;
  const LaneMemoryMap& map_;
  // Copies to and from the host have their own stream, bus_. A copy may wait milliseconds for the bus, which all lanes
  // (workers) share. If kernels used the same stream, they would wait for such a copy, even if they do not need its
  // data.
  const Stream stream_, bus_;
  const Event turn_;
  std::array<std::unique_ptr<Copied>, kBlocksInFlight + 1> copies_;
  Stopwatch upload_, kernels_, download_;
  DeviceTimes times_;
};

/// Each of these functions makes a lane (a worker) for one kind of record: single numbers, records of fixed size, or
/// lines.
std::unique_ptr<Lane> MakeNumberLane(const std::shared_ptr<Arena>& arena);
std::unique_ptr<Lane> MakeFixedLane(const std::shared_ptr<Arena>& arena);
std::unique_ptr<Lane> MakeLineLane(const std::shared_ptr<Arena>& arena);

}  // namespace gpusort::cuda
