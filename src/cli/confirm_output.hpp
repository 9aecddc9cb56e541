// Whether a job may write its output: a person at a terminal is asked before an existing file is replaced, and standard
// output is not written where nobody can have meant it. Start at ConfirmOutput.
#pragma once

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Call this before any work. Throws Error(kUsage) if the output is not to be written, Error(kCancelled) if a signal
/// ends the question.
void ConfirmOutput(const JobSpec& spec, const CancelFlag& cancel);

}  // namespace gpusort
