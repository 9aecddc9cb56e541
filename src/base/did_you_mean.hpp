// Finds the known words that a user may have meant by an unknown word, for messages about unknown options, values,
// types and columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Returns a text such as "; did you mean X or Y?". X and Y are words of `known`. They mean the same as `typed` does in
/// other programs (`--limit` means `--top`), or they begin with `typed`. If there are no such words, X and Y are the
/// words that differ from `typed` by the fewest typing errors. Ignores upper and lower case. Returns "" if no word is
/// similar, or if more than three words are.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);
/// Returns a list of at most 20 of `names`, in quotes. The names that are most similar to `typed` come first.
std::string NearestFirst(std::string_view typed, std::vector<std::string> names);

}  // namespace gpusort
