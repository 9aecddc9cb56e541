// The program under the name `sort`: GNU sort's command line, messages, exit codes and output bytes, by the line
// sorter. It starts no backend, no log and no thread of its own accord, so that it costs milliseconds and little
// memory.
#pragma once

namespace gpusort {

/// True if `program` (argv[0]) is called `sort`.
bool IsNamedSort(const char* program);

/// Returns the exit code. Call it first in main, in place of everything else.
int SortMain(int argc, char** argv);

}  // namespace gpusort
