// Every decision of a sort: sizes, tiers, fan-in, levels, I/O. Plain data, made by MakePlan.
#pragma once

#include <cstdint>

namespace gpusort {

/// Offsets of 32 bits, with room for the batch that a line is part of.
inline constexpr std::uint64_t kMostLine = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 26);

/// The buffers between reading and lanes. Made from the first facts alone, so that reading starts before the backend
/// is open.
struct Ring {
  std::uint64_t block_bytes = 0, blocks = 0;
  std::uint64_t piece_bytes = 0;  ///< whole records read into a block at once
  std::uint64_t max_record = 0;   ///< bytes of the longest record that is planned for, and taken
  bool grows = false;             ///< on the CPU lines are taken up to kMostLine
  unsigned threads = 1;
  std::uint64_t cache_bytes = 0;  ///< of each thread, beside the blocks: what cached inputs pass through on their way
                                  ///< to blocks that no core looks at again; 0: they are read into blocks

  std::uint64_t bytes() const { return block_bytes * blocks; }
  std::uint64_t caches_bytes() const { return threads * cache_bytes; }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Plan {
  bool gpu = false;
  unsigned gpus = 1;  ///< of which each has the same part of slots and lanes
  std::uint64_t memory = 0, device_memory = 0;  ///< the latter of each GPU
  // Phase 1.
  Ring ring;
  std::uint64_t slot_bytes = 0;   ///< room for a batch: whole records
  std::uint64_t batch_bytes = 0;  ///< how far it is filled; less than a slot if lines may be longer than batches
  std::uint32_t slots = 0, lanes = 1;
  std::uint64_t resident_runs = 0;    ///< how many runs may stay in slots
  std::uint64_t resident_each = 0;    ///< and of those on one GPU
  std::uint64_t host_tier_bytes = 0;  ///< GPU only: runs held in host memory when the device is full
  std::uint64_t runs = 0;             ///< expected, lines of usual length assumed; 0 if unknown
  bool merges_only = false;           ///< -m: the runs are the inputs
  bool spills = false;                ///< some runs, of phase 1 or of a merge level, need temp space
  // Spill and phase 2.
  std::uint64_t block_bytes = 0;   ///< of a spilled block, header included
  std::uint64_t spill_blocks = 0;  ///< buffers for writing runs
  unsigned temp_places = 0;        ///< blocks being compressed or expanded at once; 0: none is compressed
  unsigned io_threads = 1;
  std::uint64_t fan_in = 0;  ///< runs merged at once from blocks
  std::uint32_t levels = 1;
  std::uint64_t window_bytes = 0;  ///< merged at once: whole records
  std::uint32_t windows = 3;       ///< output buffers
  bool windows_in_ring = false;    ///< they take the ring's place
  std::uint32_t merge_lanes = 1;
  std::uint64_t merge_blocks = 0;  ///< read-ahead buffers
  bool direct_temp = false, direct_output = false;
  std::uint64_t temp_bytes = 0;   ///< what the spill takes at most; 0 if unknown, none, or none expected
  std::uint64_t level_bytes = 0;  ///< what levels before the last write
  std::uint64_t index_bytes = 0;  ///< memory for what is known of runs and blocks; from kFreeIndex on it is counted
};

}  // namespace gpusort
