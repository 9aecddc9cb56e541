// How far a whole job is, and how long it will yet take.
// A job is some parts, one behind the other. The part that runs goes on as fast as it went so far; those to come are
// expected from what the machine was seen to do: seconds a byte that is read, written, or worked on. No clock is read
// here, so that tests drive it by hand. Start at JobOutlook.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpusort {

/// What a part of a job is expected to take of each resource.
struct JobPart {
  std::string name;
  std::uint64_t bytes = 0;     ///< by which its progress is counted; 0: not known
  double work = 0;             ///< of cores or a GPU: bytes that are sorted in the same time
  double read = 0, write = 0;  ///< bytes of disks
  bool expands = false;        ///< its numbers are of stored bytes, which are expanded
  bool to_disk = false;        ///< what it writes goes to a disk, where parts before it wrote to the page cache
};

/// What was seen of the part that runs. A resource that is used by several threads at once counts once.
struct PartSeen {
  double work_seconds = 0, read_seconds = 0, write_seconds = 0;
  double read_bytes = 0, write_bytes = 0, expanded_bytes = 0;
};

class JobOutlook {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// All that comes from here on, the part that begins next included.
  void Expect(std::vector<JobPart> parts) { coming_ = std::move(parts); }
  /// The part before it ends; those expected before `name` are left out. `bytes` 0: not known.
  void Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now);
  /// `done` bytes of the part that runs, of which `skipped` were done before it began.
  void Update(Nanoseconds now, std::uint64_t done, std::uint64_t skipped, const PartSeen& seen);
  /// All is done.
  void Finish();

  /// Of the whole job, 0 to 100, never falling; 100 only at the end. Nothing where sizes are not known.
  std::optional<int> percent() const { return percent_; }
  /// Nothing where they are not known, or before anything was seen.
  std::optional<double> seconds_left() const { return left_; }

 private:
  double ExpectedSeconds(const JobPart& part) const;
  void Learn(double share, double elapsed, const PartSeen& seen);

  std::vector<JobPart> coming_;
  JobPart part_;
  double expected_ = 0;  ///< seconds of the part that runs, before it began; 0: not known
  bool begun_ = false;
  Nanoseconds first_{0}, begin_{0}, step_{0};  ///< of the job, of the part, of the last bytes that were done
  std::uint64_t done_ = 0, longest_step_ = 0;
  // Seconds that what is to come takes of each, as the parts before showed it.
  double work_rate_ = 0, read_rate_ = 0, write_rate_ = 0;
  double overhead_ = 1;  ///< a part's time, by that of the resource it used most
  double expansion_ = 1;
  int reached_ = 0;  ///< percent
  std::optional<int> percent_;
  std::optional<double> left_;
};

}  // namespace gpusort
