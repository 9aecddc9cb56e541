// A merge of sorted runs, in windows. One thread cuts windows off the front of all runs (cut.hpp). Lanes merge windows
// side by side, and a sink takes the merged windows. Blocks are read ahead meanwhile. Start at WindowMerge::Run.
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

/// The output of a merge with checkpoints.
struct KeptOutputSoFar {
  Output& output;
  OutputProof& proof;
  std::vector<std::uint64_t> taken;  ///< bytes of each run that an earlier process has merged
};

class WindowMerge {
 public:
  /// Makes the sink of all windows, which have `bytes` together.
  using MakeSink = std::function<std::unique_ptr<WindowSink>(Pipeline&, std::uint64_t bytes)>;

  /// `runs` are neighbours, in input order. With `kept` the merge makes checkpoints. All arguments but `make_sink` must
  /// outlive the merge.
  WindowMerge(Job& job, std::span<gpusort::Run> runs, RunOrder order, SpillSpace space, const MakeSink& make_sink,
              const KeptOutputSoFar* kept = nullptr);

  /// Merges everything. Returns the bytes of the sink. Call it once.
  std::uint64_t Run();

 private:
  /// A window that waits for a lane.
  struct Task {
    WindowPieces from;
    Window window;
    int device = kOnHost;  ///< the GPU that holds most of the pieces
  };

  static std::vector<Cursor> CursorsOf(std::span<gpusort::Run> runs, const KeptOutputSoFar* kept);
  /// Returns the memory of all windows: the ring's, if the plan says so.
  std::shared_ptr<PinnedBuffer> WindowMemory() const;
  /// Cuts all windows. Runs on a separate thread.
  void Cut();
  std::shared_ptr<Task> CutWindow(Cutter& cutter, std::uint64_t number, std::uint64_t offset);
  /// Merges windows on a lane until there are no more. Runs on a separate thread.
  void MergeWindows();
  void Merge(Lane& lane, Task& task);
  /// Gives a merged window to the sink. Any thread.
  void Pass(Window window);
  /// Tells the sink that no window follows, once all have been passed. The caller holds `mutex_`.
  void FinishSink();

  Job& job_;
  std::vector<Cursor> cursors_;
  Pipeline pipeline_;
  const std::uint64_t total_;         ///< bytes to merge
  const std::uint64_t window_bytes_;  ///< of a window, unless a line is longer
  const std::uint64_t buffer_bytes_;
  const std::uint64_t windows_;  ///< number of window buffers
  BlockPool buffers_;
  ReadAhead read_ahead_;
  const Pipeline::Guard reading_{pipeline_};  ///< ends the reading threads if the sink cannot be made
  BoundedQueue<std::shared_ptr<Task>> tasks_;
  const std::unique_ptr<WindowSink> sink_;
  std::mutex mutex_;  ///< guards the next two
  std::uint64_t passed_ = 0;
  std::optional<std::uint64_t> cut_;  ///< number of windows, once all are cut
  std::optional<Checkpoints> checkpoints_;
  const Recorder::Gauge full_, lent_, waiting_;
  const Pipeline::Guard guard_{pipeline_};  ///< last, so that the threads end before what they use
};

}  // namespace gpusort
