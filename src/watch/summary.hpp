// Makes the summary of a finished job for a person at a terminal. Start at SummaryText.
#pragma once

#include <string>

#include "watch/stats.hpp"

namespace gpusort {

struct SummaryFacts {
  double seconds = 0;  ///< the time of the whole job
  bool merged = false;
  unsigned threads = 0;
  std::string output, stats_file, report_file;  ///< escaped names; empty if the job does not write the file
};

/// Returns five lines: bytes and records, time and rate, memory, the resource that limited the job, and advice.
std::string SummaryText(const SummaryFacts& facts, const SortStats& stats);

}  // namespace gpusort
