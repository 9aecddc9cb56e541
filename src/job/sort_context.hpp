// The parts of one sort: opened inputs, memory, plan facts, output and temp space. Start at SortContext.
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

/// Members are made in the order in which they stand here.
struct SortContext {
  /// Opens the inputs and finds the facts of the plan. Throws Error if the options cannot be met. `output` is empty if
  /// the sort is only explained. `record` may be null. All references must outlive this object.
  SortContext(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, Output output, StreamFronts fronts,
              const GpuSource& gpus, JobRecord* record);
  /// Hands the statistics of the job, as far as it came, to `record`.
  ~SortContext();
  SortContext(const SortContext&) = delete;
  SortContext& operator=(const SortContext&) = delete;

  /// Returns the plan as --explain prints it.
  std::string PlanText() const;
  /// Sets the statistics that are known at any time.
  void FillStats();

  OpenJob open;
  const CoreFacts cores;
  JobSurvival survival;
  PlanFacts facts;
  const RecordLayout layout;  ///< of runs
  StageClock clock;
  Progress progress;
  Job job;
  Sorting sorting;
  Past past;
  Output output;
  RunStore store;
  std::mutex store_mutex;  ///< held while `store` is opened or closed, because a recorder looks at it
  Ring ring;               ///< of the first attempt
  JobRecord* const record;
  std::optional<Attempt> attempt;

 private:
  bool UsesGpu() const;
  void ShareMemory();
  std::string ThreadBound() const;
};

}  // namespace gpusort
