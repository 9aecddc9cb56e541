// Suggests types for sorting by a column, such as "decimal" or "timestamp". Start at SuggestTypes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

/// A type for a sort key, and the options with which this type can read the values of a column.
struct Suggestion {
  std::string type;     ///< the type in the syntax of -k: "decimal", "timestamp(%m/%d/%Y)"
  std::string options;  ///< the options, each with a blank before it: " --decimal-point ','"
};

/// Returns the types that can read all of `samples`, the values of one column. `given` has the type and the options
/// that the user gave for the column. Returns two suggestions if the samples can be read in two ways, as 11/12/2026
/// can. Returns none if no type can read them.
std::vector<Suggestion> SuggestTypes(const std::vector<std::string>& samples, const ValueRule& given);

/// Returns true if `text` is a day or timestamp in the years 1900 to 2199 without separators: YYYYMMDD, YYYYMMDDhhmm or
/// YYYYMMDDhhmmss.
bool IsCompactTime(std::string_view text);

}  // namespace gpusort
