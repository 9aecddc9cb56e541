// Completes command lines of gpusort in a shell: options and their values from the table of options, and column names
// from the header of the CSV file that the user has typed. Reads only the beginning of regular files.
// cli/shell_words.hpp talks to the shells.
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
