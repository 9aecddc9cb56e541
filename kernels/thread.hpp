// Starts threads that receive no signals, and protects steps that a signal must not interrupt. Use StartThread or
// RunBeside for every new thread. Only the public headers (<gpusort/...>) start threads without them.
#pragma once

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <future>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gpusort {

/// The signals that report a fault of the running thread, and the signal of abort(). Blocking them is useless: if a
/// fault happens while its signal is blocked, the process ends without running the handler.
inline constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/// Returns the set of all signals except kFaultSignals.
inline sigset_t AllSignals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : kFaultSignals) sigdelset(&all, fault);
  return all;
}

/// Blocks all signals in this thread while the object lives. Threads that this thread starts in the meantime never
/// receive signals. Only the main thread handles signals, and it blocks them while it gives the output file its name.
class SignalBlock {
 public:
  SignalBlock() {
    const sigset_t all = AllSignals();
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Makes the system call `call`, and repeats it while a signal interrupts it (EINTR). Returns the result of the last
/// call.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// A vector of threads. The destructor of the vector waits for the threads.
using Threads = std::vector<std::jthread>;

/// Starts a thread that runs `body` and appends the thread to `threads`. `body` must not throw. Returns an empty
/// string, or the reason why the system refuses the thread (ulimit -u, pids.max, memory).
template <typename Body>
std::string StartThread(Threads& threads, Body body) {
  const SignalBlock block;
  try {
    threads.emplace_back(std::move(body));
    return {};
  } catch (const std::system_error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

/// Runs `body` in a new thread. If the system refuses the thread, `body` runs in the thread that calls get() or wait()
/// of the returned future.
inline std::future<void> RunBeside(const std::function<void()>& body) {
  const SignalBlock block;
  return std::async(std::launch::async | std::launch::deferred, body);  // a copy of body, which may run later
}

/// Runs `work` in the calling thread and in up to `threads` - 1 other threads. Returns when all calls of `work` have
/// returned. If some of them throw, throws one of their exceptions.
inline void RunTogether(std::uint64_t threads, const std::function<void()>& work) {
  std::vector<std::future<void>> others;
  while (others.size() + 1 < threads) others.push_back(RunBeside(work));
  work();
  for (std::future<void>& other : others) other.get();
}

/// Returns on how many cores this process may run.
inline unsigned AvailableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace gpusort
