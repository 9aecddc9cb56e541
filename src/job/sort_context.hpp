// SortContext owns the parts of one sort: open inputs, memory, plan facts, output and temp space.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "data/output.hpp"
#include "job/attempt.hpp"
#include "job/open_job.hpp"
#include "job/recovery.hpp"
#include "job/survival.hpp"
#include "runs/job.hpp"
#include "runs/run_store.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// The parts of one sort. Members are constructed in the order of their declarations.
struct SortContext {
  /// Opens the inputs and collects the facts for the plan. Throws Error if the options cannot be met. `output` is empty
  /// if the sort is only explained. `record` may be null. All references must outlive this object.
  SortContext(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
              const GpuSource& gpus, JobRecord* record);
  /// Passes the statistics of the job so far to `record`.
  ~SortContext();
  SortContext(const SortContext&) = delete;
  SortContext& operator=(const SortContext&) = delete;

  /// Returns the plan in the form that --explain prints.
  std::string PlanText() const;
  /// Returns the formats of the first inputs in the form that --explain prints, if the formats of inputs can differ.
  /// Reads the inputs again, except pipes.
  std::string FormatsText() const;
  /// Sets the statistics whose values are known at any time during the job.
  void FillStats();

  OpenJob open;
  const CoreFacts cores;
  JobSurvival survival;
  PlanFacts facts;
  const RecordLayout layout;  ///< the layout of records in runs
  StageClock clock;
  Progress progress;
  Job job;
  Sorting sorting;
  Past past;
  Output output;
  RunStore store;
  std::mutex store_mutex;  ///< locked while `store` is opened or closed, because a recorder reads it
  Ring ring;               ///< the plan of the reader's memory in the first attempt
  JobRecord* const record;
  std::optional<Attempt> attempt;

 private:
  bool UsesGpu() const;
  void ShareMemory();
  std::string ThreadBound() const;
};

}  // namespace gpusort
