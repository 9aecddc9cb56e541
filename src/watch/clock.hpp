// Measures how long each phase of a job keeps each resource (disk, pipe, bus, cores or GPU, codecs) busy. A resource is
// busy while at least one thread uses it. Times of several threads are not added, so a resource is never busy for more
// than 100 % of the time. Start at Busy.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "watch/trace.hpp"

namespace gpusort {

/// A resource that may limit the speed of a job.
enum class Resource : std::uint8_t {
  kDiskRead,
  kDiskWrite,
  kBus,        ///< transfers between host and GPU that do not count for kCompute
  kCompute,    ///< sorting and merging, including the transfers that a GPU needs for this
  kCodec,      ///< reading and expanding compressed inputs, and compressing outputs
  kPipeRead,   ///< reading a stream that no disk holds: a pipe, a socket, a terminal
  kPipeWrite,  ///< writing a stream that no disk holds
};
inline constexpr std::size_t kResourceCount = 7;
/// Returns "disk read", "disk write", "bus", "compute", "codec", "pipe read" or "pipe write".
const char* ResourceName(Resource resource);

/// An array with one value for each resource in the order of Resource.
template <typename T>
struct PerResource : std::array<T, kResourceCount> {
  using std::array<T, kResourceCount>::operator[];
  T& operator[](Resource resource) { return (*this)[static_cast<std::size_t>(resource)]; }
  const T& operator[](Resource resource) const { return (*this)[static_cast<std::size_t>(resource)]; }
};

/// How long each resource was busy in one phase of a job, and how many bytes were read, written or processed.
struct PhaseTimes {
  std::string name;
  Nanoseconds wall{0};
  PerResource<Nanoseconds> busy{};
  PerResource<std::uint64_t> bytes{};
  DeviceTimes device;  ///< the times that GPUs spent, added up over all lanes (workers of a GPU)

  /// Returns the share of the phase's time, from 0 to 1, in which the resource was busy.
  double Share(Resource resource) const {
    return wall.count() == 0 ? 0 : static_cast<double>(busy[resource].count()) / wall.count();
  }
};

/// Returns the resource that was busiest between two moments of the same phase: "disk read", "disk write",
/// "pipe read", "pipe write", "bus", "cores" or "GPU". Returns "" if no resource was busy for half of that time.
/// `before` and `now` are the times of the phase at these moments. `gpus` is the number of GPUs, or 0 if the CPU sorts.
std::string BusiestResource(const PhaseTimes& before, const PhaseTimes& now, unsigned gpus);

/// Measures the phases of a job. Any thread may call any member. Do not call Enter() and Leave() for every single
/// record, because each call reads the clock and takes a lock.
class StageClock {
 public:
  using NowFunction = std::function<Nanoseconds()>;
  static Nanoseconds SteadyNow() { return std::chrono::steady_clock::now().time_since_epoch(); }

  explicit StageClock(std::string first_phase, NowFunction now = SteadyNow);
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock();

  /// Turns on log events at the beginning and at the end of each phase. They appear only if the log is in JSON.
  void LogPhases();
  /// Lets the clock write its phases and each use of a resource to `trace` (--trace). Call this before other threads
  /// use the clock.
  void TraceInto(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }
  /// Ends the current phase of the job and begins the next one. If a resource is in use at this moment, the time of
  /// that use is divided between the two phases.
  void BeginPhase(std::string name);

  /// Tells the clock that the calling thread begins to use `resource`.
  void Enter(Resource resource);
  /// Ends the use of `resource` that the calling thread began with Enter(). `bytes` is the number of bytes that the
  /// thread has read, written or processed in this use. The clock adds it to the current phase.
  void Leave(Resource resource, std::uint64_t bytes);
  /// Adds the times `times` of a GPU to the current phase of the job.
  void Add(const DeviceTimes& times);

  /// Returns all phases of the job. The last element is the current phase, up to now.
  std::vector<PhaseTimes> phases() const;
  PhaseTimes current() const;

 private:
  struct Use {
    unsigned threads = 0;
    Nanoseconds since{0};
  };
  PhaseTimes CurrentAt(Nanoseconds now) const;  // the caller holds mutex_
  void TracePhase(const PhaseTimes& phase) const;

  const NowFunction now_;
  Trace* trace_ = nullptr;
  mutable std::mutex mutex_;
  bool logs_ = false;
  std::vector<PhaseTimes> ended_;
  PhaseTimes phase_;  // the current phase; uses that have not ended are not yet in its busy times
  Nanoseconds begun_;
  PerResource<Use> uses_{};
};

/// While this object exists, the calling thread counts as using `resource`. `label` is the name of this use in a trace
/// (--trace).
class Busy {
 public:
  Busy(StageClock& clock, Resource resource, std::uint64_t bytes = 0, const SliceLabel& label = {})
      : clock_(clock), resource_(resource), bytes_(bytes), label_(label) {
    clock_.Enter(resource_);
    if (clock_.trace() == nullptr) return;
    clock_.trace()->Enter();
    begin_ = StageClock::SteadyNow();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    clock_.Leave(resource_, bytes_);
    if (clock_.trace() != nullptr) AddSlice();
  }

  /// Sets the number of bytes of this use of the resource, if it was not known at the beginning.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  /// Adds times that a GPU has spent on this use of the resource.
  void Add(const DeviceTimes& times) {
    clock_.Add(times);
    device_ += times;
  }

 private:
  void AddSlice() const noexcept;

  StageClock& clock_;
  const Resource resource_;
  std::uint64_t bytes_;
  const SliceLabel label_;
  Nanoseconds begin_{0};
  DeviceTimes device_;
};

}  // namespace gpusort
