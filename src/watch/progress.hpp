// How far a run is, and what it waits for.
// StageClock measures for how long each resource was busy in each phase: the time in which at least one thread used it,
// not the sum over threads, so a share is never over 100 %. Progress draws one line on standard error from its own
// thread, at most five times a second; where nobody can ask for it either it starts none, and costs an atomic addition.
// Start at Busy and Progress.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/thread.hpp"
#include "spec/job_spec.hpp"
#include "watch/outlook.hpp"
#include "watch/trace.hpp"

namespace gpusort {

/// What a stage may be waiting for. kCompute is a lane sorting or merging (on a GPU its own transfers are inside);
/// kBus is a transfer made on its own, such as reading a device run; kCodec expands inputs and compresses outputs (the
/// reading of an input is inside).
enum class Resource : std::uint8_t { kDiskRead, kDiskWrite, kBus, kCompute, kCodec };
inline constexpr std::size_t kResourceCount = 5;
/// "disk read", "disk write", "bus", "compute", "codec".
const char* ResourceName(Resource resource);

/// What one phase used.
struct PhaseTimes {
  std::string name;
  Nanoseconds wall{0};
  std::array<Nanoseconds, kResourceCount> busy{};
  std::array<std::uint64_t, kResourceCount> bytes{};
  DeviceTimes device;  ///< summed over lanes

  double Share(Resource resource) const {  ///< of the phase's time, 0 to 1
    return wall.count() == 0 ? 0 : static_cast<double>(busy[static_cast<std::size_t>(resource)].count()) / wall.count();
  }
};

/// Thread-safe. An Enter and Leave cost two readings of the clock and an uncontended lock each: meant for blocks.
class StageClock {
 public:
  using NowFunction = std::function<Nanoseconds()>;
  static Nanoseconds SteadyNow() { return std::chrono::steady_clock::now().time_since_epoch(); }

  explicit StageClock(std::string first_phase, NowFunction now = SteadyNow);
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock();

  /// From here on each phase's begin and end is an event of the JSON log.
  void LogPhases();
  /// From here on phases and uses are slices of `trace`. Before other threads use this.
  void TraceInto(Trace* trace) { trace_ = trace; }
  Trace* trace() const { return trace_; }
  /// Ends the phase before it. A thread that is inside a resource now is counted in both, each with its part.
  void BeginPhase(std::string name);

  void Enter(Resource resource);
  /// `bytes` are added to the phase that is current now.
  void Leave(Resource resource, std::uint64_t bytes);
  /// To the phase that is current now.
  void Add(const DeviceTimes& times);

  /// All phases so far, the last one up to now.
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
  PhaseTimes phase_;  // its busy times leave out what is open in uses_
  Nanoseconds begun_;
  std::array<Use, kResourceCount> uses_{};
};

/// While it lives, this thread uses `resource` for `bytes`. In a trace it is a slice, called as `mark` says.
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

  /// For a use whose size is known only at its end.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  /// What a GPU did in it.
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

/// Bytes per second over the last five seconds (or since the first sample, if that is less).
class RateMeter {
 public:
  /// `done` bytes in all at time `now`, both never falling. Returns the rate; 0 until there are two samples.
  double Update(Nanoseconds now, std::uint64_t done);
  void Reset() { samples_.clear(); }

 private:
  struct Sample {
    Nanoseconds time;
    std::uint64_t done;
  };
  std::deque<Sample> samples_;
};

/// What the line says.
struct ProgressFacts {
  std::string phase;
  std::uint64_t done = 0;                ///< of the phase
  std::uint64_t total = 0;               ///< 0: not known
  double bytes_per_second = 0;           ///< 0: not known yet
  std::optional<int> percent{};          ///< of the whole job
  std::optional<double> seconds_left{};  ///< of the whole job
  std::string waits_for{};               ///< empty: nothing stands out
};

/// "merge runs: 61 %, 3.2 GiB of 8.0 GiB, 2.8 GiB/s, 4.57 s left, waits for disk read" in that order, as much as
/// `columns` have room for: what is left out first is the rate, then what it waits for, the bytes, the phase.
std::string RenderProgress(const ProgressFacts& facts, std::size_t columns = std::string::npos);

/// What was busiest between two moments of a phase, at least for half of the time; else empty. Of the lanes of `gpus`
/// GPUs (0: the CPU's) the devices' own times tell whether it was the bus, the GPU, or the cores that feed it.
std::string BusiestResource(const PhaseTimes& before, const PhaseTimes& now, unsigned gpus);

/// True if progress is shown: `when` says so, or leaves it to standard error, which is a terminal.
bool ShowsProgress(When when);

/// The live line. All members may be called from any thread.
class Progress {
 public:
  /// kAuto: only if standard error is a terminal. `clock` (of this run, must outlive this) says what is busy.
  /// A terminal sees one line, wiped at the end; anything else (kAlways) a line each five seconds and one for each
  /// phase's end. The JSON log format has a line a second, on a terminal, too. Where SIGUSR1 asks (ReportsAsked) it is
  /// printed once, whatever `when` says.
  Progress(When when, const StageClock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// The parts of the job from here on, by the names that SetPhase has.
  void Expect(std::vector<JobPart> parts);
  /// Lanes are those of so many GPUs; 0: the CPU's.
  void SetGpus(unsigned gpus) { gpus_ = gpus; }
  /// `total_bytes` 0: not known.
  void SetPhase(const std::string& name, std::uint64_t total_bytes);
  /// In this phase `count` says how many bytes are done. Any thread may call it, to the end.
  void CountBy(std::function<std::uint64_t()> count);
  void Advance(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }
  /// What a process before this one has done.
  void Skip(std::uint64_t bytes) noexcept {
    skipped_.fetch_add(bytes, std::memory_order_relaxed);
    Advance(bytes);
  }
  /// The output is in place.
  void Finish();
  bool shown() const { return shown_; }

 private:
  void Loop();
  void Look();   // needs mutex_
  void Print();  // needs mutex_

  const StageClock& clock_;
  std::atomic<std::uint64_t> done_{0}, skipped_{0};
  std::atomic<unsigned> gpus_{0};
  bool shown_ = false, terminal_ = false;
  unsigned answered_ = 0;  // of ReportsAsked
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, finished_ = false;
  ProgressFacts facts_;
  std::function<std::uint64_t()> count_;
  RateMeter rate_;
  JobOutlook outlook_;
  /// The clock's phase over the last second, the oldest first.
  std::deque<PhaseTimes> looks_;
  Threads thread_;  // one, if it is shown or may be asked for
};

}  // namespace gpusort
