// Finds out how times are written in logs whose records begin with a fixed text, such as the output of git log. Start
// at LearnKnownLog.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/log_times.hpp"

namespace gpusort {

/// Determines how times are written in a log whose records do not begin with their times, such as the output of git
/// log. `front` is the first bytes of the input. `latest` is the latest time that a line can have (LogTimes::latest).
/// If `starts` is false, LogTimes::start stays empty, and only logs that can be read without it are recognized. Returns
/// null if `front` is not such a log, or if the log also has lines of other programs. Throws BadRecord if a log of
/// Configuration Manager has too few times.
std::shared_ptr<const LogTimes> LearnKnownLog(std::string_view front, bool starts, std::int64_t latest);

}  // namespace gpusort
