// The program `sort`, which the executable gpusort is when it is called by that name.
#pragma once

namespace gpusort {

/// Returns true if `program` (argv[0]) is called `sort`.
bool IsNamedSort(const char* program);

/// Runs the program as `sort` and returns the exit code. Call it before everything else.
int SortMain(int argc, char** argv);

}  // namespace gpusort
