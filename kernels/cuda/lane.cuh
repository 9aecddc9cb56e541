// A lane of the CUDA backend: the pipeline of one thread, with two CUDA streams and a workspace. Sort copies a batch to
// the device block by block, sorts it in a slot and leaves it there. Merge copies pieces to the device (or across
// devices), merges them and copies the result to the host. Lanes overlap one another; the steps of one call follow each
// other. CudaLane does the copies; there is one derived class for each kind of record: numbers.cu, fixed.cu, lines.cu.
// Start at CudaLane.
#pragma once

#include <algorithm>
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

/// The number of blocks of a batch that may be in copy while the next block is requested. A source must be able to
/// spare them.
inline constexpr std::size_t kBlocksInFlight = 2;

class CudaLane : public Lane {
 public:
  explicit CudaLane(const std::shared_ptr<Arena>& arena);
  std::unique_ptr<SortedRecords> Sort(BatchSource& source) override;
  void Merge(std::span<const Piece> pieces, std::byte* out) override;
  DeviceTimes TakeTimes() override { return std::exchange(times_, {}); }
  int device() const override { return seat_.arena().device()->ordinal(); }

 protected:
  struct Sorted {
    bool in_input;  ///< true: the result is in the input slot; false: in the other slot
    bool was_sorted;
    std::uint64_t records;
  };
  struct Merged {
    const std::byte* data;  ///< the result, in one of the two slots
    /// If `data` is null: how many bytes of each run belong to a first half, because all are too many at once.
    std::vector<std::uint64_t> cuts = {};
  };
  /// Sorts the records in[0, bytes) of a slot. `out` is another slot. Work may still be queued on stream().
  virtual Sorted SortSlot(std::byte* in, std::uint64_t bytes, std::byte* out) = 0;
  /// Merges the sorted runs in a slot. Run r has the records, or the bytes of lines, [bounds[r], bounds[r + 1]).
  virtual Merged MergeSlot(std::byte* in, std::uint64_t bytes, std::vector<std::uint64_t> bounds, std::byte* spare) = 0;

  const RecordLayout& layout() const { return layout_; }
  const LaneShape& shape() const { return shape_; }
  const LaneSeat& seat() const { return seat_; }
  const Stream& stream() const { return stream_; }

 private:
  /// Marks the end of a block's copy and measures its time.
  struct Copied {
    Event event;
    Stopwatch time;
    explicit Copied(const DevicePtr& device) : event(device), time(device) {}
  };
  /// A block that may still be in copy.
  struct Flight {
    std::unique_ptr<InputBlock> block;
    Copied* copied;
  };

  std::vector<std::uint64_t> MergeOrCut(std::span<const Piece> pieces, std::uint64_t bytes,
                                        std::vector<std::uint64_t> bounds, std::byte* out);
  bool IsForeign(const Piece& piece) const { return piece.on_device() && piece.device != device(); }
  void CopyOut(std::span<const Piece> pieces, std::byte* out);
  void CopyPieces(PieceTable& pieces, std::byte* to) const;
  void CopyUp(std::byte* to, const Piece& piece) const;
  void GoOnBehind(const Stream& from, const Stream& to) const;
  std::uint64_t Load(BatchSource& source, std::byte* to, std::deque<Flight>& flights);

  const LaneSeat seat_;
  const RecordLayout& layout_;
  const LaneShape& shape_;
  // Copies have a stream of their own. On a single stream the kernel after a copy would wait for its turn among the
  // copies of other lanes, for milliseconds if the bus is always busy.
  const Stream stream_, bus_;
  const Event turn_;
  std::array<std::unique_ptr<Copied>, kBlocksInFlight + 1> copies_;
  Stopwatch upload_, kernels_, download_;
  DeviceTimes times_;
};

/// Each makes a lane for one kind of record: the record is a single number; fixed records; lines.
std::unique_ptr<Lane> MakeNumberLane(const std::shared_ptr<Arena>& arena);
std::unique_ptr<Lane> MakeFixedLane(const std::shared_ptr<Arena>& arena);
std::unique_ptr<Lane> MakeLineLane(const std::shared_ptr<Arena>& arena);

}  // namespace gpusort::cuda
