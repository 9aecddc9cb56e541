// Finds times in lines of a log that do not begin a record. A job warns about these lines. Start at InnerTimes.
#pragma once

#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Finds times in lines of a log that do not begin a record. Only one thread at a time may use an object.
class InnerTimes {
 public:
  InnerTimes() = default;
  InnerTimes(const InnerTimes&) = delete;
  InnerTimes& operator=(const InnerTimes&) = delete;

  /// Returns true if `line`, which continues a record, has a time and could therefore begin a separate record. `record`
  /// is the time of the record that `line` continues. If `only_front` is true, only a time with a date in the first
  /// four words counts.
  bool Holds(const LogTimes& log, std::string_view line, const LogTime& record, bool only_front);
  /// Returns true if `line`, which does not begin with LogTimes::start, could be a record that another program wrote.
  /// `record` is the time of the current record. Do not pass the line from which this time was read.
  bool IsOfOther(const LogTimes& log, std::string_view line, const LogTime& record);

 private:
  const std::vector<TimeForm> forms_{KnownForms().begin(), KnownForms().end()};
  TimeFinder finder_{forms_, TimeShape::kKnown, true};
};

}  // namespace gpusort
