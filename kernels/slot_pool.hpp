// SlotPool manages the buffers that records are sorted in, on the CPU or on a GPU. Start at SlotPool::TakeTwo.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/error.hpp"

namespace gpusort {

class SlotPool : public std::enable_shared_from_this<SlotPool> {
 public:
  /// Owns one slot (a buffer of the pool). The buffer stays valid until the Slot is destroyed.
  class Slot {
   public:
    Slot(std::shared_ptr<SlotPool> pool, std::uint32_t index) : pool_(std::move(pool)), index_(index) {}
    Slot(Slot&&) noexcept = default;
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (pool_) pool_->Give(index_);
    }
    std::uint32_t index() const { return index_; }
    std::byte* data() const { return pool_->slot_data(index_); }

   private:
    std::shared_ptr<SlotPool> pool_;
    std::uint32_t index_;
  };

  /// Owns the index of one lane (worker) in an arena (the memory of a backend). Each index has its own working memory
  /// in the arena. The destructor frees the index, so that another lane can take it.
  class LaneNumber {
   public:
    explicit LaneNumber(std::shared_ptr<SlotPool> pool) : pool_(std::move(pool)), lane_(pool_->TakeLane()) {}
    LaneNumber(const LaneNumber&) = delete;
    LaneNumber& operator=(const LaneNumber&) = delete;
    ~LaneNumber() { pool_->GiveLane(lane_); }
    std::uint32_t lane() const { return lane_; }

   private:
    const std::shared_ptr<SlotPool> pool_;
    const std::uint32_t lane_;
  };

  /// Makes a pool of `slots` free slots (buffers) and `lanes` free indices of lanes (workers). Slot 0 is taken first.
  SlotPool(std::uint32_t slots, std::uint32_t lanes) : slots_(slots), lanes_(lanes) {
    for (std::uint32_t slot = slots; slot-- > 0;) free_.push_back(slot);
    for (std::uint32_t lane = lanes; lane-- > 0;) free_lanes_.push_back(lane);
  }
  virtual ~SlotPool() = default;
  virtual std::byte* slot_data(std::uint32_t slot) const = 0;

  /// Waits until two slots (buffers) are free, and returns both. Throws Error(kCancelled) after Cancel.
  std::pair<Slot, Slot> TakeTwo() {
    if (slots_ < 2)
      throw Error(ErrorCode::kInternal, "the arena was made for merging: a lane that sorts needs two slots");
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return cancelled_ || free_.size() >= 2; });
    if (cancelled_) throw Error(ErrorCode::kCancelled, "cancelled while waiting for a free slot");
    const auto take = [&] { return Slot(shared_from_this(), free_.back()); };
    Slot first = take();
    free_.pop_back();
    Slot second = take();
    free_.pop_back();
    return {std::move(first), std::move(second)};
  }
  std::uint32_t free_slots() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(free_.size());
  }
  /// Makes every thread that waits for slots (buffers), now or later, throw Error(kCancelled).
  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    freed_.notify_all();
  }

 private:
  void Give(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
    // Wakes all threads that wait for slots (buffers). A single woken thread might need more slots than are free and
    // sleep again, although another thread could continue.
    freed_.notify_all();
  }
  std::uint32_t TakeLane() {
    const std::lock_guard lock(mutex_);
    if (free_lanes_.empty()) {
      throw Error(ErrorCode::kInternal, "the arena was made for " + std::to_string(lanes_) + " lanes");
    }
    const std::uint32_t lane = free_lanes_.back();
    free_lanes_.pop_back();
    return lane;
  }
  void GiveLane(std::uint32_t lane) {
    const std::lock_guard lock(mutex_);
    free_lanes_.push_back(lane);
  }

  const std::uint32_t slots_, lanes_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  bool cancelled_ = false;
  std::vector<std::uint32_t> free_, free_lanes_;
};

/// Sorted records, together with the slot (the buffer of the pool) that holds them.
using SortedSlot = OwnedRecords<SlotPool::Slot>;

/// The part of Backend that the CPU and the CUDA backend share. `Arena` is the class of the backend's memory and must
/// derive from SlotPool.
template <typename Arena>
class ArenaBackend : public Backend {
 public:
  const BackendLimits& limits() const override { return limits_; }
  void MakeArena(const ArenaShape& shape, HostMemory& memory) override {
    const auto fail = [](const char* why) { throw Error(ErrorCode::kInternal, why); };
    const std::uint64_t least = LeastRecordBytes(shape.layout);
    if (shape.slot_bytes < least) fail("a slot holds no record");
    // The records in a slot (a buffer) are numbered with 32 bits, so there must be fewer than 2^32 of them.
    if (shape.slot_bytes / least >= std::uint64_t{1} << 32) fail("a slot of 2^32 records or more");
    const std::lock_guard lock(mutex_);
    if (arena_.use_count() > 1) fail("lanes or records of the old arena are still alive");
    // Frees the old arena (the memory of the backend) before it allocates the new one, because the memory limit has no
    // room for two.
    arena_.reset();
    arena_ = NewArena(shape, memory);
    if (cancelled_) arena_->Cancel();
  }
  std::uint32_t free_slots() const override {
    const std::lock_guard lock(mutex_);
    return arena_ ? arena_->free_slots() : 0;
  }
  void Cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (arena_) arena_->Cancel();
  }

 protected:
  std::shared_ptr<Arena> arena() const {
    const std::lock_guard lock(mutex_);
    if (!arena_) throw Error(ErrorCode::kInternal, "no arena was made");
    return arena_;
  }

  BackendLimits limits_;

 private:
  virtual std::shared_ptr<Arena> NewArena(const ArenaShape& shape, HostMemory& memory) = 0;

  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::shared_ptr<Arena> arena_;
};

}  // namespace gpusort
