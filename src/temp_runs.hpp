// Temporary space of the line sorter: sorted runs in one unlinked file a directory, so that thousands of runs take one
// descriptor and nothing is left behind however the process ends. With a compress program each run is a file of its
// own, since the program needs one; these have names, removed on every exit and by RemoveTempNames. Start at TempRuns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "byte_streams.hpp"

namespace gpusort {

/// Where a run lies: a range of a shared file, or a file of its own.
struct TempRun {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< as written, before compression
  std::string name;         ///< of its own file; empty: in the shared one
  pid_t compressor = 0;     ///< of its own file
};

/// Used by one thread.
class TempRuns {
 public:
  /// Directories are used in turn. `compress_program` is empty for none; it is started as PROG and PROG -d, with
  /// SIGPIPE as usual unless `ignore_sigpipe`. If it cannot be started, `warn` is told once and runs are not
  /// compressed.
  TempRuns(std::vector<std::string> directories, std::string compress_program, bool ignore_sigpipe,
           std::function<void(const std::string&)> warn);
  ~TempRuns();
  TempRuns(const TempRuns&) = delete;
  TempRuns& operator=(const TempRuns&) = delete;

  /// Starts a run. Write it, Close it, then call Finish; one at a time. Null if too many files are open.
  std::unique_ptr<ByteSink> Create();
  /// The run written since Create.
  TempRun Finish();
  /// Reads a run from its start; a run may be open several times. Null if too many files are open.
  std::unique_ptr<ByteSource> Open(const TempRun& run);
  /// Frees the run's space.
  void Remove(const TempRun& run);
  /// Takes the descriptor that Create needs if it does not compress. False if too many files are open.
  bool Prepare();

 private:
  struct Shared {
    int fd = -1;
    std::uint64_t end = 0;
  };
  class SharedSink;
  class SharedSource;
  class CompressorSink;
  class DecompressorSource;

  bool OpenShared();
  /// Null if the program cannot be started.
  std::unique_ptr<ByteSink> CreateCompressed();
  /// Starts the program between two descriptors; returns an error number.
  int Spawn(bool decompress, int in, int out, pid_t* pid) const;
  /// Waits for the program and throws if it failed.
  void Reap(pid_t pid) const;

  std::vector<std::string> directories_;
  std::string compress_program_;
  bool ignore_sigpipe_;
  std::function<void(const std::string&)> warn_;
  std::vector<Shared> shared_;  ///< one a directory
  std::size_t next_ = 0;        ///< the directory of the next run
  TempRun current_;
  pid_t last_compressor_ = 0;  ///< not reaped yet
  int last_spawn_error_ = 0;
};

/// Removes the names that temporary files have. For signal handlers and exits that run no destructors.
void RemoveTempNames() noexcept;

}  // namespace gpusort
