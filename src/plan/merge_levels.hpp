// Which runs are merged first where there are more than can be merged at once. Start at NextMerge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace gpusort {

/// Merges that `runs` go through, `fan_in` of them at once.
std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in);

/// Neighbours [first, first + count) that a level merges.
struct MergeGroup {
  std::size_t first = 0, count = 0;
};
/// The next merge that brings runs of these sizes, in order, down to `fan_in`: the cheapest neighbours, and no more
/// than needed, because what is merged now is read and written once more. Runs of kResident bytes lie in memory: they
/// count as none and are never merged here. Nothing if the runs are few enough; Error(kOutOfMemory) if no neighbours
/// are left.
inline constexpr std::uint64_t kResident = ~std::uint64_t{0};
std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in);

/// Where all merges to come lead: they are gone through one by one, unless they are too many to wait for.
struct MergeOutlook {
  std::uint32_t levels = 1;
  std::uint64_t bytes = 0;      ///< that levels before the last write
  std::uint64_t temp_peak = 0;  ///< of all extents of the spill
};
/// `temp_bytes`: of each run, what it takes of the spill now. `merged_temp_bytes(bytes)`: what a merged run takes.
/// `freed_as_read`: else the spill has source and result side by side.
MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes);

}  // namespace gpusort
