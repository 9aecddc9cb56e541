// Lets a job continue in a new process after its process was killed (--resume-dir). Keeps the journal, the sorted runs
// and the output on the disk, and logs messages about them. Start at JobSurvival.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/output.hpp"
#include "job/open_job.hpp"
#include "job/recovery.hpp"
#include "runs/journal.hpp"
#include "runs/run.hpp"

namespace gpusort {

struct Sorting;

/// Finishes a job whose process was killed after the output had been renamed to its final name. Returns the facts about
/// the output, or std::nullopt if this did not happen. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Stores the finished part of a job, and finds the part that an earlier process has stored. Without --resume-dir, and
/// with --explain, it does nothing. Only the main thread of the job may call the functions. Each returns after its data
/// is on the disk.
class JobSurvival {
 public:
  /// Opens the folder of --resume-dir. Throws Error(kUsage) if the job cannot be continued, or if the folder belongs to
  /// another job. `open` must outlive this object.
  explicit JobSurvival(const OpenJob& open);

  /// Returns the journal, to which other stages add lines, or null if nothing is stored.
  Journal* journal() const { return journal_.get(); }

  /// Adds the runs of an earlier process to `sorting`; their block lists are still empty. Returns true if they contain
  /// the whole input. Drops the runs if the inputs have changed. Throws Error(kIntegrity) if the runs belong to other
  /// inputs.
  bool TakeUpRuns(Sorting& sorting, Past& past);
  /// Continues the output that an earlier process has begun, and turns on checkpoints of the output. Does this only if
  /// the output is one new, uncompressed file, --top and --debug are not given, and the keys can be computed from the
  /// output alone. Any other output is written from its beginning.
  void TakeUpOutput(Sorting& sorting, Output& output);
  /// Begins or continues the journal. Call this after the plan is made and before RunStore::Open().
  void Begin(Sorting& sorting);
  /// Loads the block lists of the runs that TakeUpRuns() has added. The temp files must be open. Throws
  /// Error(kIntegrity) if a block is missing.
  void FindBlocks(Sorting& sorting);
  /// Stores all runs on the disk, so that the input is not needed any more. Call this in each attempt when all runs are
  /// made. Runs with sort keys cannot be stored earlier, because they do not know their places in the input.
  void KeepRuns(Sorting& sorting);
  /// Drops the stored runs after a wrong result. If they were kept, the same command would merge them again and fail
  /// again.
  void GiveUpRuns(const Sorting& sorting);
  /// Drops the part of the output that was written, because it is damaged.
  void GiveUpOutput(const Sorting& sorting, Output& output);
  /// Writes to the journal that the output file will now be renamed to its final name. A later process can then finish
  /// the job. `records` is the number of records in the output.
  void SetPublishing(Output& output, bool sync, std::uint64_t records);
  /// Ends the job after its output has its final name. An error here becomes a note, because the output is complete.
  void Finish(Sorting& sorting);

  /// Call this after the job has failed with `error`: logs how much of the work is stored. If a signal has stopped the
  /// job, throws Error(kStopped) with the same text instead.
  void ExplainFailure(const Error& error) const;

 private:
  std::vector<Run> KeptRunsOfInputs() const;
  bool InputsAreUnchanged(Sorting& sorting);

  const OpenJob& open_;
  const std::unique_ptr<Journal> journal_;
  bool gave_up_runs_ = false;
};

}  // namespace gpusort
