// The plan of a sort: all decisions about buffers, places of runs, merges and I/O. Plain data that MakePlan returns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpusort {

/// The size of the longest line that any plan accepts. Offsets in a batch have 32 bits; 64 MiB stay for other lines.
inline constexpr std::uint64_t kMostLine = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 26);

/// The ring of buffers between threads that read and lanes that sort. Reading starts before the backend is open.
struct Ring {
  std::uint64_t block_bytes = 0, blocks = 0;
  std::uint64_t piece_bytes = 0;  ///< number of bytes, in whole records, that are read into a block at once
  std::uint64_t max_record = 0;   ///< size of the longest record that is accepted
  bool grows = false;             ///< on the CPU, lines longer than max_record are accepted, up to kMostLine bytes
  unsigned threads = 1;           ///< number of threads that read
  /// The size of a buffer that fits the cache of a core. Each reading thread reads into its buffer and copies the bytes
  /// to a block. 0: threads read into the blocks directly.
  std::uint64_t cache_bytes = 0;

  std::uint64_t bytes() const { return block_bytes * blocks; }
  std::uint64_t caches_bytes() const { return threads * cache_bytes; }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Plan {
  bool gpu = false;
  unsigned gpus = 1;                ///< number of GPUs, which all have the same number of slots and lanes
  std::uint64_t memory = 0;         ///< limit on host memory in bytes
  std::uint64_t device_memory = 0;  ///< limit on the memory of each GPU in bytes
  // Phase 1 (forming runs).
  Ring ring;
  std::uint64_t slot_bytes = 0;   ///< size of a slot, which holds a batch of whole records
  std::uint64_t batch_bytes = 0;  ///< size at which a batch ends; slots are larger than this if a line may be longer
  std::uint32_t slots = 0, lanes = 1;
  std::uint64_t resident_runs = 0;    ///< maximum number of runs that stay in slots
  std::uint64_t resident_each = 0;    ///< maximum number of runs that stay in the slots of each GPU
  std::uint64_t host_tier_bytes = 0;  ///< bytes of host memory for runs that do not fit into GPU memory
  std::uint64_t runs = 0;             ///< expected number of runs; 0 if unknown
  bool merges_only = false;           ///< the runs are the inputs, which are sorted already (-m)
  bool spills = false;                ///< some runs of phase 1 or of a merge level need temp space
  // Spill and phase 2 (merging runs).
  std::uint64_t block_bytes = 0;   ///< size of a spilled block with its header
  std::uint64_t spill_blocks = 0;  ///< number of buffers for writing spilled blocks
  unsigned temp_places = 0;        ///< number of blocks that are compressed or expanded at a time; 0: no compression
  unsigned io_threads = 1;
  std::uint64_t fan_in = 0;  ///< maximum number of runs that one merge reads from blocks
  std::uint32_t levels = 1;
  std::uint64_t window_bytes = 0;  ///< size of a merge window, which holds whole records
  std::uint32_t windows = 3;       ///< number of output buffers, each for one window
  bool windows_in_ring = false;    ///< the output buffers use the memory of the ring
  std::uint32_t merge_lanes = 1;
  std::uint64_t merge_blocks = 0;                   ///< number of buffers for reading blocks ahead
  bool direct_temp = false, direct_output = false;  ///< writes bypass the page cache
  std::uint64_t temp_bytes = 0;                     ///< maximum temp space; 0 if unknown or not needed
  std::uint64_t level_bytes = 0;  ///< number of bytes that are written by all merges before the last merge
  std::uint64_t index_bytes = 0;  ///< memory of the index of runs and blocks

  /// Returns the fan-in of a merge with lines longer than a block, whose read-ahead buffers need `buffer_bytes` each.
  std::uint64_t FanIn(std::uint64_t buffer_bytes) const {
    if (buffer_bytes <= block_bytes) return fan_in;
    return std::min(fan_in, std::max<std::uint64_t>(2, merge_blocks * block_bytes / (2 * buffer_bytes)));
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The index of runs and blocks may take this many bytes in addition to the memory limit. Only huge inputs need more.
inline constexpr std::uint64_t kFreeIndex = std::uint64_t{32} << 20;

}  // namespace gpusort
