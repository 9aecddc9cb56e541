// Suggests words in messages about unknown options, values, types and columns. Start at DidYouMean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Returns "; did you mean X?" with the known words that are nearest to `typed` in any case, or that begin with
/// `typed`. Returns "" if there are none, or too many.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);
/// Returns up to 20 names in quotes, the names most similar to `typed` first.
std::string NearestFirst(std::string_view typed, std::vector<std::string> names);

}  // namespace gpusort
