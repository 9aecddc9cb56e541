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

/// What a buffer for any block of the run needs: a block, or its longest line.
std::uint64_t RunBufferBytes(const Run& run, const Plan& plan);

/// Reads the blocks of many runs ahead. Which block is next is known in advance (forecasting): it follows the one whose
/// last key is least. A run with nothing loaded comes before all, so that the cut can always go on.
class ReadAhead {
 public:
  /// Starts reading what `cursors` need on threads of `pipeline`. `verify_order`: runs that lie in the input (-m) are
  /// checked, Error(kBadInput) if they are not in order, and summed up. `free_as_read`: spilled blocks are read once.
  ReadAhead(Job& job, Pipeline& pipeline, std::vector<Cursor>& cursors, bool verify_order, bool free_as_read);
  /// The blocks that cursors still hold go back before their pool ends.
  ~ReadAhead();

  /// Guards the cursors.
  std::mutex& mutex() { return mutex_; }

  /// That hold what is merged next.
  std::uint64_t full_blocks() const { return pool_.blocks() - pool_.free_blocks(); }

  /// Nothing more is needed.
  void Stop();

  /// Once the pipeline was joined: makes the blocks reusable that were never read.
  void FreeUnread();

  /// Waits until a window can be cut that is worth merging: every run has something to offer, and half of the buffers
  /// are full, or no more can be filled. `lock` is on mutex().
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
  const bool verify_order_, free_as_read_;
  BlockPool pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t blocks_left_ = 0;
  unsigned reading_ = 0;
  std::map<const Run*, std::vector<std::byte>> last_of_;
};

}  // namespace gpusort
