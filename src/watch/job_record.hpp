// Writes the files of --trace and --report, and the summary that a terminal shows at the end of a job. `main` creates a
// JobRecord and ends it with the exit code. The sort fills the record even if it fails, so a failed job has the same
// files as a job that succeeds. Start at JobRecord.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/job_spec.hpp"
#include "watch/report_page.hpp"

namespace gpusort {

class JobRecord {
 public:
  explicit JobRecord(const JobSpec& spec);
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  ~JobRecord();

  /// Starts a thread that measures for --trace and --report what the job uses, until Leave(). In a job of two
  /// sorts, each sort calls Begin() and Leave(). Throws Error(kUsage) if the trace file cannot be opened.
  /// - `clock` measures the use of resources, and must exist until Leave().
  /// - memory() and temp() must return the bytes of memory and of temp files in use. The thread calls these functions.
  /// - `trace_memory` is the limit on the memory for --trace and --report, in bytes.
  void Begin(StageClock& clock, std::uint64_t trace_memory, unsigned threads, Recorder::Value memory,
             Recorder::Value temp);
  /// Returns the object that measures what the job uses. Returns null before Begin(), after Leave(), and if the job has
  /// neither --trace nor --report.
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
  /// Stops the thread that Begin() started. `plan` is the text that --explain prints. `stats` are the figures of the
  /// sort, which may have failed.
  void Leave(const std::string& plan, const SortStats& stats);

  /// Writes the files of --trace and --report, and prints the summary if the job succeeded. Later calls do nothing.
  /// Throws Error(kIo) or Error(kNoSpace) if the job succeeded but a file cannot be written.
  void End(const JobEnding& ending);

 private:
  /// Jobs that take fewer seconds than this print no summary, unless an option asks for progress at all times.
  static constexpr double kLongJobSeconds = 1;

  void AddSamples(const std::vector<RecordedSample>& samples);
  void EndTrace(const JobEnding& ending);
  void AddAbout();
  void EndReport(const JobEnding& ending);
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
