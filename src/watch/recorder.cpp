#include "watch/recorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace gpusort {
namespace {

constexpr Nanoseconds kFirstInterval = std::chrono::milliseconds(20);
/// The longest time between two drains of a trace.
constexpr Nanoseconds kTraceInterval = std::chrono::milliseconds(50);

}  // namespace

Recorder::Recorder(const StageClock& clock, Trace* trace, Nanoseconds zero, Value memory, Value temp)
    : clock_(clock),
      trace_(trace),
      zero_(zero),
      memory_(std::move(memory)),
      temp_(std::move(temp)),
      interval_(kFirstInterval) {
  samples_.reserve(kMostSamples);
  samples_.push_back({});
  // If the system refuses the thread, Stop() still takes the last sample.
  StartThread(thread_, [this] { Loop(); });
}

Recorder::~Recorder() { Stop(); }

void Recorder::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stop_, true)) return;
  }
  changed_.notify_all();
  thread_.clear();
  const std::lock_guard lock(mutex_);
  Look();
}

void Recorder::Loop() {
  std::unique_lock lock(mutex_);
  Nanoseconds traced = StageClock::SteadyNow();
  for (;;) {
    const Nanoseconds wait = trace_ != nullptr ? std::min(kTraceInterval, interval_) : interval_;
    changed_.wait_for(lock, wait, [&] { return stop_; });
    if (stop_) return;
    const Nanoseconds now = StageClock::SteadyNow();
    const bool due = now - zero_ - samples_.back().time >= interval_;
    if (trace_ != nullptr && (now - traced >= kTraceInterval || trace_->waiting())) traced = now;
    if (due || traced == now) Look();
  }
}

RecordedSample Recorder::Sample() const {
  RecordedSample sample;
  for (const PhaseTimes& phase : clock_.phases()) {
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      sample.busy[i] += phase.busy[i];
      sample.bytes[i] += phase.bytes[i];
    }
  }
  sample.memory = memory_();
  sample.temp = temp_();
  sample.time = StageClock::SteadyNow() - zero_;
  return sample;
}

void Recorder::Look() {
  const RecordedSample sample = Sample();
  if (stop_ || sample.time - samples_.back().time >= interval_) {
    // Drops every second sample, and doubles the time between samples. A long job needs no more memory than a short
    // one.
    if (samples_.size() == kMostSamples) {
      for (std::size_t i = 1; 2 * i < kMostSamples; ++i) samples_[i] = samples_[2 * i];
      samples_.resize(kMostSamples / 2);
      interval_ *= 2;
    }
    samples_.push_back(sample);
  }
  if (trace_ == nullptr) return;
  trace_->Drain();
  const double seconds = InSeconds(sample.time - counted_.time);
  if (seconds < 0.045 && !stop_) return;
  const Nanoseconds now = zero_ + sample.time;
  for (const Resource resource : {Resource::kDiskRead, Resource::kDiskWrite, Resource::kPipeRead, Resource::kPipeWrite,
                                  Resource::kBus, Resource::kCodec}) {
    if (sample.bytes[resource] == 0) continue;
    const auto moved = static_cast<double>(sample.bytes[resource] - counted_.bytes[resource]);
    trace_->AddCounter(fmt::format("{}: bytes per second", ResourceName(resource)), now,
                       seconds > 0 ? moved / seconds : 0);
  }
  trace_->AddCounter("memory in use", now, static_cast<double>(sample.memory));
  trace_->AddCounter("temp space in use", now, static_cast<double>(sample.temp));
  for (const Gauge::Entry& gauge : gauges_) trace_->AddCounter(gauge.name, now, static_cast<double>(gauge.value()));
  counted_ = sample;
}

Recorder::Gauge::Gauge(Recorder* recorder, std::string name, Value value) : recorder_(recorder) {
  if (recorder_ == nullptr) return;
  const std::lock_guard lock(recorder_->mutex_);
  entry_ = recorder_->gauges_.insert(recorder_->gauges_.end(), {std::move(name), std::move(value)});
}

Recorder::Gauge::~Gauge() {
  if (recorder_ == nullptr) return;
  const std::lock_guard lock(recorder_->mutex_);
  recorder_->gauges_.erase(entry_);
}

}  // namespace gpusort
