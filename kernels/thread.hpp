// Threads, which signals must not reach, and steps that signals must not cut short. StartThread and RunBeside are the
// only ways to a thread outside the header library.
#pragma once

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <future>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gpusort {

/// What the processor or abort says of the thread itself. It arrives, blocked or not: blocked it ends the process past
/// the handler.
inline constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/// All that can be blocked and should.
inline sigset_t AllSignals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : kFaultSignals) sigdelset(&all, fault);
  return all;
}

/// Blocks all signals while it lives; threads started meanwhile never get any. Signals are for the main thread, which
/// blocks them in turn while the output is published.
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

/// Joined when they are dropped.
using Threads = std::vector<std::jthread>;

/// Adds a thread of `body`, which may not throw. Returns why the system refuses it (ulimit -u, pids.max, memory); empty
/// if it runs.
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

/// Runs `body` in a thread of its own, or where the system refuses one, in get() or wait() of what it returns.
inline std::future<void> RunBeside(const std::function<void()>& body) {
  const SignalBlock block;
  return std::async(std::launch::async | std::launch::deferred, body);  // not moved: where it is refused it is deferred
}

/// Those that this process may run on.
inline unsigned AvailableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace gpusort
