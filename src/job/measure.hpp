// Estimates the time of a job for --explain. Measures the speed of the disks, and of sorting and merging a sample of
// the input. Start at MeasureJob.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "job/sort_context.hpp"

namespace gpusort {

/// The speed of the disk of a folder, in bytes per second. 0: the speed is unknown.
struct FolderSpeed {
  double read = 0, write = 0;
  /// The number of the disk (st_dev); folders with the same number share the speed of one disk.
  std::uint64_t device = 0;
  /// True: the files are in memory (tmpfs or the page cache), so no disk time is added.
  bool memory = false;
};

/// The numbers of bytes that a job will read and write, and the measured speeds in bytes per second.
struct ExpectFacts {
  /// The numbers of bytes of:
  /// - the input
  /// - the temp files of sorted runs
  /// - the temp files of all merges before the last merge
  /// - the output
  double input = 0, spilled = 0, between = 0, output = 0;
  FolderSpeed input_folder, temp_folder, output_folder;
  double open = 0;  ///< the time for opening a GPU, in seconds
  /// The speed of sorting records into sorted runs (`form`) and of merging runs (`merge`), in bytes per second, without
  /// the time for disks.
  double form = 0, merge = 0;
  bool gpu = false, verifies = false;
};

struct ExpectedPhase {
  std::string name;
  double seconds = 0;
  std::string limit;  ///< the resource that takes the longest: "disk read", "disk write", "cores" or "GPU"
};
/// Estimates the time of each phase of the job. This is a pure function.
std::vector<ExpectedPhase> Expect(const ExpectFacts& facts);
/// Returns the expected time of all phases together, and the resource that limits the longest phase: "about 2.10 s,
/// limited by the cores".
std::string Conclude(const std::vector<ExpectedPhase>& phases);
/// Returns a row for the output of --explain=full: the expected time of all phases together, and then the time of each
/// phase with the resource that limits it.
std::string Describe(const std::vector<ExpectedPhase>& phases);

/// The estimate for a job, as text.
struct Estimate {
  std::string conclusion{};  ///< the result of Conclude(); empty: nothing can be said
  std::string why_not{};     ///< the reason why `conclusion` is empty
  std::string rows{};        ///< rows for the output of --explain=full: the expected times and the measured speeds
};

/// Returns how many bytes of the input to sort as a sample, so that sorting takes about 0.3 s. An earlier sample of
/// `bytes` bytes took `seconds`. The result is at least `bytes` and at most `most`.
std::uint64_t SampleBytes(double bytes, double seconds, std::uint64_t most);

/// Measures the speed of the disk of a folder: writes a file without a name and reads it back. The file has at least 4
/// MiB. Writing and reading take about a sixth of a second each, or longer if the disk is very slow. If `direct` is
/// true, bypasses the page cache; otherwise syncs the file. A speed that cannot be measured is 0.
FolderSpeed ProbeFolder(FileSystem& files, const std::string& directory, bool direct);

/// Estimates the time of a job. Sorts a sample of the input in memory with the GPU or CPU of the job, and measures the
/// speed of the disks of the inputs, temp files and output. Takes about a second. Call this after the plan is made.
/// Throws no error except Error(kCancelled).
Estimate MeasureJob(SortContext& context);

}  // namespace gpusort
