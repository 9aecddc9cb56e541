// Streams, which can only be read or written from front to end: pipes, FIFOs, terminals, devices, standard input and
// output. Every wait checks the CancelFlag every 50 ms. A signal therefore ends the job even if the process at the
// other end of a pipe does nothing, or if no process opens the other end of a FIFO. A descriptor that other processes
// share is never made non-blocking. A closed pipe is reported as BrokenPipe, because main() ignores SIGPIPE. Start at
// PipeReader.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/file.hpp"
#include "io/piece_sums.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// Tells all threads that the job must stop. Request() is safe in a signal handler.
class CancelFlag {
 public:
  void Request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  /// Throws Error(kCancelled) if Request() was called.
  void ThrowIfRequested() const {
    if (requested()) throw Error(ErrorCode::kCancelled, "cancelled");
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> requested_{false};
};

/// Thrown if the reader of a pipe has closed the pipe (EPIPE). main() then ends the process by SIGPIPE without a
/// message, as other programs do.
class BrokenPipe : public SystemError {
 public:
  explicit BrokenPipe(const std::string& message, const std::string& path = "standard output")
      : SystemError(ErrorCode::kIo, message, EPIPE, Verb::kWrite, path) {}
};

/// Reads a stream (such as a pipe) to its end. Not thread-safe. Functions throw Error(kIo), or Error(kCancelled) if the
/// job is cancelled while they wait.
class PipeReader {
 public:
  /// Opens the stream at a path; "-" is standard input. Never waits. Throws Error(kUsage) if the path is missing,
  /// unreadable or a folder.
  PipeReader(const std::string& path, const CancelFlag& cancel);
  /// Reads from a file descriptor that the caller owns. `name` is the name of the stream in messages.
  PipeReader(int fd, std::string name, const CancelFlag& cancel);
  /// Waits for data and reads into `out`, which must not be empty. Returns the number of bytes read, 0 only at the end
  /// of the stream.
  std::uint64_t ReadSome(std::span<std::byte> out);
  /// Returns the number of bytes read so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// Returns true if a disk holds the bytes: the stream is a file, such as a redirected standard input, or a block
  /// device.
  bool on_disk() const { return on_disk_; }

 private:
  void Prepare();

  const CancelFlag& cancel_;
  std::string path_;
  detail::Fd owned_;
  int fd_;
  bool on_disk_ = false;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

/// Writes a stream (such as a pipe). Not thread-safe. Functions throw BrokenPipe, Error(kNoSpace), Error(kIo), or
/// Error(kCancelled) if the job is cancelled while they wait.
class PipeWriter {
 public:
  /// Opens the stream at a path; "-" is standard output. For a path such as /dev/fd/3, writes to that descriptor (see
  /// DescriptorOf). Throws Error(kUsage) if the path is missing or not writable. If no process has opened a FIFO for
  /// reading, the first WriteAll or Close waits until a process opens it.
  PipeWriter(const std::string& path, const CancelFlag& cancel);
  /// Writes to a file descriptor that the caller owns. `name` is the name of the stream in messages.
  PipeWriter(int fd, std::string name, const CancelFlag& cancel);
  void WriteAll(std::span<const std::byte> data);
  /// From now on WriteAll also adds the checksums of the written bytes to `sums`, which must outlive the last WriteAll.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Returns true if the bytes go to a disk: the stream is a file, such as a redirected standard output, or a block
  /// device.
  bool on_disk() const { return on_disk_; }
  /// Returns true if the stream is a regular file on a tmpfs, such as a redirected standard output.
  bool in_memory() const;
  /// Allocates memory pages for the bytes [begin, end) of the stream in advance, so that WriteAll takes less time. The
  /// size of the file stays as it is. Call this only if in_memory() is true, and only for bytes that will be written:
  /// an unused page stays allocated until the file is cut or removed. Returns false if pages cannot be allocated.
  /// Another thread may call WriteAll at the same time.
  bool MakePages(std::uint64_t begin, std::uint64_t end) const;
  /// Returns the path of the stream's descriptor in /proc.
  std::string proc_path() const { return detail::ProcPath(fd_); }
  /// Ends the stream and reports errors of earlier writes. Call this once, after the last WriteAll. (The reader of a
  /// pipe on standard output sees the end only when the process ends.)
  void Close();
  /// Returns the number of bytes written so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// Returns the attributes (size, times, owner and so on) of the file if the stream is a regular file, such as a
  /// redirected standard output. Otherwise returns std::nullopt.
  std::optional<FileFacts> file() const;

 private:
  enum class Kind { kNonBlocking, kSocket, kFile, kBlocking };
  void Prepare();
  bool TryOpenFifo();
  void WaitForReader();
  [[noreturn]] void Fail(const char* verb, int error) const;

  const CancelFlag& cancel_;
  std::string path_;
  detail::Fd owned_;  ///< not open if the caller owns the descriptor
  int fd_ = -1;       ///< the descriptor to write to; -1 while a FIFO has no reader
  Kind kind_ = Kind::kBlocking;
  bool on_disk_ = false;
  std::uint64_t offset_ = 0;
  PieceSums* sums_ = nullptr;
  std::uint64_t file_begin_ = 0;  ///< the offset in a regular file at which the stream begins
};

}  // namespace gpusort
