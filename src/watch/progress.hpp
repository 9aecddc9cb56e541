// Shows how far a job is, and what it waits for. Start at Progress.
// Progress writes its line to standard error from its own thread. If nobody can see the line or ask for it, there is no
// thread, and counting costs one atomic addition.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/thread.hpp"
#include "spec/job_spec.hpp"
#include "watch/clock.hpp"
#include "watch/outlook.hpp"

namespace gpusort {

/// Computes bytes per second over the last five seconds, or since the first sample if that is less.
class RateMeter {
 public:
  /// Takes the total of bytes done at time `now`; neither may fall. Returns the rate, which is 0 until there are two
  /// samples.
  double Update(Nanoseconds now, std::uint64_t done);
  void Reset() { samples_.clear(); }

 private:
  struct Sample {
    Nanoseconds time;
    std::uint64_t done;
  };
  std::deque<Sample> samples_;
};

/// The content of the line.
struct ProgressFacts {
  std::string phase;
  std::uint64_t done = 0;                ///< bytes of the phase
  std::uint64_t total = 0;               ///< bytes of the phase; 0 if unknown
  double bytes_per_second = 0;           ///< 0 if not known yet
  std::optional<int> percent{};          ///< of the whole job
  std::optional<double> seconds_left{};  ///< of the whole job
  std::string waits_for{};               ///< empty if no resource stands out
};

/// Returns a line such as "merge runs: 61 %, 3.2 GiB of 8.0 GiB, 2.8 GiB/s, 5 s left, waits for disk read". If the line
/// is longer than `columns`, leaves out first the rate, then the resource, the bytes and the phase.
std::string RenderProgress(const ProgressFacts& facts, std::size_t columns = std::string::npos);

/// Returns whether progress is shown. kAuto means: if standard error is a terminal.
bool ShowsProgress(When when);

/// The live line. Any thread may call any member.
class Progress {
 public:
  /// `clock` is the clock of this job, and must outlive this object. A terminal shows one line, redrawn five times a
  /// second and wiped at the end. Anything else gets a line every five seconds, and one at the end of each phase. The
  /// JSON log gets a line every second, also on a terminal. A SIGUSR1 prints one line, whatever `when` is.
  Progress(When when, const StageClock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Sets the parts of the job that come, by the names that SetPhase gets.
  void Expect(std::vector<JobPart> parts);
  /// Sets the number of GPUs whose lanes compute; 0 means the CPU.
  void SetGpus(unsigned gpus) { gpus_ = gpus; }
  /// Begins a phase. `total_bytes` is 0 if unknown.
  void SetPhase(const std::string& name, std::uint64_t total_bytes);
  /// Counts the bytes of this phase by `count` instead of Advance. Any thread may call `count`, until the phase ends.
  void CountBy(std::function<std::uint64_t()> count);
  void Advance(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Counts bytes that an earlier process has done.
  void Skip(std::uint64_t bytes) noexcept {
    skipped_.fetch_add(bytes, std::memory_order_relaxed);
    Advance(bytes);
  }
  /// Call this once the output is in place.
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
  unsigned answered_ = 0;  // the value of ReportsAsked that was answered
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, finished_ = false;
  ProgressFacts facts_;
  std::function<std::uint64_t()> count_;
  RateMeter rate_;
  JobOutlook outlook_;
  std::deque<PhaseTimes> looks_;  // the clock's phase over the last second, oldest first
  Threads thread_;                // one thread, if the line is shown or may be asked for
};

}  // namespace gpusort
