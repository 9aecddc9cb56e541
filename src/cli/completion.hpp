// Completes command lines of gpusort: options and their values from the table of options, and keys of CSV from the
// header of the typed input file. Reads only the beginning of regular files. cli/shell_words.hpp talks to the shells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

/// Returns the possible completions of words[current]. words[0] is the name of the program.
Completions Complete(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
