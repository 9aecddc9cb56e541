// Makes the summary of a finished job for a person at a terminal. Start at SummaryText.
#pragma once

#include <string>

#include "spec/job_spec.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// Returns five lines for a person: bytes and records, time and rate, memory, the resource that limited the job, and
/// advice.
std::string SummaryText(const JobSpec& spec, double seconds, unsigned threads, const SortStats& stats);

}  // namespace gpusort
