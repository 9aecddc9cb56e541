// Compresses blocks of temporary data with a program that the user names. One process of PROGRAM compresses each block,
// and one process of PROGRAM -d expands it. A hash after the block shows whether the expanded bytes are right. No
// process outlives the call that started it. Start at ProgramCodec.
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

/// Runs the user's compression program. Any thread may call any member. SIGPIPE must be ignored or blocked. A process
/// needs two file descriptors, and four while it starts. Calls throw Error(kCancelled) if `cancel` is requested.
class ProgramCodec {
 public:
  /// `program` is searched on the PATH. It starts with default signal handling and no blocked signals; SIGPIPE stays
  /// ignored if `ignore_sigpipe` is true. `warn` is called once if the program cannot be started, with the reason.
  ProgramCodec(std::string program, bool ignore_sigpipe, const CancelFlag& cancel,
               std::function<void(const std::string&)> warn);

  /// Compresses `in` into `out` and returns the compressed size. Returns 0 if the result does not fit or the program
  /// cannot be started; the caller must then store `in` uncompressed. Throws Error(kIo) if the program fails.
  std::uint64_t Compress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Expands `in`, the result of Compress(), to exactly the size of `out`. Throws Error(kIo) if the program fails or
  /// cannot be started, and Error(kIntegrity) if the result is not what was compressed.
  void Decompress(std::span<const std::byte> in, std::span<std::byte> out);
  /// Returns false after Compress() has failed to start the program. Compress() then does not try again.
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
  std::uint64_t running_ = 0, ended_ = 0;  ///< number of running and of ended processes
};

}  // namespace gpusort
