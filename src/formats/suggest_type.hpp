// Finds a type that reads the values of a column, for messages that say how a column should be sorted. Start at
// SuggestTypes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

/// A way to read values.
struct Suggestion {
  std::string type;     ///< as it stands in a key: "decimal", "timestamp(%m/%d/%Y)"
  std::string options;  ///< what the command line needs besides, with a blank in front: " --thousands ','"
};

/// Returns the types that can read all of `samples`, which are values of a column with the rule `given`. Returns two
/// suggestions if the samples can be read in two ways (11/12/2026). Returns none if no type reads them or `samples` is
/// empty.
std::vector<Suggestion> SuggestTypes(const std::vector<std::string>& samples, const ValueRule& given);

/// Returns true if `text`, digits alone, is a day or a time of the years 1900 to 2199 without separators: YYYYMMDD,
/// YYYYMMDDhhmm or YYYYMMDDhhmmss.
bool IsCompactTime(std::string_view text);

}  // namespace gpusort
