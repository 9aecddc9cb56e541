// A CPU backend that poses as one or several GPUs. Its slots count as device memory. From a chosen call on it fails as
// a GPU would, or it flips one bit of the result of a chosen call. Tests use it on machines without a GPU, for the
// memory tiers, the searches on the device and the fallbacks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"

namespace gpusort::testing {

/// Aborts with the message `what` if `is_so` is false. Does not use GoogleTest, because a module without GoogleTest
/// also includes this file.
inline void Expect(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "fake GPU: %s\n", what);
  std::abort();
}

/// The behaviour of the fake GPUs, and counts of their calls. All backends that a test opens share one FakeGpuPlan.
struct FakeGpuPlan {
  int gpus = 1;
  std::uint64_t device_bytes = std::uint64_t{1} << 30;
  std::map<int, std::uint64_t> device_bytes_of{};  ///< device_bytes of single GPUs that differ from the others
  std::int64_t fail_at = -1;  ///< the index, over all calls, of the call that fails; -1: no call fails
  int fails = kAnyGpu;        ///< the GPU that fails
  bool sticky = true;         ///< true: all later calls fail with kGpuLost; false: one call fails with kOutOfMemory
  std::int64_t flip_at = -1;  ///< the index of the first call whose result has a flipped bit; -1: none
  std::int64_t flips = 1;     ///< the number of calls with a flipped bit, from flip_at on
  /// Selects the bit to flip. Each call flips a different bit, because two equal flips would undo each other.
  std::uint64_t seed = 0;
  bool reach = true;      ///< whether a GPU can read the memory of another
  bool together = false;  ///< whether each GPU waits in its first batch until every GPU has begun a batch
  std::atomic<std::int64_t> calls{0};
  std::mutex mutex{};
  std::condition_variable begun{};
  std::map<int, std::int64_t> opened{}, sorted{}, merged{};  ///< the number of calls, by GPU
  std::int64_t crossed = 0;  ///< the number of pieces that were merged on another GPU than the one that holds them

  static constexpr int kAnyGpu = -1;

  /// Counts a call and fails if the plan says so. Returns true if the result of the call must have a flipped bit.
  bool Call(int gpu = 0) {
    const std::int64_t call = calls++;
    const bool may_fail = fail_at >= 0 && (fails == kAnyGpu || fails == gpu);
    if (may_fail && sticky && call >= fail_at) throw GpuLost("fake: illegal address");
    if (may_fail && !sticky && call == fail_at) throw Error(ErrorCode::kOutOfMemory, "fake: out of device memory");
    return flip_at >= 0 && call >= flip_at && call - flip_at < flips;
  }
  /// Waits until every GPU has read its first batch.
  void WaitForAll() {
    std::unique_lock lock(mutex);
    begun.notify_all();
    const bool all =
        begun.wait_for(lock, std::chrono::minutes(5), [&] { return sorted.size() == static_cast<std::size_t>(gpus); });
    Expect(all, "a GPU gets no batch");
  }
  void FlipOneBit(std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    const std::uint64_t bit = std::mt19937_64(seed + static_cast<std::uint64_t>(calls))() % (8 * bytes.size());
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
};

class FakeGpu : public Backend {
 public:
  explicit FakeGpu(FakeGpuPlan& plan, int ordinal = 0)
      : plan_(plan), ordinal_(ordinal), cpu_(OpenCpuBackend(2)), limits_(cpu_->limits()) {
    if (ordinal >= plan.gpus) throw Error(ErrorCode::kGpuLost, "fake: there is no GPU " + std::to_string(ordinal));
    plan_.Call(ordinal);
    const std::lock_guard lock(plan_.mutex);
    ++plan_.opened[ordinal];
    limits_.gpu = true;
    limits_.device = ordinal;
    limits_.name = "fake GPU" + (plan.gpus > 1 ? " " + std::to_string(ordinal) : "");
    limits_.id = "UUID fake";
    const auto own = plan.device_bytes_of.find(ordinal);
    limits_.device_bytes = own == plan.device_bytes_of.end() ? plan.device_bytes : own->second;
  }
  const BackendLimits& limits() const override { return limits_; }
  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    return cpu_->LaneBytes(layout, slot_bytes);
  }
  void MakeArena(const ArenaShape& shape, HostMemory& memory) override {
    plan_.Call(ordinal_);
    cpu_->MakeArena(shape, device_memory_);
    pinned_by_arena_ = {};
    pinned_by_arena_ = HostBuffer(memory, kMostPinnedByGpu);
  }
  std::unique_ptr<Lane> OpenLane() override {
    plan_.Call(ordinal_);
    return std::make_unique<FakeLane>(*this, cpu_->OpenLane());
  }
  std::uint32_t free_slots() const override { return cpu_->free_slots(); }
  ~FakeGpu() override { Expect(pinned_.empty(), "memory that is still registered"); }
  void Pin(void* data, std::uint64_t) override {
    const std::lock_guard lock(mutex_);
    Expect(pinned_.insert(data).second, "memory registered twice");
  }
  void Unpin(void* data) override {
    const std::lock_guard lock(mutex_);
    Expect(pinned_.erase(data) == 1, "memory that is not registered");
  }
  bool ReachInto(int device) override {
    Expect(device != ordinal_, "a GPU that reaches into its own memory");
    if (plan_.reach) reached_.insert(device);
    return plan_.reach;
  }
  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut) override {
    const bool wrong = plan_.Call(ordinal_);
    for (const SearchRange& range : ranges) Expect(Reaches(range.device), "a search in another GPU's memory");
    std::vector<std::uint64_t> bytes = cpu_->BytesBefore(ranges, cut);
    if (wrong) plan_.FlipOneBit(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  void Read(std::span<const SlotRead> reads) override {
    const bool wrong = plan_.Call(ordinal_);
    for (const SlotRead& read : reads) Expect(Reaches(read.device), "a read of another GPU's memory");
    Backend::Read(reads);
    if (wrong && !reads.empty()) plan_.FlipOneBit(reads.front().out);
  }
  std::uint64_t device_peak() const override { return device_memory_.peak(); }
  void Cancel() override { cpu_->Cancel(); }

 private:
  bool Reaches(int device) const { return device == ordinal_ || reached_.contains(device); }

  class FakeRecords : public SortedRecords {
   public:
    FakeRecords(FakeGpuPlan& plan, int ordinal, std::unique_ptr<SortedRecords> records, bool wrong)
        : plan_(plan), ordinal_(ordinal), records_(std::move(records)), wrong_(wrong) {}
    const std::byte* data() const override { return records_->data(); }
    int device() const override { return ordinal_; }
    std::uint64_t bytes() const override { return records_->bytes(); }
    std::uint64_t records() const override { return records_->records() ^ (wrong_ ? 1u << plan_.seed % 20 : 0u); }
    bool was_sorted() const override { return records_->was_sorted() != wrong_; }
    void Read(std::uint64_t offset, std::span<std::byte> out) const override {
      const bool wrong = plan_.Call(ordinal_);
      records_->Read(offset, out);
      if (wrong) plan_.FlipOneBit(out);
    }

   private:
    FakeGpuPlan& plan_;
    const int ordinal_;
    std::unique_ptr<SortedRecords> records_;
    const bool wrong_;  ///< true if records() and was_sorted() return wrong values
  };

  class FakeLane : public Lane {
   public:
    FakeLane(FakeGpu& gpu, std::unique_ptr<Lane> lane) : gpu_(gpu), plan_(gpu.plan_), lane_(std::move(lane)) {}
    int device() const override { return gpu_.ordinal_; }
    std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
      const bool wrong = plan_.Call(device());
      {
        const std::lock_guard lock(plan_.mutex);
        ++plan_.sorted[device()];
      }
      std::unique_ptr<SortedRecords> records = lane_->Sort(source);
      if (plan_.together) plan_.WaitForAll();
      if (wrong) plan_.FlipOneBit({const_cast<std::byte*>(records->data()), records->bytes()});
      return std::make_unique<FakeRecords>(plan_, device(), std::move(records), plan_.Call(device()));
    }
    void Merge(std::span<const RunPiece> pieces, std::byte* out) override {
      const bool wrong = plan_.Call(device());
      std::vector<RunPiece> on_host(pieces.begin(), pieces.end());
      std::uint64_t bytes = 0;
      {
        const std::lock_guard lock(plan_.mutex);
        ++plan_.merged[device()];
        for (RunPiece& piece : on_host) {
          if (piece.on_device() && piece.device != device()) {
            ++plan_.crossed;
          }
          piece.device = kOnHost;
          bytes += piece.bytes;
        }
      }
      lane_->Merge(on_host, out);
      if (wrong) plan_.FlipOneBit({out, bytes});
    }

   private:
    const FakeGpu& gpu_;
    FakeGpuPlan& plan_;
    std::unique_ptr<Lane> lane_;
  };

  FakeGpuPlan& plan_;
  const int ordinal_;
  std::set<int> reached_;
  HostMemory device_memory_{std::uint64_t{1} << 32};
  std::unique_ptr<Backend> cpu_;
  BackendLimits limits_;
  HostBuffer pinned_by_arena_;
  std::mutex mutex_;
  std::set<void*> pinned_;
};

}  // namespace gpusort::testing
