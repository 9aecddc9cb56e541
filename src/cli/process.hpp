// Runs a process of gpusort, gpusort_task or sort from its start to its end. Handles standard streams, signals, the log
// and reports, turns errors into messages and exit codes, and ends a process whose GPU hangs. Start at RunProcess.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "io/stream.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"
#include "watch/job_record.hpp"

namespace gpusort {

/// The state of the running program: gpusort, gpusort_task or sort.
struct Process {
  CancelFlag cancel;                ///< set by signals that ask the process to stop
  bool ignores_sigpipe = false;     ///< true: SIGPIPE was ignored when the process started
  unsigned closed_streams = 0;      ///< bit i is set if descriptor i was closed when the process started
  JobSpec spec;                     ///< the job, set by ParseJob
  std::optional<JobRecord> record;  ///< the record of the job for its reports; no value before the job begins
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// How a program starts its process and reports errors. The programs gpusort and sort differ in this.
struct ProcessDialect {
  const char* front;          ///< the text before `out_of_memory`, such as "gpusort: error: "
  const char* out_of_memory;  ///< the message for a std::bad_alloc that nothing can catch
  int out_of_memory_code;     ///< the exit code after `out_of_memory` was printed
  void (*start)(Process&);    ///< prepares standard streams and signals
  int (*report)(Process&);    ///< reports the exception that is being handled, and returns the exit code
};

/// Runs `body`, the main part of a program, and returns the exit code of the process. Reports exceptions that `body`
/// throws. If a GPU hangs, ends the process itself.
int RunProcess(const ProcessDialect& dialect, const std::function<int(Process&)>& body);

/// The rules of gpusort and gpusort_task for the start of the process and for its error messages.
extern const ProcessDialect kJobDialect;

/// Parses the command line `words` into process.spec. Also reads the files that options name; `known` are the contents
/// of such files that are known already (ReadNamedFiles). Throws Error(kUsage).
void ParseJob(Process& process, std::span<const std::string> words, const std::vector<std::string>& known = {});
/// Begins the job that process.spec describes: opens the log and logs the first event, which names `program`.
/// - Starts a thread that ends the process with exit code 7 if the driver of a GPU hangs.
/// - Throws Error(kUsage) if a report or the log cannot be written.
void BeginJob(Process& process, const std::string& program);
/// Ends a job that succeeded: writes its reports, such as the statistics, and logs the last event. `result` has no
/// value if nothing was sorted.
void EndJob(Process& process, const std::optional<SortResult>& result);

/// Writes `text` to standard output. Throws BrokenPipe or Error(kIo).
void Print(const std::string& text);

}  // namespace gpusort
