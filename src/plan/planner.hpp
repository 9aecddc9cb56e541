// The implementation of MakeRing and MakePlan. Start at Planner::Make.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "kernels/records/records.hpp"
#include "plan/facts.hpp"
#include "plan/memory_shares.hpp"
#include "plan/plan.hpp"

namespace gpusort::planning {

inline constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * kKiB, kPage = 4096;
inline constexpr std::uint64_t kMinBlock = 64 * kKiB;

inline std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
inline std::uint64_t DivideUp(std::uint64_t n, std::uint64_t d) { return (n + d - 1) / d; }

/// Thrown if the memory is too small. MakeRing and MakePlan throw an Error instead that says how much is enough.
struct TooLittleMemory {
  std::string for_what;
};
[[noreturn]] void TooLittleForRecords(const PlanFacts& facts, const MemoryShares& shares);

/// Implements MakeRing. Throws TooLittleMemory.
Ring RingFor(const PlanFacts& facts, const MemoryShares& shares);

class Planner {
 public:
  /// Makes spilled blocks 2^`doublings` times larger, even if merge levels are added. The arguments must stay alive.
  Planner(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, int doublings);

  /// Returns the plan without the results of MergeLevels(). Throws TooLittleMemory and TooLittleGpuMemory.
  Plan Make();
  /// Call this after Make(). Returns the plan with the results of MergeLevels() if the sizes of runs are known.
  Plan WithLevels();
  /// Returns all slot sizes that Make() may choose for a GPU.
  std::vector<std::uint64_t> LaneSlots() const;

 private:
  bool lines() const { return !shares_.layout.fixed(); }
  std::uint64_t WholeRecords(std::uint64_t bytes) const { return bytes / unit_ * unit_; }
  /// Returns the slot size that divides `bytes` bytes into batches of equal size. Their number is the same as with
  /// slots of `slot` bytes, but the last batch does not waste a part of its slot.
  std::uint64_t Even(std::uint64_t bytes, std::uint64_t slot) const;
  std::uint64_t AskedBatch() const;
  /// Returns the number of slots to plan for `runs` runs that stay in memory. There may be more runs than expected,
  /// because lines do not fill a batch to the last byte.
  std::uint64_t WithSlack(std::uint64_t runs) const { return lines() ? runs + runs / 16 + 1 : runs; }
  /// Returns the allowed size of a slot that is nearest to `wanted` bytes.
  std::uint64_t Slot(std::uint64_t wanted) const;
  /// Returns the memory that a lane on the CPU takes in addition to its slots of `slot` bytes.
  std::uint64_t HostLane(std::uint64_t slot) const;

  void HostBatches();
  /// Plans slots for all runs of an input of known size. Returns false if `room` bytes are not enough.
  bool KeepAll(bool planned, std::uint64_t room);
  /// Plans slots for some runs of a stream. Returns false if `room` bytes are not enough.
  bool KeepSomeOfStream(std::uint64_t room);
  void SpillAll(std::uint64_t room);
  /// Returns true if `room` bytes are enough for the slots, each of `slot` bytes, for the lanes, and for a merge that
  /// takes `read` bytes for reading spilled runs.
  bool Fits(std::uint64_t slot, std::uint64_t room, std::uint64_t read = 0) const;
  /// Returns the sizes to try for the slots of a GPU, largest first. Even() may reduce the chosen size.
  std::vector<std::uint64_t> DeviceSlots() const;
  void DeviceBatches();

  std::uint64_t Window(std::uint64_t slot) const;
  /// Plans the windows of the merge. Returns the memory of all windows.
  std::uint64_t Windows();
  void Merging();
  /// Chooses block size, fan-in and read-ahead for runs that are merged from blocks. `pool` is the memory for this.
  void MergeFromBlocks(std::uint64_t pool);
  /// Chooses the size of blocks. Returns the fan-in that `pool` bytes allow with blocks of this size.
  std::uint64_t ChooseBlock(std::uint64_t runs, std::uint64_t pool);
  /// Plans memory for whole runs from the part of `pool` that read-ahead does not need. Returns the rest of `pool`.
  std::uint64_t HostTier(std::uint64_t runs, std::uint64_t most, std::uint64_t pool);
  void MergeLevels();

  std::uint64_t MinBlock() const { return std::max(kMinBlock, RoundUp(unit_ + kReadSlack, kPage)); }
  /// Returns the smallest size of a spilled block, or the size that earlier runs or an option require.
  std::uint64_t LeastBlock() const { return std::max(MinBlock(), RoundUp(facts_.block_bytes(), kPage)); }
  std::uint64_t KeptBytes() const;
  std::uint64_t Payload() const;
  std::uint64_t Blocks(std::uint64_t bytes, std::uint64_t runs) const;
  std::uint64_t SpillBytes(std::uint64_t bytes) const;
  std::uint64_t MostRuns() const;
  std::uint64_t IndexBytes() const;
  std::uint64_t SpillReserve() const;
  std::uint64_t TempReserve(unsigned places) const;
  std::uint64_t Reserve() const;
  void PlanTempPlaces();
  [[noreturn]] void TooSmall() const { TooLittleForRecords(facts_, shares_); }

  const PlanFacts& facts_;
  const MemoryShares& shares_;
  const int doublings_;
  const std::uint64_t unit_;     ///< size of a record, of which all sizes are multiples; 1 for lines
  const std::uint64_t largest_;  ///< size of the longest record with its keys
  Plan plan_;
};

}  // namespace gpusort::planning
