// Makes checkpoints of the last merge while the merge runs. For a checkpoint, windows from some number on are held back
// until all earlier windows are written. Then the state of the sink and of the proof goes into the manifest. No other
// thread stops meanwhile, and no thread waits for the sync. Start at Checkpoints.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/sinks.hpp"

namespace gpusort {

class Checkpoints {
 public:
  /// `job` must have a journal. `pass` gives a window to `sink`, and may be called on any thread.
  Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
              std::function<void(Window)> pass);

  /// Begins a checkpoint if one is due. The cutting thread calls it before it cuts window `number`, which begins at byte
  /// `offset`.
  void BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors);
  /// Sets `window.written`. The cutting thread calls it after the window has its number.
  void Register(Window& window);
  /// Passes the window to the sink, now or after a checkpoint. Any thread.
  void Accept(Window window);
  /// Finishes the checkpoint that was begun. The cutting thread calls it after the last window.
  void End();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// Shared with windows, which may outlive the Checkpoints.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t written = 0;  ///< number of epochs whose windows are all written
    bool lost = false;          ///< an exception dropped a window
  };
  struct Mark {
    std::uint64_t number;  ///< of the first window that waits
    std::uint64_t epochs;  ///< number of epochs before that window
    std::map<std::uint64_t, std::uint64_t> taken;
  };

  std::shared_ptr<void> NextEpoch();
  void Run();

  Job& job_;
  Pipeline& pipeline_;
  WindowSink& sink_;
  Output& output_;
  OutputProof& proof_;
  const std::function<void(Window)> pass_;
  const Nanoseconds begin_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::uint64_t epochs_ = 0;     ///< number of epochs so far
  std::shared_ptr<void> epoch_;  ///< the epoch of windows that are cut now; must not be dropped under the lock
  // Under the lock:
  std::optional<Mark> mark_;
  std::vector<Window> held_;
  std::optional<Nanoseconds> held_since_;
  bool saving_ = false, ended_ = false;
  Nanoseconds next_;               ///< earliest time of the next checkpoint
  std::uint64_t next_offset_ = 0;  ///< offset at which a checkpoint is due at any time
};

}  // namespace gpusort
