// Opens and checks folders that several processes of one user share: those of --resume-dir and of gpusort_task. Refuses
// folders and files in which another user can write, and does not follow links. Start at OpenOwnFolder.
#pragma once

#include <string>

#include "io/system_calls.hpp"

namespace gpusort {

/// Returns `path` without "/" and "/." at its end. With such an end, open(2) would follow a link in spite of
/// O_NOFOLLOW.
std::string WithoutSlashes(std::string path);

/// Opens the folder `path`. Throws Error(kUsage) if the path is a link, or if the folder is missing, belongs to another
/// user or is writable by others. The message of the error begins with `name`, such as "--resume-dir ", and the path.
detail::Fd OpenOwnFolder(const std::string& name, const std::string& path);

/// Throws Error(kUsage) if `path` exists and is not a regular file of this user, for example if it is a link that
/// another user has made. Unless `others_may_write` is true, also throws if other users can write to the file.
void RequireOwnFile(const std::string& path, bool others_may_write = false);

}  // namespace gpusort
