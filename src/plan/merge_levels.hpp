// Chooses which sorted runs are merged into longer runs, if there are more runs than one merge can read. Start at
// NextMerge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gpusort {

/// Returns how many rounds of merges it takes until `runs` sorted runs are one run, if one merge reads at most `fan_in`
/// runs.
std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in);

/// A group of neighbouring sorted runs that are merged into one run: the runs with the indices [first, first + count).
struct MergeGroup {
  std::size_t first = 0, count = 0;
};
/// A value in the argument `run_bytes` of the functions below: the sorted run is in memory. Only the last merge reads
/// such a run, and the run does not count for the limit `fan_in`.
inline constexpr std::uint64_t kResident = ~std::uint64_t{0};
/// Returns the next group of sorted runs to merge, or std::nullopt if the last merge can read all runs.
/// - `run_bytes`: the size of each run, in the order of the input; kResident: the run is in memory
/// - `fan_in`: the maximum number of runs in one merge, without runs in memory
/// - Throws Error(kOutOfMemory) if no two neighbouring runs are both outside of memory.
std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in);

/// The cost of all merges that a list of sorted runs needs until one run is left.
struct MergeOutlook {
  std::uint32_t levels = 1;
  std::uint64_t bytes = 0;      ///< number of bytes that are written by all merges before the last merge
  std::uint64_t temp_peak = 0;  ///< maximum temp space at any time, in bytes
};
/// Returns the cost of all merges of a list of sorted runs. The result is an estimate if there are very many runs.
/// - `temp_bytes`: the temp space of each run
/// - `freed_as_read`: true if a merge frees the temp space of the runs while it reads them
/// - merged_temp_bytes(n): must return the temp space of a merged run of n bytes
MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes);

}  // namespace gpusort
