// Lets a job continue after its process was killed (--resume-dir): the journal, the runs and the output that stay on
// the disk, and the messages about them. Start at JobSurvival.
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

/// Finishes a job that an earlier process has published before it was killed. Returns the facts of the output, or
/// std::nullopt if the job is not in this state. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Stores the finished part of a job, and finds the part that an earlier process stored. Without --resume-dir, and with
/// --explain, every function does nothing. Only the thread of the job may call the functions. A function that writes
/// returns when the data is on the disk. Every attempt calls KeepRuns(). The GiveUp functions are for errors.
class JobSurvival {
 public:
  /// Opens the folder of --resume-dir. Throws Error(kUsage) if the job cannot be continued, or if the folder belongs to
  /// another job. `open` must outlive this object.
  explicit JobSurvival(const OpenJob& open);

  /// Returns the journal, to which other stages add lines, or null if nothing is stored.
  Journal* journal() const { return journal_.get(); }

  /// Adds the runs of an earlier process to `sorting`, without their blocks. Returns true if they hold all of the
  /// input. Drops the runs if the inputs have changed. Throws Error(kIntegrity) if the runs are of other inputs.
  bool TakeUpRuns(Sorting& sorting, Past& past);
  /// Continues the output that an earlier process has begun, and turns on checkpoints of the merge. Does nothing unless
  /// the output is a single uncompressed file without --top and --debug. Another output is written anew.
  void TakeUpOutput(Sorting& sorting, Output& output);
  /// Begins or continues the journal. Call it before the store opens, when the plan is made.
  void Begin(Sorting& sorting);
  /// Loads the block lists of the runs from TakeUpRuns(). The store must be open. Error(kIntegrity): a block is
  /// missing.
  void FindBlocks(Sorting& sorting);
  /// Stores all runs, so that the input is not needed any more. Runs of keyed records cannot be stored earlier, because
  /// they do not know their places in the input.
  void KeepRuns(Sorting& sorting);
  /// Drops the stored runs after a wrong result. Otherwise the same command would merge them again and fail again.
  void GiveUpRuns(const Sorting& sorting);
  /// Drops the part of the output that was written, because it is damaged.
  void GiveUpOutput(const Sorting& sorting, Output& output);
  /// Records which file will get the name of the output. `records` is the number of records in it.
  void SetPublishing(Output& output, bool sync, std::uint64_t records);
  /// Ends the job, whose output is published. An error becomes a note, because the output is complete.
  void Finish(Sorting& sorting);

  /// Logs what is stored after `error`. If a signal has stopped the job, throws Error(kStopped) with the same text.
  void ExplainFailure(const Error& error) const;

 private:
  std::vector<Run> KeptRunsOfInputs() const;
  bool InputsAreUnchanged(Sorting& sorting);

  const OpenJob& open_;
  const std::unique_ptr<Journal> journal_;
  bool gave_up_runs_ = false;
};

}  // namespace gpusort
