// The summary of a finished job: five lines of plain words for the person who watches. Start at SummaryText.
#pragma once

#include <string>

#include "job/stats.hpp"
#include "plan/plan.hpp"

namespace gpusort {

struct SummaryFacts {
  double seconds = 0;  ///< of the whole job
  bool merged = false;
  unsigned threads = 0;
  std::string output, stats_file, report_file;  ///< escaped; empty: there is none
};

/// Five lines: bytes and records, seconds and rate, memory, what limited the job, and where to read and what to try
/// next. `stats` are those of a job that is done.
std::string SummaryText(const SummaryFacts& facts, const SortStats& stats, const Plan& plan);

}  // namespace gpusort
