// Finds the words that a user may have meant by an unknown word, for messages about unknown options, values, types and
// columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Returns a string such as "; did you mean X or Y?", where X and Y are words of `known`. Suggests words that begin
/// with `typed`, and words for which other programs use `typed` (for example --top if the user typed --limit). If there
/// are none, suggests the words with the most similar spelling. Ignores upper and lower case. Returns "" if no word is
/// similar, or if more than three words are.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);
/// Returns a string with at most 20 of `names`, in quotes, with commas between the names. The names that are most
/// similar to `typed` come first.
std::string NearestFirst(std::string_view typed, std::vector<std::string> names);

}  // namespace gpusort
