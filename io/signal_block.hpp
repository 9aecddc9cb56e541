// Keeps signals away from threads that must not get them, and from steps that must not be cut short.
#pragma once

#include <signal.h>

namespace gpusort {

/// Blocks all signals while it lives; threads started meanwhile never get any. Signals are for the main thread, which
/// blocks them in turn while the output is published.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace gpusort
