// The page of --report: what a job did and how it ended, as one HTML file that needs nothing else.
// The page itself is watch/report.html.in; here its data are made and put in. Start at ReportPage.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "watch/progress.hpp"
#include "watch/recorder.hpp"

namespace gpusort {

/// How a job ended.
struct JobEnding {
  int exit_code = 0;
  std::string signal;   ///< "SIGTERM", if one ended it
  std::string message;  ///< of the error
};

struct ReportFacts {
  std::string version;
  std::string started;  ///< UTC
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> files;  ///< what, and its escaped name
  std::string plan;                                        ///< as --explain prints it; empty: there was none
  std::string stats;                                       ///< JSON, or empty
  std::vector<std::string> notes;
  std::vector<PhaseTimes> phases;
  Nanoseconds phases_begin{0};  ///< on the recorder's clock
  std::vector<RecordedSample> samples;
  std::uint64_t memory_limit = 0;
};

/// What whoever started a job that ended so may do.
const char* Advice(int exit_code);
/// Names in `facts`, be they what they may, come out as text.
std::string ReportPage(const ReportFacts& facts, const JobEnding& ending);

}  // namespace gpusort
