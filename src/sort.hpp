// The program `sort`: gpusort acts as GNU sort if it is called by that name.
#pragma once

namespace gpusort {

/// Returns true if `program` (argv[0]) is called `sort`.
bool IsNamedSort(const char* program);

/// Runs the program as `sort` and returns the exit code. Call it before any other function.
int SortMain(int argc, char** argv);

}  // namespace gpusort
