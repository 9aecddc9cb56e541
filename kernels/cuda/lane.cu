#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cuda/lane.cuh"
#include "kernels/records/records.hpp"

namespace gpusort::cuda {
namespace {

class CudaSortedRecords : public SortedSlot {
 public:
  CudaSortedRecords(Arena& arena, SlotPool::Slot slot, std::uint64_t bytes, std::uint64_t records, bool was_sorted)
      : SortedSlot(std::move(slot), bytes, records, was_sorted), arena_(arena) {}
  int device() const override { return arena_.device()->ordinal(); }

 private:
  void Copy(const std::byte* from, std::span<std::byte> out) const override {
    arena_.device()->Enter();
    if (out.size() <= kMostFetched) return arena_.Fetch(from, out);
    const StreamPool::Borrowed stream(arena_.streams());
    stream->Copy(out.data(), from, out.size(), cudaMemcpyDeviceToHost);
    stream->Wait();
  }

  Arena& arena_;  ///< kept alive by the slot
};

}  // namespace

CudaLane::CudaLane(const std::shared_ptr<Arena>& arena)
    : lane_memory_(arena),
      layout_(lane_memory_.arena().shape().layout),
      map_(lane_memory_.arena().lane_map()),
      stream_(lane_memory_.arena().device()),
      bus_(lane_memory_.arena().device()),
      turn_(lane_memory_.arena().device()),
      upload_(lane_memory_.arena().device()),
      kernels_(lane_memory_.arena().device()),
      download_(lane_memory_.arena().device()) {
  for (std::unique_ptr<Copied>& copied : copies_) copied = std::make_unique<Copied>(lane_memory_.arena().device());
}

std::unique_ptr<SortedRecords> CudaLane::Sort(BatchSource& source) {
  lane_memory_.arena().device()->Enter();
  auto [in, out] = lane_memory_.arena().TakeTwo();
  std::deque<Flight> flights;
  const DrainAtExit drain(stream_), drain_bus(bus_);
  const std::uint64_t bytes = Load(source, in.data(), flights);
  kernels_.Start(stream_);
  const Sorted result = SortSlot(in.data(), bytes, out.data());
  kernels_.Stop(stream_);
  stream_.Wait();
  times_.kernels += kernels_.Take();
  return std::make_unique<CudaSortedRecords>(lane_memory_.arena(), std::move(result.in_input ? in : out), bytes,
                                             result.records, result.was_sorted);
}

void CudaLane::Merge(std::span<const RunPiece> pieces, std::byte* out) {
  const std::uint64_t unit = LeastRecordBytes(layout_);
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> bounds{0};  // in records or, for lines, in bytes; only runs that are not empty
  std::uint32_t run = 0;
  for (const RunPiece& piece : pieces) {
    if (piece.bytes % unit != 0) FailInternal("a piece to merge ends inside a record");
    if (piece.bytes == 0) continue;
    if (bytes > 0 && piece.run != run) bounds.push_back(bytes / unit);
    run = piece.run;
    bytes += piece.bytes;
  }
  if (bytes == 0) return;
  if (bytes > lane_memory_.arena().shape().slot_bytes) FailInternal("the pieces to merge are larger than a slot");
  bounds.push_back(bytes / unit);
  lane_memory_.arena().device()->Enter();
  if (bounds.size() == 2) return CopyOut(pieces, out);
  const std::vector<std::uint64_t> cuts = MergeOrCut(pieces, bytes, std::move(bounds), out);
  if (cuts.empty()) return;
  std::vector<RunPiece> low, high;
  std::uint64_t low_bytes = 0;
  std::size_t number = 0;
  std::uint64_t left = 0;  // how many bytes of this piece's run are still to be taken
  for (const RunPiece& piece : pieces) {
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

/// Copies the pieces of one run to the host.
void CudaLane::CopyOut(std::span<const RunPiece> pieces, std::byte* out) {
  // Pieces from another GPU go through a slot, so that copies run in both directions and two GPUs use two buses.
  const bool foreign = std::any_of(pieces.begin(), pieces.end(), [&](const RunPiece& p) { return IsForeign(p); });
  std::optional<std::pair<SlotPool::Slot, SlotPool::Slot>> slots;
  if (foreign) slots.emplace(lane_memory_.arena().TakeTwo());
  const DrainAtExit drain(bus_);
  std::byte* slot = foreign ? slots->first.data() : nullptr;
  download_.Start(bus_);
  for (const RunPiece& piece : pieces) {
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
}

/// Merges pieces of two or more runs. Run r has the records (lines: bytes) [bounds[r], bounds[r + 1]). If there are
/// more lines than fit the memory of a lane, merges nothing and returns how many bytes of each run belong to a first
/// half. Otherwise returns an empty list.
std::vector<std::uint64_t> CudaLane::MergeOrCut(std::span<const RunPiece> pieces, std::uint64_t bytes,
                                                std::vector<std::uint64_t> bounds, std::byte* out) {
  const auto [in, spare] = lane_memory_.arena().TakeTwo();
  const DrainAtExit drain(stream_), drain_bus(bus_);
  std::byte* to = in.data();
  upload_.Start(stream_);
  // One kernel copies all pieces that this GPU reaches, in its own memory or over NVLink. A stream would need more time
  // for each copy than for the bytes of a piece.
  PieceTable own;
  bool copied = false;
  for (const RunPiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    if (lane_memory_.arena().device()->Reaches(piece.device)) {
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
  Merged merged = MergeSlot(in.data(), bytes, std::move(bounds), spare.data());
  if (merged.data == nullptr) return std::move(merged.cuts);
  kernels_.Stop(stream_);
  if (!CudaDevice::Registered(out)) stream_.Wait();
  GoOnBehind(stream_, bus_);
  download_.Start(bus_);
  bus_.Copy(out, merged.data, bytes, cudaMemcpyDeviceToHost);
  download_.Stop(bus_);
  bus_.Wait();
  times_ += {upload_.Take(), kernels_.Take(), download_.Take()};
  return {};
}

/// Copies the pieces of the table and leaves the table empty.
void CudaLane::CopyPieces(PieceTable& pieces, std::byte* to) const {
  if (pieces.count > 0) {
    stream_.Launch("CopyPiecesKernel", CopyPiecesKernel<>, pieces.tiles(), kRecordThreads, pieces,
                   reinterpret_cast<Byte*>(to));
  }
  pieces.count = 0;
}

/// Copies a piece to this GPU's memory.
void CudaLane::CopyUp(std::byte* to, const RunPiece& piece) const {
  if (IsForeign(piece)) return bus_.CopyAcross(to, piece.data, piece.device, piece.bytes);
  bus_.Copy(to, piece.data, piece.bytes, cudaMemcpyHostToDevice);
}

/// Makes work that is queued on `to` from now on wait for all work that is queued on `from`.
void CudaLane::GoOnBehind(const Stream& from, const Stream& to) const {
  turn_.Record(from);
  to.WaitFor(turn_);
}

/// Copies the batch to a slot and returns its size in bytes. Returns each block to its owner as soon as the copy is
/// known to be done.
std::uint64_t CudaLane::Load(BatchSource& source, std::byte* to, std::deque<Flight>& flights) {
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
    if (data.size() > lane_memory_.arena().shape().slot_bytes - bytes) FailInternal("a batch is larger than a slot");
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

}  // namespace gpusort::cuda
