// Sizes of the kernels as data: threads and items per thread by item size. Nothing here changes a result.
// The sizes were measured on compute capability 9.0 (H200) and serve all GPUs. Every tile fits the 48 KB of shared
// memory that any GPU from 7.5 on has (51 KB with items of over 226 bytes). A GPU that needs other sizes gets another
// table, chosen where TuningTable is called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// How a kernel cuts its work: a tile is threads * items.
struct TileShape {
  int threads = 0;  ///< a power of two
  int items = 0;    ///< a thread's share; odd, so that shares begin in different banks of shared memory
  /// Blocks that must fit a multiprocessor together, which bounds the registers; only where Less compares, since a
  /// comparator that needs more registers would spill.
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
  // BEGIN gpusort_tune
  // By gpusort_tune, 2026-11-21, H200, but for the network sorts: with 2 blocks in place of 5 the tile sort of 8 bytes
  // is 3 % faster, and a sort of 2^20 of them 18 % slower; with 5 in place of 4 that of 16 bytes spills where values
  // come along. In brackets: what the row before had. ms for 2^28 items: network sort 1.85, sort 3.44 [3.89], 2-way
  // 0.606 [0.637], 4-way 0.972 [1.001], 2-way pairs 1.164 [1.315], 4-way pairs 1.642 [2.085].
  if (item_bytes <= 4) return {{256, 33, 4}, {512, 19}, {128, 33, 10}, {256, 27, 5}, {128, 19, 10}, {256, 19, 5}};
  // network sort 4.03, sort 4.69 [4.83], 2-way 1.080 [1.167], 4-way 1.520, 2-way pairs 2.136 [2.179], 4-way pairs 2.537
  // [2.790].
  if (item_bytes <= 8) return {{256, 17, 5}, {128, 17}, {256, 19, 4}, {256, 23, 4}, {256, 11, 4}, {256, 17, 4}};
  // network sort 7.56, sort 9.30 [9.58], 2-way 2.436, 4-way 3.924 [4.316], 2-way pairs 4.506 [4.596], 4-way pairs 5.753
  // [7.134].
  if (item_bytes <= 16) return {{128, 17, 4}, {128, 9}, {256, 9}, {128, 9}, {128, 13}, {128, 9}};
  // END gpusort_tune
  // Defaults, not measured, from here on. Any size up to kMaxItemBytes fits 51 KB.
  if (item_bytes <= 32) return {{256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}};
  if (item_bytes <= 64) return {{128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}};
  return {{64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}};
}

/// The largest item that the GPU kernels take: sort records through keys or rows if they are longer.
inline constexpr std::size_t kMaxItemBytes = 240;

}  // namespace gpusort
