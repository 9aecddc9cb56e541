#include "io/stream.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "io/path.hpp"

namespace gpusort {
namespace {

constexpr int kPollMilliseconds = 50;
constexpr auto kReaderRetry = std::chrono::milliseconds(10);
// A pipe of 64 KiB, as it comes, costs a task switch for each 64 KiB.
constexpr int kPipeBytes = 1 << 20;
// A write to a file or socket that does not block is still kept short enough to look at the flag in between.
constexpr std::uint64_t kMaxWriteBytes = 1 << 20;

/// Waits until `fd` is ready or kPollMilliseconds have passed. Returns poll's revents, 0 if it is not ready.
int WaitReady(int fd, short events, const std::string& path) {
  struct pollfd wait = {fd, events, 0};
  const int ready = ::poll(&wait, 1, kPollMilliseconds);
  if (ready < 0 && errno != EINTR) throw Error(ErrorCode::kIo, "poll " + path + ": " + detail::ErrnoText(errno));
  if (ready <= 0) return 0;
  if ((wait.revents & POLLNVAL) != 0) throw Error(ErrorCode::kIo, "poll " + path + ": the descriptor is closed");
  return wait.revents;
}

struct stat StatStream(int fd, const std::string& path) {
  struct stat st;
  if (::fstat(fd, &st) != 0) throw Error(ErrorCode::kUsage, path + ": " + detail::ErrnoText(errno));
  return st;
}

/// Larger pipes are only faster: another user's pipe, or one that has reached the limit of all pipes, stays as it is.
void WidenPipe(int fd) {
  if (::fcntl(fd, F_GETPIPE_SZ) < kPipeBytes) ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
}

}  // namespace

PipeReader::PipeReader(const std::string& path, const CancelFlag& cancel) : cancel_(cancel), path_(path), fd_(0) {
  if (path == "-") {
    path_ = "standard input";
  } else {
    // Non-blocking: the open of a FIFO would wait for a writer. The open file description is ours alone.
    owned_ = detail::Fd(detail::OpenPath(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!owned_.open()) {
      throw SystemError(ErrorCode::kUsage, "input " + path + ": " + detail::ErrnoText(errno), errno,
                        SystemError::Verb::kOpen, path);
    }
    fd_ = owned_.get();
  }
  Prepare();
}

PipeReader::PipeReader(int fd, std::string name, const CancelFlag& cancel)
    : cancel_(cancel), path_(std::move(name)), fd_(fd) {
  Prepare();
}

void PipeReader::Prepare() {
  const struct stat st = StatStream(fd_, path_);
  if (S_ISDIR(st.st_mode)) {
    throw SystemError(ErrorCode::kUsage, "input " + path_ + " is a directory", EISDIR, SystemError::Verb::kRead, path_);
  }
  if (S_ISFIFO(st.st_mode)) WidenPipe(fd_);
}

std::uint64_t PipeReader::ReadSome(std::span<std::byte> out) {
  if (out.empty()) throw Error(ErrorCode::kInternal, "read " + path_ + ": no room");
  while (!ended_) {
    cancel_.ThrowIfRequested();
    // Always poll first: a blocking descriptor has data then, and a FIFO that no writer has opened yet is not ready,
    // where read would say that it has ended.
    if (WaitReady(fd_, POLLIN, path_) == 0) continue;
    const ssize_t got = ::read(fd_, out.data(), out.size());
    if (got > 0) {
      offset_ += static_cast<std::uint64_t>(got);
      return static_cast<std::uint64_t>(got);
    }
    if (got == 0) {
      ended_ = true;
      owned_ = {};  // there may be more inputs than descriptors
    } else if (errno != EINTR && errno != EAGAIN) {
      throw SystemError(ErrorCode::kIo,
                        "read " + path_ + " at " + std::to_string(offset_) + ": " + detail::ErrnoText(errno), errno,
                        SystemError::Verb::kRead, path_, offset_);
    }
  }
  return 0;
}

PipeWriter::PipeWriter(const std::string& path, const CancelFlag& cancel) : cancel_(cancel), path_(path) {
  if (path == "-") path_ = "standard output";
  const std::optional<int> descriptor = path == "-" ? STDOUT_FILENO : DescriptorOf(path);
  if (!descriptor) {
    TryOpenFifo();
    return;
  }
  fd_ = *descriptor;
  if (path != "-" && ::fcntl(fd_, F_GETFD) < 0) {
    // As open says it of a descriptor's name.
    throw SystemError(ErrorCode::kUsage, path_ + ": " + detail::ErrnoText(errno), ENOENT, SystemError::Verb::kOpen, path_);
  }
  Prepare();
}

PipeWriter::PipeWriter(int fd, std::string name, const CancelFlag& cancel)
    : cancel_(cancel), path_(std::move(name)), fd_(fd) {
  Prepare();
}

bool PipeWriter::TryOpenFifo() {
  owned_ = detail::Fd(detail::OpenPath(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!owned_.open()) {
    struct stat st;
    const int error = errno;
    if (error == EINTR) return false;
    if (error == ENXIO && ::stat(path_.c_str(), &st) == 0 && S_ISFIFO(st.st_mode)) return false;
    throw SystemError(ErrorCode::kUsage, "output " + path_ + ": " + detail::ErrnoText(error), error,
                      SystemError::Verb::kOpen, path_);
  }
  fd_ = owned_.get();
  kind_ = Kind::kNonBlocking;
  if (S_ISFIFO(StatStream(fd_, path_).st_mode)) WidenPipe(fd_);
  return true;
}

void PipeWriter::WaitForReader() {
  // The system has no call that waits for the reader of a FIFO with a time limit.
  while (fd_ < 0) {
    cancel_.ThrowIfRequested();
    if (!TryOpenFifo()) std::this_thread::sleep_for(kReaderRetry);
  }
}

std::optional<FileFacts> PipeWriter::file() const {
  return kind_ == Kind::kFile ? std::optional(FactsOf(fd_)) : std::nullopt;
}

// O_NONBLOCK belongs to the open file description, which a borrowed descriptor shares with other processes. Opening the
// pipe again through /proc gives a description of our own. Where that is refused (another user's pipe, no /proc),
// pieces of PIPE_BUF bytes never block once poll has said that there is room.
void PipeWriter::Prepare() {
  const struct stat st = StatStream(fd_, path_);
  if ((::fcntl(fd_, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    throw SystemError(ErrorCode::kUsage, "output " + path_ + ": its descriptor is open for reading only", EBADF,
                      SystemError::Verb::kWrite, path_);
  }
  if (S_ISREG(st.st_mode)) {
    kind_ = Kind::kFile;
  } else if (S_ISSOCK(st.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    owned_ = detail::Fd(detail::OpenPath(self.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (owned_.open()) {
      fd_ = owned_.get();
      kind_ = Kind::kNonBlocking;
    }
    if (S_ISFIFO(st.st_mode)) WidenPipe(fd_);
  }
}

void PipeWriter::Fail(const char* verb, int error) const {
  const std::string message =
      std::string(verb) + " " + path_ + " at " + std::to_string(offset_) + ": " + detail::ErrnoText(error);
  if (error == EPIPE || error == ECONNRESET) throw BrokenPipe(message, path_);
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (!full) throw SystemError(ErrorCode::kIo, message, error, SystemError::Verb::kWrite, path_, offset_);
  throw SystemError(ErrorCode::kNoSpace, message + "; " + detail::NoSpaceHint(error), error, SystemError::Verb::kWrite,
                    path_, offset_);
}

void PipeWriter::WriteAll(std::span<const std::byte> data) {
  WaitForReader();
  if (sums_ != nullptr) sums_->Add(offset_, data);
  // What has room now needs no poll; a blocking descriptor must always be asked first.
  bool room = kind_ != Kind::kBlocking;
  while (!data.empty()) {
    cancel_.ThrowIfRequested();
    if (!room && WaitReady(fd_, POLLOUT, path_) == 0) continue;
    const std::uint64_t bytes =
        std::min<std::uint64_t>(data.size(), kind_ == Kind::kBlocking ? std::uint64_t{PIPE_BUF} : kMaxWriteBytes);
    const ssize_t put = kind_ == Kind::kSocket ? ::send(fd_, data.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                                               : ::write(fd_, data.data(), bytes);
    if (put < 0 && errno != EINTR && errno != EAGAIN) Fail("write", errno);
    room = kind_ == Kind::kFile || (kind_ != Kind::kBlocking && (put >= 0 || errno == EINTR));
    if (put > 0) {
      offset_ += static_cast<std::uint64_t>(put);
      data = data.subspan(static_cast<std::size_t>(put));
    }
  }
}

void PipeWriter::Close() {
  WaitForReader();
  // Closing a copy reports what the system held back, and leaves a borrowed descriptor, as of standard output, open.
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) Fail("close", errno);
  owned_ = detail::Fd();
}

}  // namespace gpusort
