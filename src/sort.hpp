// The program under the name `sort`. Under this name, gpusort takes the options of GNU sort and writes the same output
// as GNU sort.
#pragma once

namespace gpusort {

/// Returns true if the last part of the path `program` (argv[0]) is `sort`.
bool IsNamedSort(const char* program);

/// Runs the program as GNU sort and returns the exit code. Call this first in main().
int SortMain(int argc, char** argv);

}  // namespace gpusort
