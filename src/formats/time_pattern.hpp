// Finds times in lines by a regular expression that the user gives (--time-regex). Start at TimePattern.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/time_text.hpp"

namespace re2 {
class RE2;
}

namespace gpusort {

/// A regular expression that finds a time in a line. Either its first group is the time, or its named groups are the
/// parts of the time: year, month, day, hour, minute, second, fraction, ampm and zone. One thread at a time may use an
/// object.
class TimePattern {
 public:
  /// Throws Error(kUsage) if `pattern` is no regular expression, has no group, or lacks a part that a time needs. A
  /// time needs the hour. It also needs the month and the day, unless `dated` says that the user gives the date by
  /// --date.
  explicit TimePattern(const std::string& pattern, bool dated = true);
  ~TimePattern();
  TimePattern(TimePattern&&) noexcept;

  /// Returns true if the expression has named groups for the parts of a time. Call Take() then. Otherwise the first
  /// group is the whole time; call Find().
  bool named() const { return !parts_.empty(); }
  /// Returns what the first group of the expression matches in `line`. If the expression matches several times, the
  /// first match counts. If there is no match, the data() of the result is null.
  std::string_view Find(std::string_view line) const;
  /// Reads the parts of the time from what the named groups of the expression match in `line`. If the expression
  /// matches several times, the first match counts. Returns false if there is no match, or if the text of a group is
  /// not the part that its name says, such as a month "13".
  bool Take(std::string_view line, TimeParts& parts) const;

 private:
  using Setter = bool (*)(std::string_view text, TimeParts& parts);

  std::unique_ptr<re2::RE2> pattern_;
  std::vector<std::pair<int, Setter>> parts_;  ///< the number of each named group, and the function that reads its text
};

}  // namespace gpusort
