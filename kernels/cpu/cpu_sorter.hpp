// What the CPU backend knows of the kind of its records: how a slot of them is sorted, and sorted pieces are merged.
// Chosen once, when the arena is made. Start at SlotSorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/thread_team.hpp"
#include "records/key.hpp"
#include "records/records.hpp"

namespace gpusort::detail {

/// Shared by all lanes of an arena. `memory` is the calling lane's, of LaneBytes for the executor's workers at least.
class SlotSorter {
 public:
  struct Sorted {
    bool in_input;  ///< the result is where the input was
    bool was_sorted;
    std::uint64_t records;
  };

  virtual ~SlotSorter() = default;
  virtual std::uint64_t LaneBytes(unsigned workers) const = 0;
  /// Sorts the whole records of [in, in + bytes), there or to `out`: two slots.
  virtual Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
                      const TeamExecutor& executor) const = 0;
  /// Merges sorted pieces, two or more, none of them empty.
  virtual void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
                     const TeamExecutor& executor) const = 0;
};

/// Entries sorted by one vqsort. A quicksort level out of cache costs more than a level of merging in cache (2 GHz
/// Xeon, AVX-512: 21 ns an entry at 2^16, 34 at 2^22; a merge level 1.1 to 2).
constexpr std::uint64_t kEntriesPerPart = std::uint64_t{1} << 18;

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

}  // namespace gpusort::detail
