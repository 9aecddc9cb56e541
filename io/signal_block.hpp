// Keeps signals away from threads that must not get them, and from steps that must not be cut short.
#pragma once

#include <signal.h>

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

}  // namespace gpusort
