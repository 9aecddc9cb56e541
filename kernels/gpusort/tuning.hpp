// Sizes of the kernels as data: threads and items per thread by item size. Nothing here changes a result.
// Measured on compute capability 9.0 (H200) and used on all: every tile is within the 48 KB of shared memory that any
// GPU from 7.5 on has. A GPU that wants other numbers gets a table of its own, chosen where TuningTable is called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// How a kernel cuts its work: a tile is threads * items.
struct TileShape {
  int threads = 0;  ///< a power of two
  int items = 0;    ///< a thread's share; odd, so that shares begin in different banks of shared memory
  /// Blocks that must fit a multiprocessor together, which bounds the registers; only where Less compares (and no
  /// values come along), since a comparator that needs more registers would spill.
  int blocks = 1;

  GPUSORT_HD constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads) * items; }
};

struct Tuning {
  TileShape network_sort;  ///< one tile of a tile sort by networks
  TileShape sort;          ///< one tile of any other tile sort
  TileShape merge;         ///< one output tile of a 2-way pass
  TileShape merge_4;       ///< one output tile of a 4-way pass
  TileShape merge_pairs;   ///< the same two with values
  TileShape merge_pairs_4;
};

/// Numbers for items that take item_bytes of shared memory.
constexpr Tuning TuningTable(std::size_t item_bytes) {
  // H200, 2026-11-21, 2^28 items, ms; what each beat in brackets. One sweep takes 0.51, 1.01 and 2.02 ms.
  // BEGIN gpusort_tune
  // 4 bytes: network sort 1.8 [512x33 2.2]; 2-way 0.62; 4-way 0.94 [31 items 0.94, two 2-way 1.25]; pairs of 4 + 4:
  // 2-way 1.31 [23 items 1.48], 4-way 1.98 [23 items 2.05].
  if (item_bytes <= 4) return {{256, 33, 4}, {512, 23, 2}, {256, 31, 4}, {256, 23, 5}, {256, 17}, {256, 27}};
  // 8 bytes: network sort 4.0, and 4.5 for 33 items [CUB's block sorts 6.9]; 2-way 1.08 [17 items 1.12]; 4-way 1.51
  // [19 items 1.61, 25 items 1.76]; pairs of 8 + 8: 2-way 2.17 [15 items 2.37], 4-way 2.66 [15 items 3.68].
  if (item_bytes <= 8) return {{256, 17, 5}, {256, 23, 4}, {256, 19, 4}, {256, 23, 4}, {256, 9}, {128, 23}};
  // 16 bytes: network sort 7.5 [256x9 8.4, 512x9 10.4]; 2-way 2.38 [11 items 2.66]; 4-way 4.16 [256x23 5.31].
  if (item_bytes <= 16) return {{128, 17, 4}, {256, 11}, {256, 9}, {128, 17}, {256, 9}, {128, 17}};
  // END gpusort_tune
  // Defaults, not measured, from here on. Any size up to kMaxItemBytes fits 48 KB.
  if (item_bytes <= 32) return {{256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}};
  if (item_bytes <= 64) return {{128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}};
  return {{64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}};
}

/// The largest item that the GPU kernels take: sort records through keys or rows if they are longer.
inline constexpr std::size_t kMaxItemBytes = 240;

}  // namespace gpusort
