// Handles signals. Start at HandleSignals.
// - A signal such as SIGINT asks the job to stop. If the job does not stop within 0.35 s, the process ends.
// - With --resume-dir, the job has 9 s to stop, and the process ends with exit code 75.
// - A second signal ends the process at once.
// - SIGUSR1 prints a line of progress. With --resume-dir, it stops the job like SIGINT.
#pragma once

#include <vector>

#include "io/stream.hpp"

namespace gpusort {

/// Returns the signals that a process can catch and that would otherwise end it. Signals of faults (kFaultSignals),
/// such as SIGSEGV, are not among them.
std::vector<int> EndingSignals();
/// Blocks SIGUSR1, which would end a process that has no handler yet. ReleaseUserSignal() unblocks it. May be called
/// before the constructors of global objects have run.
void HoldUserSignal();
/// Unblocks SIGUSR1, so that a pending SIGUSR1 is delivered. Does nothing if HoldUserSignal() was not called, or if
/// SIGUSR1 was blocked already when the process started.
void ReleaseUserSignal();
/// Installs all signal handlers, which set `cancel`. SIGPIPE and SIGXFSZ are ignored; system calls then return an
/// error. Returns true if SIGPIPE was ignored already when the process started. Call this once, before any other thread
/// starts.
bool HandleSignals(CancelFlag& cancel);
/// Returns the signal that asked the job to stop, or 0.
int SignalReceived();
/// Call this if a later process can continue the job. After a signal, the job then has 9 s instead of 0.35 s to stop,
/// and the process ends with exit code 75.
void KeepOnSignal();
bool KeepsOnSignal();
bool ReportsOnSignal();
/// Returns how many SIGUSR1 signals have arrived. The signal handler only counts them, because it cannot format a line
/// of progress.
unsigned ReportsAsked();
/// Opens /dev/null for each standard stream that is closed. Bit i of the result is set if descriptor i was closed. Call
/// this before opening files.
unsigned OpenStandardStreams();
/// Ends the process by `signal`, so that its parent sees this signal as the cause.
[[noreturn]] void EndBySignal(int signal);

}  // namespace gpusort
