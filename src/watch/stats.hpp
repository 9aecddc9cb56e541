// The figures of a finished sort, and --stats, which writes them as JSON. Start at SortStats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watch/clock.hpp"

namespace gpusort {

/// The work of one of the processes of a job with --resume-dir.
struct AttemptStats {
  std::string host;
  std::uint64_t pid = 0;
  std::string begin;                             ///< UTC
  std::uint64_t runs_kept = 0;                   ///< runs of earlier processes
  std::uint64_t runs_made = 0, bytes_read = 0;   ///< by this process
};

/// The sizes that the plan chose.
struct PlanStats {
  unsigned gpus = 0;  ///< 0 means the CPU
  std::uint64_t fan_in = 0, slot_bytes = 0, block_bytes = 0, window_bytes = 0, device_memory = 0, temp_bytes = 0;
};

struct SortStats {
  std::string backend;
  bool gpu = false;
  double open_seconds = 0;  ///< until the backend was ready; the first blocks are read meanwhile
  std::uint64_t records_in = 0, records_out = 0, bytes = 0;
  std::uint64_t top = 0;           ///< the number of records wanted; 0 means all
  std::uint64_t header_lines = 0;  ///< lines that stay on top; they are not records
  std::uint64_t stored_bytes = 0;  ///< of the output as it was written, compressed or not
  std::uint64_t base_runs = 0, device_runs = 0, host_runs = 0, temp_runs = 0, input_runs = 0;
  std::uint32_t levels = 0;  ///< merges that a record went through
  std::uint64_t host_limit = 0, host_peak = 0, device_peak = 0, temp_peak = 0, temp_written = 0;
  std::string temp_codec = "none";  ///< of the last blocks written
  PlanStats plan;
  std::vector<PhaseTimes> phases;
  std::vector<std::string> notes;      ///< fallbacks and skipped steps, as logged
  std::vector<AttemptStats> attempts;  ///< with --resume-dir; the last one is this process
};

/// Returns the JSON of --stats. `stats` may be those of a job that ended early.
std::string StatsText(const SortStats& stats);
/// Writes StatsText to a file. Throws Error(kIo) or Error(kNoSpace) if that fails; its message says that the output is
/// in place.
void WriteStatsFile(const std::string& path, const SortStats& stats);

}  // namespace gpusort
