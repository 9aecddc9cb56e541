// The CPU backend. Its slots are in host memory. Highway's vqsort sorts parts of a batch, and a team of threads merges
// the parts in tiles that fit the cache. Each kind of record has its SlotSorter: cpu_numbers.hpp, cpu_records.hpp,
// cpu_line_merge.hpp. Start at CpuLane::Sort and CpuLane::Merge.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/backend.hpp"
#include "kernels/cpu/cpu_line_merge.hpp"
#include "kernels/cpu/cpu_numbers.hpp"
#include "kernels/cpu/cpu_records.hpp"
#include "kernels/cpu/thread_team.hpp"
#include "kernels/error.hpp"
#include "kernels/slot_pool.hpp"

namespace gpusort {
namespace {

using detail::SlotSorter;
using detail::TeamExecutor;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// Batches and merges of fewer bytes are done on the calling thread, because waking another thread costs more.
constexpr std::uint64_t kSmallBytes = kMiB / 4;

[[noreturn]] void FailInternal(const std::string& what) { throw Error(ErrorCode::kInternal, "CPU backend: " + what); }

std::unique_ptr<SlotSorter> MakeSorter(const RecordLayout& layout, std::uint64_t slot_bytes,
                                       std::uint64_t batch_lines = 0) {
  if (!layout.fixed()) return std::make_unique<detail::LineSlotSorter>(layout, slot_bytes, batch_lines);
  if (!layout.direct()) return std::make_unique<detail::RecordSorter>(layout, slot_bytes);
  if (layout.stride == 4) return std::make_unique<detail::NumberSorter<std::uint32_t>>(layout, slot_bytes);
  return std::make_unique<detail::NumberSorter<std::uint64_t>>(layout, slot_bytes);
}

class Arena : public SlotPool {
 public:
  Arena(const ArenaShape& shape, unsigned threads, HostMemory& memory)
      : SlotPool(shape.slots, shape.lanes),
        shape_(shape),
        memory_(memory),
        sorter_(MakeSorter(shape_.layout, shape_.slot_bytes, shape_.batch_lines)) {
    for (std::uint32_t i = 0; i < shape.lanes; ++i) lane_memory_.emplace_back(memory, sorter_->LaneBytes(threads));
    for (std::uint32_t i = 0; i < shape.slots; ++i) slots_.emplace_back(memory, shape.slot_bytes);
  }
  std::byte* slot_data(std::uint32_t slot) const override { return slots_[slot].data(); }
  const ArenaShape& shape() const { return shape_; }
  const SlotSorter& sorter() const { return *sorter_; }
  HostMemory& memory() const { return memory_; }
  std::byte* lane_memory(std::uint32_t lane) const { return lane_memory_[lane].data(); }

 private:
  const ArenaShape shape_;
  HostMemory& memory_;
  const std::unique_ptr<SlotSorter> sorter_;
  std::vector<HostBuffer> lane_memory_;
  std::vector<HostBuffer> slots_;
};

class CpuLane : public Lane {
 public:
  CpuLane(const std::shared_ptr<Arena>& arena, detail::ThreadTeam& team)
      : arena_(*arena), shape_(arena_.shape()), lane_number_(arena), team_(team), alone_(team, 1) {}

  std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
    auto [in, out] = arena_.TakeTwo();
    HostBuffer longer;
    const std::uint64_t bytes = Fill(source, in.data(), longer);
    if (bytes > shape_.slot_bytes) {
      // A line that is longer than a slot is alone in its batch, so the batch is sorted.
      return std::make_unique<HostRecords>(std::move(longer), bytes, 1, true);
    }
    const SlotSorter::Sorted result = arena_.sorter().Sort(in.data(), bytes, out.data(), memory(), Executor(bytes));
    return std::make_unique<SortedSlot>(std::move(result.in_input ? in : out), bytes, result.records,
                                        result.was_sorted);
  }

  void Merge(std::span<const RunPiece> pieces, std::byte* out) override {
    std::vector<RecordSpan> live;
    std::uint64_t bytes = 0;
    for (const RunPiece& piece : pieces) {
      if (piece.on_device()) FailInternal("a piece to merge lies on a device");
      if (WholeRecordBytes({piece.data, piece.bytes}, shape_.layout) != piece.bytes) {
        throw WrongResult("a piece to merge ends inside a record");
      }
      if (piece.bytes > 0) live.emplace_back(piece.data, piece.bytes);
      bytes += piece.bytes;
    }
    if (bytes > shape_.slot_bytes) FailInternal("the pieces to merge are larger than a slot");
    if (live.size() > 1) return arena_.sorter().Merge(live, out, memory(), Executor(bytes));
    Executor(bytes).ForEach(detail::DivideUp(bytes, kMiB), [&](std::uint64_t task, unsigned) {
      const std::uint64_t begin = task * kMiB;
      std::memcpy(out + begin, live[0].data() + begin, std::min(kMiB, bytes - begin));
    });
  }

 private:
  std::byte* memory() const { return arena_.lane_memory(lane_number_.lane()); }
  const TeamExecutor& Executor(std::uint64_t bytes) const { return bytes <= kSmallBytes ? alone_ : team_; }

  /// Copies the batch to the slot at `to`, or to `longer` if the batch is a line longer than a slot. Returns the size
  /// of the batch.
  std::uint64_t Fill(BatchSource& source, std::byte* to, HostBuffer& longer) const {
    std::uint64_t room = shape_.slot_bytes;
    std::uint64_t bytes = 0;
    while (const std::unique_ptr<InputBlock> block = source.Next()) {
      const std::span<const std::byte> data = block->bytes();
      if (data.size() > room - bytes) {
        if (!shape_.grows) FailInternal("a batch is larger than a slot");
        const std::byte* const from = longer.data() == nullptr ? to : longer.data();
        room = 2 * (bytes + data.size());
        HostBuffer larger(arena_.memory(), room);
        std::memcpy(larger.data(), from, bytes);
        longer = std::move(larger);
        to = longer.data();
      }
      if (!data.empty()) std::memcpy(to + bytes, data.data(), data.size());
      bytes += data.size();
    }
    if (bytes == 0) FailInternal("an empty batch");
    if (WholeRecordBytes({to, bytes}, shape_.layout) != bytes) FailInternal("a batch ends inside a record");
    if (bytes > shape_.slot_bytes && FirstRecordBytes({to, bytes}, shape_.layout) != bytes) {
      FailInternal("a batch of several records is larger than a slot");
    }
    return bytes;
  }

  Arena& arena_;  ///< kept alive by lane_number_
  const ArenaShape& shape_;
  const SlotPool::LaneNumber lane_number_;
  const TeamExecutor team_, alone_;
};

class CpuBackend : public ArenaBackend<Arena> {
 public:
  explicit CpuBackend(unsigned threads) : team_(threads) {
    limits_.name = "CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    limits_.threads = threads;
  }

  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    return CpuLaneBytes(layout, slot_bytes, limits_.threads);
  }

  std::unique_ptr<Lane> OpenLane() override { return std::make_unique<CpuLane>(arena(), team_); }
  void Pin(void*, std::uint64_t) override {}
  void Unpin(void*) override {}

  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) override {
    const std::shared_ptr<Arena> arena = this->arena();
    std::vector<std::uint64_t> bytes;
    bytes.reserve(ranges.size());
    for (const SearchRange& range : ranges) {
      bytes.push_back(
          gpusort::BytesBefore({range.data, range.bytes}, cut_record, range.inclusive, arena->shape().layout));
    }
    return bytes;
  }

  std::uint64_t device_peak() const override { return 0; }
  unsigned refused_threads() const override { return team_.refused(); }

 private:
  std::shared_ptr<Arena> NewArena(const ArenaShape& shape, HostMemory& memory) override {
    return std::make_shared<Arena>(shape, limits_.threads, memory);
  }

  detail::ThreadTeam team_;
};

}  // namespace

std::uint64_t CpuLaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes, unsigned threads) {
  return MakeSorter(layout, slot_bytes)->LaneBytes(threads);
}

std::unique_ptr<Backend> OpenCpuBackend(unsigned threads) {
  return std::make_unique<CpuBackend>(threads != 0 ? threads : AvailableCores());
}

}  // namespace gpusort
