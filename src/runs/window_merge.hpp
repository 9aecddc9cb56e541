// Merges sorted runs in windows. One thread cuts windows off the front of all runs (cut.hpp). Lanes merge windows at
// the same time, and a sink takes the merged windows. Blocks are read ahead meanwhile. Start at WindowMerge::Run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "runs/checkpoints.hpp"
#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/read_ahead.hpp"
#include "runs/run.hpp"
#include "runs/sinks.hpp"

namespace gpusort {

/// The output of a merge with checkpoints, and the progress of an earlier process.
struct KeptOutputSoFar {
  Output& output;
  OutputProof& proof;
  std::vector<std::uint64_t> taken;  ///< number of bytes of each run that an earlier process has merged
};

class WindowMerge {
 public:
  /// Makes the sink of all windows. `bytes` is the size of all windows together.
  using MakeSink = std::function<std::unique_ptr<WindowSink>(Pipeline&, std::uint64_t bytes)>;

  /// `runs` must be neighbours, in input order. With `kept`, the merge makes checkpoints. All arguments except
  /// `make_sink` must outlive the merge.
  WindowMerge(Job& job, std::span<gpusort::Run> runs, RunOrder order, SpillSpace space, const MakeSink& make_sink,
              const KeptOutputSoFar* kept = nullptr);

  /// Merges all runs and returns the number of bytes that the sink has written. Call it only once.
  std::uint64_t Run();

 private:
  /// A window that waits to be merged by a lane.
  struct Task {
    WindowPieces from;
    Window window;
    int device = kOnHost;  ///< the GPU that holds most of the pieces
  };

  static std::vector<Cursor> CursorsOf(std::span<gpusort::Run> runs, const KeptOutputSoFar* kept);
  /// Returns the memory of all windows: the memory of the reader's ring if the plan says so, otherwise new memory.
  std::shared_ptr<PinnedBuffer> WindowMemory() const;
  /// Cuts all windows. Runs on a separate thread.
  void Cut();
  std::shared_ptr<Task> CutWindow(Cutter& cutter, std::uint64_t number, std::uint64_t offset);
  /// Merges windows on a lane until there are no more. Runs on a separate thread.
  void MergeWindows();
  void Merge(Lane& lane, Task& task);
  /// Hands a merged window to the sink. Any thread may call this.
  void Pass(Window window);
  /// Tells the sink that no window follows, once all windows have been passed. The caller must hold `mutex_`.
  void FinishSink();

  Job& job_;
  std::vector<Cursor> cursors_;
  Pipeline pipeline_;
  const std::uint64_t total_;         ///< number of bytes to merge
  const std::uint64_t window_bytes_;  ///< size of a window, unless it is one longer line
  const std::uint64_t buffer_bytes_;
  const std::uint64_t windows_;  ///< number of window buffers
  BlockPool buffers_;
  ReadAhead read_ahead_;
  const Pipeline::Guard reading_{pipeline_};  ///< ends the reading threads if the sink cannot be made
  BoundedQueue<std::shared_ptr<Task>> tasks_;
  const std::unique_ptr<WindowSink> sink_;
  std::mutex mutex_;  ///< guards passed_ and cut_
  std::uint64_t passed_ = 0;
  std::optional<std::uint64_t> cut_;  ///< number of windows, set when all windows are cut
  std::optional<Checkpoints> checkpoints_;
  const Recorder::Gauge full_, lent_, waiting_;
  const Pipeline::Guard guard_{pipeline_};  ///< last member, so that the threads end before the data that they use
};

}  // namespace gpusort
