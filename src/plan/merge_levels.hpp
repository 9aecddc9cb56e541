// Chooses runs to merge into longer runs while there are more runs than one merge can read. Start at NextMerge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gpusort {

/// Returns how many rounds of merges `runs` runs need until one run is left, if one merge reads at most `fan_in` runs.
std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in);

/// A group of neighbouring runs that are merged into one run: the runs with the indices [first, first + count).
struct MergeGroup {
  std::size_t first = 0, count = 0;
};
/// The value in `run_bytes` for a run that is in memory. Such a run does not count for the fan-in, and only the last
/// merge reads it.
inline constexpr std::uint64_t kResident = ~std::uint64_t{0};
/// Returns the runs to merge next, or std::nullopt if there are at most `fan_in` runs. `run_bytes` has the sizes of the
/// runs in input order. Considers only merges that read no more runs than necessary, and chooses the cheapest one.
/// Throws Error(kOutOfMemory) if runs in memory leave no neighbours to merge.
std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in);

/// The cost of all merges that a list of runs needs.
struct MergeOutlook {
  std::uint32_t levels = 1;
  std::uint64_t bytes = 0;      ///< number of bytes that are written by all merges before the last merge
  std::uint64_t temp_peak = 0;  ///< maximum temp space at any time
};
/// Simulates all merges of a list of runs, or estimates the result if there are very many. `temp_bytes` is the temp
/// space of each run. merged_temp_bytes(n) returns the temp space of a merged run of n bytes. If `freed_as_read` is
/// true, a merge frees the temp space of its inputs while it reads them.
MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes);

}  // namespace gpusort
