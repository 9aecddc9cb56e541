// Signals that end a process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU...): the first asks the job to stop through the
// one CancelFlag; if it has not ended 0.35 s later (a system call may hang), or at a second signal, the process ends by
// that signal at once, as it does by a fault of its own (SIGSEGV, SIGABRT...). Temporary files are
// unlinked from birth, and an output that has a name before its time is removed here, so that nothing stays behind. A
// job that goes on later (--resume-dir) has more time, and ends with exit code 75. Any other is asked by SIGUSR1 how
// far it is, and goes on.
#pragma once

#include <vector>

#include "io/stream.hpp"

namespace gpusort {

/// All that end a process whose caller did not choose otherwise, and that it can catch; without those in kFaultSignals.
std::vector<int> EndingSignals();
/// Blocks SIGUSR1 and leaves it pending, until ReleaseUserSignal: it would end a process that has no handler yet. Safe
/// before any constructor has run, in the first code of a process.
void HoldUserSignal();
/// Delivers a SIGUSR1 that came meanwhile. Does nothing if HoldUserSignal was not called, or the caller of the process
/// blocks SIGUSR1.
void ReleaseUserSignal();
/// Call once, in the main thread, before any other thread starts. Ignores SIGPIPE and SIGXFSZ, which arrive as errors.
/// Returns true if the caller had ignored SIGPIPE.
bool HandleSignals(CancelFlag& cancel);
/// The signal that asked to stop; 0 if none.
int SignalReceived();
/// The job keeps what is done: from now on it has 9 s to stop, and exits with 75 if it has not by then.
void KeepOnSignal();
bool KeepsOnSignal();
/// Whether SIGUSR1 asks how far the job is.
bool ReportsOnSignal();
/// How often it was asked.
unsigned ReportsAsked();
/// A closed standard stream would give its number to a data file, and messages would be written into that: opens it on
/// /dev/null. Returns which were closed, bit i for descriptor i. Call before any file is opened.
unsigned OpenStandardStreams();
/// Ends the process by `signal`.
[[noreturn]] void EndBySignal(int signal);

}  // namespace gpusort
