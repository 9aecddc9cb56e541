// Finds types that can read the values of a column, for messages that suggest how to sort by it. Start at SuggestTypes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

/// A type for a key, and the options that the job needs for this type to read the values of a column.
struct Suggestion {
  std::string type;     ///< the type in the syntax of a key: "decimal", "timestamp(%m/%d/%Y)"
  std::string options;  ///< the command line options that the type needs, each after a blank: " --thousands ','"
};

/// Returns the types that can read all of `samples`, which are values of one column. `given` is the type and the
/// options that the user gave for the column. Returns two suggestions if the samples can be read in two ways, as
/// 11/12/2026 can. Returns none if no type reads them.
std::vector<Suggestion> SuggestTypes(const std::vector<std::string>& samples, const ValueRule& given);

/// Returns true if `text` is a day or time without separators in the years 1900 to 2199: YYYYMMDD, YYYYMMDDhhmm or
/// YYYYMMDDhhmmss. `text` must contain only digits.
bool IsCompactTime(std::string_view text);

}  // namespace gpusort
