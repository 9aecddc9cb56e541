// Compresses blocks of temp files with a program that the user names (--compress-program). A process `PROGRAM`
// compresses one block, and a process `PROGRAM -d` expands one block. A hash that is stored after the block shows
// whether the expanded bytes are right. A function that starts a process returns only after the process has ended.
// Start at ProgramCodec.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "io/stream.hpp"

namespace gpusort {

/// Runs the user's compression program. Any thread may call any member. The caller must ignore or block the signal
/// SIGPIPE. A process of the program takes two file descriptors, and four while it starts. The functions throw
/// Error(kCancelled) if `cancel` is set.
class ProgramCodec {
 public:
  /// Makes a codec that runs `program`, which is searched for on the PATH. The program ignores the signal SIGPIPE if
  /// `ignore_sigpipe` is true. Calls `warn` once, with the reason, if the program cannot be started.
  ProgramCodec(std::string program, bool ignore_sigpipe, const CancelFlag& cancel,
               std::function<void(const std::string&)> warn);

  /// Compresses `in` into `out` and returns the compressed size in bytes. Returns 0 if the compressed bytes do not fit
  /// into `out`, or if the user's compression program cannot be started. Throws Error(kIo) if the compression program
  /// fails.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Expands `in`, a result of Compress(), to exactly out.size() bytes. Throws Error(kIo) if the user's compression
  /// program fails or cannot be started, and Error(kIntegrity) if the result differs from the bytes that were
  /// compressed.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Returns false after Compress() has failed to start the compression program. Compress() then always returns 0.
  bool usable() const { return usable_; }

 private:
  class Process;
  int Start(Process& process, bool decompress);

  const std::string program_;
  const bool ignore_sigpipe_;
  const CancelFlag& cancel_;
  const std::function<void(const std::string&)> warn_;
  std::atomic<bool> usable_{true};
  std::mutex spawning_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t running_ = 0, ended_ = 0;  ///< the numbers of processes that run now, and that have ended
};

}  // namespace gpusort
