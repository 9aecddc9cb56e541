// What a finished sort did, as JSON for --stats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/key_tally.hpp"
#include "plan/plan.hpp"
#include "runs/journal.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// What the output has that a sort has published.
struct SortResult {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< as stored
  std::uint64_t runs = 0, temp_written = 0;
  RecordSum sum{};                     ///< of the records of the output
  RecordSum read{};                    ///< of all that were sorted or merged; with --top, of some
  /// Of them, as they lie there, or with columns as keyed records; empty: there is none, or they were sorted before.
  std::vector<std::byte> first{}, last{};
  std::vector<std::byte> trailer{};        ///< of the inputs
  std::vector<std::byte> header{};         ///< of the output
  KeyTally tally{};                        ///< what the keys of records with columns were; empty after a merge
};

struct SortStats {
  std::string backend;
  bool gpu = false;
  double open_seconds = 0;  ///< until the backend was ready, while the first blocks were read
  std::uint64_t records_in = 0, records_out = 0, bytes = 0;
  std::uint64_t top = 0;           ///< records wanted; 0: all
  std::uint64_t header_lines = 0;  ///< kept on top; they are no records
  std::uint64_t stored_bytes = 0;  ///< of the output as it was written: compressed, if it was
  std::uint64_t base_runs = 0, device_runs = 0, host_runs = 0, temp_runs = 0, input_runs = 0;
  std::uint32_t levels = 0;  ///< merges that the records went through
  std::uint64_t host_limit = 0, host_peak = 0, device_peak = 0, temp_peak = 0, temp_written = 0;
  std::string temp_codec = "none";  ///< of the last blocks written
  std::vector<PhaseTimes> phases;
  std::vector<std::string> notes;  ///< fallbacks and skipped steps, as logged
  std::vector<KeptAttempt> attempts;  ///< with --resume-dir: this one is the last
};

/// A line for each of its parts; in the JSON format one event.
void LogPlan(const Plan& plan, const std::string& backend);

/// Which are known when a job ends early, too.
std::string StatsText(const SortStats& stats, const Plan& plan);
/// Error(kIo) if the file cannot be written; the sort itself is done by then.
void WriteStatsFile(const std::string& path, const SortStats& stats, const Plan& plan);

}  // namespace gpusort
