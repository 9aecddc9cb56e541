// Lets a job continue in a new process after its process was killed (--resume-dir). Stores the finished work on the
// disk: a log (the journal), sorted runs, and the part of the output that is written. Start at JobSurvival.
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

/// Finishes a job whose process was killed after its output had got its final name. Returns a description of the
/// output. Returns std::nullopt if there is no such job in --resume-dir. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Ends a job of two sorts (job/keep_order.hpp) after its output has got its final name. An error here is only logged.
void FinishFirstSort(const JobSpec& spec, FileSystem& files);

/// Stores the finished work of a job for a later process (--resume-dir), and finds the finished work of an earlier
/// process. The functions do nothing if --resume-dir is missing, and also if --explain is given. Only the main thread
/// of the job may call them. Each function returns after its data is on the disk.
class JobSurvival {
 public:
  /// Opens the folder of --resume-dir. Throws Error(kUsage) if the job cannot be continued, or if the folder belongs to
  /// another job. `open` must outlive this object.
  explicit JobSurvival(const OpenJob& open);

  /// Returns the journal, the log of the finished work. Other parts of the job add lines to it. Returns null without
  /// --resume-dir.
  Journal* journal() const { return journal_.get(); }

  /// Adds the sorted runs of an earlier process to `sorting`. Call FindBlocks() later to complete the runs.
  /// - Returns true if these runs contain the whole input.
  /// - If an input has changed since then, drops the runs and returns false.
  /// - Throws Error(kIntegrity) if a run does not fit the inputs.
  bool TakeUpRuns(Sorting& sorting, Past& past);
  /// Continues the output of an earlier process, and turns on checkpoints.
  /// - Does nothing unless the output is one new, uncompressed file.
  /// - Does nothing with --top, --debug, --shuffle, or an option for groups of equal records, such as --count.
  /// - Does nothing if the sort keys cannot be computed from the output.
  void TakeUpOutput(Sorting& sorting, Output& output);
  /// Begins the journal (the log of the finished work), or continues that of an earlier process. Call this after the
  /// plan is made and before RunStore::Open().
  void Begin(Sorting& sorting);
  /// Completes the sorted runs that TakeUpRuns() has added: reads the list of blocks of each run from the temp files,
  /// which must be open. Throws Error(kIntegrity) if a block is missing.
  void FindBlocks(Sorting& sorting);
  /// Stores all sorted runs on the disk, so that a later process does not need the input. Call this when all runs are
  /// complete. If the job then fails and makes other runs, call this again.
  void KeepRuns(Sorting& sorting);
  /// Forgets the stored sorted runs after a wrong result. If they were kept, the same command would merge them again
  /// and fail again.
  void GiveUpRuns(const Sorting& sorting);
  /// Forgets the part of the output that was written, because it is damaged.
  void GiveUpOutput(const Sorting& sorting, Output& output);
  /// Writes to the journal (the log of the finished work) that the output file is about to get its final name. If the
  /// process is killed after this, a later process can finish the job. `records` is the number of records in the
  /// output.
  void SetPublishing(Output& output, bool sync, std::uint64_t records);
  /// Ends the job after its output has got its final name. An error here is only logged, because the output is
  /// complete. Does nothing for the first of two sorts: its runs stay until FinishFirstSort().
  void Finish(Sorting& sorting);

  /// Logs how much finished work the folder of --resume-dir contains, and how the job can continue. If a signal has
  /// stopped the job, throws Error(kStopped) with this message instead. Call this after the job has failed with
  /// `error`.
  void ExplainFailure(const Error& error) const;

 private:
  std::vector<Run> KeptRunsOfInputs() const;
  bool InputsAreUnchanged(Sorting& sorting);

  const OpenJob& open_;
  const std::unique_ptr<Journal> journal_;
  bool gave_up_runs_ = false;
};

}  // namespace gpusort
