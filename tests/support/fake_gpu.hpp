// A CPU backend that poses as a GPU: its slots count as device memory, and from a chosen call on it fails as a GPU
// would, or at that call one bit of what it gives is wrong. With it the tiers, the device searches and the fallbacks
// are tested where there is no GPU.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backend.hpp"
#include "error.hpp"

namespace gpusort::testing {

/// Without a test's own means: a module has it, too.
inline void Expect(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "fake GPU: %s\n", what);
  std::abort();
}

/// Shared by every backend that one test opens.
struct FakeGpuPlan {
  std::uint64_t device_bytes = std::uint64_t{1} << 30;
  std::int64_t fail_at = -1;  ///< the call that fails, counted over all verbs; -1: none
  bool sticky = true;         ///< kGpuLost from then on; else kOutOfMemory once
  std::int64_t flip_at = -1;  ///< the call whose result has a wrong bit; -1: none
  std::int64_t flips = 1;     ///< so many calls from there on
  std::uint64_t seed = 0;     ///< of which bit; another at each call, or two could undo each other
  std::atomic<std::int64_t> calls{0};

  /// True if this one's result is to be wrong.
  bool Call() {
    const std::int64_t call = calls++;
    if (fail_at >= 0 && sticky && call >= fail_at) throw Error(ErrorCode::kGpuLost, "fake: illegal address");
    if (fail_at >= 0 && !sticky && call == fail_at) throw Error(ErrorCode::kOutOfMemory, "fake: out of device memory");
    return flip_at >= 0 && call >= flip_at && call - flip_at < flips;
  }
  void FlipOneBit(std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    const std::uint64_t bit = std::mt19937_64(seed + static_cast<std::uint64_t>(calls))() % (8 * bytes.size());
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
};

class FakeGpu : public Backend {
 public:
  explicit FakeGpu(FakeGpuPlan& plan) : plan_(plan), cpu_(OpenCpuBackend(2)), limits_(cpu_->limits()) {
    plan_.Call();
    limits_.gpu = true;
    limits_.name = "fake GPU";
    limits_.id = "UUID fake";
    limits_.device_bytes = plan.device_bytes;
  }
  const BackendLimits& limits() const override { return limits_; }
  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    return cpu_->LaneBytes(layout, slot_bytes);
  }
  void MakeArena(const ArenaShape& shape, HostMemory&) override {
    plan_.Call();
    cpu_->MakeArena(shape, device_memory_);
  }
  std::unique_ptr<Lane> OpenLane() override {
    plan_.Call();
    return std::make_unique<FakeLane>(plan_, cpu_->OpenLane());
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
  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut) override {
    const bool wrong = plan_.Call();
    std::vector<std::uint64_t> bytes = cpu_->BytesBefore(ranges, cut);
    if (wrong) plan_.FlipOneBit(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  std::uint64_t device_peak() const override { return device_memory_.peak(); }
  void Cancel() override { cpu_->Cancel(); }

 private:
  class FakeRecords : public SortedRecords {
   public:
    FakeRecords(FakeGpuPlan& plan, std::unique_ptr<SortedRecords> records, bool wrong)
        : plan_(plan), records_(std::move(records)), wrong_(wrong) {}
    const std::byte* data() const override { return records_->data(); }
    bool on_device() const override { return true; }
    std::uint64_t bytes() const override { return records_->bytes(); }
    std::uint64_t records() const override { return records_->records() ^ (wrong_ ? 1u << plan_.seed % 20 : 0u); }
    bool was_sorted() const override { return records_->was_sorted() != wrong_; }
    void Read(std::uint64_t offset, std::span<std::byte> out) const override {
      const bool wrong = plan_.Call();
      records_->Read(offset, out);
      if (wrong) plan_.FlipOneBit(out);
    }

   private:
    FakeGpuPlan& plan_;
    std::unique_ptr<SortedRecords> records_;
    const bool wrong_;  ///< in what it says of them
  };

  class FakeLane : public Lane {
   public:
    FakeLane(FakeGpuPlan& plan, std::unique_ptr<Lane> lane) : plan_(plan), lane_(std::move(lane)) {}
    std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
      const bool wrong = plan_.Call();
      std::unique_ptr<SortedRecords> records = lane_->Sort(source);
      if (wrong) plan_.FlipOneBit({const_cast<std::byte*>(records->data()), records->bytes()});
      return std::make_unique<FakeRecords>(plan_, std::move(records), plan_.Call());
    }
    void Merge(std::span<const Piece> pieces, std::byte* out) override {
      const bool wrong = plan_.Call();
      std::vector<Piece> on_host(pieces.begin(), pieces.end());
      std::uint64_t bytes = 0;
      for (Piece& piece : on_host) {
        piece.on_device = false;
        bytes += piece.bytes;
      }
      lane_->Merge(on_host, out);
      if (wrong) plan_.FlipOneBit({out, bytes});
    }

   private:
    FakeGpuPlan& plan_;
    std::unique_ptr<Lane> lane_;
  };

  FakeGpuPlan& plan_;
  HostMemory device_memory_{std::uint64_t{1} << 32};
  std::unique_ptr<Backend> cpu_;
  BackendLimits limits_;
  std::mutex mutex_;
  std::set<void*> pinned_;
};

}  // namespace gpusort::testing
