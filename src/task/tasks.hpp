// The tasks into which one large sort is divided, for many processes and machines. First, each slice (range) of the
// input is sorted to a run. Then CutParts finds in every run where each part of the output begins. Each part of the
// output is merged separately, from all runs. The last task checks that the parts are the whole output. Every task
// calls SortJob for its piece, and can be repeated. Start at SortSlice.
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

/// Scans a slice (a range) of the input, so that the tasks for later slices know where their first record begins. Only
/// formats such as CSV need a scan, because the ends of records depend there on all bytes before them. Does nothing for
/// other formats, or if the scan exists already. Call this before SortSlice(). `arguments` are the options that decide
/// the bytes of the output, as words for ParseOptions().
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts one slice of the input and writes the result, a run, to `folder`. The input is divided into `slice.count`
/// ranges of equal size, and a slice has the records that begin in its range. Returns std::nullopt if the run exists
/// already. `record` gets the data for reports and for the summary.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// Returns the command line of the job in `folder`, which the first task has stored there. The result is a list of
/// words for ParseOptions(): options, "--", inputs.
std::vector<std::string> JobArguments(const std::string& folder);

/// Throws Error(kUsage) if another version of gpusort, or a process in another locale, began the job in `folder`.
void CheckTaskVersion(const std::string& folder);

/// Divides the output into `parts` parts of about equal size, and finds where each part begins in every sorted run.
/// Does nothing if this was done before. If `fences_only` is true, reads less data, but the sizes of the parts differ
/// more.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// The place in a run at which a part of the output begins.
struct PartBorder {
  std::uint64_t offset = 0;  ///< in the file of the run
  DumpBefore before;         ///< only for dumps: the counts of bytes and rows before the place in this run
};
/// Returns where the parts of the output begin in the file of run number `run`. The last element is the end of the
/// records.
std::vector<PartBorder> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                    const std::string& folder);

/// The records of one part of the output, for a machine that does not have the sorted runs. For each run, `folder`
/// contains a file with the name and the header of the run, and with the records of this part.
/// - `offset` is the offset of the part in the output, for an output that is a single file. Not used for dumps. No
///   value: the offset that CutParts() has stored.
/// - `before` is the sum of PartBorder::before over all runs. It is needed for dumps, except for the first part.
struct PartPieces {
  std::string folder;
  std::optional<std::uint64_t> offset;
  std::optional<DumpBefore> before{};
};

/// Merges one part of the output from the sorted runs. If `output` ends with '/', the part becomes a file in that
/// folder. Otherwise the part is written at its offset in a single hidden file, which ProveParts() renames to `output`.
/// Returns std::nullopt if the part exists already. `record` gets the data for reports and for the summary.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that the parts of the output are complete and in order and contain all records. Then gives the output its
/// final name. Unless `trust` is true, reads the parts back and compares their checksums. Throws Error(kIntegrity) if
/// the check fails; the message names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel);

}  // namespace gpusort
