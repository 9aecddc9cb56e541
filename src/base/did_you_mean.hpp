// Finds the words that a user may have meant by an unknown word, for messages about unknown options, values, types and
// columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// Returns a text such as "; did you mean X or Y?", where X and Y are words of `known`. Suggests words that have the
/// meaning of `typed` in other programs (`--top` for `--limit`), and words that begin with `typed`. If there are none,
/// suggests the words that differ from `typed` by the fewest typing errors. Ignores upper and lower case. Returns "" if
/// no word is similar, or if more than three words are.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known);
/// Returns a list of at most 20 of `names`, in quotes. The names that are most similar to `typed` come first.
std::string NearestFirst(std::string_view typed, std::vector<std::string> names);

}  // namespace gpusort
