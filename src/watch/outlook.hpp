// Estimates how much of a whole job is done, and how long the rest will take. Start at JobOutlook. A job is a sequence
// of parts. For the current part, the mean rate since its beginning is expected to go on; the rate of the last seconds
// changes too much. The estimate for a later part is the time that its slowest resource needs, if each byte costs as
// much as in earlier parts. This code reads no clock: tests can pass any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpusort {

/// A part of a job, such as reading and sorting, and how much it is expected to use each resource.
struct JobPart {
  std::string name;
  std::uint64_t bytes = 0;  ///< number of bytes that the part will process; 0 if unknown
  /// Work of the cores or the GPU, given as the number of bytes that could be sorted in the same time.
  double work = 0;
  double read = 0, write = 0;  ///< bytes read from and written to disks
  bool expands = false;        ///< true: this part expands its input, and the numbers above count compressed bytes
  bool to_disk = false;  ///< true: this part writes to a disk, while all earlier parts write only to the page cache
};

/// How much the current part of a job has used each resource so far. If several threads use a resource at the same
/// time, the time counts once.
struct PartSeen {
  double work_seconds = 0, read_seconds = 0, write_seconds = 0;
  double read_bytes = 0, write_bytes = 0, expanded_bytes = 0;
};

class JobOutlook {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// Sets the parts of the job that follow the current part, in order.
  void Expect(std::vector<JobPart> parts) { coming_ = std::move(parts); }
  /// Begins the part `name`, which has `bytes` bytes (0: unknown). Drops parts that were expected before this part.
  void Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now);
  /// Sets the progress of the current part: `done` bytes. `skipped` of them were done before the part began.
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
  double expected_ = 0;  ///< the estimated seconds of the current part, from before it began; 0: unknown
  bool begun_ = false;
  Nanoseconds first_{0}, begin_{0}, step_{0};  ///< when the job began, when the part began, and when `done_` last grew
  std::uint64_t done_ = 0, longest_step_ = 0;
  // The seconds per byte that each resource has taken so far.
  double work_rate_ = 0, read_rate_ = 0, write_rate_ = 0;
  double overhead_ = 1;   ///< the time of a part divided by the time of its busiest resource
  double expansion_ = 1;  ///< the size of expanded data divided by the size of compressed data
  int reached_ = 0;       ///< the last percentage that was shown; percent_ never falls below it
  std::optional<int> percent_;
  std::optional<double> left_;
};

}  // namespace gpusort
