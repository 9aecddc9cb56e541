// Combines several GPUs into one backend. Each GPU has an equal share of the memory, and OpenLane takes the GPUs in
// turn. A lane can merge pieces that are in the memory of any GPU of the group. The member `device` of a piece or a
// slot names the GPU whose memory holds it. Start at GroupGpus.

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

class GpuGroup : public Backend {
 public:
  explicit GpuGroup(std::vector<std::unique_ptr<Backend>> gpus) : gpus_(std::move(gpus)), limits_(First().limits()) {
    for (const auto& gpu : gpus_) {
      for (const auto& other : gpus_) {
        if (gpu == other) continue;
        const bool reached = gpu->ReachInto(other->limits().device);
        if (gpu == gpus_.front()) first_reaches_all_ = first_reaches_all_ && reached;
      }
      if (gpu == gpus_.front()) continue;
      limits_.name += " + " + gpu->limits().name;
      limits_.id += "; " + gpu->limits().id;
      limits_.device_bytes = std::min(limits_.device_bytes, gpu->limits().device_bytes);
    }
    limits_.gpus = static_cast<unsigned>(gpus_.size());
  }

  const BackendLimits& limits() const override { return limits_; }
  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    std::uint64_t most = 0;
    for (const auto& gpu : gpus_) most = std::max(most, gpu->LaneBytes(layout, slot_bytes));
    return most;
  }
  void MakeArena(const ArenaShape& shape, HostMemory& memory) override {
    ArenaShape share = shape;
    share.slots /= limits_.gpus;
    share.lanes /= limits_.gpus;
    if (share.slots * limits_.gpus != shape.slots || share.lanes * limits_.gpus != shape.lanes) {
      throw Error(ErrorCode::kInternal, "slots or lanes that are not the same for each GPU");
    }
    for (const auto& gpu : gpus_) gpu->MakeArena(share, memory);
  }
  /// Opens a lane on the next GPU in turn. A caller that opens as many lanes as there are, as the stages of a job do,
  /// gets lanes on every GPU.
  std::unique_ptr<Lane> OpenLane() override { return gpus_[next_++ % gpus_.size()]->OpenLane(); }
  std::uint32_t free_slots() const override {
    std::uint32_t slots = 0;
    for (const auto& gpu : gpus_) slots += gpu->free_slots();
    return slots;
  }
  // Memory that one GPU pins is pinned for all.
  void Pin(void* data, std::uint64_t bytes) override { First().Pin(data, bytes); }
  void Unpin(void* data) override { First().Unpin(data); }

  // A search or a read by each GPU in turn would take several times as long.
  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) override {
    if (first_reaches_all_) return First().BytesBefore(ranges, cut_record);
    std::vector<std::uint64_t> counts(ranges.size());
    std::size_t known = 0;
    for (const auto& gpu : gpus_) {
      std::vector<SearchRange> own;
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].device != gpu->limits().device) continue;
        own.push_back(ranges[i]);
        places.push_back(i);
      }
      if (own.empty()) continue;
      const std::vector<std::uint64_t> found = gpu->BytesBefore(own, cut_record);
      for (std::size_t i = 0; i < places.size(); ++i) counts[places[i]] = found[i];
      known += places.size();
    }
    if (known < ranges.size()) throw Error(ErrorCode::kInternal, "a search in the memory of a GPU that is not there");
    return counts;
  }
  void Read(std::span<const SlotRead> reads) override {
    if (first_reaches_all_) return First().Read(reads);
    std::size_t known = 0;
    for (const auto& gpu : gpus_) {
      std::vector<SlotRead> own;
      std::copy_if(reads.begin(), reads.end(), std::back_inserter(own),
                   [&](const SlotRead& read) { return read.device == gpu->limits().device; });
      if (!own.empty()) gpu->Read(own);
      known += own.size();
    }
    if (known < reads.size()) throw Error(ErrorCode::kInternal, "a read of a GPU that is not there");
  }
  std::uint64_t device_peak() const override {
    std::uint64_t bytes = 0;
    for (const auto& gpu : gpus_) bytes += gpu->device_peak();
    return bytes;
  }
  void Cancel() override {
    for (const auto& gpu : gpus_) gpu->Cancel();
  }

 private:
  Backend& First() const { return *gpus_.front(); }

  const std::vector<std::unique_ptr<Backend>> gpus_;
  BackendLimits limits_;
  bool first_reaches_all_ = true;
  std::atomic<std::size_t> next_{0};
};

}  // namespace

std::unique_ptr<Backend> GroupGpus(std::vector<std::unique_ptr<Backend>> gpus) {
  if (gpus.size() == 1) return std::move(gpus.front());
  return std::make_unique<GpuGroup>(std::move(gpus));
}

}  // namespace gpusort
