// Functions on paths: links, descriptors of this process, streams, files of other users.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace gpusort {

/// Returns true if another user could have put the entry at `path` there as a trap. This is so if all users may write
/// to the folder, and neither this user nor the owner of the folder owns the entry. Links are not followed. A file
/// counts only in a sticky folder (/tmp), because in any other folder another user could also remove an honest file.
bool PlantedByOther(const std::string& path);
/// Returns the descriptor of this process that a path names: /dev/stdout, /dev/fd/3, /proc/self/fd/3, or a link to one.
std::optional<int> DescriptorOf(const std::string& path);
/// Returns true if an output is streamed because it cannot be replaced: "-", an open descriptor, a FIFO or a character
/// device, also through links.
bool IsStreamTarget(const std::string& path);
/// Returns true if an input must be streamed: "-", anything that is neither a regular file nor a directory, or a file
/// that reports a wrong size, as in /proc.
bool IsStreamSource(const std::string& path);

namespace detail {

/// The number of links after which the kernel gives up.
inline constexpr int kMaxLinks = 40;
/// Returns the folder that contains `path`, "." if the path names none.
std::string DirectoryOf(const std::filesystem::path& path);
/// Returns true if the path itself is a symbolic link. Throws SystemError if that cannot be read.
bool IsLink(const std::filesystem::path& path);
/// Follows a link one step. Sets `failure` on an error.
std::filesystem::path TargetOf(const std::filesystem::path& link, std::error_code& failure);

}  // namespace detail
}  // namespace gpusort
