// Chooses the runs that are merged first if there are more runs than the fan-in. Start at NextMerge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gpusort {

/// Returns the number of levels of merges that `runs` need with this fan-in.
std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in);

/// The neighbouring runs [first, first + count), which become one run.
struct MergeGroup {
  std::size_t first = 0, count = 0;
};
/// The size of a run that lies in memory, for NextMerge: such runs are not counted and not merged.
inline constexpr std::uint64_t kResident = ~std::uint64_t{0};
/// Returns the next merge that brings runs of these sizes, in input order, down to `fan_in`. It is the cheapest one, and
/// merges no more runs than needed, because merged records are read and written once more. Returns no value if the runs
/// are few enough. Throws Error(kOutOfMemory) if resident runs leave no neighbours to merge.
std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in);

/// The result of all merges to come.
struct MergeOutlook {
  std::uint32_t levels = 1;
  std::uint64_t bytes = 0;      ///< bytes that all levels before the last one write
  std::uint64_t temp_peak = 0;  ///< the most temp space at any time
};
/// Goes through all merges one by one, or estimates the result if there are too many. `temp_bytes` is the temp space of
/// each run, `merged_temp_bytes(bytes)` that of a merged run. `freed_as_read`: temp space is freed while runs are read,
/// so that sources and result do not take space at the same time.
MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes);

}  // namespace gpusort
