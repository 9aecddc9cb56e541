// Makes checkpoints of the last merge while it runs, so that a later process can continue there. A checkpoint holds
// back all windows from a certain number on until the earlier windows are written. Then it puts the state of the sink
// and of the proof into the manifest. No other thread waits meanwhile. Start at Checkpoints.
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
  /// `job` must have a journal. `pass` hands a window to `sink`; any thread may call `pass`.
  Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
              std::function<void(Window)> pass);

  /// Begins a checkpoint if one is due. The cutting thread calls this before it cuts window `number`, which begins at
  /// byte `offset` of the output.
  void BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors);
  /// Sets `window.written`. The cutting thread calls this once the window has a number.
  void Register(Window& window);
  /// Passes the window to the sink, either now or after the current checkpoint. Any thread may call this.
  void Accept(Window window);
  /// Ends this object's thread once a begun checkpoint is saved. The cutting thread calls this after the last window.
  void End();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// The progress of writing. Shared with windows, which may outlive the Checkpoints object.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t written = 0;  ///< number of checkpoint intervals whose windows are all written
    bool lost = false;          ///< an exception destroyed a window before it was written
  };
  /// A begun checkpoint.
  struct Mark {
    std::uint64_t number;  ///< number of the first window that is held back
    std::uint64_t epochs;  ///< number of checkpoint intervals before that window
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
  std::uint64_t epochs_ = 0;  ///< number of checkpoint intervals so far
  /// A token that all windows of the current checkpoint interval share. Do not release it while holding Signal::mutex.
  std::shared_ptr<void> epoch_;
  // Signal::mutex guards the following members.
  std::optional<Mark> mark_;
  std::vector<Window> held_;
  std::optional<Nanoseconds> held_since_;
  bool saving_ = false, ended_ = false;
  Nanoseconds next_;               ///< earliest time of the next checkpoint
  std::uint64_t next_offset_ = 0;  ///< output offset at which a checkpoint is due at any time
};

}  // namespace gpusort
