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

/// A regular expression whose first group is a time, or whose named groups are the parts of a time: year, month, day,
/// hour, minute, second, fraction, ampm and zone. One thread at a time may use an object.
class TimePattern {
 public:
  /// Throws Error(kUsage) if `pattern` is no regular expression, has no group, or lacks a part that a time needs. A
  /// time needs the hour and, unless `dated` is true, the month and the day.
  explicit TimePattern(const std::string& pattern, bool dated = true);
  ~TimePattern();
  TimePattern(TimePattern&&) noexcept;

  /// True: the groups are the parts of a time, for Take(). False: the first group is a time, for Find().
  bool named() const { return !parts_.empty(); }
  /// Returns the first group of the first match in the line. Returns a text without data if there is no match.
  std::string_view Find(std::string_view line) const;
  /// Reads the named groups of the first match in the line. Returns false if there is no match, or if a group is not
  /// what its name says.
  bool Take(std::string_view line, TimeParts& parts) const;

 private:
  using Setter = bool (*)(std::string_view text, TimeParts& parts);

  std::unique_ptr<re2::RE2> pattern_;
  std::vector<std::pair<int, Setter>> parts_;  ///< the number of each named group, and what reads it
};

}  // namespace gpusort
