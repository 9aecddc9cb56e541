// Finds out, from a sample of lines, how timestamps are written. Start at LearnSample.
#pragma once

#include <cstdint>
#include <memory>

#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {

/// Determines how timestamps are written in `sample`. Does not use `allowed.patterns`.
/// - `latest`: the latest timestamp that a line can have (LogTimes::latest).
/// - Throws BadRecord if too few lines have a timestamp, or if the timestamps are ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnSample(LogSample sample, const LogForms& allowed, std::int64_t latest);

/// Finds timestamps in `sample` by the regular expressions `allowed.patterns`, and determines how the timestamps are
/// written.
/// - `latest`: the latest timestamp that a line can have (LogTimes::latest).
/// - Throws BadRecord if no line of `sample` has a timestamp, or if the timestamps are ambiguous, such as 01/02.
std::shared_ptr<const LogTimes> LearnPatterns(const LogSample& sample, const LogForms& allowed, std::int64_t latest);

}  // namespace gpusort
