// Functions about paths: links, descriptors of this process, streams, and files that other users planted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace gpusort {

/// Returns true if another user could have put the file or link at `path` there as a trap. All users may then write to
/// the folder, and neither this user nor the owner of the folder owns the entry. Does not follow links. Regular files
/// count only in sticky folders (/tmp), because elsewhere another user could replace any file.
bool PlantedByOther(const std::string& path);
/// Returns the file descriptor to which the path refers: 1 for /dev/stdout, 3 for /dev/fd/3, or the same for a link to
/// such a path. Returns std::nullopt for any other path.
std::optional<int> DescriptorOf(const std::string& path);
/// Returns true if the output `path` must be written as a stream: "-", an open descriptor, a FIFO or a character
/// device, also through links.
bool IsStreamTarget(const std::string& path);
/// Returns true if the input `path` must be read as a stream. Streams are "-", a file that reports a wrong size (as in
/// /proc), and anything that is neither a regular file nor a directory.
bool IsStreamSource(const std::string& path);

namespace detail {

/// The number of links in one path that the kernel follows before it gives up.
inline constexpr int kMaxLinks = 40;
/// Returns the folder that contains `path`, or "." if `path` has no folder.
std::string DirectoryOf(const std::filesystem::path& path);
/// Returns true if the last part of the path is a symbolic link. Throws SystemError if the path cannot be read.
bool IsLink(const std::filesystem::path& path);
/// Returns the path to which a link points, without following further links. Sets `failure` on an error.
std::filesystem::path TargetOf(const std::filesystem::path& link, std::error_code& failure);

}  // namespace detail
}  // namespace gpusort
