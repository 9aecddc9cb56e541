// Finds out how times are written in logs whose records begin with a fixed text, such as the output of git log. Start
// at LearnKnownLog.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/log_times.hpp"

namespace gpusort {

/// Finds out how times are written in a log whose records do not begin with their times. `front` is the first bytes of
/// the input, and `latest` is as for LearnLog(). If `starts` is false, does not set LogTimes::start, the text at the
/// beginning of each record. Returns null in these cases:
/// - `front` is no such log.
/// - The log also has lines of other programs.
/// - `starts` is false, and the records cannot be found without LogTimes::start.
std::shared_ptr<const LogTimes> LearnKnownLog(std::string_view front, bool starts, std::int64_t latest);

}  // namespace gpusort
