// Estimates which part of a whole job is done, and how long the rest will take. Start at JobOutlook.
// A job is a sequence of parts. The current part is expected to continue at its mean rate so far, because the rate of a
// few seconds jumps with every batch. The estimate for a later part is the time that its slowest resource needs, if
// each byte costs as much as in earlier parts. This code reads no clock: tests can pass any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpusort {

/// A part of a job, and how much it is expected to use each resource.
struct JobPart {
  std::string name;
  std::uint64_t bytes = 0;     ///< number of bytes that the part will process; 0 if unknown
  double work = 0;             ///< work of the cores or the GPU, which takes as long as sorting this number of bytes
  double read = 0, write = 0;  ///< bytes read from and written to disks
  bool expands = false;        ///< this part expands its input, and the numbers above count compressed bytes
  bool to_disk = false;        ///< this part writes to a disk; the parts before this part wrote only to the page cache
};

/// How much the current part has used each resource so far. Threads that use a resource at the same time count once.
struct PartSeen {
  double work_seconds = 0, read_seconds = 0, write_seconds = 0;
  double read_bytes = 0, write_bytes = 0, expanded_bytes = 0;
};

class JobOutlook {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// Sets all parts that follow the current part, in order.
  void Expect(std::vector<JobPart> parts) { coming_ = std::move(parts); }
  /// Begins the part `name`, which has `bytes` bytes (0: unknown), and drops the expected parts before this part.
  void Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now);
  /// Sets the progress of the current part: `done` bytes, of which `skipped` were done before the part began.
  void Update(Nanoseconds now, std::uint64_t done, std::uint64_t skipped, const PartSeen& seen);
  /// Call this when the job is done.
  void Finish();

  /// Returns the elapsed time as a percentage of the estimated time of the whole job. The percentage never falls, and
  /// is 100 only after Finish(). Has no value if sizes are unknown.
  std::optional<int> percent() const { return percent_; }
  /// Returns the estimated time to the end of the job. Has no value if sizes are unknown, or if no bytes are done yet.
  std::optional<double> seconds_left() const { return left_; }

 private:
  double ExpectedSeconds(const JobPart& part) const;
  void Learn(double share, double elapsed, const PartSeen& seen);

  std::vector<JobPart> coming_;
  JobPart part_;
  double expected_ = 0;  ///< seconds of the current part, as estimated before the part began; 0 if unknown
  bool begun_ = false;
  Nanoseconds first_{0}, begin_{0}, step_{0};  ///< the times when the job began, the part began, and `done_` last grew
  std::uint64_t done_ = 0, longest_step_ = 0;
  // The seconds per byte that each resource took so far.
  double work_rate_ = 0, read_rate_ = 0, write_rate_ = 0;
  double overhead_ = 1;   ///< the time of a part divided by the time of its busiest resource
  double expansion_ = 1;  ///< the size of expanded data divided by the size of compressed data
  int reached_ = 0;       ///< the last percentage, below which percent_ does not fall
  std::optional<int> percent_;
  std::optional<double> left_;
};

}  // namespace gpusort
