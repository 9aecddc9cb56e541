// Finds lines of a log that contain a timestamp but were not read as the beginning of a record. A job warns about them.
// Start at InnerTimes.
#pragma once

#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Looks for timestamps in the second and later lines of log records. Only one thread at a time may use an object.
class InnerTimes {
 public:
  InnerTimes() = default;
  InnerTimes(const InnerTimes&) = delete;
  InnerTimes& operator=(const InnerTimes&) = delete;

  /// Returns true if `line`, a later line of a record, has a timestamp and could begin another record.
  /// - `record`: the timestamp of the record that `line` is part of.
  /// - `only_front`: true: only a date with a time of day counts, and only in the first four words of `line`.
  bool Holds(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front);
  /// Returns true if `line`, a later line of a record, could be a record of another program.
  /// - `record`: the timestamp of the record. Do not pass the line that contains this timestamp.
  bool IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record);

 private:
  const std::vector<TimeForm> forms_{KnownForms().begin(), KnownForms().end()};
  TimeFinder finder_{forms_, TimeShape::kKnown, true};
};

}  // namespace gpusort
