#include "base/signals.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/log.hpp"
#include "io/output_file.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

// Signal handlers have no arguments. These are the only mutable globals of the program, except the log and the names of
// hidden outputs in io/file.cpp.
std::atomic<int> received_signal{0};
std::atomic<CancelFlag*> cancel_flag{nullptr};
std::atomic<bool> keeps{false}, reports{false};
std::atomic<unsigned> reports_asked{0};
bool holds_user_signal = false;

/// Ends the process by `signal`. Temporary files have no names, so they vanish with the process. If the job uses a GPU,
/// the end takes up to 1 s more, because the driver has to release the device.
void Die(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  // From here on another signal ends the process, even if the file system hangs.
  RemoveHiddenOutput();
  raise(signal);
}

void DieInHandler(int signal) {
  SayFailed(signal, 128 + signal, nullptr);
  Die(signal);
}

/// Only the main thread receives signals (kernels/thread.hpp). It blocks them while it renames the output.
void OnStopSignal(int signal) {
  const int before = received_signal.exchange(signal);
  if (before == SIGXCPU && signal == SIGXCPU) return;  // the kernel sends it every second from the limit on
  if (before != 0) DieInHandler(signal);
  cancel_flag.load()->Request();
  itimerval timer{};
  timer.it_value.tv_sec = keeps ? 9 : 0;
  timer.it_value.tv_usec = keeps ? 0 : 350'000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Batch systems send SIGUSR1 before the time of a job is up.
void OnUserSignal(int signal) {
  if (keeps) return OnStopSignal(signal);
  ++reports_asked;
}

void OnAlarm(int) {
  const int signal = received_signal;
  if (signal == 0) return;
  if (!keeps) DieInHandler(signal);
  RemoveHiddenOutput();
  constexpr int kCode = static_cast<int>(ErrorCode::kStopped);
  SayFailed(signal, kCode, "stopped by a signal while the system did not answer; the same command continues");
  _exit(kCode);
}

void Install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/// Returns false if the caller ignores the signal, as nohup does, or a tool such as a sanitizer has a handler for it.
bool IsAsUsual(int signal) {
  struct sigaction old {};
  return sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_DFL;
}

/// A set of signals in the form that the kernel uses. The C library's functions may not work yet when HoldUserSignal()
/// runs.
constexpr std::uint64_t kUserSignal = std::uint64_t{1} << (SIGUSR1 - 1);
static_assert(sizeof kUserSignal == _NSIG / 8);

}  // namespace

__attribute__((no_sanitize("address", "thread", "undefined"))) void HoldUserSignal() {
  std::uint64_t before = 0;
  const long failed = ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kUserSignal, &before, sizeof before);
  holds_user_signal = failed == 0 && (before & kUserSignal) == 0;
}

void ReleaseUserSignal() {
  if (!std::exchange(holds_user_signal, false)) return;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

bool HandleSignals(CancelFlag& cancel) {
  cancel_flag = &cancel;
  const bool ignored_pipe = !IsAsUsual(SIGPIPE);
  Install(SIGPIPE, SIG_IGN);
  // If SIGCHLD were ignored, the exit status of compress programs would be lost.
  Install(SIGCHLD, SIG_DFL);
  Install(SIGXFSZ, SIG_IGN);
  Install(SIGALRM, OnAlarm);
  reports = IsAsUsual(SIGUSR1);
  for (const int signal : EndingSignals()) {
    if (IsAsUsual(signal)) Install(signal, signal == SIGUSR1 ? OnUserSignal : OnStopSignal);
  }
  for (const int signal : kFaultSignals) {
    if (IsAsUsual(signal)) Install(signal, DieInHandler);
  }
  return ignored_pipe;
}

std::vector<int> EndingSignals() {
  std::vector<int> signals{SIGHUP,  SIGINT,    SIGQUIT, SIGUSR1, SIGUSR2,   SIGALRM, SIGTERM,
                           SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,   SIGSTKFLT, SIGPWR};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

unsigned OpenStandardStreams() {
  unsigned closed = 0;
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // A data file with the number of this stream would get the messages of the program.
    closed |= 1u << fd;
    if (open("/dev/null", O_RDWR) < 0) _exit(static_cast<int>(ErrorCode::kIo));
  }
  return closed;
}

int SignalReceived() { return received_signal; }

void KeepOnSignal() { keeps = true; }

bool KeepsOnSignal() { return keeps; }

bool ReportsOnSignal() { return reports && !keeps; }

unsigned ReportsAsked() { return reports_asked; }

void EndBySignal(int signal) {
  Die(signal);
  _exit(128 + signal);
}

}  // namespace gpusort
