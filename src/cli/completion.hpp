// Completes options of gpusort, their values, and column names in a shell. Reads column names from the input file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

/// Returns the words that the user may want to type instead of the unfinished word words[current]. words[0] is the name
/// of the program.
Completions Complete(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
