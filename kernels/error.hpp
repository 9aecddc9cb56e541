// The one exception of gpusort and the exit codes of the program.
// Thrown where the fact is known, with path and offset in the message; caught at a stage boundary, a lane's fallback
// and main. Start at ErrorCode.
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

/// kGpuLost for a single GPU that does not hang. Other GPUs may go on.
class GpuLost : public Error {
 public:
  /// `device`: its CUDA ordinal.
  GpuLost(int device, const std::string& message) : Error(ErrorCode::kGpuLost, message), device_(device) {}
  int device() const noexcept { return device_; }

 private:
  int device_;
};

/// kIntegrity of what was computed: it cannot come of what was read. What sorted it is to blame, be it a GPU, a core or
/// RAM. Not of stored data that are not what was written: those are a disk's.
class WrongResult : public Error {
 public:
  explicit WrongResult(const std::string& message) : Error(ErrorCode::kIntegrity, message) {}
};

}  // namespace gpusort
