// The tasks of a job that is done piece by piece, by as many processes and machines as there are: each of them is the
// one engine, ExternalSort, on a part of the work, and each can be done again. Slices of the input become runs, exact
// cuts say where each part of the output lies in every run, parts are merged on their own, and a last task proves that
// they are the whole. Start at RunTask.
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

/// Of slices or parts.
struct TaskNumber {
  std::uint64_t number = 0, count = 1;
};

/// Error(kUsage) if what the options ask for cannot be done by tasks. `arguments`: those of them that decide the
/// output's bytes, as ParseOptions takes them.
void CheckTaskOptions(const JobSpec& spec);

/// Before SortSlice, where what is in front of a byte tells where records end: looks at the slice, so that no slice
/// behind it must read what is in front. Does nothing if it does not.
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts the records that begin in one of equal ranges of the inputs' bytes to a run in `folder`. Does nothing if that
/// is there, and returns nothing then. `record` records the sort.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// What the first task of the job in `folder` was told, as arguments for ParseOptions: options, "--", inputs.
std::vector<std::string> JobArguments(const std::string& folder);

/// Throws Error(kUsage) if the job in `folder` was made by another version or in another locale.
void CheckTaskVersion(const std::string& folder);

/// Finds where each of so many parts of equal bytes begins. `fences_only`: from the fences alone, where parts differ by
/// up to the bytes between two fences of every run. Does nothing if that was done.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// Where each part begins in a run, and the run's end: bytes of its file.
std::vector<std::uint64_t> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder);

/// Where a part's records are, if the runs are not in the job's folder: in files that have the runs' names and header,
/// and nothing else. Where it begins in the one output must be given then.
struct PartPieces {
  std::string folder;
  std::optional<std::uint64_t> offset;
};

/// Merges a part into `output`: a file of its own below a folder that is named with a '/' at its end, else its place in
/// the one output, which has its name once Prove is done. Does nothing if that was done, and returns nothing then.
/// `record` records the merge.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that all parts are there, in order and of all records, and gives the output its name. Reads the parts and
/// compares them with the checksums of what was written, unless `trust` is set. Error(kIntegrity) names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel);

}  // namespace gpusort
