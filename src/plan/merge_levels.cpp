#include "plan/merge_levels.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "io/spill.hpp"
#include "kernels/error.hpp"

namespace gpusort {

std::uint32_t Levels(std::uint64_t runs, std::uint64_t fan_in) {
  std::uint32_t levels = 1;
  for (; runs > fan_in; runs = (runs + fan_in - 1) / fan_in) ++levels;
  return levels;
}

std::optional<MergeGroup> NextMerge(const std::vector<std::uint64_t>& run_bytes, std::uint64_t fan_in) {
  const auto waiting = static_cast<std::uint64_t>(
      std::count_if(run_bytes.begin(), run_bytes.end(), [](std::uint64_t bytes) { return bytes != kResident; }));
  if (waiting <= fan_in) return std::nullopt;
  // The first merge reads the fewest runs, which is the cheapest. All later merges read `fan_in` runs.
  std::uint64_t count = (waiting - fan_in - 1) % std::max<std::uint64_t>(1, fan_in - 1) + 2;
  // Runs in memory stand between the others, so there may be no row of so many neighbours.
  std::uint64_t longest = 0, row = 0;
  for (const std::uint64_t bytes : run_bytes) {
    row = bytes == kResident ? 0 : row + 1;
    longest = std::max(longest, row);
  }
  count = std::min(count, longest);
  // Finds the group of `count` neighbours with the fewest bytes.
  std::optional<MergeGroup> best;
  std::uint64_t least = 0, bytes = 0, first = 0;  // bytes of the runs [first, i]
  for (std::size_t i = 0; i < run_bytes.size(); ++i) {
    if (run_bytes[i] == kResident) {
      bytes = 0;
      first = i + 1;
      continue;
    }
    bytes += run_bytes[i];
    if (i - first + 1 > count) bytes -= run_bytes[first++];
    if (i - first + 1 == count && (!best || bytes < least)) {
      least = bytes;
      best = {first, count};
    }
  }
  if (!best || count < 2) {
    throw Error(ErrorCode::kOutOfMemory,
                "the runs do not fit the fan-in of " + std::to_string(fan_in) + ": give more --memory");
  }
  return best;
}

MergeOutlook LookAhead(std::vector<std::uint64_t> run_bytes, std::vector<std::uint64_t> temp_bytes,
                       std::uint64_t fan_in, bool freed_as_read,
                       const std::function<std::uint64_t(std::uint64_t)>& merged_temp_bytes) {
  std::vector<std::uint32_t> levels(run_bytes.size());
  MergeOutlook outlook;
  std::uint64_t live = std::accumulate(temp_bytes.begin(), temp_bytes.end(), std::uint64_t{0});
  outlook.temp_peak = live;
  // With very many runs an estimate is enough, because the exact answer would take too long.
  constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;
  const std::uint64_t runs = run_bytes.size();
  if (runs > fan_in && runs / std::max<std::uint64_t>(1, fan_in - 1) > kMostSteps / runs) {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : run_bytes) all += bytes == kResident ? 0 : bytes;
    outlook.levels = Levels(runs, fan_in);
    outlook.bytes = (outlook.levels - 1) * all;
    outlook.temp_peak = (freed_as_read ? 1 : 2) * std::max(live, merged_temp_bytes(all));
    return outlook;
  }
  while (const std::optional<MergeGroup> group = NextMerge(run_bytes, fan_in)) {
    const auto at = [](auto& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t first = group->first, end = first + group->count;
    std::uint64_t bytes = 0, freed = 0, shared = 0;
    std::uint32_t level = 0;
    for (std::size_t i = first; i < end; ++i) {
      bytes += run_bytes[i];
      freed += temp_bytes[i];
      if (temp_bytes[i] > 0) shared += kSpillAlignment;
      level = std::max(level, levels[i] + 1);
    }
    const std::uint64_t temp = merged_temp_bytes(bytes);
    // A block is freed before its records are written. The last block of each run may share a page with other blocks,
    // which stays.
    outlook.temp_peak =
        std::max(outlook.temp_peak, freed_as_read ? std::max(live, live - freed + temp) + shared : live + temp);
    live += temp - freed;
    outlook.levels = std::max(outlook.levels, level + 1);
    outlook.bytes += bytes;
    run_bytes[first] = bytes;
    temp_bytes[first] = temp;
    levels[first] = level;
    run_bytes.erase(at(run_bytes, first + 1), at(run_bytes, end));
    temp_bytes.erase(at(temp_bytes, first + 1), at(temp_bytes, end));
    levels.erase(at(levels, first + 1), at(levels, end));
  }
  return outlook;
}

}  // namespace gpusort
