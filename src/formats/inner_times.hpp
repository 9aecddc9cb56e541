// Finds times in those lines of a log that begin no record. Warnings tell of such lines. Start at InnerTimes.
#pragma once

#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Finds times in those lines of a log that begin no record. Only one thread at a time may use an object.
class InnerTimes {
 public:
  InnerTimes() = default;
  InnerTimes(const InnerTimes&) = delete;
  InnerTimes& operator=(const InnerTimes&) = delete;

  /// Returns true if `line` has a time and may therefore be a separate record. `line` must be a line that was taken for
  /// a part of the current record. `record` is the time of the current record. Not all times count:
  /// * A time that is not near the beginning of the line must be at most a month away from `record`, if that has a
  ///   value.
  /// * If the line begins with a blank, the time must be near the beginning.
  /// * A time of day without a date must be near the beginning.
  /// * If `only_front` is true, the time must have a date in the first four words. It must also be at most a month away
  ///   from `record`, unless it is the first word.
  bool Holds(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front);
  /// Returns true if `line` may be a record of another program, in a log whose records begin with LogTimes::start.
  /// `record` is the time of the record before the line. Do not call this for the line that contains this time.
  bool IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record);

 private:
  const std::vector<TimeForm> forms_{KnownForms().begin(), KnownForms().end()};
  TimeFinder finder_{forms_, TimeShape::kKnown, true};
};

}  // namespace gpusort
