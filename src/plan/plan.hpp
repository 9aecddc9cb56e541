// A plan: every decision of a sort about sizes, tiers, fan-in, levels and I/O. Plain data; MakePlan makes it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpusort {

/// The longest line that any plan takes. Offsets inside a batch have 32 bits; the difference to 4 GiB is room for the
/// rest of the batch.
inline constexpr std::uint64_t kMostLine = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 26);

/// The buffers between the readers and the lanes. The ring is planned before the backend is open, so that reading
/// starts at once.
struct Ring {
  std::uint64_t block_bytes = 0, blocks = 0;
  std::uint64_t piece_bytes = 0;  ///< whole records that are read into a block at once
  std::uint64_t max_record = 0;   ///< size of the longest record that is planned for and taken
  bool grows = false;             ///< on the CPU, lines of up to kMostLine bytes are taken
  unsigned threads = 1;
  /// Each thread reads cached inputs through a buffer of this size, on the way to blocks that no core reads again.
  /// 0: inputs are read into the blocks directly.
  std::uint64_t cache_bytes = 0;

  std::uint64_t bytes() const { return block_bytes * blocks; }
  std::uint64_t caches_bytes() const { return threads * cache_bytes; }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Plan {
  bool gpu = false;
  unsigned gpus = 1;                ///< every GPU has the same number of slots and lanes
  std::uint64_t memory = 0;         ///< limit on host memory
  std::uint64_t device_memory = 0;  ///< limit on the memory of each GPU
  // Phase 1.
  Ring ring;
  std::uint64_t slot_bytes = 0;   ///< room for a batch: whole records
  std::uint64_t batch_bytes = 0;  ///< size at which a batch ends; below slot_bytes if lines may be longer than batches
  std::uint32_t slots = 0, lanes = 1;
  std::uint64_t resident_runs = 0;    ///< number of runs that may stay in slots
  std::uint64_t resident_each = 0;    ///< number of runs that may stay on each GPU
  std::uint64_t host_tier_bytes = 0;  ///< GPU only: host memory for runs once the device is full
  std::uint64_t runs = 0;             ///< expected number, for lines of usual length; 0 if unknown
  bool merges_only = false;           ///< -m: the runs are the inputs
  bool spills = false;                ///< some runs, of phase 1 or of a merge level, need temp space
  // Spill and phase 2.
  std::uint64_t block_bytes = 0;   ///< of a spilled block, header included
  std::uint64_t spill_blocks = 0;  ///< buffers for writing runs
  unsigned temp_places = 0;        ///< blocks that are compressed or expanded at the same time; 0: no compression
  unsigned io_threads = 1;
  std::uint64_t fan_in = 0;  ///< number of runs that one merge reads from blocks
  std::uint32_t levels = 1;
  std::uint64_t window_bytes = 0;  ///< size of a merge window: whole records
  std::uint32_t windows = 3;       ///< output buffers
  bool windows_in_ring = false;    ///< the output buffers reuse the memory of the ring
  std::uint32_t merge_lanes = 1;
  std::uint64_t merge_blocks = 0;  ///< read-ahead buffers
  bool direct_temp = false, direct_output = false;
  std::uint64_t temp_bytes = 0;   ///< upper bound of the temp space; 0 if unknown, not needed or not expected
  std::uint64_t level_bytes = 0;  ///< bytes that all merge levels before the last one write
  std::uint64_t index_bytes = 0;  ///< memory of the index of runs and blocks; the part above kFreeIndex is counted

  /// Returns the fan-in of a merge that needs read-ahead buffers of `buffer_bytes`, because a line is longer than a
  /// block.
  std::uint64_t FanIn(std::uint64_t buffer_bytes) const {
    if (buffer_bytes <= block_bytes) return fan_in;
    return std::min(fan_in, std::max<std::uint64_t>(2, merge_blocks * block_bytes / (2 * buffer_bytes)));
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The index of runs and blocks may take this much memory in addition to the limit. Only huge inputs need more, so
/// small limits need not be raised for it.
inline constexpr std::uint64_t kFreeIndex = std::uint64_t{32} << 20;

}  // namespace gpusort
