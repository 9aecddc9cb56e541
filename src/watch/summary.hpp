// Makes the summary that a terminal shows at the end of a job. Start at SummaryText.
#pragma once

#include <string>

#include "spec/job_spec.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// Returns the name of a resource in words for people, such as "reading from disk" for "disk read".
std::string ResourceText(const std::string& resource);

/// Returns one line for a person: bytes and records, time and rate, runs, memory, temp files, and the resource that
/// limited the speed of the job. If the job took long, a second line says how it could be faster.
std::string SummaryText(const JobSpec& spec, double seconds, unsigned threads, const SortStats& stats);

}  // namespace gpusort
