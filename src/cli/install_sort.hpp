// Makes the link under whose name the program is GNU sort (--install-sort). Start at InstallSort.
#pragma once

#include <string>

namespace gpusort {

/// Makes the link `folder`/sort to the running program, and the folder if it is missing. A link of that name to
/// another program `gpusort` is replaced. Anything else of that name is kept. Returns lines for a person: what was
/// made, which `sort` the commands in PATH run now, and how to undo it. Throws Error(kUsage) if something else has the
/// name, and Error(kIo) if the link cannot be made.
std::string InstallSort(const std::string& folder);

}  // namespace gpusort
