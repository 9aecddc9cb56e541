// Makes a link with the name `sort` to gpusort (--install-sort). Under this name, gpusort works as GNU sort. Start at
// InstallSort.
#pragma once

#include <string>

namespace gpusort {

/// Makes the link `folder`/sort to the running program, and makes the folder if it is missing. Replaces an existing
/// link of this name only if it leads to another program `gpusort`. Returns lines for a person: what was made, which
/// `sort` the commands in PATH run now, and how to undo the change. Throws Error(kUsage) if another file has the name
/// of the link, and Error(kIo) if the link cannot be made.
std::string InstallSort(const std::string& folder);

}  // namespace gpusort
