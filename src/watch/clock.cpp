#include "watch/clock.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

/// A resource that is busy for a smaller share of the time does not limit the job.
constexpr double kBottleneckShare = 0.5;
constexpr PerResource<const char*> kResourceNames{
    {"disk read", "disk write", "bus", "compute", "codec", "pipe read", "pipe write"}};
constexpr PerResource<TraceTrack> kResourceTracks{{TraceTrack::kInput, TraceTrack::kOutput, TraceTrack::kBus,
                                                   TraceTrack::kNone, TraceTrack::kCodec, TraceTrack::kInput,
                                                   TraceTrack::kOutput}};

void LogPhaseBegin(const std::string& name) {
  Log(LogEvent::kPhase, LogLevel::kInfo, "", {{"phase", name}, {"state", "begins"}});
}

void LogPhaseEnd(const PhaseTimes& phase) noexcept {
  try {
    Log(LogEvent::kPhase, LogLevel::kInfo, "",
        {{"phase", phase.name},
         {"state", "ends"},
         {"seconds", InSeconds(phase.wall)},
         {"bytes_read", phase.bytes[Resource::kDiskRead] + phase.bytes[Resource::kPipeRead]},
         {"bytes_written", phase.bytes[Resource::kDiskWrite] + phase.bytes[Resource::kPipeWrite]}});
  } catch (...) {
    // Out of memory: the job continues without this line.
  }
}

}  // namespace

const char* ResourceName(Resource resource) { return kResourceNames[resource]; }

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

StageClock::StageClock(std::string first_phase, NowFunction now) : now_(std::move(now)), begun_(now_()) {
  phase_.name = std::move(first_phase);
}

StageClock::~StageClock() {
  const PhaseTimes last = CurrentAt(now_());
  TracePhase(last);
  if (logs_) LogPhaseEnd(last);
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

/// Adds a slice for the whole phase, which encloses the other slices of the thread that begins and ends phases.
void StageClock::TracePhase(const PhaseTimes& phase) const {
  if (trace_ == nullptr) return;
  try {
    trace_->Add({.name = trace_->Name(phase.name), .begin = begun_, .end = begun_ + phase.wall});
  } catch (...) {
    // Out of memory: the job continues without this slice.
  }
}

void StageClock::Enter(Resource resource) {
  // The clock is read under the lock, so no interval is ever negative.
  const std::lock_guard lock(mutex_);
  Use& use = uses_[resource];
  if (use.threads++ == 0) use.since = now_();
}

void StageClock::Leave(Resource resource, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  phase_.bytes[resource] += bytes;
  Use& use = uses_[resource];
  if (--use.threads == 0) phase_.busy[resource] += now_() - use.since;
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

void Busy::AddSlice() const noexcept {
  clock_.trace()->Add({.name = label_.name != nullptr ? label_.name : ResourceName(resource_),
                       .begin = begin_,
                       .end = StageClock::SteadyNow(),
                       .bytes = bytes_,
                       .number = label_.number,
                       .upload = static_cast<float>(device_.upload),
                       .kernels = static_cast<float>(device_.kernels),
                       .download = static_cast<float>(device_.download),
                       .track = label_.track != TraceTrack::kNone ? label_.track : kResourceTracks[resource_]});
}

}  // namespace gpusort
