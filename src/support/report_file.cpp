#include "support/report_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace gpusort {

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
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : O_TRUNC), 0666);
}

int WriteReport(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      // Somebody else made the shared terminal or pipe non-blocking. Wait a while, not for ever.
      pollfd waiting{fd, POLLOUT, 0};
      if (::poll(&waiting, 1, 1000) > 0) continue;
      return EAGAIN;
    }
    if (count <= 0) return count < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace gpusort
