// The life of a process of gpusort, gpusort_task and sort: standard streams, signals, the log, reports, the message and
// the exit code of each error, and the end of a process whose GPU hangs. Start at RunProcess.
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

/// A running program.
struct Process {
  CancelFlag cancel;               ///< set by the signals that ask to stop
  bool ignores_sigpipe = false;    ///< the caller ignores SIGPIPE
  unsigned closed_streams = 0;     ///< bit i: the caller had closed descriptor i
  JobSpec spec;                    ///< of the job, once it is parsed
  std::optional<JobRecord> record; ///< of the job, once it begins
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// How a program starts, and how it reports errors.
struct ProcessDialect {
  const char* front;          ///< precedes the message when memory is refused where nothing can be caught
  const char* out_of_memory;  ///< that message
  int out_of_memory_code;     ///< the exit code after that message
  void (*start)(Process&);    ///< takes care of standard streams and signals
  int (*report)(Process&);    ///< reports the exception that is being handled; returns the exit code
};

/// Runs `body`, which returns the exit code, and returns the exit code of the process. Reports what `body` throws. If
/// a GPU hangs, the process ends here: the driver would wait for the GPU.
int RunProcess(const ProcessDialect& dialect, const std::function<int(Process&)>& body);

/// The dialect of gpusort and gpusort_task.
extern const ProcessDialect kJobDialect;

/// Parses the command line of a job into process.spec, and reads the files that it names in addition to the inputs.
/// Throws Error(kUsage).
void ParseJob(Process& process, std::span<const std::string> words);
/// Begins the job of process.spec: opens the log, and logs the first event. `program` is a name for the log. From here
/// on a driver that hangs ends the process by exit code 7. Throws Error(kUsage) if a report or the log cannot be
/// written.
void BeginJob(Process& process, const std::string& program);
/// Ends a job that succeeded: writes its reports and logs the last event. `result`: if something was sorted.
void EndJob(Process& process, const std::optional<SortResult>& result);

/// Writes `text` to standard output. Throws BrokenPipe or Error(kIo).
void Print(const std::string& text);

}  // namespace gpusort
