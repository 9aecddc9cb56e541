#include "base/report_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "io/path.hpp"
#include "io/system_calls.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

/// Returns true if the file has several names, in a folder in which everybody can write. Another user may then have
/// given a second name to a file of this user.
bool IsLinkedByOther(const struct stat& facts, const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  struct stat around;
  return S_ISREG(facts.st_mode) && facts.st_nlink > 1 && ::stat(folder.empty() ? "." : folder.c_str(), &around) == 0 &&
         (around.st_mode & S_IWOTH) != 0;
}

}  // namespace

bool MayBePlanted(const std::string& path) {
  struct stat facts;
  return PlantedByOther(path) || (::stat(path.c_str(), &facts) == 0 && IsLinkedByOther(facts, path));
}

bool SameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

std::optional<int> StandardStream(const struct stat& facts) {
  for (const int fd : {STDERR_FILENO, STDOUT_FILENO}) {
    struct stat st;
    if (::fstat(fd, &st) == 0 && SameFile(st, facts)) return fd;
  }
  return std::nullopt;
}

int OpenReport(const std::string& path, bool append) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) == 0) {
    if (const std::optional<int> stream = StandardStream(facts)) return ::fcntl(*stream, F_DUPFD_CLOEXEC, 0);
  }
  if (MayBePlanted(path)) {
    errno = EACCES;
    return -1;
  }
  // Without O_NONBLOCK, opening a pipe without a reader would wait for ever.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd;
  for (int tries = 0; !fd.open(); ++tries) {
    fd = detail::Fd(detail::OpenPath(path.c_str(), kFlags | (append ? O_APPEND : 0), 0666));
    if (fd.open()) break;
    if (errno != ENXIO || tries == 20) return -1;
    ::poll(nullptr, 0, 50);
  }
  if (::fstat(fd.get(), &facts) != 0) return -1;
  if (IsLinkedByOther(facts, path)) {
    errno = EACCES;
    return -1;
  }
  if (!append && S_ISREG(facts.st_mode) && Uninterrupted([&] { return ::ftruncate(fd.get(), 0); }) != 0) return -1;
  return ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
}

int RequireReport(const char* option, const std::string& path, bool append) {
  const int fd = OpenReport(path, append);
  if (fd >= 0) return fd;
  throw Error(ErrorCode::kUsage, fmt::format("{}: cannot open '{}': {}", option, EscapeName(path),
                                             std::generic_category().message(errno)));
}

int WriteReport(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      // Another process made the shared terminal or pipe non-blocking. Wait for a second, and not for ever.
      pollfd waiting{fd, POLLOUT, 0};
      if (::poll(&waiting, 1, 1000) > 0) continue;
      return EAGAIN;
    }
    if (count <= 0) return count < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

int WriteReportFile(const std::string& path, std::string_view text) {
  const detail::Fd fd(OpenReport(path, false));
  return fd.open() ? WriteReport(fd.get(), text) : errno;
}

ErrorCode ReportErrorCode(int error) {
  return detail::OpenErrorCode(error) == ErrorCode::kNoSpace ? ErrorCode::kNoSpace : ErrorCode::kIo;
}

}  // namespace gpusort
