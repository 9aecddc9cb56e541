// Reads the blocks of runs that are being merged ahead, in the order in which the cut will use them up.
// Start at ReadAhead.
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

/// kVerified: runs that lie in the input (-m) are summed up and checked while they are read. Error(kBadInput) if they are
/// not in order.
enum class RunOrder { kTrusted, kVerified };
/// kFreedAsRead: spilled blocks are read only once, and their temp space is freed at once.
enum class SpillSpace { kKept, kFreedAsRead };

/// Reads the blocks of many runs ahead. Forecasting tells which block is needed next: the block after the one with the
/// least last key. A run with no loaded bytes comes first, so that the cut can always go on.
class ReadAhead {
 public:
  /// Starts reading the blocks of `cursors` on threads of `pipeline`.
  ReadAhead(Job& job, Pipeline& pipeline, std::vector<Cursor>& cursors, RunOrder order, SpillSpace space);
  /// Gives the blocks of cursors back to the pool.
  ~ReadAhead();

  /// Guards the cursors.
  std::mutex& mutex() { return mutex_; }

  /// The number of buffers that hold records to merge.
  std::uint64_t full_blocks() const { return pool_.blocks() - pool_.free_blocks(); }

  /// Ends the reading. Call it once no more blocks are needed.
  void Stop();

  /// Frees the temp space of blocks that were never read. Call it after the pipeline was joined.
  void FreeUnread();

  /// Waits until a window can be cut that is worth merging: every run has loaded records, and half of the buffers are
  /// full, or no more buffers can be filled. `lock` must hold mutex().
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
