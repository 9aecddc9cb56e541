// What is recorded of a job while it runs, and written however it ends: --trace and --report; and the summary that a
// terminal sees at the end of a long job. main makes it and ends it, the sort fills it in. Start at JobRecord.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/report_page.hpp"
#include "job/stats.hpp"
#include "spec/job_spec.hpp"
#include "watch/recorder.hpp"

namespace gpusort {

class JobRecord {
 public:
  explicit JobRecord(const JobSpec& spec);
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  ~JobRecord();

  /// From here on `clock` and the last two are looked at, until Leave. Error(kUsage) if the trace cannot be opened.
  void Begin(StageClock& clock, std::uint64_t limit, unsigned threads, Recorder::Value memory, Recorder::Value temp);
  /// Null outside of Begin and Leave, and if nothing is recorded.
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
  /// What Begin was given is about to go; this is what became of the job until here. `plan`: as --explain prints it.
  void Leave(const std::string& plan, const SortStats& stats, const Plan& sizes);

  /// Writes the files, and the summary of a job that is done. Errors are those of WriteStatsFile.
  void End(const JobEnding& ending);

 private:
  /// A job that is done in less time needs no summary, unless progress is always shown.
  static constexpr double kLongJobSeconds = 3;

  void EndTrace(const JobEnding& ending);
  void EndReport(const JobEnding& ending);
  /// The lines of the summary, to standard error.
  void Summarize() const noexcept;

  const JobSpec& spec_;
  const Nanoseconds begin_;
  ReportFacts facts_;
  std::optional<Trace> trace_;
  std::optional<Recorder> recorder_;
  const StageClock* clock_ = nullptr;
  unsigned threads_ = 0;
  std::optional<std::pair<SortStats, Plan>> done_;  ///< of the summary, if it is wanted
  bool ended_ = false;
};

}  // namespace gpusort
