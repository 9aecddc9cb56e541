// What is recorded of a job while it runs, and written however it ends: --trace and --report.
// main makes it and ends it, the sort fills it in. Without these options it does nothing. Start at JobRecord.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/report_page.hpp"
#include "job/stats.hpp"
#include "support/options.hpp"
#include "support/recorder.hpp"

namespace gpusort {

class JobRecord {
 public:
  explicit JobRecord(const Options& options);
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  ~JobRecord();

  /// Of a job's memory, what a record takes.
  static std::uint64_t MemoryBytes(const Options& options, std::uint64_t limit);

  /// From here on `clock` and the last two are looked at, until Leave. Error(kUsage) if the trace cannot be opened.
  void Begin(StageClock& clock, std::uint64_t limit, unsigned threads, Recorder::Value memory, Recorder::Value temp);
  /// Null outside of Begin and Leave, and if nothing is recorded.
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
  /// What Begin was given is about to go; this is what became of the job until here. `plan`: as --explain prints it.
  void Leave(const std::string& plan, const SortStats& stats, const Plan& sizes);

  /// Writes the files. Errors are those of WriteStatsFile.
  void End(const JobEnding& ending);

 private:
  void EndTrace(const JobEnding& ending);
  void EndReport(const JobEnding& ending);

  const Options& options_;
  const Nanoseconds begin_;
  ReportFacts facts_;
  std::optional<Trace> trace_;
  std::optional<Recorder> recorder_;
  const StageClock* clock_ = nullptr;
  bool ended_ = false;
};

}  // namespace gpusort
