// Sizes of the kernels as data: threads and items per thread by compute capability and item size.
// A row says where its numbers come from; a GPU newer than every row takes the newest, an older one the oldest that it
// can run. Nothing here changes a result. Start at TuningTable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusort {

/// How a kernel cuts its work: a tile is threads * items.
struct TileShape {
  int threads = 0;  ///< a power of two
  int items = 0;    ///< a thread's share; odd, so that shares begin in different banks of shared memory
  /// Blocks that must fit a multiprocessor together, which bounds the registers; only where Less compares (and no
  /// values come along), since a comparator that needs more registers would spill.
  int blocks = 1;

  constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads) * items; }
};

struct Tuning {
  TileShape sort;   ///< one tile of a tile sort by merging
  TileShape radix;  ///< one tile of a tile sort of unsigned numbers by digits; threads 0: merge is faster
  TileShape merge;  ///< one output tile of a merge pass
};

/// The rows by architecture: compiled kernels exist for each.
enum class TunedFor : int {
  kBaseline,  ///< compute capability 7.5 and up: tiles within 48 KB of shared memory
  kHopper,    ///< 9.0 and up: tiles within 113 KB, so that two fit a multiprocessor
};

/// The row that fits a device of compute capability major.minor.
constexpr TunedFor TuningRow(int major) { return major >= 9 ? TunedFor::kHopper : TunedFor::kBaseline; }

/// Numbers for items of `item_bytes`, sorted as unsigned numbers (`numbers`) or by any other comparator.
constexpr Tuning TuningTable(TunedFor row, std::size_t item_bytes, bool numbers) {
  if (row == TunedFor::kHopper) {
    // Tile sorts: H200, 2026-11-21, 2^28 items, out of CUB's block primitives: 4-byte radix 512x32 3.2 ms against merge
    // 256x16 3.8 ms; 8-byte merge 512x24 6.9 ms against radix 512x24 11.7 ms and merge 256x16 8.9 ms. Here 23 in place
    // of 24, for the banks; that, the blocks and the merge shapes are defaults, not yet measured
    // (gpusort_bench_kernels --tune).
    if (item_bytes <= 4) return {{512, 23, 2}, numbers ? TileShape{512, 32} : TileShape{}, {512, 17, 2}};
    if (item_bytes <= 8) return {{512, 23, 2}, {}, {512, 11, 2}};
    if (item_bytes <= 16) return {{512, 11}, {}, {256, 9}};
    if (item_bytes <= 32) return {{256, 9}, {}, {256, 5}};
    if (item_bytes <= 64) return {{256, 5}, {}, {128, 5}};
    return {{128, 3}, {}, {128, 3}};
  }
  // Defaults, not yet measured.
  if (item_bytes <= 4) return {{256, 17, 4}, numbers ? TileShape{256, 16} : TileShape{}, {256, 17, 4}};
  if (item_bytes <= 8) return {{256, 15, 4}, {}, {256, 11, 4}};
  if (item_bytes <= 16) return {{256, 9}, {}, {256, 7}};
  if (item_bytes <= 32) return {{256, 5}, {}, {256, 5}};
  if (item_bytes <= 64) return {{128, 5}, {}, {128, 5}};
  // Any size up to kMaxItemBytes fits 48 KB.
  return {{64, 3}, {}, {64, 3}};
}

/// The largest item that the GPU kernels take: sort records through keys or rows if they are longer.
inline constexpr std::size_t kMaxItemBytes = 240;

}  // namespace gpusort
