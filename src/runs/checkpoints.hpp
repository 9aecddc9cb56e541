// Makes checkpoints while a job writes its output. If the process is killed, a later process continues at the last
// checkpoint. Start at Checkpoints.
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
#include <utility>
#include <vector>

#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/sinks.hpp"

namespace gpusort {

class Checkpoints {
 public:
  /// Starts a thread of `pipeline` that makes checkpoints. `job.checkpoints` must not be null.
  /// - `pass` must give a window (a piece of merged output) to `sink`, which writes it.
  /// - Any thread may call `pass`.
  Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
              std::function<void(Window)> pass)
      : job_(job),
        pipeline_(pipeline),
        sink_(sink),
        output_(output),
        proof_(proof),
        pass_(std::move(pass)),
        begin_(StageClock::SteadyNow()),
        epoch_(std::make_shared<Epoch>(signal_)),
        next_(begin_ + kLeastTime),
        next_offset_(sink.begin() + job.spec.survival.checkpoint_bytes) {
    pipeline_.Start([this] { Run(); });
  }

  /// Begins a checkpoint if it is time for one. Call before making a window, a piece of output.
  /// - `number`: the number of the window
  /// - `offset`: the offset of the window in the output, in bytes
  /// - Only the thread that divides the merge into windows may call this.
  void BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors) {
    {
      const std::lock_guard lock(signal_->mutex);
      const bool due = offset >= next_offset_ || StageClock::SteadyNow() >= next_;
      if (number == 0 || pending_ || saving_ || !due) return;
    }
    PendingCheckpoint pending{number, epochs_, {}};
    for (const Cursor& cursor : cursors) pending.taken[cursor.run->id] = cursor.taken;
    // This call comes before pending_ is set: if it throws, no checkpoint has begun.
    auto next = std::make_shared<Epoch>(signal_);
    {
      const std::lock_guard lock(signal_->mutex);
      pending_ = std::move(pending);
      next_offset_ = offset + job_.spec.survival.checkpoint_bytes;
    }
    ++epochs_;
    epoch_->next = next;
    epoch_ = std::move(next);
  }

  /// Makes the next checkpoint wait until `window` is destroyed. Call this for each new window, and destroy it only
  /// after it was written.
  void Register(Window& window) {
    window.written = {signal_.get(), [signal = signal_, epoch = epoch_](void*) {
                        // An exception can destroy the window before it was written.
                        if (std::uncaught_exceptions() == 0) return;
                        const std::lock_guard lock(signal->mutex);
                        signal->lost = true;
                      }};
  }

  /// Passes a window (a piece of merged output) to the sink, which writes it. If the window comes after a checkpoint
  /// that is not saved yet, keeps the window in memory until then. Any thread may call this.
  void Accept(Window window) {
    {
      const std::lock_guard lock(signal_->mutex);
      if (pending_ && window.number >= pending_->number) {
        if (!held_since_) held_since_ = StageClock::SteadyNow();
        held_.push_back(std::move(window));
        return;
      }
    }
    pass_(std::move(window));
  }

  /// Asks the checkpoint thread to end, without waiting for it. If a checkpoint has begun, the thread saves it first.
  /// Call this after the last window (piece of merged output), from the thread that calls BeforeCut().
  void End() {
    epoch_ = nullptr;
    const std::lock_guard lock(signal_->mutex);
    ended_ = true;
    signal_->changed.notify_all();
  }

 private:
  /// Limits on the time between checkpoints. A checkpoint can be earlier if the output grows fast.
  static constexpr Nanoseconds kLeastTime = std::chrono::milliseconds(250), kMostTime = std::chrono::minutes(5);

  /// Tells the checkpoint thread which windows (pieces of merged output) have been written. Every window holds a
  /// reference to this object, because windows may live longer than the Checkpoints object.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t written = 0;  ///< all windows of the first `written` checkpoint intervals are written
    bool lost = false;          ///< true: an exception destroyed a window before it was written
  };
  /// The interval from one checkpoint to the next. All windows of the interval share this object, and the last one
  /// destroys it.
  struct Epoch {
    explicit Epoch(std::shared_ptr<Signal> to) : signal(std::move(to)) {}
    // Allocates no memory, because a destructor cannot report errors.
    ~Epoch() {
      const std::lock_guard lock(signal->mutex);
      ++signal->written;
      signal->changed.notify_all();
    }
    Epoch(const Epoch&) = delete;
    Epoch& operator=(const Epoch&) = delete;

    const std::shared_ptr<Signal> signal;
    std::shared_ptr<Epoch> next;  ///< keeps the next interval until this interval has ended: intervals end in order
  };
  /// A checkpoint that has begun and is not saved yet.
  struct PendingCheckpoint {
    std::uint64_t number;  ///< windows (pieces of output) from this number on wait for the checkpoint
    std::uint64_t epochs;  ///< the number of checkpoint intervals (times between checkpoints) before window `number`
    std::map<std::uint64_t, std::uint64_t> taken;
  };

  /// Waits until all output before a checkpoint is written. Then stores the state of the output in `job_.checkpoints`.
  void Run() {
    for (;;) {
      KeptMerge kept;
      std::vector<Window> held;
      Nanoseconds stalled{};
      {
        std::unique_lock lock(signal_->mutex);
        pipeline_.Wait(lock, signal_->changed,
                       [&] { return pending_ ? signal_->written >= pending_->epochs && !signal_->lost : ended_; });
        if (!pending_) return;
        pipeline_.ThrowIfStopped();
        sink_.Settle();
        kept = {sink_.bytes(), proof_.front(), std::move(pending_->taken)};
        held = std::exchange(held_, {});
        pending_.reset();
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
      // The time until the next checkpoint is the longest of:
      // - 20 times the time for which this checkpoint has held back output
      // - the time that storing this checkpoint took
      // - a sixteenth of the time of the merge so far
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
  std::uint64_t epochs_ = 1;  ///< the number of checkpoint intervals so far
  /// The interval since the last checkpoint. Do not release it with Signal::mutex locked: ~Epoch() locks the mutex.
  std::shared_ptr<Epoch> epoch_;
  // Signal::mutex protects the following members.
  std::optional<PendingCheckpoint> pending_;
  std::vector<Window> held_;
  std::optional<Nanoseconds> held_since_;
  bool saving_ = false, ended_ = false;
  Nanoseconds next_;  ///< the time of the next checkpoint, unless the output reaches `next_offset_` first
  /// A checkpoint also begins when the output reaches this offset, in bytes.
  std::uint64_t next_offset_ = 0;
};

}  // namespace gpusort
