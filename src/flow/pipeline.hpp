// The threads of a job, and the queues and pools of buffers between them. Start at Pipeline.
// - If a thread of a Pipeline fails, the Pipeline keeps the first error and stops all threads.
// - BoundedQueue and OrderedQueue pass work from thread to thread.
// - BlockPool lends buffers, and WorkerPool runs short I/O tasks.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"
#include "watch/trace.hpp"

namespace gpusort {

/// The longest time until a waiting thread notices the stop flag. A new item in a queue wakes waiting threads at once.
inline constexpr std::chrono::milliseconds kPollInterval{20};

class Pipeline {
 public:
  explicit Pipeline(CancelFlag& cancel) : cancel_(cancel) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() { StopAndJoin(); }

  /// Ends the threads of a pipeline at the end of a scope. Declare a Guard after all objects that the threads use, so
  /// that it is destroyed before these objects.
  class Guard {
   public:
    explicit Guard(Pipeline& pipeline) : pipeline_(pipeline) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { pipeline_.StopAndJoin(); }

   private:
    Pipeline& pipeline_;
  };

  /// Starts `count` threads that run `body`: the first one now, the others in StartRest() or Join().
  /// - `role` is the name of these threads in traces, and must be a literal.
  /// - Throws Error(kOutOfMemory) if the system refuses the first thread.
  void Start(std::function<void()> body, unsigned count = 1, const char* role = "thread") {
    if (count == 0) return;
    try {
      // The other threads wait, so every kind of work has one thread before any kind has two.
      rest_.insert(rest_.end(), count - 1, {body, role});  // done before a thread starts, because insert() may throw
      const std::string refused = TryStart(std::move(body), role);
      if (!refused.empty()) throw Error(ErrorCode::kOutOfMemory, refused);
    } catch (...) {
      // The caller is about to destroy the objects that the started threads use.
      StopAndJoin();
      throw;
    }
  }

  /// Starts the threads that Start() has left for later. If the system refuses a thread, logs a warning and starts no
  /// further thread.
  void StartRest() {
    for (Rest& rest : rest_) {
      const std::string refused = TryStart(std::move(rest.body), rest.role);
      if (refused.empty()) continue;
      LogWarn(fmt::format("{}; going on with {}", refused, threads_.size()));
      break;
    }
    rest_.clear();
  }

  /// Stores `error` and stops all threads. Only the first error is stored, because stopping may cause further errors.
  void Fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    stop_ = true;
  }

  /// Runs `action`. If it throws, passes the exception to Fail(), which stops all threads, and throws it again.
  template <typename Action>
  void Try(Action action) {
    try {
      action();
    } catch (...) {
      Fail(std::current_exception());
      throw;
    }
  }

  void StopAndJoin() {
    Stop();
    threads_.clear();
  }

  void RethrowIfFailed() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

  void Stop() { stop_ = true; }
  bool stopped() const { return stop_ || cancel_.requested(); }
  void ThrowIfStopped() const {
    if (stopped()) throw Error(ErrorCode::kCancelled, "stopped");
  }

  /// Waits until all threads end. Throws the first error of a thread. Throws Error(kCancelled) if the job was
  /// cancelled.
  void Join() {
    StartRest();
    threads_.clear();
    RethrowIfFailed();
    cancel_.ThrowIfRequested();
  }

  /// Waits on `condition` until `ready()` returns true. Throws Error(kCancelled) if the pipeline is stopped. The caller
  /// must hold `lock`, and holds `lock` again afterwards.
  template <typename Ready>
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, Ready ready) const {
    while (!ready()) {
      ThrowIfStopped();
      condition.wait_for(lock, kPollInterval);
    }
  }

 private:
  /// Starts a thread. Returns "" on success, or the reason why the system refused the thread.
  std::string TryStart(std::function<void()> body, const char* role) {
    const std::string refused = StartThread(threads_, [this, body = std::move(body), role] {
      thread_role = role;
      try {
        body();
      } catch (...) {
        Fail(std::current_exception());
      }
    });
    if (refused.empty()) return {};
    return fmt::format(
        "cannot start a thread: {}; a limit is reached (ulimit -u, pids.max of the control group, or memory)", refused);
  }

  CancelFlag& cancel_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  Threads threads_;
  struct Rest {
    std::function<void()> body;
    const char* role;
  };
  std::vector<Rest> rest_;  ///< the threads that StartRest() will start
};

/// A first-in first-out queue between threads. Push() waits while the queue holds `capacity` items. Pop() waits for an
/// item. Finish() means that no item follows: then Pop() returns std::nullopt as soon as the queue is empty.
template <typename T>
class BoundedQueue {
 public:
  BoundedQueue(const Pipeline& pipeline, std::size_t capacity) : pipeline_(pipeline), capacity_(capacity) {}

  void Push(T item) {
    std::unique_lock lock(mutex_);
    pipeline_.Wait(lock, changed_, [&] { return items_.size() < capacity_; });
    items_.push_back(std::move(item));
    changed_.notify_all();
  }

  std::optional<T> Pop() {
    return Pop([](const T&) { return true; });
  }
  /// Waits for an item. Then removes and returns the first item for which `suits` returns true. If no item suits,
  /// removes and returns the first item of the queue.
  template <typename Suits>
  std::optional<T> Pop(Suits suits) {
    std::unique_lock lock(mutex_);
    pipeline_.Wait(lock, changed_, [&] { return !items_.empty() || finished_; });
    if (items_.empty()) return std::nullopt;
    auto place = std::find_if(items_.begin(), items_.end(), suits);
    if (place == items_.end()) place = items_.begin();
    std::optional<T> item(std::move(*place));
    items_.erase(place);
    changed_.notify_all();
    return item;
  }

  void Finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const Pipeline& pipeline_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool finished_ = false;
};

/// A queue that takes items with the numbers 0, 1, 2... in any order and returns them in the order of their numbers.
/// Push() never waits, so the code that numbers the items must limit how many items exist at a time.
template <typename T>
class OrderedQueue {
 public:
  explicit OrderedQueue(const Pipeline& pipeline) : pipeline_(pipeline) {}

  void Push(std::uint64_t number, T item) {
    const std::lock_guard lock(mutex_);
    items_.emplace(number, std::move(item));
    changed_.notify_all();
  }

  /// Tells the queue that the last item has the number `end` - 1. Call this when all items have their numbers.
  void Finish(std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
    changed_.notify_all();
  }

  /// Waits for the item with the next number and returns it. Returns std::nullopt after the last item. Throws
  /// Error(kCancelled) if the pipeline of the queue or of the calling thread (`waiter`) is stopped.
  std::optional<T> Pop() { return Pop(pipeline_); }
  std::optional<T> Pop(const Pipeline& waiter) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] {
      pipeline_.ThrowIfStopped();
      return next_ == end_ || (!items_.empty() && items_.begin()->first == next_);
    };
    waiter.Wait(lock, changed_, ready);
    if (next_ == end_) return std::nullopt;
    std::optional<T> item(std::move(items_.begin()->second));
    items_.erase(items_.begin());
    ++next_;
    return item;
  }

 private:
  const Pipeline& pipeline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, T> items_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = ~std::uint64_t{0};
};

/// A page-aligned buffer in host memory. It can be pinned (fixed in RAM) for a GPU, which makes transfers to the GPU
/// faster. The backend of that GPU must outlive the buffer.
class PinnedBuffer {
 public:
  PinnedBuffer(HostMemory& memory, std::uint64_t bytes) : buffer_(memory, bytes) {}
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { Unpin(); }

  std::byte* data() const { return buffer_.data(); }
  std::uint64_t size() const { return buffer_.size(); }

  /// Pins the buffer (fixes it in RAM) for transfers to the GPUs of `backend`. It stays pinned until Unpin(), the
  /// destruction of the buffer, or a Pin() for another backend.
  void Pin(Backend& backend) {
    if (pinned_by_ == &backend || buffer_.size() == 0) return;
    Unpin();
    backend.Pin(buffer_.data(), buffer_.size());
    pinned_by_ = &backend;
  }
  void Unpin() {
    if (pinned_by_ != nullptr) std::exchange(pinned_by_, nullptr)->Unpin(buffer_.data());
  }

 private:
  HostBuffer buffer_;
  Backend* pinned_by_ = nullptr;
};

/// Lends page-aligned buffers of equal size from one allocation. The destructor of a Block calls the callback of
/// OnReturn(). Do not destroy a Block while holding a lock that this callback takes.
class BlockPool {
 public:
  /// A buffer that a BlockPool lends. The destructor of a Block gives the buffer back to the pool.
  class Block {
   public:
    Block() = default;
    Block(BlockPool* pool, std::byte* data) : pool_(pool), data_(data) {}
    Block(Block&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
    Block& operator=(Block&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(data_, other.data_);
      return *this;
    }
    ~Block() {
      if (pool_ != nullptr) pool_->Return(data_);
    }
    std::byte* data() const { return data_; }
    std::uint64_t size() const { return pool_ == nullptr ? 0 : pool_->block_bytes(); }
    std::span<std::byte> span() const { return {data_, size()}; }

   private:
    BlockPool* pool_ = nullptr;
    std::byte* data_ = nullptr;
  };

  BlockPool(HostMemory& memory, std::uint64_t block_bytes, std::uint64_t blocks)
      : BlockPool(std::make_shared<PinnedBuffer>(memory, block_bytes * blocks), block_bytes, blocks) {}
  /// Lends `blocks` buffers of `block_bytes` bytes, which lie in `memory` from byte `first` * `block_bytes` on. No
  /// other code may use these bytes of `memory` while the pool exists.
  BlockPool(std::shared_ptr<PinnedBuffer> memory, std::uint64_t block_bytes, std::uint64_t blocks,
            std::uint64_t first = 0)
      : block_bytes_(block_bytes), blocks_(blocks), memory_(std::move(memory)) {
    if (block_bytes * (first + blocks) > memory_->size()) {
      throw Error(ErrorCode::kInternal, "blocks that pass their memory");
    }
    for (std::uint64_t i = first + blocks; i > first; --i) free_.push_back(memory_->data() + (i - 1) * block_bytes);
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  const std::shared_ptr<PinnedBuffer>& memory() const { return memory_; }

  /// Waits for a free buffer and returns it. `pipeline` is the pipeline of the calling thread: if it is stopped, throws
  /// Error(kCancelled).
  Block Acquire(const Pipeline& pipeline) {
    std::unique_lock lock(mutex_);
    pipeline.Wait(lock, returned_, [&] { return !free_.empty(); });
    return Take();
  }

  /// Returns a free buffer, or an empty Block if no buffer is free. Does not wait.
  Block TryAcquire() {
    const std::lock_guard lock(mutex_);
    return free_.empty() ? Block() : Take();
  }

  std::uint64_t free_blocks() const {
    const std::lock_guard lock(mutex_);
    return free_.size();
  }
  /// Sets a function that is called each time after a buffer has come back. The pool does not hold its lock during the
  /// call.
  void OnReturn(std::function<void()> callback) { on_return_ = std::move(callback); }
  std::uint64_t block_bytes() const { return block_bytes_; }
  std::uint64_t blocks() const { return blocks_; }

 private:
  Block Take() {
    Block block(this, free_.back());
    free_.pop_back();
    return block;
  }
  void Return(std::byte* data) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(data);
      returned_.notify_one();
    }
    if (on_return_) on_return_();
  }

  const std::uint64_t block_bytes_;
  const std::uint64_t blocks_;
  const std::shared_ptr<PinnedBuffer> memory_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::byte*> free_;
  std::function<void()> on_return_;
};

/// A group of threads that run short tasks: reads, writes, checksums. Tasks start in the order of the Submit() calls.
class WorkerPool {
  struct Group {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t left = 0, running = 0;
    bool abandoned = false;
  };
  /// An object whose destructor counts a task of `group` as ended. A task that throws is therefore counted, too.
  struct Ended {
    Group& group;
    ~Ended() {
      const std::lock_guard lock(group.mutex);
      --group.running;
      group.changed.notify_all();
    }
  };

 public:
  WorkerPool(Pipeline& pipeline, unsigned threads) : pipeline_(pipeline), tasks_(pipeline, 4 * threads + 16) {
    pipeline.Start(
        [this] {
          while (std::optional<std::function<void()>> task = tasks_.Pop()) pipeline_.Try([&] { (*task)(); });
        },
        threads, "worker");
  }

  void Submit(std::function<void()> task) { tasks_.Push(std::move(task)); }
  void Finish() { tasks_.Finish(); }
  std::size_t waiting() const { return tasks_.size(); }

  /// Runs task(0) ... task(count - 1) on the threads of the pool. Waits for all tasks. Throws if the pipeline is
  /// stopped. When this function returns or throws, no task runs or will start, so the objects that tasks use may be
  /// destroyed.
  void ForEach(std::uint64_t count, const std::function<void(std::uint64_t)>& task) {
    const auto group = std::make_shared<Group>();
    group->left = count;
    try {
      for (std::uint64_t i = 0; i < count; ++i) {
        Submit([group, &task, i] {
          {
            const std::lock_guard lock(group->mutex);
            if (group->abandoned) return;
            ++group->running;
          }
          const Ended ended{*group};
          task(i);
          const std::lock_guard lock(group->mutex);
          --group->left;
        });
      }
      std::unique_lock lock(group->mutex);
      pipeline_.Wait(lock, group->changed, [&] { return group->left == 0; });
    } catch (...) {
      std::unique_lock lock(group->mutex);
      group->abandoned = true;
      group->changed.wait(lock, [&] { return group->running == 0; });
      throw;
    }
  }

 private:
  Pipeline& pipeline_;
  BoundedQueue<std::function<void()>> tasks_;
};

}  // namespace gpusort
