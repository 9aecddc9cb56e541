// Measures how long each phase of a job uses each resource. Start at Busy.
// A resource is busy while at least one thread uses it. Times of threads are not added up, so a share is at most 100 %.
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

/// A resource that a stage may wait for.
enum class Resource : std::uint8_t {
  kDiskRead,
  kDiskWrite,
  kBus,      ///< transfers outside of lanes, such as reading a run from device memory
  kCompute,  ///< lanes that sort or merge, including the transfers of a GPU's lane
  kCodec,    ///< expanding inputs, including reading them, and compressing outputs
};
inline constexpr std::size_t kResourceCount = 5;
/// Returns "disk read", "disk write", "bus", "compute" or "codec".
const char* ResourceName(Resource resource);

/// One value for each resource.
template <typename T>
struct PerResource : std::array<T, kResourceCount> {
  using std::array<T, kResourceCount>::operator[];
  T& operator[](Resource resource) { return (*this)[static_cast<std::size_t>(resource)]; }
  const T& operator[](Resource resource) const { return (*this)[static_cast<std::size_t>(resource)]; }
};

/// The resources that one phase used.
struct PhaseTimes {
  std::string name;
  Nanoseconds wall{0};
  PerResource<Nanoseconds> busy{};
  PerResource<std::uint64_t> bytes{};
  DeviceTimes device;  ///< summed over lanes

  /// Returns the part of the phase, from 0 to 1, in which the resource was busy.
  double Share(Resource resource) const {
    return wall.count() == 0 ? 0 : static_cast<double>(busy[resource].count()) / wall.count();
  }
};

/// Returns the resource that was busiest between two moments of a phase. Returns "" if none was busy for half of the
/// time. For lanes, returns "cores", "bus" or "GPU" by the times of the devices. `gpus` is the number of GPUs; 0 means
/// the CPU.
std::string BusiestResource(const PhaseTimes& before, const PhaseTimes& now, unsigned gpus);

/// The clock of a job's phases. Thread-safe. Enter and Leave each read the clock once and take an uncontended lock, so
/// use them for blocks of records and not for single records.
class StageClock {
 public:
  using NowFunction = std::function<Nanoseconds()>;
  static Nanoseconds SteadyNow() { return std::chrono::steady_clock::now().time_since_epoch(); }

  explicit StageClock(std::string first_phase, NowFunction now = SteadyNow);
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock();

  /// Makes the begin and the end of each phase an event of the JSON log.
  void LogPhases();
  /// Makes phases and uses slices of `trace`. Call this before other threads use the clock.
  void TraceInto(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }
  /// Ends the current phase and begins the next one. The use of a resource that is under way is split between the two.
  void BeginPhase(std::string name);

  void Enter(Resource resource);
  /// Ends a use, and adds `bytes` to the current phase.
  void Leave(Resource resource, std::uint64_t bytes);
  /// Adds the times of a device to the current phase.
  void Add(const DeviceTimes& times);

  /// Returns all phases. The last one is the current phase, up to now.
  std::vector<PhaseTimes> phases() const;
  PhaseTimes current() const;

 private:
  struct Use {
    unsigned threads = 0;
    Nanoseconds since{0};
  };
  PhaseTimes CurrentAt(Nanoseconds now) const;  // needs mutex_
  void TracePhase(const PhaseTimes& phase) const;

  const NowFunction now_;
  Trace* trace_ = nullptr;
  mutable std::mutex mutex_;
  bool logs_ = false;
  std::vector<PhaseTimes> ended_;
  PhaseTimes phase_;  // its busy times leave out the uses that are under way
  Nanoseconds begun_;
  PerResource<Use> uses_{};
};

/// Marks that this thread uses `resource` for as long as the object lives. In a trace, the use is a slice named by
/// `mark`.
class Busy {
 public:
  Busy(StageClock& clock, Resource resource, std::uint64_t bytes = 0, const Mark& mark = {})
      : clock_(clock), resource_(resource), bytes_(bytes), mark_(mark) {
    clock_.Enter(resource_);
    if (clock_.trace() != nullptr) begin_ = StageClock::SteadyNow();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    clock_.Leave(resource_, bytes_);
    if (clock_.trace() != nullptr) AddSlice();
  }

  /// Sets the size of a use that is known only at its end.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  /// Adds the times of a GPU in this use.
  void Add(const DeviceTimes& times) {
    clock_.Add(times);
    device_ += times;
  }

 private:
  void AddSlice() const noexcept;

  StageClock& clock_;
  const Resource resource_;
  std::uint64_t bytes_;
  const Mark mark_;
  Nanoseconds begin_{0};
  DeviceTimes device_;
};

}  // namespace gpusort
