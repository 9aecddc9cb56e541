// Estimates how far a whole job is, and how long it will still take. Start at JobOutlook.
// A job is a sequence of parts. The current part is expected to continue at its mean rate so far, because the rate of a
// few seconds jumps with every batch. A later part is expected to take the time of its slowest resource, at the seconds
// per byte that earlier parts showed: a merge reads the bytes that are written now. This code reads no clock, so that
// tests can set the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpusort {

/// The use of each resource that a part of a job is expected to need.
struct JobPart {
  std::string name;
  std::uint64_t bytes = 0;     ///< to count its progress by; 0 if unknown
  double work = 0;             ///< of the cores or the GPU, as bytes that are sorted in the same time
  double read = 0, write = 0;  ///< bytes from and to disks
  bool expands = false;        ///< the numbers count compressed bytes, which the part expands
  bool to_disk = false;        ///< writes go to a disk, while earlier parts wrote to the page cache
};

/// The use of each resource by the current part so far. Several threads that use a resource at once count once.
struct PartSeen {
  double work_seconds = 0, read_seconds = 0, write_seconds = 0;
  double read_bytes = 0, write_bytes = 0, expanded_bytes = 0;
};

class JobOutlook {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// Sets all parts that come, including the part that begins next.
  void Expect(std::vector<JobPart> parts) { coming_ = std::move(parts); }
  /// Ends the current part and begins `name`. Drops the expected parts before `name`. `bytes` is 0 if unknown.
  void Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now);
  /// Takes the bytes of the current part that are done. `skipped` of them were done before the part began.
  void Update(Nanoseconds now, std::uint64_t done, std::uint64_t skipped, const PartSeen& seen);
  /// Call this when the job is done.
  void Finish();

  /// The time so far as a percentage of the time in all. It never falls, and is 100 only at the end. Empty if sizes are
  /// unknown. A percentage of bytes would be 50 when half of the time is yet to come.
  std::optional<int> percent() const { return percent_; }
  /// Empty if sizes are unknown, or before the first bytes are done.
  std::optional<double> seconds_left() const { return left_; }

 private:
  double ExpectedSeconds(const JobPart& part) const;
  void Learn(double share, double elapsed, const PartSeen& seen);

  std::vector<JobPart> coming_;
  JobPart part_;
  double expected_ = 0;  ///< seconds of the current part, as estimated before it began; 0 if unknown
  bool begun_ = false;
  Nanoseconds first_{0}, begin_{0}, step_{0};  ///< when the job began, the part began, and bytes were last done
  std::uint64_t done_ = 0, longest_step_ = 0;
  // Seconds per byte of each resource, as the parts so far showed them.
  double work_rate_ = 0, read_rate_ = 0, write_rate_ = 0;
  double overhead_ = 1;  ///< a part's time divided by the time of its busiest resource
  double expansion_ = 1;
  int reached_ = 0;  ///< the percent that was shown last
  std::optional<int> percent_;
  std::optional<double> left_;
};

}  // namespace gpusort
