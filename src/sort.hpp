// The program under the name `sort`. Under this name, gpusort takes the options of GNU sort and writes the same output
// as GNU sort.
#pragma once

namespace gpusort {

/// Returns true if the last part of the path `program` (argv[0]) is `sort`.
bool IsNamedSort(const char* program);

/// Does the work of main() if IsNamedSort() is true. Returns the exit code.
int SortMain(int argc, char** argv);

}  // namespace gpusort
