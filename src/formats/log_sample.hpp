// Chooses some lines of a log as a sample. The sample shows how timestamps are written in this log. Start at SampleOf.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

inline constexpr std::size_t kSampleLines = 400;  ///< the largest number of lines in a sample

/// A set of lines of a sample. Bit i is set if LogSample::lines[i] is in the set.
using LineSet = std::bitset<kSampleLines>;

/// Some lines of a log, which show how its timestamps are written.
struct LogSample {
  std::vector<std::string_view> lines;
  std::vector<std::string_view> all;  ///< all lines from which `lines` were chosen
  LineSet after_blank;                ///< the lines of `lines` with an empty line before them
  bool indented = false;              ///< true: lines that begin with a blank can have a timestamp
};

/// Returns a sample of the lines of `front`, without empty lines and lines with a NUL byte.
/// - `any_line`: if false, the sample has no lines that begin with a blank
/// - If all lines of `front` begin with a blank, `any_line` is ignored.
LogSample SampleOf(std::string_view front, bool any_line);

/// Returns the beginning of `line` in quotes, for messages.
std::string ShownLine(std::string_view line);

/// Returns the first `words` words of a line, with the blanks before and after them.
std::string_view FirstWords(std::string_view line, unsigned words);

/// Returns true if the line looks like a field of a mail or of HTTP, such as "Return-Path: <joe@example.org>".
bool IsHeaderField(std::string_view line);

}  // namespace gpusort
