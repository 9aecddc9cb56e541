// The summary of a finished job, for the person at the terminal. Start at SummaryText.
#pragma once

#include <string>

#include "watch/stats.hpp"

namespace gpusort {

struct SummaryFacts {
  double seconds = 0;  ///< of the whole job
  bool merged = false;
  unsigned threads = 0;
  std::string output, stats_file, report_file;  ///< escaped names; empty if there is none
};

/// Returns five lines: bytes and records, time and rate, memory, the limit of the job, and what to read and to try
/// next.
std::string SummaryText(const SummaryFacts& facts, const SortStats& stats);

}  // namespace gpusort
