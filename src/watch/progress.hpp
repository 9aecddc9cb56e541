// Shows the progress of a job, and the resource that limits its speed, in a line on standard error. Start at Progress.
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

/// Computes the rate of the last five seconds in bytes per second. In the first five seconds, computes the rate since
/// the first sample.
class RateMeter {
 public:
  /// Adds a sample: `done` bytes were done at the time `now`. Neither value may be less than in the last call. Returns
  /// the rate in bytes per second, or 0 after the first sample.
  double Update(Nanoseconds now, std::uint64_t done);
  void Reset() { samples_.clear(); }

 private:
  struct Sample {
    Nanoseconds time;
    std::uint64_t done;
  };
  std::deque<Sample> samples_;
};

/// The content of the line that shows the progress of a job.
struct ProgressFacts {
  std::string phase;
  std::uint64_t done = 0;                ///< number of bytes of the phase that are done
  std::uint64_t total = 0;               ///< number of all bytes of the phase; 0 if unknown
  double bytes_per_second = 0;           ///< 0 if not known yet
  std::optional<int> percent{};          ///< how much of the whole job is done, in percent
  std::optional<double> seconds_left{};  ///< estimated time to the end of the whole job
  /// The resource that limits the speed, such as "disk read"; empty: no resource is busy enough.
  std::string waits_for{};
};

/// Returns a line such as "merge runs: 61 %, 3.2 GiB of 8.0 GiB, 2.8 GiB/s, 5 s left, waits for disk read". If the line
/// is longer than `columns` characters, leaves out the rate first, then the resource, the bytes and the phase.
std::string RenderProgress(const ProgressFacts& facts, std::size_t columns = std::string::npos);

/// Returns true if progress is shown. With kAuto, it is shown if standard error is a terminal.
bool ShowsProgress(When when);

/// Measures the progress of a job, and shows it in a line on standard error. Any thread may call any member.
class Progress {
 public:
  /// Begins to show progress. `clock` measures this job, and must outlive this object.
  /// - On a terminal: one line, which is redrawn five times a second and erased at the end.
  /// - In a file or pipe: a line every five seconds and at the end of each phase.
  /// - In the JSON log: an event every second.
  /// - After the signal SIGUSR1: one line, even if `when` is kNever.
  Progress(When when, const StageClock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Sets the phases of the job that are still to come.
  void Expect(std::vector<JobPart> parts);
  /// Sets the number of GPUs that sort and merge. 0: the CPU sorts and merges.
  void SetGpus(unsigned gpus) { gpus_ = gpus; }
  /// Begins a phase of the job. `total_bytes` is the size of the phase in bytes, or 0 if it is unknown.
  void SetPhase(const std::string& name, std::uint64_t total_bytes);
  /// Sets a function that returns how many bytes of the current phase are done. Until the phase ends, calls of
  /// Advance() are ignored. Any thread may call `count`.
  void CountBy(std::function<std::uint64_t()> count);
  void Advance(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Counts `bytes` bytes as done although this process skips them, because an earlier process of the job has done
  /// them.
  void Skip(std::uint64_t bytes) noexcept {
    skipped_.fetch_add(bytes, std::memory_order_relaxed);
    Advance(bytes);
  }
  /// Shows that the job is done. Call this after the output file has its final name.
  void Finish();
  bool shown() const { return shown_; }

 private:
  void Loop();
  void Look();   // the caller holds mutex_
  void Print();  // the caller holds mutex_

  const StageClock& clock_;
  std::atomic<std::uint64_t> done_{0}, skipped_{0};
  std::atomic<unsigned> gpus_{0};
  bool shown_ = false, terminal_ = false;
  unsigned answered_ = 0;  // how many SIGUSR1 signals were answered by a line of progress
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, finished_ = false;
  ProgressFacts facts_;
  std::function<std::uint64_t()> count_;
  RateMeter rate_;
  JobOutlook outlook_;
  std::deque<PhaseTimes> looks_;  // the clock's current phase at several moments of the last second, oldest first
  Threads thread_;                // one thread if the line is shown or SIGUSR1 can ask for it
};

}  // namespace gpusort
