// Opens folders and files that several processes of one user share: those of --resume-dir and of tasks. Other users
// must not be able to write there, and links are not followed. Start at OpenOwnFolder.
#pragma once

#include <string>

#include "io/file.hpp"

namespace gpusort {

/// Returns `path` without "/" and "/." at its end. With them, opening the path would follow a link.
std::string WithoutSlashes(std::string path);

/// Opens a folder that belongs to this user and that nobody else can write in. `path` must not be a link. Messages have
/// `name` before the path. Throws Error(kUsage) that says what is wrong with the folder.
detail::Fd OpenOwnFolder(const std::string& name, const std::string& path);

/// Throws Error(kUsage) unless `path` does not exist, or is a regular file of this user that nobody else can write.
/// With `others_may_write` the file may have any mode. Another user may have planted a link under the name.
void RequireOwnFile(const std::string& path, bool others_may_write = false);

}  // namespace gpusort
