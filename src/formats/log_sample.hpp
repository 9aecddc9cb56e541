// The lines of an input that are searched for times, to learn the forms of the times. Start at SampleOf.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

inline constexpr std::size_t kSampleLines = 400;  ///< the largest number of lines in a sample

/// A set of lines of a sample. Bit i stands for LogSample::lines[i].
using LineSet = std::bitset<kSampleLines>;

/// The lines of an input that are searched for times.
struct LogSample {
  std::vector<std::string_view> lines;
  std::vector<std::string_view> all;  ///< all lines of the first bytes that can have a time
  LineSet after_blank;                ///< the lines with an empty line before them
  bool indented = false;              ///< lines that begin with a blank can have a time
};

/// Takes the lines of `front` that do not begin with a blank, are not empty, and have no NUL. If all lines begin with a
/// blank, or `any_line` is true, also takes lines that begin with a blank. If there are many lines, takes the first
/// ones, and others at equal distances.
LogSample SampleOf(std::string_view front, bool any_line);

/// Returns the front of `line` in quotes, for messages.
std::string ShownLine(std::string_view line);

/// Returns the first `words` words of a line, with the blanks before and after them.
std::string_view FirstWords(std::string_view line, unsigned words);

}  // namespace gpusort
