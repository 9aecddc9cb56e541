// Completion of gpusort's command lines, out of the table of options and, for keys of CSV, the header of the file on the
// line: of files only regular ones are read, and of these the front. Scripts and answers: cli/shell_words.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/shell_words.hpp"

namespace gpusort {

Completions Complete(const std::vector<std::string>& words, std::size_t current);

}  // namespace gpusort
