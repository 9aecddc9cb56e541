// The tasks of a job that many processes and machines do piece by piece. Slices of the input become runs. A cut says
// where each part of the output lies in every run. Each part is merged alone. The last task proves that the parts are
// the whole output. Every task uses SortJob on a piece of the work, and can be done again. Start at SortSlice.
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

/// A slice or a part, counted from 0.
struct TaskNumber {
  std::uint64_t number = 0, count = 1;
};

/// Throws Error(kUsage) if tasks cannot do what the options ask for.
void CheckTaskOptions(const JobSpec& spec);

/// Scans a slice before SortSlice, if records end where only the bytes before them tell, so that no later slice must
/// read the bytes of this one. Does nothing if it is done. `arguments`: the options that decide the bytes of the
/// output, as ParseOptions takes them.
void ScanSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
               const std::string& folder, CancelFlag& cancel);

/// Sorts the records that begin in one of equal ranges of the inputs' bytes to a run in `folder`. Returns std::nullopt
/// if the run is there already. `record` records the sort.
std::optional<SortResult> SortSlice(const JobSpec& spec, const std::vector<std::string>& arguments, TaskNumber slice,
                                    const std::string& folder, CancelFlag& cancel, JobRecord& record);

/// Returns the options and inputs of the first task of the job in `folder`, as ParseOptions takes them: options, "--",
/// inputs.
std::vector<std::string> JobArguments(const std::string& folder);

/// Throws Error(kUsage) if the job in `folder` was made by another version or in another locale.
void CheckTaskVersion(const std::string& folder);

/// Finds where `parts` parts of equal bytes begin. Does nothing if it is done. `fences_only` reads no runs: the sizes
/// of parts then differ by up to the bytes between two fences of every run.
void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder);

/// Returns the bytes of the file of a run at which the parts begin, and at last the end of the run.
std::vector<std::uint64_t> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                       const std::string& folder);

/// The records of a part, if the runs are not in the job's folder. `folder` has files with the names and headers of the
/// runs, which contain only the records of the part. `offset` is the byte in a single output at which the part begins.
struct PartPieces {
  std::string folder;
  std::optional<std::uint64_t> offset;
};

/// Merges a part into `output`. If that name ends with '/', the part is a file in that folder. Otherwise the part gets
/// its place in the single output, which gets its name by ProveParts. Returns std::nullopt if the part is there
/// already. `record` records the merge.
std::optional<SortResult> MergePart(const JobSpec& spec, TaskNumber part, const std::string& folder,
                                    const std::string& output, const PartPieces& pieces, CancelFlag& cancel,
                                    JobRecord& record);

/// Checks that the parts are complete, in order and have all records, and gives the output its name. Unless `trust` is
/// set, reads the parts back and compares them with their checksums. Throws Error(kIntegrity) that names the file.
void ProveParts(const JobSpec& spec, std::uint64_t parts, const std::string& folder, const std::string& output,
                bool trust, const CancelFlag& cancel);

}  // namespace gpusort
