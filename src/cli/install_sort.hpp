// Makes a link with the name `sort` to gpusort (--install-sort). Under this name, gpusort works as GNU sort. Start at
// InstallSort.
#pragma once

#include <string>

namespace gpusort {

/// Makes `folder`/sort a link to the running program, and returns a message for the user. Creates a missing folder.
/// - Replaces a link to a file with the name gpusort. Throws Error(kUsage) for any other file.
/// - Throws Error(kUsage) if the user may not write to the folder, and Error(kIo) for any other failure.
std::string InstallSort(const std::string& folder);

}  // namespace gpusort
