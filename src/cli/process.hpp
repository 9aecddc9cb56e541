// What gpusort and gpusort_task share as processes: the first and the last event of the log, the exit code of each error,
// and the end of a process whose GPU hangs. Start at LogEnd.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "job/job_record.hpp"
#include "job/stats.hpp"
#include "kernels/error.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Logs the first event of a job: `program` with its version, the process, the inputs and the output. Names of many
/// inputs are left out.
void LogStart(const std::string& program, const JobSpec& spec);

/// Logs the last event of a job: how the job ended, what the output has, and how long the job took. Logs nothing where
/// memory for the event is refused.
class LogEnd {
 public:
  /// `record`, if there is one by then, ends with the job.
  explicit LogEnd(std::optional<JobRecord>& record) : record_(record) {}

  void Done(const std::optional<SortResult>& result) const noexcept;
  /// Gives the exit code back. `error`: if there is one. The message comes out whatever memory there is.
  int Failed(ErrorCode code, const char* message, const Error* error = nullptr) const noexcept;
  [[noreturn]] void Signal(int signal) const noexcept;
  /// Says what the exception being handled is about and how the job ended; gives the exit code.
  int Report() const;

 private:
  void EndRecord(int code, int signal, const char* message) const noexcept;
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  LogFields Fields(int code) const { return {{"exit_code", static_cast<std::uint64_t>(code)}, {"seconds", Seconds()}}; }
  std::string After() const;

  std::optional<JobRecord>& record_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// From here on a driver that hangs ends the process by exit code 7.
void EndWhenDriverIsStuck();
/// Ends main with `code`. The driver ends a process in the usual way only when the GPU has done its work, which a GPU
/// that hangs never has: then the process ends at once.
int EndProcess(int code);

}  // namespace gpusort
