// Finds out, from a sample of lines, how times are written. Start at LearnSample.
#pragma once

#include <cstdint>
#include <memory>

#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {

/// Finds out how the times in `sample` are written. Chooses the candidate (a form of times at a place in the line) that
/// most lines have, and more candidates for the remaining lines. The other arguments and the errors are those of
/// LearnLog(). Ignores the regular expressions in `allowed`.
std::shared_ptr<const LogTimes> LearnSample(LogSample sample, const LogForms& allowed, std::int64_t latest);

/// Finds out how times are written. Reads only the times that the regular expressions in `allowed` find in `sample`.
/// `latest` and the errors are as for LearnLog().
std::shared_ptr<const LogTimes> LearnPatterns(const LogSample& sample, const LogForms& allowed, std::int64_t latest);

}  // namespace gpusort
