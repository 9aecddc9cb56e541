#include "support/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "support/log.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

constexpr Nanoseconds kRateWindow = std::chrono::seconds(5);
/// A resource that is busy for less than this does not hold the others up.
constexpr double kBottleneckShare = 0.5;

double Seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

const char* ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kDiskRead:
      return "disk read";
    case Resource::kDiskWrite:
      return "disk write";
    case Resource::kBus:
      return "bus";
    case Resource::kCompute:
      return "compute";
    case Resource::kCodec:
      return "codec";
  }
  return "";
}

StageClock::StageClock(std::string first_phase, NowFunction now) : now_(std::move(now)), begun_(now_()) {
  phase_.name = std::move(first_phase);
}

PhaseTimes StageClock::CurrentAt(Nanoseconds now) const {
  PhaseTimes times = phase_;
  times.wall = now - begun_;
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    if (uses_[i].threads > 0) times.busy[i] += now - uses_[i].since;
  }
  return times;
}

void StageClock::BeginPhase(std::string name) {
  const std::lock_guard lock(mutex_);
  const Nanoseconds now = now_();
  ended_.push_back(CurrentAt(now));
  phase_ = PhaseTimes{};
  phase_.name = std::move(name);
  begun_ = now;
  for (Use& use : uses_) use.since = now;
}

void StageClock::Enter(Resource resource) {
  // The clock is read under the lock, so no interval is ever negative.
  const std::lock_guard lock(mutex_);
  Use& use = uses_[static_cast<std::size_t>(resource)];
  if (use.threads++ == 0) use.since = now_();
}

void StageClock::Leave(Resource resource, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto i = static_cast<std::size_t>(resource);
  phase_.bytes[i] += bytes;
  if (--uses_[i].threads == 0) phase_.busy[i] += now_() - uses_[i].since;
}

void StageClock::Add(const DeviceTimes& times) {
  const std::lock_guard lock(mutex_);
  phase_.device += times;
}

std::vector<PhaseTimes> StageClock::phases() const {
  const std::lock_guard lock(mutex_);
  std::vector<PhaseTimes> all = ended_;
  all.push_back(CurrentAt(now_()));
  return all;
}

PhaseTimes StageClock::current() const {
  const std::lock_guard lock(mutex_);
  return CurrentAt(now_());
}

double RateMeter::Update(Nanoseconds now, std::uint64_t done) {
  samples_.push_back({now, done});
  while (samples_.size() > 2 && samples_[1].time <= now - kRateWindow) samples_.pop_front();
  const Sample& first = samples_.front();
  return now > first.time ? static_cast<double>(done - first.done) / Seconds(now - first.time) : 0;
}

std::string RenderProgress(const ProgressFacts& facts) {
  const auto percent = [](double share) {
    return std::to_string(static_cast<int>(std::floor(100 * std::clamp(share, 0.0, 1.0)))) + " %";
  };
  if (facts.done == 0 && facts.total == 0) return facts.phase;
  std::string line = facts.phase + ": " + FormatBytes(facts.done);
  if (facts.total > 0) {
    line += " of " + FormatBytes(facts.total) + " (" +
            percent(static_cast<double>(facts.done) / static_cast<double>(facts.total)) + ")";
  }
  if (facts.bytes_per_second >= 1) {
    line += ", " + FormatBytes(static_cast<std::uint64_t>(facts.bytes_per_second)) + "/s";
    if (facts.total > 0) {
      const std::uint64_t left = (facts.total - std::min(facts.done, facts.total)) + facts.after;
      if (left > 0) line += ", " + FormatDuration(static_cast<double>(left) / facts.bytes_per_second) + " left";
    }
  }
  if (!facts.bottleneck.empty()) {
    line += ", limited by " + facts.bottleneck + " (" + percent(facts.bottleneck_share) + ")";
  }
  return line;
}

Progress::Progress(When when, const StageClock& clock) : clock_(clock) {
  if (when == When::kNever) return;
  const char* kind = std::getenv("TERM");
  terminal_ = ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
  if (when == When::kAuto && !terminal_) return;
  const std::string refused = StartThread(thread_, [this] { Loop(); });
  if (!refused.empty()) LogWarn("no progress is shown, for its thread cannot start: " + refused);
}

Progress::~Progress() {
  if (!shown()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.clear();
  if (terminal_) {
    ClearStatusLine();
  } else {
    try {
      PrintPhaseEnd();
    } catch (...) {
      // Out of memory for a line that nobody depends on.
    }
  }
}

void Progress::SetPhase(const std::string& name, std::uint64_t total_bytes, std::uint64_t bytes_after) {
  const std::lock_guard lock(mutex_);
  if (shown() && !terminal_) PrintPhaseEnd();
  facts_ = ProgressFacts{};
  facts_.phase = name;
  facts_.total = total_bytes;
  facts_.after = bytes_after;
  done_.store(0, std::memory_order_relaxed);
  rate_.Reset();
  rate_.Update(StageClock::SteadyNow(), 0);
}

void Progress::PrintPhaseEnd() {
  if (!facts_.phase.empty()) PrintStatusLine(Line());
}

std::string Progress::Line() {
  const PhaseTimes now = clock_.current();
  const PhaseTimes before = now.name == last_.name && now.wall >= last_.wall ? last_ : PhaseTimes{};
  const double wall = Seconds(now.wall - before.wall);
  facts_.bottleneck.clear();
  facts_.bottleneck_share = kBottleneckShare;
  for (std::size_t i = 0; wall > 0 && i < kResourceCount; ++i) {
    const double share = Seconds(now.busy[i] - before.busy[i]) / wall;
    if (share < facts_.bottleneck_share) continue;
    facts_.bottleneck = ResourceName(static_cast<Resource>(i));
    facts_.bottleneck_share = share;
  }
  last_ = now;
  facts_.done = done_.load(std::memory_order_relaxed);
  facts_.bytes_per_second = rate_.Update(StageClock::SteadyNow(), facts_.done);
  return RenderProgress(facts_);
}

void Progress::Loop() {
  const auto interval = std::chrono::milliseconds(terminal_ ? 200 : 1000);
  try {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return stop_; })) {
      if (facts_.phase.empty()) continue;
      const std::string line = Line();
      if (terminal_) {
        ShowStatusLine(line);
      } else {
        PrintStatusLine(line);
      }
    }
  } catch (...) {
    // Out of memory: the run goes on without its line.
  }
}

}  // namespace gpusort
