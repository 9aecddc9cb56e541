// Decides whether a job may write its output. Asks a person at a terminal before an existing file is replaced. Refuses
// to write to a terminal that the user did not name. Also refuses to write to a file that is an input too, if the shell
// has already emptied this file (gpusort file > file). Start at ConfirmOutput.
#pragma once

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Decides whether the job may write its output. Asks a person at a terminal whether an existing output may be
/// replaced. Throws Error(kUsage) if the output must not be written, and Error(kCancelled) if a signal interrupts the
/// question. Call this before any work.
void ConfirmOutput(const JobSpec& spec, const CancelFlag& cancel);

}  // namespace gpusort
