// Bytes that cannot be read or written by position: pipes, FIFOs, terminals, devices, standard input and output.
// Nothing here waits longer than 50 ms without looking at the CancelFlag, so neither a stalled producer or consumer nor
// a FIFO that nobody opens holds up a signal; and no descriptor shared with other processes is made non-blocking.
// main ignores SIGPIPE, so that a closed pipe arrives here as BrokenPipe. Start at PipeReader.
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

/// Says that the job must stop. Request is safe in a signal handler.
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

/// Nobody reads any more (EPIPE): main ends quietly by SIGPIPE, as other filters do.
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
  /// Reads a descriptor of the caller's, which stays open; `name` is for messages.
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
  /// "-" is standard output, and what DescriptorOf knows is that descriptor. kUsage if the path is missing or not
  /// writable. A FIFO without a reader is opened by the
  /// first WriteAll or by Close, which wait for the reader.
  PipeWriter(const std::string& path, const CancelFlag& cancel);
  /// Writes to a descriptor of the caller's, which stays open; `name` is for messages.
  PipeWriter(int fd, std::string name, const CancelFlag& cancel);
  void WriteAll(std::span<const std::byte> data);
  /// From here on WriteAll adds what is written to `sums`, which must outlive the last WriteAll.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Ends the stream and reports what the system held back until now. Call once, after the last WriteAll. (A pipe on
  /// standard output reaches its end for the reader when the process ends.)
  void Close();
  /// Bytes written so far.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// The regular file that it writes into, at the descriptor's offset, if it is one.
  std::optional<FileFacts> file() const;

 private:
  enum class Kind { kNonBlocking, kSocket, kFile, kBlocking };
  void Prepare();
  bool TryOpenFifo();
  void WaitForReader();
  [[noreturn]] void Fail(const char* verb, int error) const;

  const CancelFlag& cancel_;
  std::string path_;
  detail::Fd owned_;  ///< ours alone; not open while a borrowed descriptor is used as it is
  int fd_ = -1;       ///< where writes go; -1 while a FIFO has no reader
  Kind kind_ = Kind::kBlocking;
  std::uint64_t offset_ = 0;
  PieceSums* sums_ = nullptr;
};

}  // namespace gpusort
