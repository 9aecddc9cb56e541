// The program under the name `sort`: gpusort takes the options of GNU sort and gives its output if it is called `sort`.
#pragma once

namespace gpusort {

/// Returns true if the last part of the path `program` (argv[0]) is `sort`.
bool IsNamedSort(const char* program);

/// Runs the program as GNU sort and returns the exit code. Call this first in main().
int SortMain(int argc, char** argv);

}  // namespace gpusort
