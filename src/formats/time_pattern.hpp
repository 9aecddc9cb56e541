// Finds timestamps in lines with a regular expression that the user gives (--time-regex). Start at TimePattern.
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

/// A regular expression that finds a timestamp in a line. If it has named groups, they are the parts of the timestamp:
/// year, month, day, hour, minute, second, fraction, ampm and zone. Otherwise its first group is the whole timestamp.
/// Only one thread at a time may use an object.
class TimePattern {
 public:
  /// Throws Error(kUsage) if `pattern` is no regular expression or has no group.
  /// - If it has named groups, they must be parts of a timestamp, and month, day and hour must be among them.
  /// - If `dated` is true, month and day can be missing, because --date gives them.
  explicit TimePattern(const std::string& pattern, bool dated = true);
  ~TimePattern();
  TimePattern(TimePattern&&) noexcept;

  /// Returns true if the expression has named groups, which are the parts of a timestamp. The caller must then call
  /// Take(). Otherwise the caller must call Find().
  bool named() const { return !parts_.empty(); }
  /// Returns the part of `line` that the first group of the expression matches. If the expression matches several
  /// times, the first match is used. If there is no match, the data() of the result is null.
  std::string_view Find(std::string_view line) const;
  /// Sets `parts` to the parts of the timestamp that the named groups of the expression match in `line`. If the
  /// expression matches several times, the first match is used. Returns false if there is no match, or if the match of
  /// a group is not valid for its name, such as a month "13".
  bool Take(std::string_view line, TimeParts& parts) const;

 private:
  using Setter = bool (*)(std::string_view text, TimeParts& parts);

  std::unique_ptr<re2::RE2> pattern_;
  /// For each named group: its number, and the function that reads its match.
  std::vector<std::pair<int, Setter>> parts_;
};

}  // namespace gpusort
