// Makes checkpoints while the output is merged, so that a later process can continue there instead of at the beginning.
// A checkpoint first waits until all output before a certain offset is written. Output after that offset waits in
// memory meanwhile. Then the checkpoint stores the state of the output in the manifest, the file that describes the
// job. Start at Checkpoints.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/sinks.hpp"

namespace gpusort {

class Checkpoints {
 public:
  /// `job.checkpoints` must be set. `pass` must hand a window, which is a piece of merged output, to `sink`; any thread
  /// may call it.
  Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
              std::function<void(Window)> pass)
      : job_(job),
        pipeline_(pipeline),
        sink_(sink),
        output_(output),
        proof_(proof),
        pass_(std::move(pass)),
        begin_(StageClock::SteadyNow()),
        epoch_(NextEpoch()),
        next_(begin_ + kLeastTime),
        next_offset_(sink.begin() + job.spec.survival.checkpoint_bytes) {
    pipeline_.Start([this] { Run(); });
  }

  /// Begins a checkpoint if it is time for one. The thread that divides the merge into windows must call this before it
  /// makes window `number`, whose output begins at byte `offset`.
  void BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors) {
    {
      const std::lock_guard lock(signal_->mutex);
      const bool due = offset >= next_offset_ || StageClock::SteadyNow() >= next_;
      if (number == 0 || mark_ || saving_ || !due) return;
    }
    Mark mark{number, epochs_, {}};
    for (const Cursor& cursor : cursors) mark.taken[cursor.run->id] = cursor.taken;
    std::shared_ptr<void> next = NextEpoch();  // before mark_ is set: if this throws, the interval counts as written
    {
      const std::lock_guard lock(signal_->mutex);
      mark_ = std::move(mark);
      next_offset_ = offset + job_.spec.survival.checkpoint_bytes;
    }
    epoch_ = std::move(next);
  }

  /// Registers a new window, whose number must be set: `window.written` becomes a token that is released with the
  /// window. If an exception destroys the window before it is written, the token sets Signal::lost, and no checkpoint
  /// counts the window as written.
  void Register(Window& window) {
    window.written = {signal_.get(), [signal = signal_, epoch = epoch_](void*) {
                        if (std::uncaught_exceptions() == 0) return;
                        const std::lock_guard lock(signal->mutex);
                        signal->lost = true;
                      }};
  }

  /// Passes the window to the sink. If a checkpoint is in progress and must come before this window, the window is
  /// stored and passed later. Any thread may call this.
  void Accept(Window window) {
    {
      const std::lock_guard lock(signal_->mutex);
      if (mark_ && window.number >= mark_->number) {
        if (!held_since_) held_since_ = StageClock::SteadyNow();
        held_.push_back(std::move(window));
        return;
      }
    }
    pass_(std::move(window));
  }

  /// Tells the checkpoint thread to end. A checkpoint that was begun is still saved. Call this after the last window,
  /// from the thread that calls BeforeCut().
  void End() {
    epoch_ = nullptr;
    const std::lock_guard lock(signal_->mutex);
    ended_ = true;
    signal_->changed.notify_all();
  }

 private:
  /// The shortest and the longest time between two checkpoints.
  static constexpr Nanoseconds kLeastTime = std::chrono::milliseconds(250), kMostTime = std::chrono::minutes(5);

  /// Counts written windows. Every window holds a reference to this object, because windows may live longer than the
  /// Checkpoints object.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t written = 0;  ///< all windows of the first `written` checkpoint intervals are written
    /// The numbers of later intervals, counted from 1, whose windows are written. An interval without windows ends early.
    std::set<std::uint64_t> ended;
    bool lost = false;          ///< true: an exception destroyed a window before it was written
  };
  /// A checkpoint that was begun and is not saved yet.
  struct Mark {
    std::uint64_t number;  ///< the number of the first window that must wait for the checkpoint
    std::uint64_t epochs;  ///< the number of checkpoint intervals before window `number`
    std::map<std::uint64_t, std::uint64_t> taken;
  };

  /// Begins a checkpoint interval, and returns the token that its windows share. When the last window of the interval
  /// is destroyed, the token counts the interval as written.
  std::shared_ptr<void> NextEpoch() {
    return {signal_.get(), [signal = signal_, number = ++epochs_](void*) {
              const std::lock_guard lock(signal->mutex);
              signal->ended.insert(number);
              while (signal->ended.erase(signal->written + 1) > 0) ++signal->written;
              signal->changed.notify_all();
            }};
  }

  void Run() {
    for (;;) {
      KeptMerge kept;
      std::vector<Window> held;
      Nanoseconds stalled{};
      {
        std::unique_lock lock(signal_->mutex);
        pipeline_.Wait(lock, signal_->changed,
                       [&] { return mark_ ? signal_->written >= mark_->epochs && !signal_->lost : ended_; });
        if (!mark_) return;
        pipeline_.ThrowIfStopped();
        sink_.Settle();
        kept = {sink_.bytes(), proof_.front(), std::move(mark_->taken)};
        held = std::exchange(held_, {});
        mark_.reset();
        if (held_since_) stalled = StageClock::SteadyNow() - *std::exchange(held_since_, std::nullopt);
        saving_ = true;
      }
      for (Window& window : held) pass_(std::move(window));
      held.clear();
      const Nanoseconds since = StageClock::SteadyNow();
      output_.file()->Keep(kept.output_bytes);
      job_.checkpoints->SetMerged(kept);
      const Nanoseconds now = StageClock::SteadyNow();
      const std::lock_guard lock(signal_->mutex);
      saving_ = false;
      // With this delay, a kill loses about a sixteenth of the merge so far, and waiting for checkpoints takes at most
      // a twentieth of the time.
      next_ = now + std::clamp<Nanoseconds>(std::max({20 * stalled, now - since, (now - begin_) / 16}), kLeastTime,
                                            kMostTime);
    }
  }

  Job& job_;
  Pipeline& pipeline_;
  WindowSink& sink_;
  Output& output_;
  OutputProof& proof_;
  const std::function<void(Window)> pass_;
  const Nanoseconds begin_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::uint64_t epochs_ = 0;  ///< the number of checkpoint intervals so far
  /// A token that all windows of the current checkpoint interval share. Do not release it while holding Signal::mutex.
  std::shared_ptr<void> epoch_;
  // Signal::mutex protects the following members.
  std::optional<Mark> mark_;
  std::vector<Window> held_;
  std::optional<Nanoseconds> held_since_;
  bool saving_ = false, ended_ = false;
  Nanoseconds next_;  ///< the earliest time of the next checkpoint
  /// The output offset in bytes at which a checkpoint begins even before the time `next_`.
  std::uint64_t next_offset_ = 0;
};

}  // namespace gpusort
