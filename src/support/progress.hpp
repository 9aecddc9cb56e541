// How far a run is, and what it waits for.
// StageClock measures for how long each resource was busy in each phase: the time in which at least one thread used it,
// not the sum over threads, so a share is never over 100 %. Progress draws one line on standard error from its own
// thread, at most five times a second; without a terminal it starts no thread and costs an atomic addition.
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
#include <string>
#include <vector>

#include "backend.hpp"
#include "support/options.hpp"
#include "thread.hpp"

namespace gpusort {

/// What a stage may be waiting for. kCompute is a lane sorting or merging (on a GPU its own transfers are inside);
/// kBus is a transfer made on its own, such as reading a device run; kCodec expands inputs and compresses outputs (the
/// reading of an input is inside).
enum class Resource : std::uint8_t { kDiskRead, kDiskWrite, kBus, kCompute, kCodec };
inline constexpr std::size_t kResourceCount = 5;
/// "disk read", "disk write", "bus", "compute", "codec".
const char* ResourceName(Resource resource);

using Nanoseconds = std::chrono::nanoseconds;

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

  const NowFunction now_;
  mutable std::mutex mutex_;
  std::vector<PhaseTimes> ended_;
  PhaseTimes phase_;  // its busy times leave out what is open in uses_
  Nanoseconds begun_;
  std::array<Use, kResourceCount> uses_{};
};

/// While it lives, this thread uses `resource` for `bytes`.
class Busy {
 public:
  Busy(StageClock& clock, Resource resource, std::uint64_t bytes = 0)
      : clock_(clock), resource_(resource), bytes_(bytes) {
    clock_.Enter(resource_);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { clock_.Leave(resource_, bytes_); }

  /// For a use whose size is known only at its end.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }

 private:
  StageClock& clock_;
  const Resource resource_;
  std::uint64_t bytes_;
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
  std::uint64_t done = 0;
  std::uint64_t total = 0;      ///< 0: not known
  std::uint64_t after = 0;      ///< bytes of the phases to come
  double bytes_per_second = 0;  ///< 0: not known yet
  std::string bottleneck;       ///< empty: none stands out
  double bottleneck_share = 0;  ///< 0 to 1
};

/// "form runs: 3.2 GiB of 8.0 GiB (40 %), 2.8 GiB/s, 4.57 s left, limited by disk read (97 %)". The time left covers
/// the phases to come too, at the present rate.
std::string RenderProgress(const ProgressFacts& facts);

/// The live line. All members may be called from any thread.
class Progress {
 public:
  /// kAuto: only if standard error is a terminal. `clock` (of this run, must outlive this) names the bottleneck.
  /// A terminal sees one line, wiped at the end; anything else (kAlways) a line a second and one for each phase's end.
  Progress(When when, const StageClock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `total_bytes` 0: not known. `bytes_after`: what the phases after this one will move.
  void SetPhase(const std::string& name, std::uint64_t total_bytes, std::uint64_t bytes_after = 0);
  void Advance(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }
  bool shown() const { return !thread_.empty(); }

 private:
  void Loop();
  std::string Line();    // needs mutex_
  void PrintPhaseEnd();  // needs mutex_

  const StageClock& clock_;
  std::atomic<std::uint64_t> done_{0};
  bool terminal_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  ProgressFacts facts_;
  RateMeter rate_;
  PhaseTimes last_;  // the clock's current phase when the last line was made
  Threads thread_;  // one, if it is shown
};

}  // namespace gpusort
