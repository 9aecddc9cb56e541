#include "byte_streams.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gnu_quote.hpp"

namespace gpusort {
namespace {

/// The most that one system call moves.
constexpr std::size_t kCallBytes = std::size_t{1} << 30;

/// True if the call is worth repeating: it was interrupted, or the descriptor is non-blocking and now ready.
bool Again(int fd, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{fd, events, 0};
  return ::poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

[[noreturn]] void FailWrite(const std::string& name, int error) {
  const std::string message = FileMessage("write failed", name, error);
  if (error == EPIPE) throw ClosedPipe(message);
  throw Error(error == ENOSPC || error == EDQUOT || error == EFBIG ? ErrorCode::kNoSpace : ErrorCode::kIo, message);
}

}  // namespace

FdSink::FdSink(int fd, std::string name, bool owned) : fd_(fd), name_(std::move(name)), owned_(owned) {}

FdSink::~FdSink() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

void FdSink::Write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), std::min(data.size(), kCallBytes));
    if (written >= 0) {
      data = data.subspan(static_cast<std::size_t>(written));
    } else if (!Again(fd_, POLLOUT)) {
      FailWrite(name_, errno);
    }
  }
}

void FdSink::Close() {
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 && errno != EINTR) FailWrite(name_, errno);
}

FdSource::FdSource(int fd, std::string name, bool owned) : fd_(fd), name_(std::move(name)), owned_(owned) {}

FdSource::~FdSource() {
  if (owned_) ::close(fd_);
}

std::size_t FdSource::Read(std::span<std::byte> out) {
  for (;;) {
    const ssize_t got = ::read(fd_, out.data(), std::min(out.size(), kCallBytes));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (!Again(fd_, POLLIN)) throw Error(ErrorCode::kIo, FileMessage("read failed", name_, errno));
  }
}

void WriteAt(int fd, const std::string& name, std::span<const std::byte> data, std::uint64_t offset) {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(fd, data.data(), std::min(data.size(), kCallBytes), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailWrite(name, errno);
    data = data.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

std::size_t ReadAt(int fd, const std::string& name, std::span<std::byte> out, std::uint64_t offset) {
  for (;;) {
    const ssize_t got = ::pread(fd, out.data(), std::min(out.size(), kCallBytes), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error(ErrorCode::kIo, FileMessage("read failed", name, errno));
  }
}

}  // namespace gpusort
