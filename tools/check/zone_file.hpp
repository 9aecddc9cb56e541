// Local times of the zones in /usr/share/zoneinfo. Start at UtcIn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace check {

/// Returns the seconds since 1970 in UTC of a local time in a zone such as Europe/Berlin. `local` is the seconds since
/// 1970-01-01 00:00:00 local time. A time that occurs twice is the second one. A time that is left out is read with the
/// offset before it. Returns std::nullopt if there is no such zone. Throws BadTable for a time after the last change in
/// the file of a zone that goes on with summer time.
std::optional<std::int64_t> UtcIn(const std::string& zone, std::int64_t local);

}  // namespace check
