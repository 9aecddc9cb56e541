// Makes the page of --report: one HTML file that tells what a job did and how it ended. Start at ReportPage.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "watch/recorder.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// How a job ended.
struct JobEnding {
  int exit_code = 0;
  std::string signal;   ///< the signal that ended the job, such as "SIGTERM"; empty if no signal did
  std::string message;  ///< the error that ended the job; may be empty
};

struct ReportFacts {
  std::string version;
  std::string started;  ///< the date and time in UTC
  double seconds = 0;
  std::string summary;  ///< the text of SummaryText(); empty if the job failed
  /// Rows of text about the job: a name, such as "command", and its value.
  std::vector<std::pair<std::string, std::string>> about;
  /// Each file of the job: what it is, such as "output", and its escaped name.
  std::vector<std::pair<std::string, std::string>> files;
  std::string plan;                ///< the text that --explain prints; empty if no plan was made
  std::optional<SortStats> stats;  ///< no value if the job ended before it began to sort
  Nanoseconds phases_begin{0};     ///< the time in `samples` at which the first phase began
  std::vector<RecordedSample> samples;
};

/// Returns a sentence that tells the user what to do after a job ended with `exit_code`.
const char* Advice(int exit_code);
/// Returns the HTML page. Markup in the arguments, such as in a file name, is shown as text.
std::string ReportPage(const ReportFacts& facts, const JobEnding& ending);

}  // namespace gpusort
