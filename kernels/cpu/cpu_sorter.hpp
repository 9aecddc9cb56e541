// The interface between the CPU backend and its three sorters: for numbers, for fixed records and for lines. A backend
// chooses its SlotSorter once, for all the records that it will sort. Start at SlotSorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/thread_team.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::detail {

/// Sorts the records in a buffer (a slot) and merges sorted pieces. All lanes (workers of the backend) share one
/// SlotSorter and may call it at the same time. `memory` is the scratch memory of the calling lane, at least
/// LaneBytes(executor.workers()) bytes.
class SlotSorter {
 public:
  struct Sorted {
    bool in_input;  ///< true: the result is in the input buffer; false: the result is in `out`
    bool was_sorted;
    std::uint64_t records;
  };

  virtual ~SlotSorter() = default;
  virtual std::uint64_t LaneBytes(unsigned workers) const = 0;
  /// Sorts the records in the buffer [in, in + bytes). Leaves the result in this buffer or in the buffer `out`;
  /// Sorted::in_input says in which one.
  virtual Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
                      const TeamExecutor& executor) const = 0;
  /// Merges the sorted lists `pieces` to `out`. There must be at least two pieces, and none of them may be empty.
  virtual void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
                     const TeamExecutor& executor) const = 0;
};

/// The number of entries (twelve key bytes and a record index) that one call of vqsort sorts. More entries would not
/// fit into the cache. Outside the cache, a level of quicksort costs more than a level of merging (see
/// data/bench/NOTES.md).
constexpr std::uint64_t kEntriesPerPart = std::uint64_t{1} << 18;

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

}  // namespace gpusort::detail
