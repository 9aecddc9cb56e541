// The tasks of a job that many processes and machines do piece by piece. First, each slice of the input is sorted to a
// run. Then the runs are divided into parts (the cut): the cut says where each part of the output lies in every run.
// Each part is merged separately. The last task checks that the parts are the whole output. Every task calls SortJob
// for its piece, and can be repeated. Start at SortSlice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/stream.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// The number of a slice or a part, counted from 0, and the number of all slices or parts.
struct TaskNumber {
  std::uint64_t number = 0, count = 1;
};

/// Throws Error(kUsage) if an option in `spec` cannot be used with tasks.
void CheckTaskOptions(const JobSpec& spec);

/// Scans a slice of the input, so that later slices know where their first record begins. This is needed only for
/// formats in which the ends of records depend on all bytes before them. Does nothing for other formats, or if the scan
/// exists. Call it before SortSlice(). `arguments` are the options that decide the bytes of the output, as words for
/// ParseOptions().
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts one slice of the input to a run in `folder`: the records that begin in one of `slice.count` equal ranges of
/// the input. Returns std::nullopt if the run already exists. `record` gets the data for reports and the summary.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// Returns the arguments of the job in `folder`, as words for ParseOptions() and as the first task has stored them:
/// options, "--", inputs.
std::vector<std::string> JobArguments(const std::string& folder);

/// Throws Error(kUsage) if another version of gpusort, or a process in another locale, began the job in `folder`.
void CheckTaskVersion(const std::string& folder);

/// Finds where each of `parts` parts of about equal size begins in every run. Does nothing if this was done before. If
/// `fences_only` is true, only the fences of the runs are read. The sizes of parts then differ by up to the bytes
/// between two fences of every run.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// Returns the offsets in the file of run number `run` at which the parts begin, and as the last element the end of the
/// records.
std::vector<std::uint64_t> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder);

/// Copies of the records of one part, for a machine that does not have the runs. `folder` contains a file for each run,
/// with the run's name and header but only with records of the part. `offset` is the offset of the part in a single
/// output.
struct PartPieces {
  std::string folder;
  std::optional<std::uint64_t> offset;
};

/// Merges one part of the output. If `output` ends with '/', the part becomes a file in that folder. Otherwise the part
/// is written to its place in a single output, a hidden file that ProveParts() renames to `output`. Returns
/// std::nullopt if the part already exists. `record` gets the data for reports and the summary.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that the parts are complete and in order and contain all records, and renames the output to its final name.
/// Unless `trust` is true, reads the parts back and compares their checksums. Throws Error(kIntegrity); the message
/// names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel);

}  // namespace gpusort
