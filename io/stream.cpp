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
// A pipe of the usual 64 KiB costs a task switch for each 64 KiB.
constexpr int kPipeBytes = 1 << 20;
// Writes to files and sockets are short, so that the cancel flag is checked between them.
constexpr std::uint64_t kMaxWriteBytes = 1 << 20;

/// Waits until `fd` is ready or kPollMilliseconds have passed. Returns the revents of poll(), or 0 if `fd` is not
/// ready.
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

bool OnDisk(const struct stat& st) { return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode); }

/// Enlarges a pipe, which only makes it faster. The pipe stays as it is if it is another user's or if all pipes
/// together have reached their limit.
void WidenPipe(int fd) {
  if (::fcntl(fd, F_GETPIPE_SZ) < kPipeBytes) ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
}

}  // namespace

PipeReader::PipeReader(const std::string& path, const CancelFlag& cancel) : cancel_(cancel), path_(path), fd_(0) {
  if (path == "-") {
    path_ = "standard input";
  } else {
    // O_NONBLOCK, because opening a FIFO would wait for a writer. No other process shares this descriptor.
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
  on_disk_ = OnDisk(st);
}

std::uint64_t PipeReader::ReadSome(std::span<std::byte> out) {
  if (out.empty()) throw Error(ErrorCode::kInternal, "read " + path_ + ": no room");
  while (!ended_) {
    cancel_.ThrowIfRequested();
    // Calls poll() first, so that a blocking descriptor has data when it is read. For a FIFO that no writer has opened
    // yet, read() would report the end, while poll() reports that it is not ready.
    if (WaitReady(fd_, POLLIN, path_) == 0) continue;
    const ssize_t got = ::read(fd_, out.data(), out.size());
    if (got > 0) {
      offset_ += static_cast<std::uint64_t>(got);
      return static_cast<std::uint64_t>(got);
    }
    if (got == 0) {
      ended_ = true;
      owned_ = {};  // the process may have more inputs than descriptors
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
    // Reports the error that open() has for the name of a descriptor that is not open.
    throw SystemError(ErrorCode::kUsage, path_ + ": " + detail::ErrnoText(errno), ENOENT, SystemError::Verb::kOpen,
                      path_);
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
  const struct stat st = StatStream(fd_, path_);
  if (S_ISFIFO(st.st_mode)) WidenPipe(fd_);
  on_disk_ = OnDisk(st);
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

// O_NONBLOCK belongs to the open file description, which other processes may share. Opening the pipe again through
// /proc gives a separate description. If that is refused (another user's pipe, no /proc), writes of PIPE_BUF bytes do
// not block after poll has reported room.
void PipeWriter::Prepare() {
  const struct stat st = StatStream(fd_, path_);
  if ((::fcntl(fd_, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    throw SystemError(ErrorCode::kUsage, "output " + path_ + ": its descriptor is open for reading only", EBADF,
                      SystemError::Verb::kWrite, path_);
  }
  on_disk_ = OnDisk(st);
  if (S_ISREG(st.st_mode)) {
    kind_ = Kind::kFile;
    const bool appends = (::fcntl(fd_, F_GETFL) & O_APPEND) != 0;
    const off_t at = appends ? st.st_size : ::lseek(fd_, 0, SEEK_CUR);
    file_begin_ = at < 0 ? 0 : static_cast<std::uint64_t>(at);
  } else if (S_ISSOCK(st.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
    owned_ = detail::Fd(detail::OpenPath(detail::ProcPath(fd_).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
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
  if (!detail::IsNoSpace(error))
    throw SystemError(ErrorCode::kIo, message, error, SystemError::Verb::kWrite, path_, offset_);
  throw SystemError(ErrorCode::kNoSpace, message + "; " + detail::NoSpaceHint(error), error, SystemError::Verb::kWrite,
                    path_, offset_);
}

void PipeWriter::WriteAll(std::span<const std::byte> data) {
  WaitForReader();
  if (sums_ != nullptr) sums_->Add(offset_, data);
  // A write to a non-blocking descriptor needs no poll() before it. A blocking descriptor must be polled before each
  // write.
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

bool PipeWriter::in_memory() const { return kind_ == Kind::kFile && detail::IsOnTmpfs(fd_); }

bool PipeWriter::MakePages(std::uint64_t begin, std::uint64_t end) const {
  return ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(file_begin_ + begin),
                     static_cast<off_t>(end - begin)) == 0;
}

void PipeWriter::Close() {
  WaitForReader();
  // Closing a copy reports errors of earlier writes, and leaves the descriptor of the caller open.
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) Fail("close", errno);
  owned_ = detail::Fd();
}

}  // namespace gpusort
