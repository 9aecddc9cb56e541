// The tasks of one large sort, for many processes and machines. They sort each slice (range) of the input to a sorted
// run, find where the parts of the output begin, merge each part, and check all parts. Each task can be repeated. Start
// at SortSlice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/stream.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "task/task_records.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// The index of the slice (a range of the input) or of the part of the output that a task works on, from 0. `count` is
/// the number of all slices or parts.
struct TaskNumber {
  std::uint64_t number = 0, count = 1;
};

/// Throws Error(kUsage) if an option in `spec` cannot be used in a sort that is divided into tasks.
void CheckTaskOptions(const JobSpec& spec);

/// Scans a slice (range) of the input, to find where the next slice has its first record. Call this before SortSlice().
/// Does nothing for formats that need no scan. `arguments` are stored in the folder (see TaskJob::arguments).
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts one slice of the input to a sorted run in `folder`. Returns std::nullopt if the run exists already.
/// - `slice`: the slice has the records that begin in its range. All ranges have about equal sizes.
/// - `record`: gets the data for reports.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// The command line of a job, which its first task has stored in the folder.
struct JobCommand {
  std::vector<std::string> arguments;  ///< words for ParseOptions(): options, "--", inputs
  std::vector<std::string> contents;   ///< the contents of the files that options name, for ReadNamedFiles()
};
/// Returns the command line of the job in `folder`.
JobCommand CommandOf(const std::string& folder);

/// Throws Error(kUsage) if another version of gpusort, or a process in another locale, began the job in `folder`.
void CheckTaskVersion(const std::string& folder);

/// Divides the output into `parts` parts of about equal size, and finds where each part begins in every sorted run.
/// Does nothing if this was done before. If `fences_only` is true, reads less data, but the sizes of the parts differ
/// more.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// The place in a sorted run at which a part of the output begins.
struct PartBorder {
  std::uint64_t offset = 0;  ///< in the file of the sorted run
  /// Only if the runs have sort keys: the counts of bytes and rows before the place in this sorted run.
  DumpBefore before;
};
/// Returns where the parts of the output begin in the file of sorted run number `run`. The last element is the end of
/// the records.
std::vector<PartBorder> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                    const std::string& folder);

/// The records of one part of the output, for a machine that does not have the sorted runs.
struct PartPieces {
  /// A folder with files such as run-00003, which have the header of a run and its records of this part. Empty: the
  /// sorted runs are read.
  std::string folder;
  /// The offset of this part if the output is one file. No value: CutParts() has stored the offset.
  std::optional<std::uint64_t> offset;
  /// Only for SQL dumps: the sum of PartBorder::before over all sorted runs. Not used for the first part of the output.
  std::optional<DumpBefore> before{};
};

/// Merges one part of the output from the sorted runs. Returns std::nullopt if the part exists already.
/// - `output`: a folder if it ends with '/'. Otherwise a file, which ProveParts() makes from all parts.
/// - `record`: gets the data for reports.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that the parts of the output are complete and in order and contain all records. Then gives the output its
/// final name. Unless `trust` is true, reads the parts back and compares their checksums. Throws Error(kIntegrity) if
/// the check fails; the message names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, CancelFlag& cancel);

}  // namespace gpusort
