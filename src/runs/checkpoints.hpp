// Checkpoints of the last merge, made while it goes on: now and then windows from some number on wait in front of the
// sink until those before are written; what the sink and the proof say then is what the manifest gets to know.
// Nothing else stops, and nobody waits for the disk. Start at Checkpoints.
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
  /// Of a job that has a journal. `pass`: gives a window to `sink`; any thread.
  Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
              std::function<void(Window)> pass);

  /// The cutting thread, before it cuts window `number`, which begins at byte `offset`: perhaps it gets a checkpoint.
  void BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors);
  /// The cutting thread, once the window has its number.
  void Register(Window& window);
  /// Any thread; the window passes now or later.
  void Accept(Window window);
  /// The cutting thread: no window follows. The one that was begun is finished.
  void End();

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// Shared by windows, which may live longer than this.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t written = 0;  ///< all windows of so many epochs are
    bool lost = false;          ///< or one was dropped by an exception
  };
  struct Mark {
    std::uint64_t number;  ///< of the first window that waits
    std::uint64_t epochs;  ///< that come before
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
  std::uint64_t epochs_ = 0;     ///< begun
  std::shared_ptr<void> epoch_;  ///< of windows that are cut now. Never dropped under the lock
  // Under the lock:
  std::optional<Mark> mark_;
  std::vector<Window> held_;
  std::optional<Nanoseconds> held_since_;
  bool saving_ = false, ended_ = false;
  Nanoseconds next_;               ///< not before
  std::uint64_t next_offset_ = 0;  ///< but there, at the latest
};

}  // namespace gpusort
