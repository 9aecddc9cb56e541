// The figures of a sort that has ended, and the JSON file of --stats with these figures. Start at SortStats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watch/clock.hpp"

namespace gpusort {

/// The work that one process has done for a job that can be resumed (--resume-dir).
struct AttemptStats {
  std::string host;
  std::uint64_t pid = 0;
  std::string begin;            ///< the date and time in UTC
  std::uint64_t runs_kept = 0;  ///< number of sorted runs that the process took over from earlier processes
  std::uint64_t runs_made = 0, bytes_read = 0;  ///< how many sorted runs the process made, and bytes read
};

/// The numbers that the plan of a sort has chosen. `gpus` is the number of GPUs, and `fan_in` is the number of sorted
/// runs that one merge reads. All other members are sizes in bytes.
struct PlanStats {
  unsigned gpus = 0;  ///< 0 means that the CPU sorts
  std::uint64_t fan_in = 0, slot_bytes = 0, block_bytes = 0, window_bytes = 0, device_memory = 0, temp_bytes = 0;
};

struct SortStats {
  std::string backend;
  bool gpu = false;
  double open_seconds = 0;  ///< the seconds until the backend (GPU or CPU) was ready; reading begins earlier
  std::uint64_t records_in = 0, records_out = 0, bytes = 0;
  std::uint64_t input_bytes = 0;         ///< size of the records that were read and of the header
  std::uint64_t stored_input_bytes = 0;  ///< size of the inputs as they are stored, if one of them is compressed
  /// How many of the records in `records_in` were left out by --since and --until, because of their timestamps.
  std::uint64_t records_outside = 0;
  std::uint64_t top = 0;           ///< the value of --top; 0 means all records
  std::uint64_t header_lines = 0;  ///< number of lines in the header, which are not records
  std::uint64_t stored_bytes = 0;  ///< size of the output after compression, if it is compressed
  std::uint64_t base_runs = 0, device_runs = 0, host_runs = 0, temp_runs = 0, input_runs = 0;
  std::uint32_t levels = 0;  ///< the number of merges that a record went through
  std::uint64_t host_limit = 0, host_peak = 0, device_peak = 0, temp_peak = 0, temp_written = 0;
  std::string temp_codec = "none";  ///< the codec of the last blocks that were written to temp files
  PlanStats plan;
  std::vector<PhaseTimes> phases;
  std::vector<std::string> notes;      ///< log messages about failures that the job got over, and about skipped steps
  std::vector<AttemptStats> attempts;  ///< all processes of a job with --resume-dir; the last one is this process

  /// For a job of two sorts: adds the statistics of the first sort to this object, which must be the statistics of the
  /// second sort. Call this once.
  void AddFirst(const SortStats& first);
};

/// Returns the content of the file of --stats, in JSON. Also works for a job that has failed.
std::string StatsText(const SortStats& stats);
/// Writes the file of --stats. Throws Error(kIo) or Error(kNoSpace) if that fails. Call this only after the output is
/// complete.
void WriteStatsFile(const std::string& path, const SortStats& stats);

}  // namespace gpusort
