// SortContext owns all objects of one sort, such as the open inputs, the output and the temp files.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "data/output.hpp"
#include "job/attempt.hpp"
#include "job/open_job.hpp"
#include "job/recovery.hpp"
#include "job/survival.hpp"
#include "kernels/error.hpp"
#include "runs/job.hpp"
#include "runs/run_store.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// The result of the first of the two sorts of a job (job/keep_order.hpp), for the second one.
struct FirstSort {
  RecordSum kept{};  ///< the checksum of the records that the first sort did not leave out
  SortStats stats{};
};

/// What --explain prints about the format of each input, such as the format of the timestamps in a log.
struct FormatRows {
  std::string text;              ///< one row of a table for each input; empty: there is nothing to say
  std::optional<Error> error{};  ///< the error (kBadInput) of the inputs whose format is not known
};
/// Describes the formats of all inputs. Reads the beginnings of the inputs again, except for pipes.
FormatRows DescribeFormats(const Inputs& inputs);

/// The objects of one sort, from the open inputs to the temp files. Members are constructed in the order of their
/// declarations.
struct SortContext {
  /// Opens the inputs and collects the values for the plan (memory and batch sizes). Throws Error if the job cannot be
  /// done with the given options. `output` is empty if the plan is only printed (--explain). `record` may be null. All
  /// references must outlive this object.
  SortContext(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
              const GpuSource& gpus, JobRecord* record);
  /// Passes the plan and the statistics of the job so far to the JobRecord that was given to the constructor.
  ~SortContext();
  SortContext(const SortContext&) = delete;
  SortContext& operator=(const SortContext&) = delete;

  /// Returns the plan as rows of a table for users, as --explain prints it. `formats` is empty or has the rows of
  /// DescribeFormats(), which take their place among the rows about the inputs.
  std::string PlanText(const std::string& formats) const;
  /// If this is the second of two sorts of a job: sets the result of the first sort. Call this before SortJob().
  void SetFirst(FirstSort first);
  /// Updates the statistics, such as the peak of the memory. Call at any time, also after a failure.
  void FillStats();

  OpenJob open;
  const CoreFacts cores;
  JobSurvival survival;
  PlanFacts facts;
  const RecordLayout layout;  ///< the layout of records in sorted runs, with or without sort keys
  StageClock clock;
  Progress progress;
  Job job;
  Sorting sorting;
  Past past;
  Output output;
  RunStore store;
  std::mutex store_mutex;  ///< locked while `store` is opened or closed, because a Recorder reads it on another thread
  Ring ring;               ///< the sizes of the buffers for reading the input in the first attempt
  JobRecord* const record;
  std::optional<Attempt> attempt;

 private:
  bool UsesGpu() const;
  void ShareMemory();
  std::string ThreadBound() const;

  std::optional<SortStats> first_;  ///< for the second of two sorts of a job: the statistics of the first sort
};

}  // namespace gpusort
