// Completes command lines of gpusort by the table of options. Keys of CSV are completed by the header of the input on
// the line. Reads only the beginning of regular files. Scripts and answers: cli/shell_words.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

Completions Complete(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
