// Finds the members of JSON Lines that hold timestamps. Start at MemberFinder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/text_reader.hpp"

namespace gpusort {

/// Finds the members of JSON Lines that hold timestamps.
class MemberFinder {
 public:
  explicit MemberFinder(const std::vector<TimeForm>& forms) : forms_(forms) {}

  /// Searches the JSON object `line` for members that are timestamps. `number` is the index of the line in the sample.
  void Search(std::size_t number, std::string_view line);

  /// A member of JSON objects, the format of its timestamps, and the lines in which the member is a timestamp.
  struct Member {
    std::string path;
    const TimeForm* form = nullptr;  ///< null: the format is one that ParseInstant() knows
    LineSet lines{};
    std::size_t rank = 0;
    bool varies = false;     ///< true: the member has several different values
    std::string first = {};  ///< the first value of the member
  };
  const std::vector<Member>& members() const { return members_; }
  /// The usual paths of the member of a JSON object that holds the timestamp. The first path that an object has is
  /// used.
  static constexpr std::string_view kNames[] = {"/time",
                                                "/ts",
                                                "/timestamp",
                                                "/@timestamp",
                                                "/t/$date",
                                                "/date",
                                                "/t",
                                                "/datetime",
                                                "/__REALTIME_TIMESTAMP",
                                                "/@t",
                                                "/Time",
                                                "/time_local",
                                                "/eventTime",
                                                "/asctime",
                                                "/instant/epochSecond",
                                                "/timestamp/seconds"};

 private:
  static constexpr std::size_t kMostDepth = 3, kMostMembers = 200;

  void SkipBlanks();
  /// Reads a string up to its closing quote. The opening quote must have been read.
  std::string_view String();
  /// Skips an array or an object up to its closing bracket. The opening bracket must have been read.
  void Skip();
  void Object(std::size_t depth);
  void Value(std::string_view name, std::size_t depth);
  void Time(std::string_view name, std::string_view text, bool is_string);

  const std::vector<TimeForm>& forms_;
  std::size_t line_ = 0;
  TextReader reader_{};
  std::string path_;
  std::vector<Member> members_;
};

}  // namespace gpusort
