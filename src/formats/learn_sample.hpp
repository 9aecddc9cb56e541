// Finds out, from a sample of lines, how times are written. Start at LearnSample.
#pragma once

#include <cstdint>
#include <memory>

#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {

/// Determines how times are written in `sample`. Ignores the regular expressions in `allowed`. `latest` is the latest
/// time that a line can have (LogTimes::latest). Throws BadRecord if too few lines have a time, or if the times are
/// ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnSample(LogSample sample, const LogForms& allowed, std::int64_t latest);

/// Determines how times are written in the parts of lines that the regular expressions in `allowed` match. `latest` is
/// the latest time that a line can have (LogTimes::latest). Throws BadRecord if no line of `sample` has a time, or if
/// the times are ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnPatterns(const LogSample& sample, const LogForms& allowed, std::int64_t latest);

}  // namespace gpusort
