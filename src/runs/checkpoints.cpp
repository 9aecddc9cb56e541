#include "runs/checkpoints.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace gpusort {
namespace {

// From one checkpoint to the next.
constexpr std::chrono::nanoseconds kLeastTime = std::chrono::milliseconds(250), kMostTime = std::chrono::minutes(5);

}  // namespace

Checkpoints::Checkpoints(Job& job, Pipeline& pipeline, WindowSink& sink, Output& output, OutputProof& proof,
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

/// Dropped with the last window that has it.
std::shared_ptr<void> Checkpoints::NextEpoch() {
  return {signal_.get(), [signal = signal_, number = ++epochs_](void*) {
            const std::lock_guard lock(signal->mutex);
            signal->written = std::max(signal->written, number);
            signal->changed.notify_all();
          }};
}

void Checkpoints::BeforeCut(std::uint64_t number, std::uint64_t offset, const std::vector<Cursor>& cursors) {
  {
    const std::lock_guard lock(signal_->mutex);
    const bool due = offset >= next_offset_ || StageClock::SteadyNow() >= next_;
    if (number == 0 || mark_ || saving_ || !due) return;
  }
  Mark mark{number, epochs_, {}};
  for (const Cursor& cursor : cursors) mark.taken[cursor.run->id] = cursor.taken;
  std::shared_ptr<void> next = NextEpoch();  // before there is a mark: where memory is refused, it is over at once
  {
    const std::lock_guard lock(signal_->mutex);
    mark_ = std::move(mark);
    next_offset_ = offset + job_.spec.survival.checkpoint_bytes;
  }
  epoch_ = std::move(next);
}

/// A window that an exception drops was not written. Where parts of it are shared, Pipeline::Try knows before.
void Checkpoints::Register(Window& window) {
  window.written = {signal_.get(), [signal = signal_, epoch = epoch_](void*) {
                      if (std::uncaught_exceptions() == 0) return;
                      const std::lock_guard lock(signal->mutex);
                      signal->lost = true;
                    }};
}

void Checkpoints::Accept(Window window) {
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

void Checkpoints::End() {
  epoch_ = nullptr;
  const std::lock_guard lock(signal_->mutex);
  ended_ = true;
  signal_->changed.notify_all();
}

void Checkpoints::Run() {
  for (;;) {
    KeptMerge kept;
    std::vector<Window> held;
    Nanoseconds stalled{};
    {
      std::unique_lock lock(signal_->mutex);
      pipeline_.Wait(lock, signal_->changed, [&] {
        return mark_ ? signal_->written >= mark_->epochs && !signal_->lost : ended_;
      });
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
    // A kill costs a sixteenth of the merge so far, the stalls at most a twentieth, and lines come ever more seldom.
    next_ = now + std::clamp<Nanoseconds>(std::max({20 * stalled, now - since, (now - begin_) / 16}), kLeastTime,
                                          kMostTime);
  }
}

}  // namespace gpusort
