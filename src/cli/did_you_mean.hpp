// What was meant by a word that is none of those known: for messages about misspelt options, values and types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// "; did you mean X?" with the known words next to what was typed, or those that it begins; else nothing.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);

}  // namespace gpusort
