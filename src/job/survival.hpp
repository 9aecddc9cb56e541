// Jobs that continue after their process was killed (--resume-dir): the journal, the runs and the output that stay on
// the disk, and the messages about them. Start at JobSurvival.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/output.hpp"
#include "job/open_job.hpp"
#include "job/recovery.hpp"
#include "runs/journal.hpp"
#include "runs/run.hpp"

namespace gpusort {

struct Sorting;

/// Keeps the finished part of a job, and takes up the part that an earlier process kept. Without --resume-dir, and with
/// --explain, no function does anything. The thread of the job calls all functions. A function that writes returns when
/// the data is on the disk. A new attempt calls KeepRuns again; the GiveUp functions are called only after an error.
class JobSurvival {
 public:
  /// Opens the folder of --resume-dir. Throws Error(kUsage) if the job cannot be continued, or if the folder has
  /// another job. `open` must outlive this object.
  explicit JobSurvival(const OpenJob& open);

  /// The journal, for the stages that add to it; null if nothing is kept.
  Journal* journal() const { return journal_.get(); }

  /// Puts the runs of an earlier process into `sorting`, without their blocks. Returns whether they hold all of the
  /// input. Drops the runs if the inputs have changed. Throws Error(kIntegrity) if the runs are not of these inputs.
  bool TakeUpRuns(Sorting& sorting, Past& past);
  /// Takes up the output that an earlier process has begun, and makes checkpoints of the merge. Does nothing if the
  /// output is not a single file of plain records: it is then written anew.
  void TakeUpOutput(Sorting& sorting, Output& output);
  /// Begins or continues the journal, before the store opens. The plan must be made.
  void Begin(Sorting& sorting);
  /// Finds the blocks of the runs that were taken up, in the open store. Throws Error(kIntegrity) if a block is
  /// missing.
  void FindBlocks(Sorting& sorting);
  /// Keeps all runs: the input is not needed any more. Runs of keyed records count only from here on, because they do
  /// not know their places in the input.
  void KeepRuns(Sorting& sorting);
  /// Drops the kept runs after wrong results. The same command would otherwise merge them again, with the same end.
  void GiveUpRuns(const Sorting& sorting);
  /// Drops what was written of the output, which is damaged.
  void GiveUpOutput(const Sorting& sorting, Output& output);
  /// Notes which file is about to get the name of the output. `records`: the number of its records.
  void SetPublishing(Output& output, bool sync, std::uint64_t records);
  /// Ends the job, whose output is in place. An error becomes a note, because the output is complete.
  void Finish(Sorting& sorting);

  /// Logs what is kept after `error`. If a signal has stopped the job, throws Error(kStopped) with the same words.
  void ExplainFailure(const Error& error) const;

 private:
  std::vector<Run> KeptRunsOfInputs() const;
  bool InputsAreUnchanged(Sorting& sorting);

  const OpenJob& open_;
  const std::unique_ptr<Journal> journal_;
  bool gave_up_runs_ = false;
};

}  // namespace gpusort
