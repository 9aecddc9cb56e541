// A ring of slots on which threads work, for the encoder and the decoder of compressed files. Start at SlotRing.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/thread.hpp"

namespace gpusort {

/// Returns the number of slots for `threads` threads: one for each thread, one to fill and one to take. One thread does
/// all the work itself and needs only the slot that it fills.
constexpr std::size_t RingSlots(unsigned threads) { return threads <= 1 ? 1 : std::size_t{threads} + 2; }

/// A ring of slots. The caller's thread fills a slot, queues it for the workers, and takes the slots back in the same
/// order when their work is done. All functions are for the caller's thread.
template <typename Slot>
class SlotRing {
 public:
  /// The work on a slot. Runs on one thread at a time for each slot. May throw.
  using Work = std::function<void(Slot&)>;

  explicit SlotRing(std::size_t slots) : entries_(slots) {}
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;
  ~SlotRing() { Stop(); }

  /// Starts a thread that calls `work` for queued slots. Returns false if the system refuses the thread.
  bool StartWorker(Work work) {
    return StartThread(workers_, [this, work = std::move(work)] { WorkOnSlots(work); }).empty();
  }
  std::size_t workers() const { return workers_.size(); }
  /// Ends the workers. Slots that no worker has begun stay as they are.
  void Stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    workers_.clear();
  }

  /// Returns true if all slots are queued, being worked on, or done.
  bool full() const { return under_way_ == entries_.size(); }
  bool empty() const { return under_way_ == 0; }
  /// Returns the slot to fill. Call this only if full() returns false.
  Slot& filling() { return entries_[(oldest_ + under_way_) % entries_.size()].slot; }
  /// Queues the slot that filling() returns. Returns the number of slots that wait for a worker.
  std::size_t Queue() {
    ++under_way_;
    std::size_t waiting = 0;
    {
      const std::lock_guard lock(mutex_);
      waiting = ++waiting_;
    }
    work_.notify_one();
    return waiting;
  }

  /// Returns true if the work on the oldest slot is done. Call this only if empty() returns false.
  bool OldestIsDone() {
    const std::lock_guard lock(mutex_);
    return entries_[oldest_].done;
  }
  /// Returns the oldest slot when its work is done. Call this only if empty() returns false. If no worker has begun the
  /// work, `own` does the work on this thread; null: waits for a worker. Throws the exception of the work, if any.
  Slot& Oldest(const Work& own) {
    Entry& entry = entries_[oldest_];
    {
      std::unique_lock lock(mutex_);
      if (own && waiting_ > 0 && next_ == oldest_) WorkOnNext(own, lock);
      done_.wait(lock, [&] { return entry.done; });
    }
    if (entry.error) std::rethrow_exception(entry.error);
    return entry.slot;
  }
  /// Frees the oldest slot, which Oldest() has returned.
  void Pop() {
    entries_[oldest_].done = false;  // no worker looks at a slot that is not queued
    entries_[oldest_].error = nullptr;
    oldest_ = (oldest_ + 1) % entries_.size();
    --under_way_;
  }

 private:
  struct Entry {
    Slot slot;
    bool done = false;  ///< guarded by mutex_ while the slot is queued or being worked on
    std::exception_ptr error;
  };

  void WorkOnSlots(const Work& work) {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return stop_ || waiting_ > 0; });
      if (stop_) return;
      WorkOnNext(work, lock);
      done_.notify_one();
    }
  }

  /// Does the work on the first slot that waits. `lock` must hold mutex_, and does not hold it during the work.
  void WorkOnNext(const Work& work, std::unique_lock<std::mutex>& lock) {
    Entry& entry = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    --waiting_;
    lock.unlock();
    try {
      work(entry.slot);
    } catch (...) {
      entry.error = std::current_exception();
    }
    lock.lock();
    entry.done = true;
  }

  std::vector<Entry> entries_;
  std::size_t oldest_ = 0;  ///< entries_[oldest_] and the next under_way_ - 1 are queued, being worked on, or done
  std::size_t under_way_ = 0;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::size_t next_ = 0;     ///< guarded by mutex_: entries_[next_] and the next waiting_ - 1 wait for a worker
  std::size_t waiting_ = 0;  ///< guarded by mutex_
  bool stop_ = false;        ///< guarded by mutex_
  Threads workers_;
};

}  // namespace gpusort
