// A CPU backend that poses as a GPU: its slots count as device memory, and from a chosen call on it fails as a GPU
// would. With it the tiers, the device searches and the fallbacks are tested where there is no GPU.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "backend.hpp"
#include "error.hpp"
#include "job/external_sort.hpp"

namespace gpusort::testing {

/// Shared by every backend that one test opens.
struct FakeGpuPlan {
  std::uint64_t device_bytes = std::uint64_t{1} << 30;
  std::int64_t fail_at = -1;  ///< the call that fails, counted over all verbs; -1: none
  bool sticky = true;         ///< kGpuLost from then on; else kOutOfMemory once
  std::atomic<std::int64_t> calls{0};

  void Call() {
    const std::int64_t call = calls++;
    if (fail_at < 0) return;
    if (sticky && call >= fail_at) throw Error(ErrorCode::kGpuLost, "fake: illegal address");
    if (!sticky && call == fail_at) throw Error(ErrorCode::kOutOfMemory, "fake: out of device memory");
  }
};

class FakeGpu : public Backend {
 public:
  explicit FakeGpu(FakeGpuPlan& plan) : plan_(plan), cpu_(OpenCpuBackend(2)), limits_(cpu_->limits()) {
    plan_.Call();
    limits_.gpu = true;
    limits_.name = "fake GPU";
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
  ~FakeGpu() override { EXPECT_TRUE(pinned_.empty()) << "memory that is still registered"; }
  void Pin(void* data, std::uint64_t) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(pinned_.insert(data).second) << "registered twice";
  }
  void Unpin(void* data) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(pinned_.erase(data), 1u) << "not registered";
  }
  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut) override {
    plan_.Call();
    return cpu_->BytesBefore(ranges, cut);
  }
  std::uint64_t device_peak() const override { return device_memory_.peak(); }
  void Cancel() override { cpu_->Cancel(); }

 private:
  class FakeRecords : public SortedRecords {
   public:
    FakeRecords(FakeGpuPlan& plan, std::unique_ptr<SortedRecords> records)
        : plan_(plan), records_(std::move(records)) {}
    const std::byte* data() const override { return records_->data(); }
    bool on_device() const override { return true; }
    std::uint64_t bytes() const override { return records_->bytes(); }
    std::uint64_t records() const override { return records_->records(); }
    bool was_sorted() const override { return records_->was_sorted(); }
    void Read(std::uint64_t offset, std::span<std::byte> out) const override {
      plan_.Call();
      records_->Read(offset, out);
    }

   private:
    FakeGpuPlan& plan_;
    std::unique_ptr<SortedRecords> records_;
  };

  class FakeLane : public Lane {
   public:
    FakeLane(FakeGpuPlan& plan, std::unique_ptr<Lane> lane) : plan_(plan), lane_(std::move(lane)) {}
    std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
      plan_.Call();
      std::unique_ptr<SortedRecords> records = lane_->Sort(source);
      plan_.Call();
      return std::make_unique<FakeRecords>(plan_, std::move(records));
    }
    void Merge(std::span<const Piece> pieces, std::byte* out) override {
      plan_.Call();
      std::vector<Piece> on_host(pieces.begin(), pieces.end());
      for (Piece& piece : on_host) piece.on_device = false;
      lane_->Merge(on_host, out);
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

/// Every GPU is a fake one of `plan`, which must outlive them; no input is too small for it.
inline GpuSource FakeGpus(FakeGpuPlan& plan) {
  return {0, [] { return true; }, [&plan](int) -> std::unique_ptr<Backend> { return std::make_unique<FakeGpu>(plan); }};
}

}  // namespace gpusort::testing
