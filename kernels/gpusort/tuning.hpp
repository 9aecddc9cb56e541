// The tile sizes of the sort and merge kernels. A tile is the items that one thread block handles.
// - The sizes affect only speed, never a result. They were measured on an H200, and all GPUs use them.
// - A tile takes at most 51 KB of shared memory, which GPUs of compute capability 7.5 and newer have.
// - To use other sizes on some GPU, choose another table where TuningTable is called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// How a sort or merge kernel divides its work. Each thread block handles one tile: `threads * items` items.
struct TileShape {
  int threads = 0;  ///< a power of two
  int items = 0;    ///< items per thread; odd, so that threads read different banks of shared memory
  /// The number of blocks that must fit on a multiprocessor at the same time, which limits the registers of a thread.
  /// Used only with the order Less.
  int blocks = 1;

  GPUSORT_HD constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads) * items; }
};

struct Tuning {
  TileShape network_sort;   ///< a tile that is sorted by sorting networks
  TileShape sort;           ///< a tile that is sorted by merging
  TileShape merge;          ///< a tile of the output when 2 sorted runs of keys are merged
  TileShape merge_4;        ///< a tile of the output when 4 sorted runs of keys are merged
  TileShape merge_pairs;    ///< a tile of the output when 2 sorted runs of keys with values are merged
  TileShape merge_pairs_4;  ///< a tile of the output when 4 sorted runs of keys with values are merged
};

/// Returns the tile sizes for items that each take item_bytes bytes of shared memory.
constexpr Tuning TuningTable(std::size_t item_bytes) {
  // gpusort_tune finds the marks BEGIN and END, and writes the lines between them. The shapes were measured on an H200
  // (see data/bench/NOTES.md), except for the first shape of each line, which was chosen by hand.
  // BEGIN gpusort_tune
  if (item_bytes <= 4) return {{256, 33, 4}, {512, 19}, {128, 33, 10}, {256, 27, 5}, {128, 19, 10}, {256, 19, 5}};
  if (item_bytes <= 8) return {{256, 17, 5}, {128, 17}, {256, 19, 4}, {256, 23, 4}, {256, 11, 4}, {256, 17, 4}};
  if (item_bytes <= 16) return {{128, 17, 4}, {128, 9}, {256, 9}, {128, 9}, {128, 13}, {128, 9}};
  // END gpusort_tune
  // The rows below were not measured. A tile takes at most 48 KB of shared memory if an item has at most 226 bytes, and
  // at most 51 KB if an item has kMaxItemBytes bytes.
  if (item_bytes <= 32) return {{256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}};
  if (item_bytes <= 64) return {{128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}};
  return {{64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}};
}

/// The maximum size, in bytes, of an item that the GPU kernels can sort or merge. To sort larger records, sort their
/// keys or their record numbers instead.
inline constexpr std::size_t kMaxItemBytes = 240;

}  // namespace gpusort
