// Makes the summary that a terminal shows at the end of a job. Start at SummaryText.
#pragma once

#include <string>

#include "spec/job_spec.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// Returns five lines for a person: bytes and records, time and rate, memory, the resource that limited the speed of
/// the job, and advice.
std::string SummaryText(const JobSpec& spec, double seconds, unsigned threads, const SortStats& stats);

}  // namespace gpusort
