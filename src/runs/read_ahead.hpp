// Reads the blocks of runs ahead of a merge, in the order in which the cut will need them. Start at ReadAhead.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "flow/pipeline.hpp"
#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Returns the size of a buffer that holds any block of the run, or its longest line.
std::uint64_t RunBufferBytes(const Run& run, const Plan& plan);

/// With kVerified, runs that lie in the input (-m) are summed up and their order is checked while they are read.
/// Reading throws Error(kBadInput) if they are not sorted.
enum class RunOrder { kTrusted, kVerified };
/// With kFreedAsRead, each spilled block is read only once, and its temp space is freed at once.
enum class SpillSpace { kKept, kFreedAsRead };

/// Reads the blocks of many runs ahead. The block that is needed next is the one after the block whose last key is
/// smallest. A run without loaded bytes comes first, so that the cut can always continue.
class ReadAhead {
 public:
  /// Starts to read the blocks of `cursors` on threads of `pipeline`.
  ReadAhead(Job& job, Pipeline& pipeline, std::vector<Cursor>& cursors, RunOrder order, SpillSpace space);
  /// Returns the blocks of the cursors to the pool.
  ~ReadAhead();

  /// Returns the mutex that guards the cursors.
  std::mutex& mutex() { return mutex_; }

  /// Returns the number of buffers that contain records to merge.
  std::uint64_t full_blocks() const { return pool_.blocks() - pool_.free_blocks(); }

  /// Ends the reading. Call it when no more blocks are needed.
  void Stop();

  /// Frees the temp space of blocks that were never read. Call it after the pipeline was joined.
  void FreeUnread();

  /// Waits until a useful window can be cut: every run has loaded records, and half of the buffers are full or no more
  /// buffers can be filled. `lock` must hold mutex().
  void WaitForWindow(std::unique_lock<std::mutex>& lock);

 private:
  void Read();
  Cursor* Choose();
  std::shared_ptr<LoadedBlock> Load(Run& run, std::size_t index, BlockPool::Block buffer);
  void LoadLines(const InputRange& range, LoadedBlock& block);
  void AddInputSum(Run& run, const LoadedBlock& block);
  void VerifyBorder(const Cursor& cursor, const LoadedBlock& block);
  [[noreturn]] void NotSorted(const Run& run, std::uint64_t at) const;
  [[noreturn]] void TooLong(std::uint32_t input, std::uint64_t at) const;

  Job& job_;
  Pipeline& pipeline_;
  std::vector<Cursor>& cursors_;
  const RunOrder order_;
  const SpillSpace space_;
  BlockPool pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t blocks_left_ = 0;
  unsigned reading_ = 0;
  std::map<const Run*, std::vector<std::byte>> last_of_;
};

}  // namespace gpusort
