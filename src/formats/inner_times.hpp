// Finds times in the lines of a log that begin no record. Warnings tell of such lines. Start at InnerTimes.
#pragma once

#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// One thread at a time may use an object.
class InnerTimes {
 public:
  InnerTimes() = default;
  InnerTimes(const InnerTimes&) = delete;
  InnerTimes& operator=(const InnerTimes&) = delete;

  /// Returns true if `line`, which begins no record, holds a time, so that it may be a record of its own. A time that
  /// does not stand near the front of the line must be at most a month away from the time of `record`, if there is one.
  /// If the line begins with a blank, the time must stand near the front. A time of day without a date counts there
  /// only. If `only_front` is true, only a date in the first four words counts, at most a month away unless it is the
  /// first word.
  bool Holds(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front);
  /// Returns true if `line` may be a record of another program, in a log whose records begin with LogTimes::start.
  /// `record` is the time of the record before it. The line must not have the time of a record itself.
  bool IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record);

 private:
  const std::vector<TimeForm> forms_{KnownForms().begin(), KnownForms().end()};
  TimeFinder finder_{forms_, TimeShape::kKnown, true};
};

}  // namespace gpusort
