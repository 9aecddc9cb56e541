// Finds types that can read the values of a column, for messages that suggest how to sort by it. Start at SuggestTypes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

/// A type and the options with which it can read the values of a column.
struct Suggestion {
  std::string type;     ///< the type in the syntax of a key: "decimal", "timestamp(%m/%d/%Y)"
  std::string options;  ///< the other options that are needed, after a blank: " --thousands ','"
};

/// Returns the types that can read all of `samples`, which are values of a column with the rule `given`. Returns two
/// suggestions if the samples can be read in two ways (11/12/2026), and none if no type reads them.
std::vector<Suggestion> SuggestTypes(const std::vector<std::string>& samples, const ValueRule& given);

/// Returns true if `text`, which must be digits only, is a day or a time of the years 1900 to 2199 without separators:
/// YYYYMMDD, YYYYMMDDhhmm or YYYYMMDDhhmmss.
bool IsCompactTime(std::string_view text);

}  // namespace gpusort
