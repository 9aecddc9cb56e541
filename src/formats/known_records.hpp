// Learns the times of logs whose records begin with a fixed text, such as the output of git log. Start at
// LearnKnownLog.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/log_times.hpp"

namespace gpusort {

/// Learns the times of a log of a program whose records do not begin with their times. `front` is the first bytes of
/// the input, and `latest` is as for LearnLog(). Returns null if `front` is no such log, or if it is mixed with lines
/// of other programs. If `starts` is false, no fixed text may mark the first lines of records.
std::shared_ptr<const LogTimes> LearnKnownLog(std::string_view front, bool starts, std::int64_t latest);

}  // namespace gpusort
