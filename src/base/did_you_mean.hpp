// Words that were misspelt: for messages about options, values, types and columns that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Returns "; did you mean X?" with the known words that are nearest to `typed` in any case, or that begin with
/// `typed`. Returns "" if there are none, or too many.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);
/// Returns the names in quotes, those most like `name` first, as many as a message bears.
std::string NearestFirst(std::string_view name, std::vector<std::string> names);

}  // namespace gpusort
