// Finds out how timestamps are written in logs whose records begin with a fixed string, such as the output of git log.
// Start at LearnKnownLog.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/log_times.hpp"

namespace gpusort {

/// Finds out how timestamps are written in a log of a known program, such as git log. Returns null for other logs.
/// - `front`: the first bytes of the input
/// - `starts`: false with --multiline. Only logs of Configuration Manager are then recognized.
/// - `latest`: the latest timestamp that a line can have (LogTimes::latest)
/// - Throws BadRecord if a log of Configuration Manager has too few timestamps.
std::shared_ptr<const LogTimes> LearnKnownLog(std::string_view front, bool starts, std::int64_t latest);

}  // namespace gpusort
