// The tasks of a job that many processes and machines do piece by piece. First, slices of the input become runs. Then a
// cut decides where each part of the output lies in every run. Each part is merged separately. The last task proves
// that the parts are the whole output. Every task calls SortJob for its piece, and can be repeated. Start at SortSlice.
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

/// Throws Error(kUsage) if tasks do not support an option in `spec`.
void CheckTaskOptions(const JobSpec& spec);

/// Scans a slice for later slices, if the ends of records depend on all bytes before them. Otherwise, or if the scan
/// exists, does nothing. Call it before SortSlice. `arguments` are the options that decide the output's bytes, for
/// ParseOptions.
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts the records that begin in a slice (one of `slice.count` equal ranges of the input) to a run in `folder`.
/// Returns std::nullopt if the run already exists. `record` gets the data for reports and the summary.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// Returns the arguments of the job in `folder` for ParseOptions, as the first task stored them: options, "--", inputs.
std::vector<std::string> JobArguments(const std::string& folder);

/// Throws Error(kUsage) if another version of gpusort, or a process in another locale, began the job in `folder`.
void CheckTaskVersion(const std::string& folder);

/// Finds where `parts` parts of equal size begin. Does nothing if the cut exists. If `fences_only` is true, reads the
/// fences instead of the runs. The sizes of parts then differ by up to the bytes between two fences of every run.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// Returns the offsets in the file of run number `run` at which the parts begin, and finally the end of the records.
std::vector<std::uint64_t> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder);

/// The records of a part, for a machine that does not have the runs. `folder` contains a file for each run, with the
/// run's name and header but only with records of the part. `offset` is the offset of the part in a single output.
struct PartPieces {
  std::string folder;
  std::optional<std::uint64_t> offset;
};

/// Merges a part into `output`. If `output` ends with '/', the part is a file in that folder. Otherwise the part is
/// written to its place in a single output, which ProveParts publishes. Returns std::nullopt if the part already
/// exists. `record` gets the data for reports and the summary.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that the parts are complete and in order and contain all records, and publishes the output. Unless `trust` is
/// set, reads the parts back and compares their checksums. Throws Error(kIntegrity), which names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel);

}  // namespace gpusort
