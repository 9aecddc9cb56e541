// Local times of the zones in /usr/share/zoneinfo. Start at UtcIn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace check {

/// Returns the seconds since 1970 in UTC of a local time in a zone such as Europe/Berlin. `local` is the seconds since
/// 1970-01-01 00:00:00 local time. If clocks are set back and a local time occurs twice, returns the second one. If
/// clocks are set forward over a local time, reads it with the offset before the change. Returns std::nullopt if there
/// is no such zone. Throws BadTable if the zone has summer time and `local` is after the last change of the clocks in
/// the zone's file.
std::optional<std::int64_t> UtcIn(const std::string& zone, std::int64_t local);

}  // namespace check
