#include "watch/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

constexpr Nanoseconds kRateWindow = std::chrono::seconds(5);
/// A resource that is busy for less than this does not hold the others up.
constexpr double kBottleneckShare = 0.5;
constexpr Nanoseconds kInterval = std::chrono::milliseconds(200);
constexpr Nanoseconds kLookBack = std::chrono::seconds(1);

void LogPhaseBegin(const std::string& name) {
  Log(LogEvent::kPhase, LogLevel::kInfo, "", {{"phase", name}, {"state", "begins"}});
}

void LogPhaseEnd(const PhaseTimes& phase) noexcept {
  try {
    Log(LogEvent::kPhase, LogLevel::kInfo, "",
        {{"phase", phase.name},
         {"state", "ends"},
         {"seconds", InSeconds(phase.wall)},
         {"bytes_read", phase.bytes[static_cast<std::size_t>(Resource::kDiskRead)]},
         {"bytes_written", phase.bytes[static_cast<std::size_t>(Resource::kDiskWrite)]}});
  } catch (...) {
    // Out of memory: the job goes on without its line.
  }
}

/// Standard error is a terminal that can draw.
bool OnTerminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

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

StageClock::~StageClock() {
  TracePhase(CurrentAt(now_()));
  if (logs_) LogPhaseEnd(CurrentAt(now_()));
}

void StageClock::LogPhases() {
  const std::lock_guard lock(mutex_);
  logs_ = CurrentLogFormat() == LogFormat::kJson;
  if (logs_) LogPhaseBegin(phase_.name);
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
  TracePhase(ended_.back());
  if (logs_) {
    LogPhaseEnd(ended_.back());
    LogPhaseBegin(name);
  }
  phase_ = PhaseTimes{};
  phase_.name = std::move(name);
  begun_ = now;
  for (Use& use : uses_) use.since = now;
}

/// A slice around those of the thread that begins and ends phases.
void StageClock::TracePhase(const PhaseTimes& phase) const {
  if (trace_ == nullptr) return;
  try {
    trace_->Add({.name = trace_->Name(phase.name), .begin = begun_, .end = begun_ + phase.wall});
  } catch (...) {
    // Out of memory: the job goes on without its slice.
  }
}

void Busy::AddSlice() const noexcept {
  constexpr TraceTrack kTracks[kResourceCount] = {TraceTrack::kInput, TraceTrack::kOutput, TraceTrack::kBus,
                                                  TraceTrack::kNone, TraceTrack::kCodec};
  const auto resource = static_cast<std::size_t>(resource_);
  clock_.trace()->Add({.name = mark_.name != nullptr ? mark_.name : ResourceName(resource_),
                       .begin = begin_,
                       .end = StageClock::SteadyNow(),
                       .bytes = bytes_,
                       .number = mark_.number,
                       .upload = static_cast<float>(device_.upload),
                       .kernels = static_cast<float>(device_.kernels),
                       .download = static_cast<float>(device_.download),
                       .track = mark_.track != TraceTrack::kNone ? mark_.track : kTracks[resource]});
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
  return now > first.time ? static_cast<double>(done - first.done) / InSeconds(now - first.time) : 0;
}

std::string RenderProgress(const ProgressFacts& facts, std::size_t columns) {
  struct Part {
    int importance;
    std::string text;
  };
  std::vector<Part> parts;
  if (facts.percent) parts.push_back({5, std::to_string(*facts.percent) + " %"});
  if (facts.done > 0 || facts.total > 0) {
    parts.push_back({2, FormatBytes(facts.done) + (facts.total > 0 ? " of " + FormatBytes(facts.total) : "")});
  }
  if (facts.bytes_per_second >= 1) {
    parts.push_back({0, FormatBytes(static_cast<std::uint64_t>(facts.bytes_per_second)) + "/s"});
  }
  if (facts.seconds_left && facts.percent != 100) {
    const double left = *facts.seconds_left;
    parts.push_back({4, (left < 59.5 ? std::to_string(std::lround(left)) + " s" : FormatDuration(left)) + " left"});
  }
  if (!facts.waits_for.empty()) parts.push_back({1, "waits for " + facts.waits_for});
  constexpr int kPhase = 3, kAll = 5;
  for (int least = 0;; ++least) {
    std::string line = least <= kPhase ? facts.phase : "";
    const char* between = line.empty() ? "" : ": ";
    for (const Part& part : parts) {
      if (part.importance >= least) line += std::exchange(between, ", ") + part.text;
    }
    if (line.size() <= columns || least == kAll) return line.substr(0, columns);
  }
}

std::string BusiestResource(const PhaseTimes& before, const PhaseTimes& now, unsigned gpus) {
  const double wall = InSeconds(now.wall - before.wall);
  if (wall <= 0) return {};
  std::optional<Resource> busiest;
  double most = kBottleneckShare;
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    const double share = InSeconds(now.busy[i] - before.busy[i]) / wall;
    if (share < most) continue;
    busiest = static_cast<Resource>(i);
    most = share;
  }
  if (!busiest) return {};
  if (*busiest == Resource::kCodec) return "cores";
  if (*busiest != Resource::kCompute) return ResourceName(*busiest);
  if (gpus == 0) return "cores";
  const double bus = (now.device.upload + now.device.download - before.device.upload - before.device.download) / gpus;
  const double kernels = (now.device.kernels - before.device.kernels) / gpus;
  if (std::max(bus, kernels) < kBottleneckShare * wall) return "cores";
  return bus > kernels ? "bus" : "GPU";
}

bool ShowsProgress(When when) { return when == When::kAlways || (when == When::kAuto && OnTerminal()); }

Progress::Progress(When when, const StageClock& clock)
    : clock_(clock), shown_(ShowsProgress(when)), answered_(ReportsAsked()) {
  // Events are lines, on a terminal as well.
  terminal_ = shown_ && OnTerminal() && CurrentLogFormat() == LogFormat::kText;
  if (!shown_ && !ReportsOnSignal()) return;
  const std::string refused = StartThread(thread_, [this] { Loop(); });
  if (!refused.empty() && shown_) LogWarn("no progress is shown, for its thread cannot start: " + refused);
  shown_ = shown_ && refused.empty();
}

Progress::~Progress() {
  if (thread_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.clear();
  if (terminal_) {
    ClearStatusLine();
  } else if (shown_) {
    try {
      Look();
      if (!facts_.phase.empty()) Print();
    } catch (...) {
      // Out of memory for a line that nobody depends on.
    }
  }
}

void Progress::Expect(std::vector<JobPart> parts) {
  const std::lock_guard lock(mutex_);
  outlook_.Expect(std::move(parts));
}

void Progress::SetPhase(const std::string& name, std::uint64_t total_bytes) {
  const std::lock_guard lock(mutex_);
  Look();
  if (shown_ && !terminal_ && !facts_.phase.empty()) Print();
  count_ = nullptr;
  facts_ = ProgressFacts{};
  facts_.phase = name;
  facts_.total = total_bytes;
  done_.store(0, std::memory_order_relaxed);
  skipped_.store(0, std::memory_order_relaxed);
  looks_.clear();
  rate_.Reset();
  const Nanoseconds now = StageClock::SteadyNow();
  rate_.Update(now, 0);
  outlook_.Begin(name, total_bytes, now);
}

void Progress::CountBy(std::function<std::uint64_t()> count) {
  const std::lock_guard lock(mutex_);
  count_ = std::move(count);
}

void Progress::Finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  outlook_.Finish();
}

void Progress::Print() {
  const std::string line = RenderProgress(facts_);
  if (CurrentLogFormat() == LogFormat::kText) return PrintStatusLine(line, {});
  LogFields fields{{"phase", facts_.phase}, {"bytes", facts_.done}};
  if (facts_.total > 0) fields.emplace_back("bytes_total", facts_.total);
  fields.emplace_back("bytes_per_second", facts_.bytes_per_second);
  if (facts_.percent) fields.emplace_back("percent", static_cast<std::uint64_t>(*facts_.percent));
  if (facts_.seconds_left) fields.emplace_back("seconds_left", *facts_.seconds_left);
  if (!facts_.waits_for.empty()) fields.emplace_back("waits_for", facts_.waits_for);
  PrintStatusLine(line, fields);
}

void Progress::Look() {
  if (facts_.phase.empty()) return;
  const Nanoseconds time = StageClock::SteadyNow();
  // The clock's next phase may have begun.
  const std::vector<PhaseTimes> phases = clock_.phases();
  const auto own =
      std::find_if(phases.rbegin(), phases.rend(), [&](const PhaseTimes& phase) { return phase.name == facts_.phase; });
  const PhaseTimes& now = own != phases.rend() ? *own : phases.back();
  if (count_) done_ = count_();
  if (!looks_.empty() && looks_.back().name != now.name) looks_.clear();
  looks_.push_back(now);
  while (looks_.size() > 2 && looks_[1].wall <= now.wall - kLookBack) looks_.pop_front();
  facts_.waits_for = BusiestResource(looks_.size() > 1 ? looks_.front() : PhaseTimes{}, now, gpus_);
  const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed);
  facts_.done = std::max(skipped, done_.load(std::memory_order_relaxed));
  facts_.bytes_per_second = rate_.Update(time, facts_.done - skipped);
  const auto seconds = [&](Resource resource) { return InSeconds(now.busy[static_cast<std::size_t>(resource)]); };
  const auto bytes = [&](Resource resource) {
    return static_cast<double>(now.bytes[static_cast<std::size_t>(resource)]);
  };
  outlook_.Update(time, facts_.done, skipped,
                  {std::max(seconds(Resource::kCompute), seconds(Resource::kCodec)), seconds(Resource::kDiskRead),
                   seconds(Resource::kDiskWrite), bytes(Resource::kDiskRead), bytes(Resource::kDiskWrite),
                   bytes(Resource::kCodec)});
  facts_.percent = outlook_.percent();
  facts_.seconds_left = outlook_.seconds_left();
  if (finished_) facts_.waits_for.clear();
}

void Progress::Loop() {
  const int ticks = CurrentLogFormat() == LogFormat::kJson ? 5 : 25;
  try {
    std::unique_lock lock(mutex_);
    for (int tick = 1; !changed_.wait_for(lock, kInterval, [this] { return stop_; }); ++tick) {
      Look();
      const unsigned asked = ReportsAsked();
      const bool ask = std::exchange(answered_, asked) != asked;
      if (facts_.phase.empty()) {
        facts_.phase = "start";
        if (ask) Print();
        facts_.phase.clear();
        continue;
      }
      if (terminal_) ShowStatusLine(RenderProgress(facts_, StatusColumns()));
      if (ask || (shown_ && !terminal_ && tick % ticks == 0)) Print();
    }
  } catch (...) {
    // Out of memory: the run goes on without its line.
  }
}

}  // namespace gpusort
