// The threads of the CPU backend, which all sorts and merges of the backend share. If the system refuses threads
// (ulimit -u, pids.max), the team continues with fewer threads. That is why oneTBB is not used: in this case oneTBB
// 2021.8 throws, and later calls wait for ever. Start at TeamExecutor.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "kernels/thread.hpp"

namespace gpusort::detail {

class ThreadTeam {
 public:
  /// `threads` is the maximum number of threads, including callers, that are inside Run at the same time. The first Run
  /// starts the threads of the team, and the destructor ends them.
  explicit ThreadTeam(unsigned threads) : size_(std::max(1u, threads)) {}
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    work_.notify_all();
    threads_.clear();
  }

  unsigned size() const { return size_; }
  /// Returns how many threads the system refused to start.
  unsigned refused() const {
    const std::lock_guard lock(mutex_);
    return started_ ? size_ - 1 - static_cast<unsigned>(threads_.size()) : 0;
  }

  /// Calls run(worker) in this thread and in up to `most` - 1 threads of the team, each with a different `worker` below
  /// `most`. Waits for all calls and throws their first exception. Thread-safe.
  /// - run: must do all the work even if no other thread calls it, and must not call Run
  void Run(unsigned most, const std::function<void(unsigned)>& run) {
    Call call{run, most, 0, 0, {}};
    std::unique_lock lock(mutex_);
    if (!started_) StartThreads();
    place_.wait(lock, [&] { return running_ < size_; });
    calls_.push_back(&call);
    for (unsigned i = 1; i < most; ++i) work_.notify_one();  // busy threads look for more work themselves
    Join(call, lock);
    place_.wait(lock, [&] { return call.inside == 0; });
    if (call.error) std::rethrow_exception(call.error);
  }

 private:
  struct Call {
    const std::function<void(unsigned)>& run;
    const unsigned most;
    unsigned joined, inside;  ///< how many threads have called `run` so far, and how many are in `run` now
    std::exception_ptr error;
  };

  void StartThreads() {
    started_ = true;
    while (threads_.size() + 1 < size_ && StartThread(threads_, [this] { Work(); }).empty()) continue;
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return ending_ || (!calls_.empty() && running_ < size_); });
      if (ending_) return;
      Join(*calls_.front(), lock);
    }
  }

  void Join(Call& call, std::unique_lock<std::mutex>& lock) {
    const unsigned worker = call.joined++;
    if (call.joined == call.most) std::erase(calls_, &call);
    ++call.inside;
    ++running_;
    lock.unlock();
    std::exception_ptr error;
    try {
      call.run(worker);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    std::erase(calls_, &call);
    if (!call.error) call.error = std::move(error);
    --call.inside;
    --running_;
    if (call.inside == 0 || running_ + 1 == size_) place_.notify_all();
    if (!calls_.empty()) work_.notify_one();
  }

  const unsigned size_;
  mutable std::mutex mutex_;
  std::condition_variable work_;   ///< signals a new call of Run(), or the end of the team
  std::condition_variable place_;  ///< signals that a thread has returned from `run`
  std::vector<Call*> calls_;       ///< the calls of Run() that more threads can still join, oldest first
  unsigned running_ = 0;  ///< the number of threads that are in a function `run`, including the callers of Run()
  bool started_ = false, ending_ = false;
  Threads threads_;
};

/// Divides work into tasks and runs them on a ThreadTeam. After a task throws, no further task begins.
class TeamExecutor {
 public:
  explicit TeamExecutor(ThreadTeam& team) : TeamExecutor(team, team.size()) {}
  /// Runs tasks on up to `workers` threads. If `workers` is 1, the calling thread runs all tasks.
  TeamExecutor(ThreadTeam& team, unsigned workers) : team_(team), workers_(workers) {}
  unsigned workers() const { return workers_; }

  /// Calls f(task, worker) for each task in [0, tasks) and returns when all tasks are done. Tasks run in parallel, but
  /// tasks with the same `worker` number run one after the other on one thread. Throws the first exception of `f`.
  template <typename F>
  void ForEach(std::uint64_t tasks, F&& f) const {
    if (tasks <= 1 || workers_ == 1) {
      for (std::uint64_t task = 0; task < tasks; ++task) f(task, 0u);
      return;
    }
    std::atomic<std::uint64_t> next{0};
    team_.Run(static_cast<unsigned>(std::min<std::uint64_t>(tasks, workers())), [&](unsigned worker) {
      try {
        for (std::uint64_t task = next++; task < tasks; task = next++) f(task, worker);
      } catch (...) {
        next = tasks;
        throw;
      }
    });
  }

 private:
  ThreadTeam& team_;
  const unsigned workers_;
};

}  // namespace gpusort::detail
