// Streams, which cannot be read or written by position: pipes, FIFOs, terminals, devices, standard input and output.
// Every wait checks the CancelFlag every 50 ms. A signal is therefore not delayed by a stalled process at the other end
// or by a FIFO that no process opens. A descriptor that other processes share is never made non-blocking. A closed pipe
// arrives as BrokenPipe, because main() ignores SIGPIPE. Start at PipeReader.
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
  /// Throws Error(kCancelled).
  void ThrowIfRequested() const {
    if (requested()) throw Error(ErrorCode::kCancelled, "cancelled");
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> requested_{false};
};

/// The reader has closed the pipe (EPIPE). main() then ends by SIGPIPE without a message, as other filters do.
class BrokenPipe : public SystemError {
 public:
  explicit BrokenPipe(const std::string& message, const std::string& path = "standard output")
      : SystemError(ErrorCode::kIo, message, EPIPE, Verb::kWrite, path) {}
};

/// Reads a stream to its end. Not thread-safe. Throws Error(kIo), or Error(kCancelled) if the job is cancelled while it
/// waits.
class PipeReader {
 public:
  /// Opens a path; "-" is standard input. Never waits. Throws Error(kUsage) if the path is missing, unreadable or a
  /// folder.
  PipeReader(const std::string& path, const CancelFlag& cancel);
  /// Reads from a descriptor that the caller owns. `name` is the name of the stream in messages.
  PipeReader(int fd, std::string name, const CancelFlag& cancel);
  /// Waits for data and reads into `out`, which must not be empty. Returns the number of bytes read, 0 only at the end.
  std::uint64_t ReadSome(std::span<std::byte> out);
  /// The number of bytes read so far.
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

/// Writes a stream. Not thread-safe. Throws BrokenPipe, Error(kNoSpace), Error(kIo), or Error(kCancelled) if the job is
/// cancelled while it waits.
class PipeWriter {
 public:
  /// Opens a path; "-" is standard output. A path such as /dev/fd/3 (see DescriptorOf) uses that descriptor. Throws
  /// Error(kUsage) if the path is missing or not writable. If a FIFO has no reader, the first WriteAll or Close waits
  /// for a reader and opens the FIFO.
  PipeWriter(const std::string& path, const CancelFlag& cancel);
  /// Writes to a descriptor that the caller owns. `name` is the name of the stream in messages.
  PipeWriter(int fd, std::string name, const CancelFlag& cancel);
  void WriteAll(std::span<const std::byte> data);
  /// From now on WriteAll adds the written bytes to `sums`, which must outlive the last WriteAll.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Ends the stream and reports errors of earlier writes. Call this once, after the last WriteAll. (The reader of a
  /// pipe on standard output sees the end only when the process ends.)
  void Close();
  /// The number of bytes written so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// Returns the facts of the file if the stream is a regular file, which is written at the descriptor's offset.
  /// Otherwise returns std::nullopt.
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
  std::uint64_t offset_ = 0;
  PieceSums* sums_ = nullptr;
};

}  // namespace gpusort
