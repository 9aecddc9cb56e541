// Handles the signals that end a process, and SIGUSR1. Start at HandleSignals.
// The first signal (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU...) asks the job to stop through the CancelFlag. If the
// job has not ended 0.35 s later, for example because a system call hangs, the process ends by that signal. A second
// signal and a fault (SIGSEGV, SIGABRT...) end it at once. Temporary files have no name; an output that has a name
// already is removed here. A job with --resume-dir has more time and ends with exit code 75. For other jobs, SIGUSR1
// asks for a line of progress. All other threads block the ending signals (kernels/thread.hpp), so that blocking them
// in the main thread during the rename is enough. A job on a GPU takes up to 1 s to end, because the driver has to
// release the device.
#pragma once

#include <vector>

#include "io/stream.hpp"

namespace gpusort {

/// Returns the signals that end a process by default and that a process can catch, without kFaultSignals.
std::vector<int> EndingSignals();
/// Blocks SIGUSR1 until ReleaseUserSignal. Without a handler, SIGUSR1 would end the process. Safe to call before any
/// constructor has run, in the first code of a process.
void HoldUserSignal();
/// Unblocks SIGUSR1, which delivers a pending one. Does nothing if HoldUserSignal was not called, or if the caller of
/// the process blocks SIGUSR1.
void ReleaseUserSignal();
/// Installs all handlers. Ignores SIGPIPE and SIGXFSZ, which system calls report as errors. Returns true if the caller
/// of the process had ignored SIGPIPE. Call this once, in the main thread, before any other thread starts.
bool HandleSignals(CancelFlag& cancel);
/// Returns the signal that asked the job to stop, or 0.
int SignalReceived();
/// Tells that the job keeps its finished part. From now on the job has 9 s to stop, and then exits with code 75.
void KeepOnSignal();
bool KeepsOnSignal();
/// Returns whether SIGUSR1 asks for a line of progress.
bool ReportsOnSignal();
/// Returns how often SIGUSR1 asked. The handler only counts, because it cannot format text.
unsigned ReportsAsked();
/// Opens closed standard streams on /dev/null. Otherwise a data file would get the number of the stream, and messages
/// would be written into it. Returns bit i for descriptor i that was closed. Call this before any file is opened.
unsigned OpenStandardStreams();
/// Ends the process by `signal`.
[[noreturn]] void EndBySignal(int signal);

}  // namespace gpusort
