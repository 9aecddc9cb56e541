// The window of time of --since and --until, outside of which the records of a log are left out. Start at TimeWindow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/key_tally.hpp"
#include "formats/time_text.hpp"
#include "formats/zone.hpp"

namespace gpusort {

/// Returns `text` if it is a time for TimeWindow: @ and a count of seconds since 1970, or a day or a time as
/// ParseInstant() reads them. Throws Error(kUsage) for any other text. Digits alone are refused, because they could be
/// a day or a count of seconds.
std::string CheckedWindowTime(const std::string& text);

class TimeWindow {
 public:
  /// The window begins with `since` and ends before `until`, texts that CheckedWindowTime() accepts. An empty text
  /// means no bound. A text without a zone is a time of `zone`. The texts must outlive this object. Throws
  /// Error(kUsage) if the window has no time in it.
  TimeWindow(std::string_view since, std::string_view until, const Zone& zone);

  /// Returns true if records with this time are in the window. A record without a time is only in a window without
  /// bounds. Counts the record in `tally` if there is a bound. Any thread may call this.
  bool Takes(const std::optional<Instant>& time, WindowTally& tally) const;

 private:
  std::optional<Instant> since_, until_;
};

/// Returns the warnings about the records that a window left out: that they have no time, or that all are outside of
/// the window. Shows times in `zone`.
std::vector<std::string> DescribeWindow(std::string_view since, std::string_view until, const Zone& zone,
                                        const WindowTally& tally);

}  // namespace gpusort
