// Folders and files that several processes of one user share: a job that goes on later (--resume-dir), and a job that
// tasks do. Nobody else may be able to write there, and no link is followed. Start at OpenOwnFolder.
#pragma once

#include <string>

#include "io/file.hpp"

namespace gpusort {

/// Returns `path` without "/" and "/." at its end, after which a link would be followed.
std::string WithoutSlashes(std::string path);

/// Opens a folder that belongs to this user and that nobody else can write in. `path` must not be a link. `name` stands
/// in messages in front of the path. Error(kUsage) says what is wrong with the folder.
detail::Fd OpenOwnFolder(const std::string& name, const std::string& path);

/// Does nothing if `path` does not exist, or is a regular file of this user that nobody else can write. Else
/// Error(kUsage): a link that was planted under the name would be followed. `others_may_write`: the file may have any
/// mode.
void RequireOwnFile(const std::string& path, bool others_may_write = false);

}  // namespace gpusort
