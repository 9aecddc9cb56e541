// Threads of gpusort_check: the same work on several threads, and results of pieces in the order of the pieces.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace check {

/// Runs work() on up to `threads` threads, this one among them, and returns when all are done. Throws the first
/// failure.
template <typename Work>
void RunOnThreads(unsigned threads, const Work& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(run);
  } catch (const std::system_error&) {
    // A limit on threads: the threads that exist do the work.
  }
  run();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

/// Takes results of pieces in any order and hands them on in the order of their numbers, which begin with 0.
template <typename Result>
class InOrder {
 public:
  /// Calls join(result) for this piece, or later, once all pieces with smaller numbers are there. Never two calls at
  /// once.
  template <typename Join>
  void Put(std::uint64_t number, Result&& result, const Join& join) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(number, std::move(result));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; ++next_) {
      join(first->second);
      first = waiting_.erase(first);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, Result> waiting_;
  std::uint64_t next_ = 0;
};

}  // namespace check
