#include "io/path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/system_calls.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace detail {

std::string DirectoryOf(const std::filesystem::path& path) {
  const std::string parent = path.parent_path().string();
  return parent.empty() ? "." : parent;
}

bool IsLink(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, failure);
  // A link that is not recognised would be replaced instead of its target.
  if (failure == std::errc::io_error || failure == std::errc::not_enough_memory) {
    FailOpen("", path.string(), failure.value());
  }
  return std::filesystem::is_symlink(status);
}

std::filesystem::path TargetOf(const std::filesystem::path& link, std::error_code& failure) {
  const std::filesystem::path next = std::filesystem::read_symlink(link, failure);
  return next.is_absolute() ? next : link.parent_path() / next;
}

}  // namespace detail

// The kernel refuses the same files if fs.protected_symlinks, _regular and _fifos are set. In a folder without the
// sticky bit any user may replace a file by a link, so links in such a folder count, too.
bool PlantedByOther(const std::string& path) {
  struct stat entry, folder;
  if (::lstat(path.c_str(), &entry) != 0 || ::stat(detail::DirectoryOf(path).c_str(), &folder) != 0) return false;
  const bool sticky = (folder.st_mode & S_ISVTX) != 0;
  // In a folder that is not sticky, any user could replace a file after this check, so a check of files would not help.
  return (folder.st_mode & S_IWOTH) != 0 && (sticky || S_ISLNK(entry.st_mode)) && entry.st_uid != ::geteuid() &&
         entry.st_uid != folder.st_uid;
}

std::optional<int> DescriptorOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none, failure;
  const fs::path mine = fs::canonical("/proc/self/fd", none);
  fs::path target = path;
  for (int links = 0; links < detail::kMaxLinks && !mine.empty() && !failure; ++links) {
    const std::string name = target.filename().string();
    if (!name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos &&
        fs::canonical(detail::DirectoryOf(target), none) == mine) {
      return std::stoi(name);
    }
    if (!detail::IsLink(target)) break;
    target = detail::TargetOf(target, failure);
  }
  return std::nullopt;
}

bool IsStreamTarget(const std::string& path) {
  if (path == "-" || DescriptorOf(path)) return true;
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

bool IsStreamSource(const std::string& path) {
  if (path == "-") return true;
  struct stat st;
  if (::stat(path.c_str(), &st) != 0 || S_ISDIR(st.st_mode)) return false;
  if (!S_ISREG(st.st_mode)) return true;
  constexpr off_t kMostInvented = off_t{64} << 10;  // files of /sys report a size of one page or several pages
  if (st.st_size > kMostInvented) return false;
  const detail::Fd fd(detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return false;
  char byte = 0;
  // A read error here is reported later, when the whole file is read.
  const off_t last = st.st_size == 0 ? 0 : st.st_size - 1;
  return (Uninterrupted([&] { return ::pread(fd.get(), &byte, 1, last); }) == 0) == (st.st_size > 0);
}

}  // namespace gpusort
