// Functions about paths: links, /dev/fd, streams, and files that other users may have created to mislead this user.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace gpusort {

/// Returns true if another user may have put `path` into a shared folder to mislead this user: a link, or any file in a
/// sticky folder such as /tmp. Files of the folder's owner do not count. Does not follow links. Returns false if `path`
/// cannot be read.
bool PlantedByOther(const std::string& path);
/// Returns the number of the file descriptor that `path` stands for: 1 for /dev/stdout, 3 for /dev/fd/3, also through
/// links. Returns std::nullopt for any other path.
std::optional<int> DescriptorOf(const std::string& path);
/// Returns true if the output `path` can only be written from front to end, as a stream. Streams are "-", open
/// descriptors such as /dev/fd/3, FIFOs and character devices, also through links.
bool IsStreamTarget(const std::string& path);
/// Returns true if the input `path` can only be read from front to end, as a stream. Streams are "-", files that report
/// a wrong size (as in /proc), and anything that is neither a regular file nor a directory.
bool IsStreamSource(const std::string& path);

namespace detail {

/// The maximum number of symbolic links that Linux follows in one path.
inline constexpr int kMaxLinks = 40;
/// Returns the folder that contains `path`, or "." if `path` has no folder.
std::string DirectoryOf(const std::filesystem::path& path);
/// Returns true if the last part of the path is a symbolic link. Throws SystemError if the path cannot be read.
bool IsLink(const std::filesystem::path& path);
/// Returns the path to which a symbolic link points, without following further links. Sets `failure` if the link cannot
/// be read.
std::filesystem::path TargetOf(const std::filesystem::path& link, std::error_code& failure);

}  // namespace detail
}  // namespace gpusort
