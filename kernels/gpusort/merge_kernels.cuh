// The GPU kernels that merge.cuh uses, and the functions that launch them. Each thread block merges or sorts one tile,
// which is a part of the output. Start at RunPass and SortTiles.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpusort/merge_path.hpp"
#include "gpusort/tile_sort.hpp"
#include "gpusort/tuning.hpp"

namespace gpusort::detail {

template <typename Iterator>
using ValueOf = typename std::iterator_traits<Iterator>::value_type;

/// A key and its index in the unsorted tile (the items that one thread block sorts). After the sort, the index tells
/// which value belongs to the key. The alignment lets a thread read an item in one access.
template <typename Key>
struct alignas(sizeof(Key) <= 4    ? 8
               : sizeof(Key) <= 12 ? 16
                                   : std::max(alignof(Key), alignof(std::uint32_t))) Placed {
  Key key;
  std::uint32_t place;
};

template <typename LessT>
struct PlacedLess {
  LessT less;
  template <typename Key>
  GPUSORT_HD bool operator()(const Placed<Key>& a, const Placed<Key>& b) const {
    return less(a.key, b.key);
  }
};

/// Orders Placed items by key, and items with equal keys by Placed::place.
template <typename LessT>
struct PlacedFirst {
  LessT less;
  template <typename Key>
  GPUSORT_HD bool operator()(const Placed<Key>& a, const Placed<Key>& b) const {
    return less(a.key, b.key) || (!less(b.key, a.key) && a.place < b.place);
  }
};

/// The input of a merge pass if all sorted runs are in one list. If a pass merges two runs that are in two lists, its
/// input is a ListPair.
template <typename Iterator>
struct OneList {
  using Item = ValueOf<Iterator>;
  Iterator list;
  GPUSORT_HD Iterator first() const { return list; }
  GPUSORT_HD Iterator last() const { return list; }
  template <int kWay>
  GPUSORT_HD Iterator at() const {
    return list;
  }
};
template <typename IteratorA, typename IteratorB>
struct ListPair {
  using Item = ValueOf<IteratorA>;
  IteratorA a;
  IteratorB b;
  GPUSORT_HD IteratorA first() const { return a; }
  GPUSORT_HD IteratorB last() const { return b; }
  template <int kWay>
  GPUSORT_HD auto at() const {
    if constexpr (kWay == 0) {
      return a;
    } else {
      return b;
    }
  }
};

/// The type of the argument `values` of kernels that have keys but no values.
struct NoValues {};

/// The values of a merge pass. In `lists`, each value has the index of its key. The pass writes the values to `out`, in
/// the order of the merged keys.
template <typename Lists, typename Output>
struct MergeValues {
  using Item = typename Lists::Item;
  Lists lists;
  Output out;
};
template <typename Input, typename Output>
struct SortValues {
  using Item = ValueOf<Input>;
  Input in;
  Output out;
};

template <typename Values>
inline constexpr bool kHasValues = !std::is_same_v<Values, NoValues>;

/// The number of bytes of shared memory that a kernel uses for each value. It is 0 for values of more than 16 bytes,
/// which are not copied to shared memory.
template <typename Values>
inline constexpr std::size_t kStagedValueBytes = sizeof(typename Values::Item) <= 16 ? sizeof(typename Values::Item)
                                                                                     : 0;
template <>
inline constexpr std::size_t kStagedValueBytes<NoValues> = 0;

inline constexpr std::uint32_t kWarpThreads = 32;

// The kernels use programmatic dependent launch: a kernel may start while the previous kernel is ending. Each kernel
// waits for the previous kernel before it accesses memory.

/// Waits until all work that was queued before this kernel is done and its results are visible in memory.
__device__ __forceinline__ void WaitForKernelsBefore() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
__device__ __forceinline__ void LetNextKernelStart() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// ---- Finding the parts of the sorted runs that belong to a tile (the part of the output of one thread block).

/// The number of threads that search in the same run together. Each step of the search compares this many items of the
/// sorted run.
inline constexpr int kProbes = 8;
inline constexpr int kPartitionThreads = 128;
/// The number of threads of a warp that do one search together. A search finds how many items of each of the kWays
/// sorted runs come before a given position in the output.
template <int kWays>
inline constexpr int kCutLanes = kWays == 2 ? kProbes : kWays* kProbes;

/// Returns how many of the first k merged items come from `a`, as CoRank does. kLanes neighbouring threads of a warp
/// must call this together, with the same arguments.
template <int kLanes, typename IteratorA, typename IteratorB, typename LessT>
__device__ __forceinline__ std::uint64_t CoRankByLanes(std::uint64_t k, IteratorA a, std::uint64_t m, IteratorB b,
                                                       std::uint64_t n, LessT less) {
  constexpr unsigned kAll = ~0u >> (kWarpThreads - kLanes);
  const unsigned group = threadIdx.x % kWarpThreads / kLanes * kLanes;
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  // Each step compares kLanes items at equal distances, and goes on between two of them (Green, McColl and Bader,
  // 2012).
  const auto probe = [](std::uint64_t low, std::uint64_t items, int p) { return low + items * p / kLanes; };
  std::uint64_t low = k > n ? k - n : 0;
  std::uint64_t high = k < m ? k : m;
  while (low < high) {
    const std::uint64_t items = high - low, from = low;
    const std::uint64_t i = probe(from, items, lane);
    // Bit t of `too_far` is set if a[i] of thread t is not among the first k merged items. `i` grows with t.
    const unsigned too_far = __ballot_sync(kAll << group, less(b[k - 1 - i], a[i])) >> group & kAll;
    const int near = __popc(~too_far & kAll);
    if (near < kLanes) high = probe(from, items, near);
    if (near > 0) low = probe(from, items, near - 1) + 1;
  }
  return low;
}

/// Sets split[w] to how many of the first `rank` merged items come from sorted run w. All threads of a warp must call
/// this together.
/// - items: the number of items of each run; all runs together must have fewer than 2^32 items
/// - probes: shared memory for kWarpThreads keys, which only this warp uses
template <int kWays, typename Iterator, typename LessT>
__device__ __forceinline__ void SplitRunsByLanes(std::uint32_t rank, Iterator keys, const std::uint64_t (&begin)[kWays],
                                                 const std::uint64_t (&items)[kWays], ValueOf<Iterator>* probes,
                                                 LessT less, std::uint64_t (&split)[kWays]) {
  static_assert(kWays * kProbes == kWarpThreads);
  constexpr unsigned kWarp = ~0u, kAll = (1u << kProbes) - 1;
  const int lane = static_cast<int>(threadIdx.x % kWarpThreads);
  SplitSearch<std::uint32_t, kWays, kProbes> search(rank, items);
  while (!search.done()) {
    std::uint64_t at = 0;
    bool unknown = false;
#pragma unroll
    for (int w = 0; w < kWays; ++w) {
      if (lane / kProbes != w) continue;
      unknown = search.low[w] < search.high[w];
      at = begin[w] + search.Probe(search.low[w], search.high[w], lane % kProbes);
    }
    if (unknown) probes[lane] = keys[at];
    __syncwarp();
    const int verdict = unknown ? search.Verdict(lane, probes, less) : 0;
    __syncwarp();  // waits until all threads have read, before the next step writes
    const unsigned found = __ballot_sync(kWarp, verdict > 0), beyond = __ballot_sync(kWarp, verdict < 0);
#pragma unroll
    for (int w = 0; w < kWays; ++w) {
      search.Narrow(w, __popc(found >> (w * kProbes) & kAll), __popc(beyond >> (w * kProbes) & kAll));
    }
  }
#pragma unroll
  for (int w = 0; w < kWays; ++w) split[w] = search.low[w];
}

/// Finds for each tile which part of each sorted run belongs to it. A tile is the part of the output that one thread
/// block will merge. Stores the result for tile t in way_tiles[t].
template <int kWays, int kLanes, std::uint32_t kTile, typename Runs, typename Lists, typename LessT>
__global__ void __launch_bounds__(kPartitionThreads)
    PartitionKernel(WayTile<kWays>* way_tiles, Runs runs, std::uint64_t tiles, Lists lists, LessT less) {
  using Key = typename Lists::Item;
  WaitForKernelsBefore();
  LetNextKernelStart();
  const std::uint64_t t = std::uint64_t{blockIdx.x} * (kPartitionThreads / kLanes) + threadIdx.x / kLanes;
  if (t >= tiles) return;
  const MergePass<Runs, kWays> pass{runs, kTile};
  const MergeTile tile = pass.tile(t);
  std::uint64_t split[kWays];
  if constexpr (kLanes == 1) {
    SplitGroup(pass, tile, lists, less, split);
  } else if constexpr (kWays == 2) {
    const RunPair& pair = tile.pair;
    split[0] = CoRankByLanes<kLanes>(tile.begin, lists.first() + pair.a_begin, pair.a_items,
                                     lists.last() + pair.b_begin, pair.b_items, less);
    split[1] = tile.begin - split[0];
  } else {
    __shared__ __align__(16) unsigned char probes[kPartitionThreads * sizeof(Key)];
    std::uint64_t begin[kWays], items[kWays];
    pass.group(tile, begin, items);
    Key* const own = reinterpret_cast<Key*>(probes) + threadIdx.x / kWarpThreads * kWarpThreads;
    SplitRunsByLanes<kWays>(static_cast<std::uint32_t>(tile.begin), lists.first(), begin, items, own, less, split);
  }
  if (threadIdx.x % kLanes == 0) WriteCut(pass, t, tile, split, way_tiles);
}

/// Returns which part of each sorted run belongs to tile t, the part of the output that this thread block merges. All
/// threads of the block must call this function, and all get the same result. `shared` must point to shared memory for
/// kThreads keys.
template <int kWays, int kThreads, typename Runs, typename Lists, typename LessT>
__device__ __forceinline__ WayTile<kWays> CutByBlock(const MergePass<Runs, kWays>& pass, std::uint64_t t,
                                                     const Lists& lists, LessT less, typename Lists::Item* shared) {
  const MergeTile tile = pass.tile(t);
  const int lane = static_cast<int>(threadIdx.x % kWarpThreads);
  WayTile<kWays> work;
  work.out_begin = tile.out_begin();
  if constexpr (kWays == 2) {
    __shared__ std::uint64_t splits[2];
    const RunPair& pair = tile.pair;
    const std::uint64_t end_rank = tile.begin + tile.items;
    const int end = static_cast<int>(threadIdx.x / kWarpThreads);
    if (end < 2) {
      const std::uint64_t split =
          CoRankByLanes<kWarpThreads>(end == 0 ? tile.begin : end_rank, lists.first() + pair.a_begin, pair.a_items,
                                      lists.last() + pair.b_begin, pair.b_items, less);
      if (lane == 0) splits[end] = split;
    }
    __syncthreads();
    work.begin[0] = pair.a_begin + splits[0];
    work.end[0] = pair.a_begin + splits[1];
    work.begin[1] = pair.b_begin + tile.begin - splits[0];
    work.end[1] = pair.b_begin + end_rank - splits[1];
  } else {
    constexpr int kCutProbes = kThreads / 2 / kWays < kWarpThreads ? kThreads / 2 / kWays : kWarpThreads;
    constexpr int kWorkers = kWays * kCutProbes;
    constexpr unsigned kAll = ~0u >> (kWarpThreads - kCutProbes);
    using Search = SplitSearch<std::uint32_t, kWays, kCutProbes>;
    __shared__ std::uint32_t low[2][kWays], high[2][kWays];
    // `end` says which search this thread takes part in:
    // - 0: where the tile, the output of this block, starts in the sorted runs
    // - 1: where the tile ends in the runs
    // - 2 or more: none
    const int end = static_cast<int>(threadIdx.x) / kWorkers;
    const int worker = static_cast<int>(threadIdx.x) % kWorkers;
    const int run = worker / kCutProbes, probe = worker % kCutProbes;
    std::uint64_t begin[kWays], items[kWays];
    pass.group(tile, begin, items);
    Search search(static_cast<std::uint32_t>(end == 0 ? tile.begin : tile.begin + tile.items), items);
    typename Lists::Item* const probes = shared + end * kWorkers;
    while (true) {
      std::uint64_t at = 0;
      bool unknown = false;
#pragma unroll
      for (int w = 0; w < kWays; ++w) {
        if (run != w || end > 1) continue;
        unknown = search.low[w] < search.high[w];
        at = begin[w] + Search::Probe(search.low[w], search.high[w], probe);
      }
      if (unknown) probes[worker] = lists.first()[at];
      if (!__syncthreads_or(unknown)) break;
      const int verdict = unknown ? search.Verdict(worker, probes, less) : 0;
      const unsigned found = __ballot_sync(~0u, verdict > 0), beyond = __ballot_sync(~0u, verdict < 0);
      if (probe == 0 && end <= 1) {
        const int shift = lane / kCutProbes * kCutProbes;
        search.Narrow(run, __popc(found >> shift & kAll), __popc(beyond >> shift & kAll));
#pragma unroll
        for (int w = 0; w < kWays; ++w) {
          if (w != run) continue;
          low[end][w] = search.low[w];
          high[end][w] = search.high[w];
        }
      }
      __syncthreads();
#pragma unroll
      for (int w = 0; w < kWays; ++w) {
        search.low[w] = low[end & 1][w];
        search.high[w] = high[end & 1][w];
      }
    }
    if (probe == 0 && end <= 1) {
#pragma unroll
      for (int w = 0; w < kWays; ++w) {
        if (w == run) low[end][w] = search.low[w];
      }
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kWays; ++w) {
      work.begin[w] = begin[w] + low[0][w];
      work.end[w] = begin[w] + low[1][w];
    }
  }
  return work;
}

// ---- Moving the items of tiles between device memory and shared memory.

/// Calls function(w) for w = 0, 1, ... kWays - 1. Each w is a std::integral_constant, so `function` can use it as a
/// template argument.
template <typename Function, int... kWay>
__device__ __forceinline__ void ForWays(Function function, std::integer_sequence<int, kWay...>) {
  (function(std::integral_constant<int, kWay>{}), ...);
}
template <int kWays, typename Function>
__device__ __forceinline__ void ForWays(Function function) {
  ForWays(function, std::make_integer_sequence<int, kWays>{});
}

/// Returns the word size in bytes (4, 8 or 16) for asynchronous copies of items to shared memory. Returns 0 if the
/// items cannot be copied asynchronously.
template <typename Iterator>
GPUSORT_HD constexpr std::uint32_t AsyncWordBytes() {
  if constexpr (std::is_pointer_v<Iterator>) {
    using Item = ValueOf<Iterator>;
    constexpr std::size_t kWord = alignof(Item) < 16 ? alignof(Item) : 16;
    return kWord >= 4 ? static_cast<std::uint32_t>(kWord) : 0;
  } else {
    return 0;
  }
}

/// The items of a tile in shared memory, with one unused place after every 2^shift items. The unused places avoid bank
/// conflicts (Berney and Sitchinava 2020). If `shift` is kNoPadding, there are no unused places.
template <typename Item>
struct PaddedTile {
  static constexpr int kShift = sizeof(Item) <= 4 ? 6 : sizeof(Item) <= 8 ? 5 : sizeof(Item) <= 16 ? 4 : 3;
  static constexpr int kNoPadding = 31;
  Item* items = nullptr;
  int shift = kShift;
  std::uint32_t begin = 0;

  GPUSORT_HD static constexpr std::uint32_t Items(std::uint32_t tile) { return tile + (tile - 1 >> kShift); }
  GPUSORT_HD Item& operator[](std::uint32_t at) const { return items[begin + at + (begin + at >> shift)]; }
  GPUSORT_HD PaddedTile operator+(std::uint32_t offset) const { return {items, shift, begin + offset}; }
};
/// Returns n if tile[i + items] always lies n * sizeof(Item) bytes after tile[i]. Returns 0 if this depends on i.
template <typename Item>
GPUSORT_HD constexpr std::uint32_t PaddedStep(Item*, std::uint32_t items) {
  return items;
}
template <typename Item>
GPUSORT_HD constexpr std::uint32_t PaddedStep(PaddedTile<Item>, std::uint32_t items) {
  constexpr int kShift = PaddedTile<Item>::kShift;
  return items % (1u << kShift) == 0 ? items + (items >> kShift) : 0;
}

/// Starts to copy from[0, items) to shared memory at `to`, a pointer or a PaddedTile. All threads of the block must
/// call this function. Neighbouring threads copy neighbouring words. The copy is complete after WaitForItems and a
/// barrier.
template <int kThreads, typename Iterator, typename Tile>
__device__ __forceinline__ void CopyItems(Iterator from, std::uint32_t items, Tile to) {
  constexpr std::uint32_t kWord = AsyncWordBytes<Iterator>();
  if constexpr (kWord != 0) {
    constexpr std::uint32_t kItemWords = static_cast<std::uint32_t>(sizeof(ValueOf<Iterator>) / kWord);
    const std::uint32_t words = items * kItemWords;
    const char* source = reinterpret_cast<const char*>(from) + threadIdx.x * kWord;
    const auto target_of = [&](std::uint32_t at) {
      return reinterpret_cast<char*>(&to[at / kItemWords]) + at % kItemWords * kWord;
    };
    char* target = target_of(threadIdx.x);
    // kStep is the distance in bytes, in shared memory, between two consecutive words that a thread copies. kStep is 0
    // if the distance is not constant (see PaddedStep).
    constexpr std::uint32_t kStepItems = kThreads / kItemWords;
    constexpr std::uint32_t kStep = PaddedStep(Tile{}, kStepItems) * sizeof(ValueOf<Iterator>);
#pragma unroll 4
    for (std::uint32_t at = threadIdx.x; at < words; at += kThreads) {
      if constexpr (kThreads % kItemWords == 0 && kStep != 0) {
        __pipeline_memcpy_async(target, source, kWord);
        target += kStep;
      } else {
        __pipeline_memcpy_async(target_of(at), source, kWord);
      }
      source += kThreads * kWord;
    }
  } else {
#pragma unroll 4
    for (std::uint32_t at = threadIdx.x; at < items; at += kThreads) to[at] = from[at];
  }
}
__device__ __forceinline__ void WaitForItems() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

template <int kThreads, int kWays, typename Lists, typename Tile>
__device__ __forceinline__ void CopyTile(const WayTile<kWays>& work, const std::uint32_t (&bounds)[kWays + 1],
                                         const Lists& lists, Tile tile) {
  ForWays<kWays>([&](auto way) {
    constexpr int w = decltype(way)::value;
    CopyItems<kThreads>(lists.template at<w>() + work.begin[w], bounds[w + 1] - bounds[w], tile + bounds[w]);
  });
  WaitForItems();
}

/// Returns item number `at` of the input of a tile. The input has a part of sorted run 0, then a part of run 1, and so
/// on. The part of run w begins at number bounds[w].
template <int kWays, typename Lists>
__device__ __forceinline__ typename Lists::Item ListedItem(const WayTile<kWays>& work,
                                                           const std::uint32_t (&bounds)[kWays + 1], const Lists& lists,
                                                           std::uint32_t at) {
  typename Lists::Item item;
  ForWays<kWays>([&](auto way) {
    constexpr int w = decltype(way)::value;
    if (at >= bounds[w] && at < bounds[w + 1]) item = lists.template at<w>()[work.begin[w] + (at - bounds[w])];
  });
  return item;
}

/// Calls store(at) for each index `at` below `count` that belongs to this warp. The indices [w * 32 * kItems, (w + 1) *
/// 32 * kItems) belong to warp w. Neighbouring threads store neighbouring items.
template <int kItems, typename Store>
__device__ __forceinline__ void StoreByWarps(std::uint32_t count, Store store) {
  const std::uint32_t first = threadIdx.x / kWarpThreads * kWarpThreads * kItems + threadIdx.x % kWarpThreads;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = first + i * kWarpThreads;
    if (at < count) store(at);
  }
}

// ---- Merging tiles: each thread block merges one part of the output.

/// Estimates whether the threads of the warp will have many bank conflicts when they read shared memory. `begin` is the
/// index of the first item that this thread reads. All threads of the warp must call this function, and all get the
/// same result.
template <typename Item>
__device__ __forceinline__ bool MeetInBanks(std::uint32_t begin) {
  if constexpr (sizeof(Item) > 16) return false;  // items of this size always cause bank conflicts
  constexpr std::uint32_t kWidth = sizeof(Item) > 16 ? 8 : 128 / sizeof(Item);
  constexpr int kMost = 20;
  // Compares the first bank of each thread only with those of the next two threads. The result is an estimate.
  const std::uint32_t bank = begin % kWidth;
  const std::uint32_t next = __shfl_down_sync(~0u, bank, 1), second = __shfl_down_sync(~0u, bank, 2);
  return __popc(__ballot_sync(~0u, bank == next || bank == second)) >= kMost;
}

/// Merges the kWays sorted segments of `tile` into tile.items[0, bounds[kWays]).
/// - kLevel: 0, except in recursive calls
/// - bounds: segment w is tile[bounds[w], bounds[w + 1])
/// - places: with kPlaces, places[i] is set to the index of item i before the merge
/// - All threads of the block must call this, and wait at a barrier before they read the result.
template <int kLevel, int kWays, int kItems, bool kPlaces, typename Key, typename LessT>
__device__ __forceinline__ void MergeLevels(PaddedTile<Key> tile, std::uint16_t* places,
                                            const std::uint32_t (&bounds)[kWays + 1], LessT less) {
  constexpr bool kLast = (2 << kLevel) >= kWays;
  Key keys[kItems];
  std::uint32_t from[kItems];
  const LevelShare share = MergeWaysShare<kLevel, kWays, kItems>(tile, bounds, threadIdx.x, keys, from, less);
  if constexpr (kPlaces && kLevel > 0) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (static_cast<std::uint32_t>(i) < share.items) from[i] = places[from[i]];
    }
  }
  // Unused places in shared memory (padding) make the next reads faster, but these writes slower. They pay only if
  // there were bank conflicts.
  if constexpr (kLast) {
    __syncthreads();
    tile.shift = PaddedTile<Key>::kNoPadding;
  } else {
    const bool conflicts = __syncthreads_or(MeetInBanks<Key>(share.first));
    tile.shift = conflicts ? PaddedTile<Key>::kShift : PaddedTile<Key>::kNoPadding;
  }
  if (share.items == kItems) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if constexpr (kLast) {
        tile.items[share.begin + i] = keys[i];
      } else {
        tile[share.begin + i] = keys[i];
      }
      if constexpr (kPlaces) places[share.begin + i] = static_cast<std::uint16_t>(from[i]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (static_cast<std::uint32_t>(i) < share.items) {
        tile[share.begin + i] = keys[i];
        if constexpr (kPlaces) places[share.begin + i] = static_cast<std::uint16_t>(from[i]);
      }
    }
  }
  if constexpr (!kLast) {
    __syncthreads();
    MergeLevels<kLevel + 1, kWays, kItems, kPlaces>(tile, places, bounds, less);
  }
}

/// The layout of shared memory in MergeTilesKernel. The first part contains the keys of a tile, the output of one
/// thread block. Later the values of the tile replace the keys. The second part, from byte kPlacesAt on, contains the
/// original index of each item. It is needed only if there are values.
template <int kWays, int kThreads, int kItems, typename Key, typename Values>
struct MergeShared {
  static constexpr std::uint32_t kTile = WayTileItems<kWays>(kThreads, kItems);
  static_assert(kTile <= 0xFFFF);
  static constexpr std::size_t kKeyBytes = PaddedTile<Key>::Items(kTile) * sizeof(Key);
  static constexpr std::size_t kPlacesAt = (std::max(kKeyBytes, kTile* kStagedValueBytes<Values>) + 15) / 16 * 16;
  static constexpr std::size_t kBytes = kPlacesAt + (kHasValues<Values> ? kTile * sizeof(std::uint16_t) : 0);
};

/// Merges one tile, a part of the output, in each thread block.
/// - cuts: the parts of the sorted runs for each block, as an array of WayTile. A MergePass lets each block find its
///   parts.
template <int kWays, int kThreads, int kItems, int kBlocks, typename Cuts, typename Lists, typename Output,
          typename Values, typename LessT>
__global__ void __launch_bounds__(kThreads, kBlocks)
    MergeTilesKernel(Cuts cuts, Lists lists, Output out, Values values, LessT less) {
  using Key = typename Lists::Item;
  using Shared = MergeShared<kWays, kThreads, kItems, Key, Values>;
  extern __shared__ __align__(16) unsigned char shared[];
  const PaddedTile<Key> tile{reinterpret_cast<Key*>(shared)};
  std::uint16_t* const places = reinterpret_cast<std::uint16_t*>(shared + Shared::kPlacesAt);

  WaitForKernelsBefore();
  const WayTile<kWays> work = [&] {
    if constexpr (std::is_pointer_v<Cuts>) {
      return cuts[blockIdx.x];
    } else {
      return CutByBlock<kWays, kThreads>(cuts, blockIdx.x, lists, less, tile.items);
    }
  }();
  LetNextKernelStart();
  std::uint32_t bounds[kWays + 1];
  bounds[0] = 0;
#pragma unroll
  for (int w = 0; w < kWays; ++w) bounds[w + 1] = bounds[w] + static_cast<std::uint32_t>(work.end[w] - work.begin[w]);
  const std::uint32_t count = bounds[kWays];
  if (count == 0) return;
  CopyTile<kThreads>(work, bounds, lists, tile);
  __syncthreads();

  // Tests whether the sorted runs are already in order: no item of a run comes after the first item of the next run. If
  // so, as with a sorted input, the block only copies the items.
  bool in_order = true;
#pragma unroll
  for (int w = 1; w < kWays; ++w) {
    // Without items before or after bounds[w], there is nothing to compare.
    if (bounds[w] > 0 && bounds[w] < count) in_order &= !less(tile[bounds[w]], tile[bounds[w] - 1]);
  }
  if (in_order) {
    for (std::uint32_t at = threadIdx.x; at < count; at += kThreads) {
      out[work.out_begin + at] = tile[at];
      if constexpr (kHasValues<Values>) values.out[work.out_begin + at] = ListedItem(work, bounds, values.lists, at);
    }
    return;
  }

  MergeLevels<0, kWays, kItems, kHasValues<Values>>(tile, places, bounds, less);
  __syncwarp();
  StoreByWarps<kItems>(count, [&](std::uint32_t at) { out[work.out_begin + at] = tile.items[at]; });

  if constexpr (kHasValues<Values>) {
    if constexpr (kStagedValueBytes<Values> != 0) {
      using Value = typename Values::Item;
      Value* const staged = reinterpret_cast<Value*>(shared);
      __syncthreads();
      CopyTile<kThreads>(work, bounds, values.lists, staged);
      __syncthreads();
      StoreByWarps<kItems>(count, [&](std::uint32_t at) { values.out[work.out_begin + at] = staged[places[at]]; });
    } else {
      StoreByWarps<kItems>(count, [&](std::uint32_t at) {
        values.out[work.out_begin + at] = ListedItem(work, bounds, values.lists, places[at]);
      });
    }
  }
}

// ---- Sorting tiles: each thread block sorts one part of the items.

/// Writes the keys of a sorted tile and their values to the output. The threads of each warp must wait for each other
/// (__syncwarp) before this call.
template <int kThreads, int kItems, typename Item, typename Output, typename Values>
__device__ __forceinline__ void StoreSortedTile(Item* tile, std::uint64_t begin, std::uint32_t count, Output out,
                                                const Values& values) {
  if constexpr (!kHasValues<Values>) {
    StoreByWarps<kItems>(count, [&](std::uint32_t at) { out[begin + at] = tile[at]; });
  } else {
    using Value = typename Values::Item;
    StoreByWarps<kItems>(count, [&](std::uint32_t at) { out[begin + at] = tile[at].key; });
    if constexpr (kStagedValueBytes<Values> != 0 && sizeof(Value) <= sizeof(Item)) {
      // All keys are written, so the values can replace them in shared memory.
      std::uint32_t places[kItems];
      const std::uint32_t first = threadIdx.x / kWarpThreads * kWarpThreads * kItems + threadIdx.x % kWarpThreads;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (first + i * kWarpThreads < count) places[i] = tile[first + i * kWarpThreads].place;
      }
      Value* const staged = reinterpret_cast<Value*>(tile);
      __syncthreads();
      CopyItems<kThreads>(values.in + begin, count, staged);
      WaitForItems();
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const std::uint32_t at = first + i * kWarpThreads;
        if (at < count) values.out[begin + at] = staged[places[i]];
      }
    } else {
      StoreByWarps<kItems>(count,
                           [&](std::uint32_t at) { values.out[begin + at] = values.in[begin + tile[at].place]; });
    }
  }
}

/// Returns the comparator for sorting the items of a tile. If kPairs is false, the items are keys, and the comparator
/// is `less`. If kPairs is true, the items are keys with the places of their values (Placed), and the comparator is
/// Order<LessT>.
template <bool kPairs, template <typename> typename Order, typename LessT>
__device__ auto OrderOfItems(LessT less) {
  if constexpr (kPairs) {
    return Order<LessT>{less};
  } else {
    return less;
  }
}

/// Sorts one tile of kThreads * kItems items in each thread block, by merging. The last tile may be shorter. `out` may
/// be equal to `in`. The lists of `values` must not overlap.
template <int kThreads, int kItems, int kBlocks, typename Input, typename Output, typename Values, typename LessT>
__global__ void __launch_bounds__(kThreads, kBlocks)
    TileSortKernel(Input in, Output out, std::uint64_t n, Values values, LessT less) {
  using Key = ValueOf<Input>;
  constexpr bool kPairs = kHasValues<Values>;
  using Item = std::conditional_t<kPairs, Placed<Key>, Key>;
  constexpr std::uint32_t kTile = kThreads * kItems;
  extern __shared__ __align__(16) unsigned char shared[];
  Item* const tile = reinterpret_cast<Item*>(shared);
  const auto item_less = OrderOfItems<kPairs, PlacedLess>(less);

  WaitForKernelsBefore();
  LetNextKernelStart();
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTile;
  const std::uint32_t count = n - begin < kTile ? static_cast<std::uint32_t>(n - begin) : kTile;
  Item items[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = i * kThreads + threadIdx.x;
    if (at < count) {
      if constexpr (kPairs) {
        items[i] = Item{in[begin + at], at};
      } else {
        items[i] = in[begin + at];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = i * kThreads + threadIdx.x;
    if (at < count) tile[at] = items[i];
  }
  __syncthreads();

  const std::uint32_t share = LoadShare<kItems>(tile, count, threadIdx.x, items);
  // This vote is also a barrier: all threads have read the items of their neighbours (above) before any thread writes
  // (below).
  const bool in_order = __syncthreads_and(ShareInOrder<kItems>(tile, threadIdx.x, items, share, item_less));
  if (!in_order) {
    SortItems<kItems>(items, share, item_less);
    StoreShare<kItems>(tile, count, threadIdx.x, items);
    // If all items of a merge belong to the threads of one warp, only this warp has to wait, and the block needs no
    // barrier.
#pragma unroll 1
    for (std::uint32_t run = 1; run < kThreads; run *= 2) {
      if (2 * run <= kWarpThreads) {
        __syncwarp();
        MergeShare<kItems>(tile, count, threadIdx.x, run, items, item_less);
        __syncwarp();
      } else {
        __syncthreads();
        MergeShare<kItems>(tile, count, threadIdx.x, run, items, item_less);
        __syncthreads();
      }
      StoreShare<kItems>(tile, count, threadIdx.x, items);
    }
    __syncwarp();
  }
  StoreSortedTile<kThreads, kItems>(tile, begin, count, out, values);
}

/// Sorts one tile of kThreads * kItems items in each thread block, by sorting networks. The last tile may be shorter.
/// Networks are not stable, so keys that are equal must be identical (see EqualIsSame).
template <int kThreads, int kItems, int kBlocks, typename Input, typename Output, typename Values, typename LessT>
__global__ void __launch_bounds__(kThreads, kBlocks)
    NetworkTileSortKernel(Input in, Output out, std::uint64_t n, Values values, LessT less) {
  using Key = ValueOf<Input>;
  constexpr bool kPairs = kHasValues<Values>;
  using Item = std::conditional_t<kPairs, Placed<Key>, Key>;
  constexpr std::uint32_t kTile = kThreads * kItems;
  extern __shared__ __align__(16) unsigned char shared[];
  Item* const tile = reinterpret_cast<Item*>(shared);
  std::uint32_t* const co_ranks = reinterpret_cast<std::uint32_t*>(shared + kTile * sizeof(Item));
  const std::uint32_t thread = threadIdx.x;
  WaitForKernelsBefore();
  LetNextKernelStart();
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTile;
  const std::uint32_t count = n - begin < kTile ? static_cast<std::uint32_t>(n - begin) : kTile;
  const auto item_less = OrderOfItems<kPairs, PlacedFirst>(less);

  Item items[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = i * kThreads + thread;
    // Fills the rest of a short tile with the largest key, which sorts to the end.
    Key key = EqualIsSame<Key, LessT>::Largest();
    if (at < count) key = in[begin + at];
    if constexpr (kPairs) {
      items[i] = Item{key, at};
    } else {
      items[i] = key;
    }
  }
  RunNetwork<SortNetworkOf>(items, item_less);
  NetworkStore<kItems>(tile, thread, 1, items);
#pragma unroll 1
  for (std::uint32_t run = 1; run < kThreads; run *= 2) {
    const bool in_warp = 2 * run <= kWarpThreads;
    const auto wait = [&] {
      if (in_warp) {
        __syncwarp();
      } else {
        __syncthreads();
      }
    };
    wait();
    const NetworkShare share = NetworkShareOf<kItems>(thread, run);
    const std::uint32_t first = NetworkCoRank(tile, share, item_less);
    co_ranks[thread] = first;
    wait();
    const std::uint32_t end = (thread + 1) % (2 * run) == 0 ? run * kItems : co_ranks[thread + 1];
    NetworkMerge<kItems>(tile, share, first, end, Item{}, items, item_less);
    wait();
    NetworkStore<kItems>(tile, thread, 2 * run, items);
  }
  __syncwarp();
  StoreSortedTile<kThreads, kItems>(tile, begin, count, out, values);
}

// ---- Functions that launch the kernels above.

/// Sets `may` to true if the GPU can start `kernel` before the previous kernel of the stream has ended, otherwise to
/// false.
template <typename Kernel>
cudaError_t MayOverlap(Kernel* kernel, bool& may) {
  struct Answer {
    Kernel* kernel = nullptr;
    int device = -1;
    bool may = false;
  };
  thread_local Answer last;  // the last answer is kept, because asking CUDA takes as long as a launch
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess && (last.kernel != kernel || last.device != device)) {
    cudaFuncAttributes attributes;
    int capability = 0;
    error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device);
    // Overlap needs a GPU of compute capability 9.0 or newer. The kernel must also be compiled for 9.0 or newer,
    // because code for older GPUs does not wait for the previous kernel (see WaitForKernelsBefore).
    if (error == cudaSuccess) last = {kernel, device, capability >= 9 && attributes.ptxVersion >= 90};
  }
  may = error == cudaSuccess && last.may;
  return error;
}

template <typename Kernel, typename... Arguments>
cudaError_t Launch(Kernel* kernel, std::uint64_t blocks, int threads, std::size_t shared_bytes, cudaStream_t stream,
                   Arguments... arguments) {
  if (blocks == 0) return cudaSuccess;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  constexpr std::size_t kAlwaysThere = (48 << 10) - 1024;  // 48 KB minus 1 KB for the static arrays of the kernels
  if (shared_bytes > kAlwaysThere) {
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  bool overlaps = false;
  const cudaError_t error = MayOverlap(kernel, overlaps);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// Returns how many blocks must fit on a multiprocessor at the same time (see TileShape::blocks). The result is
/// shape.blocks for the order Less. It is 1 for any other order, which may need more registers.
template <typename LessT, typename Values>
constexpr int BlocksOf(TileShape shape) {
  return std::is_same_v<LessT, Less> ? shape.blocks : 1;
}

constexpr std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

/// Returns the tile shape of a merge: the number of threads in a block, and the number of items that each thread
/// merges. The shape depends on the number of bytes that an item takes in shared memory.
template <int kWays, typename Key, typename Values>
constexpr TileShape MergeShape() {
  const std::size_t bytes = std::max(sizeof(Key), kStagedValueBytes<Values>);
  const Tuning tuning = TuningTable(bytes);
  return kHasValues<Values> ? (kWays == 2 ? tuning.merge_pairs : tuning.merge_pairs_4)
                            : (kWays == 2 ? tuning.merge : tuning.merge_4);
}
template <typename Key, typename LessT, typename Values>
constexpr TileShape SortShape() {
  const Tuning tuning = TuningTable(kHasValues<Values> ? sizeof(Placed<Key>) : sizeof(Key));
  return EqualIsSame<Key, LessT>::kValue ? tuning.network_sort : tuning.sort;
}

/// Returns how many bytes of device memory are enough for the argument `way_tiles` of RunPass.
/// - n, runs: the number of items and of sorted runs
template <typename Key, typename Values>
constexpr std::uint64_t WayTileBytes(std::uint64_t n, std::uint64_t runs) {
  constexpr TileShape kFour = MergeShape<4, Key, Values>();
  constexpr std::uint64_t kTile =
      std::min<std::uint64_t>(MergeShape<2, Key, Values>().tile(), WayTileItems<4>(kFour.threads, kFour.items));
  return sizeof(WayTile<4>) * (n / kTile + (runs + 1) / 2 + 1);
}

/// Queues the kernel that finds which part of each sorted run belongs to each tile of the output. Stores the result for
/// tile t in way_tiles[t].
template <int kWays, std::uint32_t kTile, typename Runs, typename Lists, typename LessT>
cudaError_t RunPartition(WayTile<kWays>* way_tiles, const Runs& runs, std::uint64_t tiles, const Lists& lists,
                         LessT less, cudaStream_t stream) {
  constexpr std::uint64_t kManyTiles = kWays == 2 ? 2048 : 8192;
  static_assert(kManyTiles * kTile >> 32 == 0);
  const auto launch = [&](auto lanes) {
    constexpr int kLanes = decltype(lanes)::value;
    return Launch(PartitionKernel<kWays, kLanes, kTile, Runs, Lists, LessT>,
                  DivideUp(tiles, kPartitionThreads / kLanes), kPartitionThreads, 0, stream, way_tiles, runs, tiles,
                  lists, less);
  };
  // With one thread for each tile, the search does the least work. With few tiles, several threads for each tile are
  // faster.
  if (tiles >= kManyTiles) return launch(std::integral_constant<int, 1>{});
  return launch(std::integral_constant<int, kCutLanes<kWays>>{});
}

/// Queues the kernels of one merge pass.
/// - way_tiles: device memory for `tiles` objects of type WayTile<kWays>
/// - tiles: the number of thread blocks, at least one for each tile of the output
template <int kWays, TileShape kShape, typename Runs, typename Lists, typename Output, typename Values, typename LessT>
cudaError_t RunPass(void* way_tiles, const Runs& runs, std::uint64_t tiles, const Lists& lists, Output out,
                    Values values, LessT less, cudaStream_t stream) {
  using Shared = MergeShared<kWays, kShape.threads, kShape.items, typename Lists::Item, Values>;
  constexpr int kBlocks = BlocksOf<LessT, Values>(kShape);
  // Up to this number of tiles, the blocks of MergeTilesKernel search for their parts of the sorted runs. For more
  // tiles, a separate kernel for the search (PartitionKernel) is faster. See data/bench/NOTES.md.
  constexpr std::uint64_t kFewTiles = 640;
  if (tiles <= kFewTiles) {
    using Pass = MergePass<Runs, kWays>;
    // The search takes registers, so fewer blocks fit on a multiprocessor. This costs nothing: few tiles do not fill
    // the GPU.
    constexpr int kFewBlocks = std::max(1, kBlocks / 2);
    return Launch(MergeTilesKernel<kWays, kShape.threads, kShape.items, kFewBlocks, Pass, Lists, Output, Values, LessT>,
                  tiles, kShape.threads, Shared::kBytes, stream, Pass{runs, Shared::kTile}, lists, out, values, less);
  }
  WayTile<kWays>* const typed_tiles = static_cast<WayTile<kWays>*>(way_tiles);
  const cudaError_t error = RunPartition<kWays, Shared::kTile>(typed_tiles, runs, tiles, lists, less, stream);
  if (error != cudaSuccess) return error;
  using Cuts = const WayTile<kWays>*;
  return Launch(MergeTilesKernel<kWays, kShape.threads, kShape.items, kBlocks, Cuts, Lists, Output, Values, LessT>,
                tiles, kShape.threads, Shared::kBytes, stream, Cuts{typed_tiles}, lists, out, values, less);
}

/// Queues a kernel that divides in[0, n) into tiles of kShape.tile() items, and sorts each tile in one thread block.
template <TileShape kShape, typename Input, typename Output, typename Values, typename LessT>
cudaError_t SortTilesOf(Input in, Output out, std::uint64_t n, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<Input>;
  using Item = std::conditional_t<kHasValues<Values>, Placed<Key>, Key>;
  const std::uint64_t tiles = DivideUp(n, kShape.tile());
  constexpr std::size_t kBytes = kShape.tile() * sizeof(Item);
  if constexpr (EqualIsSame<Key, LessT>::kValue) {
    return Launch(NetworkTileSortKernel<kShape.threads, kShape.items, kShape.blocks, Input, Output, Values, LessT>,
                  tiles, kShape.threads, kBytes + kShape.threads * sizeof(std::uint32_t), stream, in, out, n, values,
                  less);
  } else {
    constexpr int kBlocks = BlocksOf<LessT, Values>(kShape);
    return Launch(TileSortKernel<kShape.threads, kShape.items, kBlocks, Input, Output, Values, LessT>, tiles,
                  kShape.threads, kBytes, stream, in, out, n, values, less);
  }
}

/// Queues a kernel that divides in[0, n) into tiles, and sorts each tile in one thread block. SortShape chooses the
/// size of a tile.
template <typename Input, typename Output, typename Values, typename LessT>
cudaError_t SortTiles(Input in, Output out, std::uint64_t n, Values values, LessT less, cudaStream_t stream) {
  return SortTilesOf<SortShape<ValueOf<Input>, LessT, Values>()>(in, out, n, values, less, stream);
}

}  // namespace gpusort::detail
