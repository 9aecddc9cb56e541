// Lets a job continue in a new process after its process was killed (--resume-dir). Stores on the disk what is already
// done: a log (the journal), sorted runs, and the begun output. Start at JobSurvival.
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

/// Finishes a job whose process was killed after its output had got its final name. Returns the facts about the output,
/// or std::nullopt if this did not happen. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Stores the finished part of a job for a later process (--resume-dir), and finds what an earlier process has stored.
/// Without --resume-dir, and with --explain, the functions do nothing. Only the main thread of the job may call them.
/// Each returns after its data is on the disk.
class JobSurvival {
 public:
  /// Opens the folder of --resume-dir. Throws Error(kUsage) if the job cannot be continued, or if the folder belongs to
  /// another job. `open` must outlive this object.
  explicit JobSurvival(const OpenJob& open);

  /// Returns the journal (log of the finished work), to which other parts of the job add lines. Returns null without
  /// --resume-dir.
  Journal* journal() const { return journal_.get(); }

  /// Adds the sorted runs of an earlier process to `sorting`, without the lists of their blocks. Returns true if the
  /// runs contain the whole input. If bytes of the inputs have changed since then, drops the runs and returns false.
  /// Throws Error(kIntegrity) if a run has records of places that these inputs do not have.
  bool TakeUpRuns(Sorting& sorting, Past& past);
  /// Continues the output that an earlier process has begun. Turns on checkpoints, which record how much of the output
  /// is written. Does this only if the output is one new, uncompressed file, if --top and --debug are not given, and if
  /// the sort keys can be computed from the output alone. Any other output is written from its beginning.
  void TakeUpOutput(Sorting& sorting, Output& output);
  /// Begins or continues the journal, the log of the finished work. Call this after the plan is made and before
  /// RunStore::Open().
  void Begin(Sorting& sorting);
  /// Reads the lists of the blocks of the sorted runs that TakeUpRuns() has added. The temp files must be open. Throws
  /// Error(kIntegrity) if a block is missing.
  void FindBlocks(Sorting& sorting);
  /// Stores all sorted runs on the disk, so that a later process does not need the input any more. Call this in each
  /// attempt when all runs are made. Runs with sort keys cannot be stored earlier, because it is not known until then
  /// which part of the input each run contains.
  void KeepRuns(Sorting& sorting);
  /// Forgets the stored runs after a wrong result. Otherwise the same command would merge them again and fail again.
  void GiveUpRuns(const Sorting& sorting);
  /// Forgets the part of the output that was written, because it is damaged.
  void GiveUpOutput(const Sorting& sorting, Output& output);
  /// Writes to the journal (the log of the finished work) that the output file will now get its final name. If the
  /// process is killed then, a later process can finish the job. `records` is the number of records in the output.
  void SetPublishing(Output& output, bool sync, std::uint64_t records);
  /// Ends the job after its output has got its final name. An error here is only logged, because the output is
  /// complete.
  void Finish(Sorting& sorting);

  /// Logs which finished work is stored in the folder of the job, so that the same command can continue there. Call
  /// this after the job has failed with `error`. If a signal has stopped the job, throws Error(kStopped) with the same
  /// text instead.
  void ExplainFailure(const Error& error) const;

 private:
  std::vector<Run> KeptRunsOfInputs() const;
  bool InputsAreUnchanged(Sorting& sorting);

  const OpenJob& open_;
  const std::unique_ptr<Journal> journal_;
  bool gave_up_runs_ = false;
};

}  // namespace gpusort
