// The record of a job: --trace, --report, and the summary at a terminal. Start at JobRecord.
// `main` makes the record and ends it with the exit code. The sort fills it in, also if the sort fails. So a job has
// the same files however it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/job_spec.hpp"
#include "watch/report_page.hpp"

namespace gpusort {

class JobRecord {
 public:
  explicit JobRecord(const JobSpec& spec);
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  ~JobRecord();

  /// Begins to sample `clock`, `memory` and `temp`; they must live until Leave. `trace_memory` is the part of the job's
  /// memory that a trace takes. Throws Error(kUsage) if the trace cannot be opened.
  void Begin(StageClock& clock, std::uint64_t trace_memory, unsigned threads, Recorder::Value memory,
             Recorder::Value temp);
  /// Returns null before Begin, after Leave, and if the job has neither --trace nor --report.
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
  /// Ends the sampling. `plan` is the text of --explain; `stats` may be those of a sort that failed.
  void Leave(const std::string& plan, const SortStats& stats);

  /// Writes the files, and the summary of a job that is done. Later calls do nothing. Throws Error(kIo) or
  /// Error(kNoSpace) if the job is done but a file cannot be written.
  void End(const JobEnding& ending);

 private:
  /// A shorter job has no summary, unless progress is always shown.
  static constexpr double kLongJobSeconds = 3;

  void EndTrace(const JobEnding& ending);
  void EndReport(const JobEnding& ending);
  /// Prints the summary to standard error.
  void Summarize() const noexcept;

  const JobSpec& spec_;
  const Nanoseconds begin_;
  ReportFacts facts_;
  std::optional<Trace> trace_;
  std::optional<Recorder> recorder_;
  const StageClock* clock_ = nullptr;
  unsigned threads_ = 0;
  bool ended_ = false;
};

}  // namespace gpusort
