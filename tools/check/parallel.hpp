// Threads of gpusort_check: runs work on several threads, and puts the results of pieces in order.
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

/// Runs work() on up to `threads` threads, including the calling thread. Waits for all threads and throws the first
/// exception.
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
    // The system refuses more threads. The threads that exist do all the work.
  }
  run();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

/// Takes the results of pieces in any order and passes them on in the order of the pieces. The first piece is number 0.
template <typename Result>
class InOrder {
 public:
  /// Calls join(result) for the result of piece `number` after the results of all earlier pieces have been joined: in
  /// this call or in a later call of Put. Never runs two calls of join at the same time.
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
