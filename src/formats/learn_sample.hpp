// Learns the forms of times from the lines of a sample. Start at LearnSample.
#pragma once

#include <cstdint>
#include <memory>

#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {

/// Finds out how the times in `sample` are written: chooses the candidate that most lines have, and further candidates
/// for lines that lack the first one. The other arguments and errors are those of LearnLog(). Ignores regular
/// expressions in `allowed`.
std::shared_ptr<const LogTimes> LearnSample(LogSample sample, const LogForms& allowed, std::int64_t latest);

/// Learns the forms of the times that the regular expressions in `allowed` find.
std::shared_ptr<const LogTimes> LearnPatterns(const LogSample& sample, const LogForms& allowed, std::int64_t latest);

}  // namespace gpusort
