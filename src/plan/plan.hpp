// The plan of a sort: all decisions about buffers, places of sorted runs, merges, and reading and writing. Plain data
// that MakePlan returns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpusort {

/// The size of the longest line that any plan accepts, in bytes. The lines that are sorted together have offsets of 32
/// bits, so their total size is at most 4 GiB. A line of this size leaves 64 MiB for the other lines.
inline constexpr std::uint64_t kMostLine = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 26);

/// The plan of the input buffers (blocks): their size, their number, and the threads that fill them.
struct Ring {
  std::uint64_t block_bytes = 0, blocks = 0;
  /// The size of one read into a block, in bytes. If records have a fixed size, a multiple of that size.
  std::uint64_t piece_bytes = 0;
  std::uint64_t max_record = 0;  ///< size of the longest record that is accepted
  bool grows = false;    ///< true (on the CPU): lines longer than max_record are accepted, up to kMostLine bytes
  unsigned threads = 1;  ///< number of threads that read
  /// The size in bytes of the buffer of each reading thread, which fits the cache of a core. 0: no such buffers.
  std::uint64_t cache_bytes = 0;
  /// The number of places in the input that are read at the same time, each with an equal share of buffers and threads.
  /// More than 1 only for several GPUs.
  unsigned parts = 1;
  /// True: made for GPUs. If no GPU can be opened, or if the GPUs fail, the CPU takes over this ring, with all that it
  /// holds of a stream.
  bool of_gpu = false;

  std::uint64_t bytes() const { return block_bytes * blocks; }
  std::uint64_t caches_bytes() const { return threads * cache_bytes; }
  /// Returns one of `parts` equal shares of the buffers and threads.
  Ring Part() const {
    Ring part = *this;
    part.blocks /= parts;
    part.threads = std::max(1u, threads / parts);
    part.parts = 1;
    return part;
  }
  friend bool operator==(const Ring&, const Ring&) = default;
};

struct Plan {
  bool gpu = false;
  unsigned gpus = 1;  ///< number of GPUs; the slots (see slot_bytes) and lanes (workers) are divided equally among them
  std::uint64_t memory = 0;         ///< limit on host memory in bytes
  std::uint64_t device_memory = 0;  ///< limit on the memory of each GPU in bytes
  // The following members are about the first phase of a sort: making sorted runs.
  Ring ring;
  /// Size of a slot: GPU or host memory for the records that are sorted together (a batch).
  std::uint64_t slot_bytes = 0;
  /// The maximum size of a batch (records that are sorted together) in bytes. At most slot_bytes.
  std::uint64_t batch_bytes = 0;
  std::uint32_t slots = 0, lanes = 1;
  std::uint64_t resident_runs = 0;    ///< maximum number of sorted runs that stay in slots until they are merged
  std::uint64_t resident_each = 0;    ///< maximum number of sorted runs that stay in the slots of each GPU
  std::uint64_t host_tier_bytes = 0;  ///< bytes of host memory for sorted runs that do not fit into GPU memory
  std::uint64_t runs = 0;             ///< expected number of sorted runs; 0 if unknown
  bool merges_only = false;           ///< the inputs are sorted already, and serve as the runs (-m)
  bool spills = false;                ///< some sorted or merged runs are written to temp files
  // The following members are about temp files, and about the second phase of a sort: merging sorted runs.
  std::uint64_t block_bytes = 0;   ///< size of a block in temp files, with its header
  std::uint64_t spill_blocks = 0;  ///< number of buffers for writing blocks to temp files
  unsigned temp_workspaces = 0;    ///< number of blocks that are compressed or expanded at once; 0: no compression
  unsigned io_threads = 1;
  std::uint64_t fan_in = 0;  ///< maximum number of sorted runs that one merge reads from blocks
  std::uint32_t levels = 1;
  std::uint64_t window_bytes = 0;  ///< size of a window, the buffer for some merged records that wait to be written
  std::uint32_t windows = 3;       ///< number of output buffers, each for one window
  bool windows_in_ring = false;    ///< the output buffers use the memory of `ring`
  std::uint32_t merge_lanes = 1;
  std::uint64_t merge_blocks = 0;                   ///< number of buffers for reading blocks ahead
  bool direct_temp = false, direct_output = false;  ///< writes bypass the page cache
  std::uint64_t temp_bytes = 0;                     ///< maximum temp space; 0 if unknown or not needed
  std::uint64_t level_bytes = 0;  ///< number of bytes that are written by all merges before the last merge
  std::uint64_t index_bytes = 0;  ///< memory for the lists of sorted runs and of their blocks

  /// Returns how many sorted runs one merge may read if each buffer for reading has `buffer_bytes` bytes. If lines are
  /// longer than a block, a buffer is larger than a block, and fewer runs can be read.
  std::uint64_t FanIn(std::uint64_t buffer_bytes) const {
    if (buffer_bytes <= block_bytes) return fan_in;
    return std::min(fan_in, std::max<std::uint64_t>(2, merge_blocks * block_bytes / (2 * buffer_bytes)));
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The number of bytes that the lists of sorted runs and of their blocks may take without counting against the memory
/// limit. Only huge inputs have longer lists. MakePlan() then chooses larger blocks, or counts the rest against the
/// limit.
inline constexpr std::uint64_t kFreeIndex = std::uint64_t{32} << 20;

}  // namespace gpusort
