// Makes a link with the name `sort` to gpusort (--install-sort). Under this name, gpusort works as GNU sort. Start at
// InstallSort.
#pragma once

#include <string>

namespace gpusort {

/// Makes `folder`/sort a link to the running program, and creates the folder if it is missing. Replaces an existing
/// link only if it leads to a file with the name gpusort. Returns a message for the user: what was done, which `sort`
/// the commands in PATH run now, and how to undo the change. Throws Error(kUsage) if `folder`/sort is any other file,
/// or if the user may not write to the folder. Throws Error(kIo) if the link cannot be made for another reason.
std::string InstallSort(const std::string& folder);

}  // namespace gpusort
