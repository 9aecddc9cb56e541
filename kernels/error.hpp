// The exception of gpusort and the exit codes of the programs. The code that detects an error throws it, with path and
// offset in the message. Three places catch it: the stages of a job, code that has a fallback, and main(). Start at
// ErrorCode.
#pragma once

#include <stdexcept>
#include <string>

namespace gpusort {

/// The kind of an error. The value is the program's exit code.
enum class ErrorCode : int {
  kNotSorted = 1,    ///< only with --check: the input is not in order
  kUsage = 2,        ///< wrong command line or configuration, or a file is missing before the work begins
  kBadInput = 3,     ///< the input breaks its format or limits, or changed while it was read
  kIo = 4,           ///< a system call on a file failed
  kNoSpace = 5,      ///< no free space, or a quota or file-size limit was reached
  kOutOfMemory = 6,  ///< host or GPU memory is exhausted, after all fallbacks
  kGpuLost = 7,      ///< the GPU is absent or stopped working and no fallback was allowed
  kIntegrity = 8,    ///< a checksum, a count or an order is wrong
  kInternal = 9,     ///< a bug in gpusort
  kStopped = 75,     ///< stopped by a signal; the same command continues the job
  kCancelled = 128,  ///< stopped by a signal; main() ends by that signal and not with this code
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// The Error(kGpuLost) about one GPU that failed but does not hang. Other GPUs can still be opened.
class GpuLost : public Error {
 public:
  explicit GpuLost(const std::string& message) : Error(ErrorCode::kGpuLost, message) {}
};

/// The Error(kIntegrity) about data that gpusort itself computed. The cause is the GPU, the CPU core or the RAM that
/// computed the data, and never the input or a disk.
class WrongResult : public Error {
 public:
  explicit WrongResult(const std::string& message) : Error(ErrorCode::kIntegrity, message) {}
};

}  // namespace gpusort
