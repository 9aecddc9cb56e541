// The page of --report: what a job did and how it ended, as one HTML file without references. Start at ReportPage.
// The page is the template report.html.in, with the data of the job as JSON. A script in the page makes text nodes and
// SVG from the data. So the charts fit the width of the window, and one place escapes each text.
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
  std::string signal;   ///< such as "SIGTERM", if a signal ended the job
  std::string message;  ///< of the error
};

struct ReportFacts {
  std::string version;
  std::string started;  ///< UTC
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> files;  ///< the role of each file, and its escaped name
  std::string plan;                                        ///< as --explain prints it; empty if there was none
  std::optional<SortStats> stats;                          ///< empty if the job ended before it began to sort
  Nanoseconds phases_begin{0};                             ///< on the clock of the samples
  std::vector<RecordedSample> samples;
};

/// Returns what to do about a job that ended with `exit_code`.
const char* Advice(int exit_code);
/// Returns the page. Any text in the arguments, such as a name with markup, is shown as text.
std::string ReportPage(const ReportFacts& facts, const JobEnding& ending);

}  // namespace gpusort
