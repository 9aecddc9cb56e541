// Estimates how much of a job is done, and how many seconds are left. A job is a sequence of parts, such as sorting and
// merging. Start at JobOutlook.
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
  /// The work of the cores or the GPU, measured in bytes of sorting. For example, merging 100 bytes counts as 75 if it
  /// takes as long as sorting 75 bytes.
  double work = 0;
  double read = 0, write = 0;  ///< the bytes that are read from and written to disks
  bool expands = false;        ///< true: this part decompresses its input, and the numbers above count compressed bytes
  bool to_disk = false;  ///< true: this part writes to a disk, while all earlier parts write only to the page cache
};

/// How much the current part of a job has used each resource so far. If several threads use a resource at the same
/// time, this time counts once.
struct PartSeen {
  double work_seconds = 0, read_seconds = 0, write_seconds = 0;
  double read_bytes = 0, write_bytes = 0, expanded_bytes = 0;
};

class JobOutlook {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// Sets the parts of the job that follow the current part, in their order.
  void Expect(std::vector<JobPart> parts) { coming_ = std::move(parts); }
  /// Begins the next part of the job. `name` is the name of the part, and `bytes` is its size in bytes (0: unknown). If
  /// Expect() has listed other parts before this part, they are removed from the estimate.
  void Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now);
  /// Reports that `done` bytes of the current part of the job (such as the merge) are done.
  /// - `skipped`: how many of these bytes an earlier process has done, if the job was resumed
  void Update(Nanoseconds now, std::uint64_t done, std::uint64_t skipped, const PartSeen& seen);
  /// Ends the estimate, because the job is done: percent() is 100 from now on.
  void Finish();

  /// Returns the elapsed time as a percentage of the estimated time of the whole job. The percentage never falls, and
  /// is 100 only after Finish(). Has no value if sizes are unknown.
  std::optional<int> percent() const { return percent_; }
  /// Returns the estimated number of seconds to the end of the job. Has no value if sizes are unknown, or if no bytes
  /// are done yet.
  std::optional<double> seconds_left() const { return left_; }

 private:
  double ExpectedSeconds(const JobPart& part) const;
  void Learn(double share, double elapsed, const PartSeen& seen);

  std::vector<JobPart> coming_;
  JobPart part_;
  double expected_ = 0;  ///< the seconds that the current part was estimated to take before it began; 0: unknown
  bool begun_ = false;
  /// The time when the job began, when its current part began, and when `done_` last grew.
  Nanoseconds first_{0}, begin_{0}, step_{0};
  std::uint64_t done_ = 0, longest_step_ = 0;
  // The measured time per byte in seconds: for work (JobPart::work), for reading, and for writing.
  double work_rate_ = 0, read_rate_ = 0, write_rate_ = 0;
  double overhead_ = 1;   ///< the time of a part divided by the time of its busiest resource
  double expansion_ = 1;  ///< the size of decompressed data divided by its compressed size
  int reached_ = 0;       ///< the last percentage that was shown; percent_ never falls below it
  std::optional<int> percent_;
  std::optional<double> left_;
};

}  // namespace gpusort
