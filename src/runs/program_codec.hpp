// Compresses blocks of temporary data by a program of the user's. One process of PROGRAM compresses each block, and
// PROGRAM -d expands it. A hash after the block shows whether the expanded bytes are right. No process outlives the call
// that started it, however that call ends. Start at ProgramCodec.
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

/// Any thread may call any member; SIGPIPE must be ignored or blocked. A running program takes two descriptors, four
/// while it starts. Error(kCancelled) once `cancel` is requested.
class ProgramCodec {
 public:
  /// `program` is searched as a shell does. It gets the usual dispositions of signals and none blocked; SIGPIPE stays
  /// ignored if `ignore_sigpipe`. `warn` is told, once, why the program cannot be started.
  ProgramCodec(std::string program, bool ignore_sigpipe, const CancelFlag& cancel,
               std::function<void(const std::string&)> warn);

  /// Returns the bytes it put into `out`, or 0 if they do not fit or the program cannot be started: keep `in` then.
  /// Error(kIo) if the program fails.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Fills `out` with what Compress was given. Error(kIo) if the program fails or cannot be started, kIntegrity if it
  /// gives anything else.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);
  /// False once the program could not be started to compress: then it never is again.
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
  std::uint64_t running_ = 0, ended_ = 0;  ///< processes: now, and so far
};

}  // namespace gpusort
