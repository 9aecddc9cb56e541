// The exception of gpusort and the exit codes of the programs. The code that detects an error throws it, with path and
// offset in the message. Stage boundaries, the fallbacks of lanes and main() catch it. Start at ErrorCode.
#pragma once

#include <stdexcept>
#include <string>

namespace gpusort {

/// The kind of an error. The value is the program's exit code.
enum class ErrorCode : int {
  kNotSorted = 1,    ///< only --check: the input is not in order
  kUsage = 2,        ///< command line, configuration, or a file that is missing before any work began
  kBadInput = 3,     ///< input breaks its format or limits, or changed while it was read
  kIo = 4,           ///< a system call on a file failed
  kNoSpace = 5,      ///< no space, quota or file-size limit
  kOutOfMemory = 6,  ///< host or GPU memory, after all fallbacks
  kGpuLost = 7,      ///< the GPU is absent or stopped working and no fallback was allowed
  kIntegrity = 8,    ///< a checksum, count or order does not agree
  kInternal = 9,     ///< a bug in gpusort
  kStopped = 75,     ///< stopped by a signal; the same command continues the job
  kCancelled = 128,  ///< stopped by a signal; never reported as an error
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Error(kGpuLost) about a single GPU that does not hang. The other GPUs may continue the job.
class GpuLost : public Error {
 public:
  /// `device` is the CUDA ordinal of the lost GPU.
  GpuLost(int device, const std::string& message) : Error(ErrorCode::kGpuLost, message), device_(device) {}
  int device() const noexcept { return device_; }

 private:
  int device_;
};

/// Error(kIntegrity) about data that gpusort computed itself. The cause is the GPU, the CPU core or the RAM that
/// computed the data, and never the input or a disk.
class WrongResult : public Error {
 public:
  explicit WrongResult(const std::string& message) : Error(ErrorCode::kIntegrity, message) {}
};

}  // namespace gpusort
