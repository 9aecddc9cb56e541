// The window of time that the options --since and --until give. Only log records in the window are written to the
// output. Start at TimeWindow.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/key_tally.hpp"
#include "formats/time_text.hpp"
#include "formats/zone.hpp"

namespace gpusort {

/// Checks `text`, the value of --since or --until, and returns it. `text` must be a day or time that ParseInstant()
/// reads, or @ and a count of seconds since 1970. Throws Error(kUsage) for any other string. Also throws it for
/// "infinity" and "-infinity", and for a number without @: 20260101 could be a day or a count of seconds.
std::string CheckedWindowTime(const std::string& text);

class TimeWindow {
 public:
  /// The window contains the timestamps from `since` up to `until`, but not `until` itself. Both are strings that
  /// CheckedWindowTime() accepts, and must outlive this object. An empty string means that the window has no such
  /// bound. A string without a time zone is a time in `zone`. Throws Error(kUsage) if `since` is not before `until`.
  TimeWindow(std::string_view since, std::string_view until, const Zone& zone);

  /// Returns true if a record with the timestamp `time` is in the window. std::nullopt stands for a record without a
  /// timestamp, which is in the window only if there are no bounds. Counts the record in `tally` if there is a bound.
  /// Any thread may call this.
  bool Takes(const std::optional<Instant>& time, WindowTally& tally) const;

 private:
  std::optional<Instant> since_, until_;
};

/// Returns the warnings about a time window: how many records were left out because they have no timestamp, and whether
/// no record at all is in the window. Returns no warning if neither is the case. Times in the warnings are in `zone`.
std::vector<std::string> DescribeWindow(std::string_view since, std::string_view until, const Zone& zone,
                                        const WindowTally& tally);

}  // namespace gpusort
