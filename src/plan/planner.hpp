// The inside of MakePlan. Start at Planner::Make.
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

/// More memory would be enough. MakeRing and MakePlan turn this into an error that says how much.
struct TooLittleMemory {
  std::string for_what;
};
[[noreturn]] void TooLittleForRecords(const PlanFacts& facts, const MemoryShares& shares);

/// Throws TooLittleMemory.
Ring RingFor(const PlanFacts& facts, const MemoryShares& shares);

class Planner {
 public:
  /// The spill's blocks are 2^`doublings` times as large as the smallest ones, even if that needs more levels. All
  /// arguments must outlive the planner.
  Planner(const PlanFacts& facts, const MemoryShares& shares, const Ring& ring, int doublings);

  /// Returns the plan, without what MergeLevels finds. Throws TooLittleMemory and TooLittleGpuMemory.
  Plan Make();
  /// Returns the plan of Make() with the levels, temp space and bytes of all merges, if the sizes of runs are known.
  Plan WithLevels();
  /// Returns all slot sizes that Make() may choose for a GPU.
  std::vector<std::uint64_t> LaneSlots() const;

 private:
  bool lines() const { return !shares_.layout.fixed(); }
  std::uint64_t WholeRecords(std::uint64_t bytes) const { return bytes / unit_ * unit_; }
  /// Returns the slot size that divides `bytes` into batches of equal size, as many as slots of `slot` bytes. Without
  /// it, the last batch is small and still needs a slot.
  std::uint64_t Even(std::uint64_t bytes, std::uint64_t slot) const;
  std::uint64_t AskedBatch() const;
  /// Returns the number of slots for `runs` that stay in memory. There may be more runs of
  /// lines than planned, because lines do not fill a batch to the last byte. Runs without a slot are spilled.
  std::uint64_t WithSlack(std::uint64_t runs) const { return lines() ? runs + runs / 16 + 1 : runs; }
  /// Returns the size of a slot near `wanted` bytes.
  std::uint64_t Slot(std::uint64_t wanted) const;
  /// Returns the memory of a lane on the CPU.
  std::uint64_t HostLane(std::uint64_t slot) const;

  void HostBatches();
  /// Tries to keep all of an input of known size in slots.
  bool KeepAll(bool planned, std::uint64_t room);
  /// Tries to keep some runs of a stream in slots.
  bool KeepSomeOfStream(std::uint64_t room);
  void SpillAll(std::uint64_t room);
  /// Whether `room` bytes hold the plan's slots and lanes, with slots of `slot` bytes, together with a merge that takes
  /// `read` bytes for reading spilled runs.
  bool Fits(std::uint64_t slot, std::uint64_t room, std::uint64_t read = 0) const;
  /// Returns the sizes that are tried for the slots of a GPU, largest first. Even() may make the chosen one smaller.
  std::vector<std::uint64_t> DeviceSlots() const;
  void DeviceBatches();

  std::uint64_t Window(std::uint64_t slot) const;
  /// Plans the windows of the merge and returns their memory.
  std::uint64_t Windows();
  void Merging();
  /// Chooses block size, fan-in and read-ahead for runs that are merged from blocks, within `pool` bytes.
  void MergeFromBlocks(std::uint64_t pool);
  /// Chooses the size of blocks. Returns the fan-in that `pool` bytes allow with it.
  std::uint64_t ChooseBlock(std::uint64_t runs, std::uint64_t pool);
  /// Gives memory that read-ahead does not need to runs. Returns the rest of the pool.
  std::uint64_t HostTier(std::uint64_t runs, std::uint64_t most, std::uint64_t pool);
  void MergeLevels();

  std::uint64_t MinBlock() const { return std::max(kMinBlock, RoundUp(unit_ + kReadSlack, kPage)); }
  /// Returns the smallest block, or the size that was asked for.
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
  const std::uint64_t unit_;     ///< size of a record, or 1: all sizes are multiples of it
  const std::uint64_t largest_;  ///< size of the longest record, with its keys
  Plan plan_;
};

}  // namespace gpusort::planning
