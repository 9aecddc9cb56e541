// The tile sizes of the sort and merge kernels: threads and items for each thread, by item size. They affect speed and
// never a result. They were measured on compute capability 9.0 (H200) and serve all GPUs. A tile takes at most 48 KB of
// shared memory, which every GPU gives to a block. With items of more than 226 bytes a tile may take 51 KB, which GPUs
// from 7.5 on give if a kernel asks for it. A GPU that needs other sizes gets another table, chosen where TuningTable
// is called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpusort/host_device.hpp"

namespace gpusort {

/// How a sort or merge kernel divides its work. Each thread block handles threads * items items, which are called a
/// tile.
struct TileShape {
  int threads = 0;  ///< a power of two
  int items = 0;    ///< items of a thread; odd, so that threads read different banks of shared memory
  /// The number of blocks that must fit on a multiprocessor together, which limits the registers of a thread. Used only
  /// with the order Less. Another order may need more registers, which would then spill to memory.
  int blocks = 1;

  GPUSORT_HD constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads) * items; }
};

struct Tuning {
  TileShape network_sort;   ///< a tile that is sorted by sorting networks
  TileShape sort;           ///< a tile that is sorted by merging
  TileShape merge;          ///< an output tile of a 2-way pass over keys
  TileShape merge_4;        ///< an output tile of a 4-way pass over keys
  TileShape merge_pairs;    ///< an output tile of a 2-way pass over keys with values
  TileShape merge_pairs_4;  ///< an output tile of a 4-way pass over keys with values
};

/// Returns the tile sizes for items that take item_bytes bytes of shared memory.
constexpr Tuning TuningTable(std::size_t item_bytes) {
  // BEGIN gpusort_tune
  // The program gpusort_tune writes the lines from BEGIN to END. It has measured these numbers on an H200 (figures:
  // data/bench/NOTES.md), except the first shape of each row (network_sort). The third number of that shape is
  // TileShape::blocks. It is 5 for 8-byte items: with 2, sorting 2^20 items takes 1.18 times as long. It is 4 for
  // 16-byte items: with 5, registers spill to local memory if there are values.
  if (item_bytes <= 4) return {{256, 33, 4}, {512, 19}, {128, 33, 10}, {256, 27, 5}, {128, 19, 10}, {256, 19, 5}};
  if (item_bytes <= 8) return {{256, 17, 5}, {128, 17}, {256, 19, 4}, {256, 23, 4}, {256, 11, 4}, {256, 17, 4}};
  if (item_bytes <= 16) return {{128, 17, 4}, {128, 9}, {256, 9}, {128, 9}, {128, 13}, {128, 9}};
  // END gpusort_tune
  // The rows below are defaults that were not measured. With items of up to kMaxItemBytes bytes, a tile takes at most
  // 51 KB of shared memory.
  if (item_bytes <= 32) return {{256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}};
  if (item_bytes <= 64) return {{128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}, {128, 5}};
  return {{64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}, {64, 3}};
}

/// The largest item, in bytes, that the GPU kernels sort or merge. To sort longer records, sort their keys or their
/// record numbers instead.
inline constexpr std::size_t kMaxItemBytes = 240;

}  // namespace gpusort
