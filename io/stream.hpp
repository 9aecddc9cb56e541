// Bytes that cannot be read or written by position: pipes, FIFOs, terminals, devices, standard input and output.
// Every wait looks at the CancelFlag each 50 ms, so that neither a stalled process at the other end nor a FIFO that
// nobody opens delays a signal. A descriptor that other processes share is never made non-blocking. main() ignores
// SIGPIPE, so that a closed pipe arrives here as BrokenPipe. Start at PipeReader.
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

/// Tells all threads that the job must stop. Request is safe in a signal handler.
class CancelFlag {
 public:
  void Request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  /// Throws Error(kCancelled).
  void ThrowIfRequested() const {
    if (requested()) throw Error(ErrorCode::kCancelled, "cancelled");
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> requested_{false};
};

/// The reader has closed the pipe (EPIPE). main() ends without a message by SIGPIPE, as other filters do.
class BrokenPipe : public SystemError {
 public:
  explicit BrokenPipe(const std::string& message, const std::string& path = "standard output")
      : SystemError(ErrorCode::kIo, message, EPIPE, Verb::kWrite, path) {}
};

/// Reads a stream to its end, from one thread. Errors: kIo; kCancelled while it waits.
class PipeReader {
 public:
  /// "-" is standard input. kUsage if the path is missing, unreadable or a directory. Never waits for a writer.
  PipeReader(const std::string& path, const CancelFlag& cancel);
  /// Reads a descriptor that the caller owns. `name` is for messages.
  PipeReader(int fd, std::string name, const CancelFlag& cancel);
  /// Waits for data. Returns how many bytes it put into `out` (not empty), 0 only at the end of the stream.
  std::uint64_t ReadSome(std::span<std::byte> out);
  /// Bytes read so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  void Prepare();

  const CancelFlag& cancel_;
  std::string path_;
  detail::Fd owned_;
  int fd_;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

/// Writes a stream, from one thread. Errors: BrokenPipe; kNoSpace (as from /dev/full); kIo; kCancelled while it waits.
class PipeWriter {
 public:
  /// "-" is standard output; a path for which DescriptorOf returns a descriptor is that descriptor. kUsage if the path
  /// is missing or not writable. A FIFO without a reader is opened by the first WriteAll or by Close, which wait for
  /// it.
  PipeWriter(const std::string& path, const CancelFlag& cancel);
  /// Writes to a descriptor that the caller owns. `name` is for messages.
  PipeWriter(int fd, std::string name, const CancelFlag& cancel);
  void WriteAll(std::span<const std::byte> data);
  /// From now on WriteAll adds the written bytes to `sums`, which must outlive the last WriteAll.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Ends the stream and reports errors of earlier writes. Call this once, after the last WriteAll. (The reader of a
  /// pipe on standard output sees the end when the process ends.)
  void Close();
  /// Bytes written so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// The facts of the file if the stream is a regular file, which is written at the descriptor's offset.
  std::optional<FileFacts> file() const;

 private:
  enum class Kind { kNonBlocking, kSocket, kFile, kBlocking };
  void Prepare();
  bool TryOpenFifo();
  void WaitForReader();
  [[noreturn]] void Fail(const char* verb, int error) const;

  const CancelFlag& cancel_;
  std::string path_;
  detail::Fd owned_;  ///< not open while the descriptor of the caller is used
  int fd_ = -1;       ///< the descriptor to write to; -1 while a FIFO has no reader
  Kind kind_ = Kind::kBlocking;
  std::uint64_t offset_ = 0;
  PieceSums* sums_ = nullptr;
};

}  // namespace gpusort
