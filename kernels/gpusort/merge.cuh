// Merging and sorting on a GPU: MergeKeys, MergePairs, SortKeys, SortPairs and MergeRuns on a CUDA stream.
// Every call is stable (on equal keys: A before B, lower run before higher, earlier before later), takes 64-bit counts,
// and is made twice, as CUB's calls are: with workspace = nullptr it only sets workspace_bytes (no GPU needed); with
// that much device memory, 256-byte aligned, it queues its work on `stream` and returns. No call allocates or waits.
// Start at the public calls, at the end of this file.
//
// Lifetimes: what is passed by value or lies in host memory need not outlive the call. Device memory in use (lists,
// workspace, whatever a comparator points to) must stay until the stream has passed.
// Types: keys and values are trivially copyable and default constructible; keys have at most kMaxItemBytes (over 64
// they no longer fit the registers and are slow). Inputs are random-access iterators that the device can read (also
// counting, transform, ...). Comparators are copyable function objects, callable on the device as bool less(key, key),
// a strict weak order; std::less works without --expt-relaxed-constexpr. Errors: cudaErrorInvalidValue for a workspace
// that is too small, bounds that descend or more than 2^31 tiles; else what the launch said.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cub/block/block_radix_sort.cuh>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <functional>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpusort/merge_path.hpp"
#include "gpusort/tile_sort.hpp"
#include "gpusort/tuning.hpp"

namespace gpusort {

/// Two device lists of one length: items in `current`, room in `alternate`. After a call that takes one the result is
/// in `current`; the two pointers may have changed places and what `alternate` holds is unspecified.
template <typename Item>
struct DoubleBuffer {
  Item* current = nullptr;
  Item* alternate = nullptr;
};

namespace detail {

template <typename Iterator>
using ValueOf = typename std::iterator_traits<Iterator>::value_type;

/// std::less and cuda::std::less of the keys become Less, which any nvcc takes as device code and which the tile sort
/// knows for what it is.
template <typename LessT, typename Key>
struct DeviceLess {
  using Type = LessT;
};
template <typename Key>
struct DeviceLess<std::less<>, Key> {
  using Type = Less;
};
template <typename Key>
struct DeviceLess<std::less<Key>, Key> {
  using Type = Less;
};
template <typename Key>
struct DeviceLess<cuda::std::less<>, Key> {
  using Type = Less;
};
template <typename Key>
struct DeviceLess<cuda::std::less<Key>, Key> {
  using Type = Less;
};

template <typename LessT, typename Key>
auto ToDeviceLess(const LessT& less) {
  using Type = typename DeviceLess<LessT, Key>::Type;
  if constexpr (std::is_same_v<Type, LessT>) {
    return less;
  } else {
    return Type{};
  }
}

template <typename Key>
constexpr bool CheckItem() {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_default_constructible_v<Key>);
  static_assert(sizeof(Key) <= kMaxItemBytes, "sort long items through keys or rows");
  return true;
}

/// A key and its place in the tile: what a tile sort of pairs moves. 16 bits would do for the place, but not save any.
template <typename Key>
struct Placed {
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

/// Pointers to items and to const items are one kind of input: fewer kernels.
template <typename Iterator>
auto ToInput(Iterator in) {
  if constexpr (std::is_pointer_v<Iterator>) {
    return static_cast<const ValueOf<Iterator>*>(in);
  } else {
    return in;
  }
}

/// In place of lists of values: there are none.
struct NoValues {};

/// The values that go with the keys of A, of B, and of the output.
template <typename A, typename B, typename Output>
struct MergeValues {
  A a;
  B b;
  Output out;
};
template <typename Input, typename Output>
struct SortValues {
  Input in;
  Output out;
};

template <typename Values>
inline constexpr bool kHasValues = !std::is_same_v<Values, NoValues>;

/// What one block of a merge pass does: InputsOfTile in 32 bytes.
struct alignas(16) TileWork {
  std::uint64_t a_begin;
  std::uint64_t b_begin;
  std::uint64_t out_begin;
  std::uint32_t a_items;
  std::uint32_t b_items;
};

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr int kPartitionThreads = 128;
/// A block partitions one tile less than it has threads: the last only finds where the tile before it ends.
inline constexpr int kPartitionTiles = kPartitionThreads - 1;

/// Cuts a pass into the work of each tile. skip_odd: the odd run already lies where it should, so its tiles are empty.
template <std::uint32_t kTile, typename Runs, typename IteratorA, typename IteratorB, typename LessT>
__global__ void __launch_bounds__(kPartitionThreads)
    PartitionKernel(TileWork* works, Runs runs, std::uint64_t tiles, bool skip_odd, IteratorA a, IteratorB b,
                    LessT less) {
  __shared__ std::uint64_t co_ranks[kPartitionThreads];
  const MergePass<Runs> pass{runs, kTile};
  const std::uint64_t t = std::uint64_t{blockIdx.x} * kPartitionTiles + threadIdx.x;
  MergeTile tile;
  std::uint64_t co_rank = 0;
  if (t < tiles) {
    tile = pass.tile(t);
    co_rank = PairCoRank(tile.pair, tile.begin, a, b, less);
  }
  co_ranks[threadIdx.x] = co_rank;
  __syncthreads();
  if (t >= tiles || threadIdx.x == kPartitionTiles) return;
  const std::uint64_t end = tile.continued() ? co_ranks[threadIdx.x + 1] : tile.pair.a_items;
  const TileInputs inputs = InputsOfTile(tile, co_rank, end);
  TileWork work{inputs.a_begin, inputs.b_begin, tile.out_begin(), static_cast<std::uint32_t>(inputs.a_items),
                static_cast<std::uint32_t>(inputs.b_items)};
  // Where odd runs are skipped no run is empty, so only the odd one lacks a B.
  if (skip_odd && tile.pair.b_items == 0) work.a_items = work.b_items = 0;
  works[t] = work;
}

/// Item i of a tile's inputs, A's before B's.
template <typename Value, typename IteratorA, typename IteratorB>
__device__ __forceinline__ Value TileInput(IteratorA a, IteratorB b, const TileWork& work, std::uint32_t i) {
  if constexpr (std::is_pointer_v<IteratorA> && std::is_same_v<IteratorA, IteratorB>) {
    // One load from a chosen address, rather than a choice of two loads.
    const IteratorA from = i < work.a_items ? a + (work.a_begin + i) : b + (work.b_begin + (i - work.a_items));
    return *from;
  } else {
    if (i < work.a_items) return a[work.a_begin + i];
    return b[work.b_begin + (i - work.a_items)];
  }
}

/// Copies a tile of `count` items between shared memory, where each warp has just stored its threads' shares, and its
/// place in a list: neighbouring threads, neighbouring items. A warp writes only its own shares: no block-wide wait.
template <int kItems, typename Store>
__device__ __forceinline__ void StoreByWarps(std::uint32_t count, Store store) {
  const std::uint32_t first = threadIdx.x / kWarpThreads * kWarpThreads * kItems + threadIdx.x % kWarpThreads;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = first + i * kWarpThreads;
    if (at < count) store(at);
  }
}

/// One block merges one tile: load A and B, merge a share each, store. See MergeTileShare.
template <int kThreads, int kItems, int kBlocks, typename IteratorA, typename IteratorB, typename Output,
          typename Values, typename LessT>
__global__ void __launch_bounds__(kThreads, kBlocks)
    MergeTilesKernel(const TileWork* works, IteratorA a, IteratorB b, Output out, Values values, LessT less) {
  using Key = ValueOf<IteratorA>;
  constexpr std::uint32_t kTile = kThreads * kItems;
  extern __shared__ __align__(16) unsigned char shared[];
  Key* const tile = reinterpret_cast<Key*>(shared);

  const TileWork work = works[blockIdx.x];
  const std::uint32_t count = work.a_items + work.b_items;
  if (count == 0) return;

  Key keys[kItems];
  if (count == kTile) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) keys[i] = TileInput<Key>(a, b, work, i * kThreads + threadIdx.x);
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const std::uint32_t at = i * kThreads + threadIdx.x;
      if (at < count) keys[i] = TileInput<Key>(a, b, work, at);
    }
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = i * kThreads + threadIdx.x;
    if (at < count) tile[at] = keys[i];
  }
  __syncthreads();

  // Runs that do not overlap, odd runs and sorted inputs: A, then B, is the answer.
  const bool in_order = work.a_items == 0 || work.b_items == 0 || !less(tile[work.a_items], tile[work.a_items - 1]);
  if (in_order) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const std::uint32_t at = i * kThreads + threadIdx.x;
      if (at < count) {
        out[work.out_begin + at] = keys[i];
        if constexpr (kHasValues<Values>) {
          using Value = ValueOf<decltype(values.a)>;
          values.out[work.out_begin + at] = TileInput<Value>(values.a, values.b, work, at);
        }
      }
    }
    return;
  }

  std::uint32_t from[kItems];
  MergeTileShare<kItems>(tile, work.a_items, work.b_items, threadIdx.x, keys, from, less);
  __syncthreads();
  StoreShare<kItems>(tile, count, threadIdx.x, keys);
  __syncwarp();
  StoreByWarps<kItems>(count, [&](std::uint32_t at) { out[work.out_begin + at] = tile[at]; });

  if constexpr (kHasValues<Values>) {
    using Value = ValueOf<decltype(values.a)>;
    std::uint32_t* const places = reinterpret_cast<std::uint32_t*>(shared);
    __syncthreads();
    StoreShare<kItems>(places, count, threadIdx.x, from);
    __syncwarp();
    StoreByWarps<kItems>(count, [&](std::uint32_t at) {
      values.out[work.out_begin + at] = TileInput<Value>(values.a, values.b, work, places[at]);
    });
  }
}

/// One block sorts one tile by merging: the phases of SortTile. Input and output may be the same list; values not.
template <int kThreads, int kItems, int kBlocks, typename Input, typename Output, typename Values, typename LessT>
__global__ void __launch_bounds__(kThreads, kBlocks)
    TileSortKernel(Input in, Output out, std::uint64_t n, Values values, LessT less) {
  using Key = ValueOf<Input>;
  constexpr bool kPairs = kHasValues<Values>;
  using Item = std::conditional_t<kPairs, Placed<Key>, Key>;
  constexpr std::uint32_t kTile = kThreads * kItems;
  extern __shared__ __align__(16) unsigned char shared[];
  Item* const tile = reinterpret_cast<Item*>(shared);
  const auto item_less = [&] {
    if constexpr (kPairs) {
      return PlacedLess<LessT>{less};
    } else {
      return less;
    }
  }();

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
  // The wait in the vote is also the one between reading the neighbour's share here and writing shares below.
  const bool in_order = __syncthreads_and(ShareInOrder<kItems>(tile, threadIdx.x, items, share, item_less));
  if (!in_order) {
    SortItems<kItems>(items, share, item_less);
    StoreShare<kItems>(tile, count, threadIdx.x, items);
    // Runs of one warp's threads or fewer are merged by that warp alone.
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
  StoreByWarps<kItems>(count, [&](std::uint32_t at) {
    if constexpr (kPairs) {
      out[begin + at] = tile[at].key;
      values.out[begin + at] = values.in[begin + tile[at].place];
    } else {
      out[begin + at] = tile[at];
    }
  });
}

/// One block sorts one tile of integers by their digits.
template <int kThreads, int kItems, typename Input, typename Output>
__global__ void __launch_bounds__(kThreads, 1) TileRadixSortKernel(Input in, Output out, std::uint64_t n) {
  using Key = ValueOf<Input>;
  using BlockSort = cub::BlockRadixSort<Key, kThreads, kItems>;
  constexpr std::uint32_t kTile = kThreads * kItems;
  extern __shared__ __align__(16) unsigned char shared[];

  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTile;
  const std::uint32_t count = n - begin < kTile ? static_cast<std::uint32_t>(n - begin) : kTile;
  Key keys[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    // Which thread starts with which key does not matter: equal numbers are the same. The padding sorts to the end.
    const std::uint32_t at = i * kThreads + threadIdx.x;
    keys[i] = at < count ? static_cast<Key>(in[begin + at]) : cuda::std::numeric_limits<Key>::max();
  }
  BlockSort(*reinterpret_cast<typename BlockSort::TempStorage*>(shared)).SortBlockedToStriped(keys);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint32_t at = i * kThreads + threadIdx.x;
    if (at < count) out[begin + at] = keys[i];
  }
}

/// Bounds of runs on their way to the device as a kernel's parameter (at most 4 KB): copied when the launch returns.
struct BoundsChunk {
  static constexpr std::uint32_t kCount = 480;
  std::uint64_t bounds[kCount];
};

/// A template only so that the header may be included twice in a program.
template <typename = void>
__global__ void StoreBoundsKernel(std::uint64_t* out, BoundsChunk chunk, std::uint32_t count) {
  if (threadIdx.x < count) out[threadIdx.x] = chunk.bounds[threadIdx.x];
}

template <typename Kernel, typename... Arguments>
cudaError_t Launch(Kernel* kernel, std::uint64_t blocks, int threads, std::size_t shared_bytes, cudaStream_t stream,
                   Arguments... arguments) {
  if (blocks == 0) return cudaSuccess;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  constexpr std::size_t kAlwaysThere = 48 << 10;
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
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// Hands out parts of the workspace; with no memory, only counts.
class Arena {
 public:
  explicit Arena(void* memory) : memory_(static_cast<unsigned char*>(memory)) {}

  template <typename T>
  T* Take(std::uint64_t count) {
    T* const part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return part;
  }
  /// Never 0, so that a workspace of this size is never null.
  std::size_t bytes() const { return bytes_ == 0 ? kAlign : bytes_; }

 private:
  static constexpr std::size_t kAlign = 256;
  unsigned char* memory_;
  std::size_t bytes_ = 0;
};

/// Calls function(integral_constant<TunedFor, row>) with the row of the current device.
template <typename Function>
cudaError_t WithTuning(Function function) {
  int device = 0, major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess) return error;
  if (TuningRow(major) == TunedFor::kHopper) return function(std::integral_constant<TunedFor, TunedFor::kHopper>{});
  return function(std::integral_constant<TunedFor, TunedFor::kBaseline>{});
}

/// TileShape::blocks where it applies.
template <typename LessT, typename Values>
constexpr int BlocksOf(TileShape shape) {
  return std::is_same_v<LessT, Less> && !kHasValues<Values> ? shape.blocks : 1;
}

constexpr std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

template <typename Key>
constexpr TileShape MergeShape(TunedFor row) {
  return TuningTable(row, sizeof(Key), false).merge;
}

/// Numbers whose tiles may be sorted by digits: integers in their own order, with nothing to carry along.
template <typename Key, typename LessT, typename Values>
inline constexpr bool kNumbers = std::is_integral_v<Key> && !std::is_same_v<Key, bool> && sizeof(Key) <= 4 &&
                                 std::is_same_v<LessT, Less> && !kHasValues<Values>;

template <typename Key, typename LessT, typename Values>
constexpr TileShape SortShape(TunedFor row) {
  constexpr bool kByDigits = kNumbers<Key, LessT, Values>;
  const std::size_t item_bytes = kHasValues<Values> ? sizeof(Placed<Key>) : sizeof(Key);
  const Tuning tuning = TuningTable(row, item_bytes, kByDigits);
  return kByDigits ? tuning.radix : tuning.sort;
}

constexpr std::uint64_t MaxTiles(std::uint64_t n, std::uint64_t runs, std::uint64_t tile_items) {
  return n / tile_items + (runs + 1) / 2 + 1;
}
/// Tiles of merging `runs` (at most n of them, at any level of a tree) whatever the device.
template <typename Key>
constexpr std::uint64_t MaxTilesAnywhere(std::uint64_t n, std::uint64_t runs) {
  return std::max(MaxTiles(n, runs, MergeShape<Key>(TunedFor::kBaseline).tile()),
                  MaxTiles(n, runs, MergeShape<Key>(TunedFor::kHopper).tile()));
}

/// One pass: a small kernel cuts, a large one merges. `tiles` is pass.tiles() or more.
template <TileShape kShape, typename Runs, typename IteratorA, typename IteratorB, typename Output, typename Values,
          typename LessT>
cudaError_t RunPass(TileWork* works, const Runs& runs, std::uint64_t tiles, bool skip_odd, IteratorA a, IteratorB b,
                    Output out, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<IteratorA>;
  constexpr int kBlocks = BlocksOf<LessT, Values>(kShape);
  constexpr std::size_t kSharedBytes =
      std::size_t{kShape.tile()} * (kHasValues<Values> ? std::max<std::size_t>(sizeof(Key), 4) : sizeof(Key));
  const cudaError_t error =
      Launch(PartitionKernel<kShape.tile(), Runs, IteratorA, IteratorB, LessT>, DivideUp(tiles, kPartitionTiles),
             kPartitionThreads, 0, stream, works, runs, tiles, skip_odd, a, b, less);
  if (error != cudaSuccess) return error;
  return Launch(MergeTilesKernel<kShape.threads, kShape.items, kBlocks, IteratorA, IteratorB, Output, Values, LessT>,
                tiles, kShape.threads, kSharedBytes, stream, works, a, b, out, values, less);
}

/// Sorts every tile of kShape.
template <TileShape kShape, typename Input, typename Output, typename Values, typename LessT>
cudaError_t RunTileSort(Input in, Output out, std::uint64_t n, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<Input>;
  using Item = std::conditional_t<kHasValues<Values>, Placed<Key>, Key>;
  constexpr int kBlocks = BlocksOf<LessT, Values>(kShape);
  return Launch(TileSortKernel<kShape.threads, kShape.items, kBlocks, Input, Output, Values, LessT>,
                DivideUp(n, kShape.tile()), kShape.threads, kShape.tile() * sizeof(Item), stream, in, out, n, values,
                less);
}

/// RunTileSort for kNumbers.
template <TileShape kShape, typename Input, typename Output>
cudaError_t RunTileRadixSort(Input in, Output out, std::uint64_t n, cudaStream_t stream) {
  using Storage = typename cub::BlockRadixSort<ValueOf<Input>, kShape.threads, kShape.items>::TempStorage;
  return Launch(TileRadixSortKernel<kShape.threads, kShape.items, Input, Output>, DivideUp(n, kShape.tile()),
                kShape.threads, sizeof(Storage), stream, in, out, n);
}

/// Sorts every tile of SortShape.
template <TunedFor kRow, typename Input, typename Output, typename Values, typename LessT>
cudaError_t SortTiles(Input in, Output out, std::uint64_t n, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<Input>;
  constexpr TileShape kShape = SortShape<Key, LessT, Values>(kRow);
  if constexpr (kNumbers<Key, LessT, Values>) {
    return RunTileRadixSort<kShape>(in, out, n, stream);
  } else {
    return RunTileSort<kShape>(in, out, n, values, less, stream);
  }
}

/// Two lists of pairs; `values` is unused where there are none.
template <typename Key, typename Value>
struct PassBuffers {
  DoubleBuffer<Key> keys;
  DoubleBuffer<Value> values;

  auto merge_values() const {
    if constexpr (std::is_same_v<Value, NoValues>) {
      return NoValues{};
    } else {
      return MergeValues<const Value*, const Value*, Value*>{values.current, values.current, values.alternate};
    }
  }
  void Swap() {
    std::swap(keys.current, keys.alternate);
    std::swap(values.current, values.alternate);
  }
};

/// All passes until one run is left, which is then in `current`. No run may be empty. n: items of all runs.
template <TunedFor kRow, typename Runs, typename Key, typename Value, typename LessT>
cudaError_t RunPasses(TileWork* works, Runs runs, std::uint64_t run_count, std::uint64_t n,
                      PassBuffers<Key, Value>& buffers, LessT less, cudaStream_t stream) {
  constexpr std::uint64_t kTile = MergeShape<Key>(kRow).tile();
  OddRunRule odd_run;
  for (; run_count > 1; run_count = (run_count + 1) / 2, runs = runs.Merged()) {
    std::uint64_t tiles;
    if constexpr (std::is_same_v<Runs, UniformRuns>) {
      tiles = MergePass<Runs>{runs, kTile}.tiles();
    } else {
      // The bounds are on the device; this is BoundedRuns::FirstTile behind the last pair.
      tiles = n / kTile + (run_count + 1) / 2;
    }
    const Key* const keys = buffers.keys.current;
    const cudaError_t error =
        RunPass<MergeShape<Key>(kRow)>(works, runs, tiles, odd_run.Skips(run_count), keys, keys, buffers.keys.alternate,
                                       buffers.merge_values(), less, stream);
    if (error != cudaSuccess) return error;
    buffers.Swap();
  }
  return cudaSuccess;
}

/// The number of tile-sorted runs that a sort starts with.
template <TunedFor kRow, typename Key, typename LessT, typename Values>
constexpr std::uint64_t SortedTiles(std::uint64_t n) {
  return DivideUp(n, SortShape<Key, LessT, Values>(kRow).tile());
}
template <typename Key, typename LessT, typename Values>
constexpr std::uint64_t SortedTilesAnywhere(std::uint64_t n) {
  return std::max(SortedTiles<TunedFor::kBaseline, Key, LessT, Values>(n),
                  SortedTiles<TunedFor::kHopper, Key, LessT, Values>(n));
}

/// Sorts in two lists of the caller's.
template <typename Key, typename Value, typename LessT>
cudaError_t SortBuffers(void* workspace, std::size_t& workspace_bytes, PassBuffers<Key, Value>& buffers,
                        std::uint64_t n, LessT less, cudaStream_t stream) {
  using Values = std::conditional_t<std::is_same_v<Value, NoValues>, NoValues, SortValues<const Value*, Value*>>;
  const std::uint64_t most_runs = SortedTilesAnywhere<Key, LessT, Values>(n);
  Arena arena(workspace);
  TileWork* const works = arena.Take<TileWork>(most_runs > 1 ? MaxTilesAnywhere<Key>(n, most_runs) : 0);
  if (workspace == nullptr) {
    workspace_bytes = arena.bytes();
    return cudaSuccess;
  }
  if (workspace_bytes < arena.bytes()) return cudaErrorInvalidValue;
  return WithTuning([&](auto row) {
    constexpr TunedFor kRow = decltype(row)::value;
    // Keys are sorted where they are; values need another list to be gathered to.
    Values values{};
    if constexpr (kHasValues<Values>) {
      values = {buffers.values.current, buffers.values.alternate};
      buffers.Swap();
    }
    const Key* const in = kHasValues<Values> ? buffers.keys.alternate : buffers.keys.current;
    const cudaError_t error = SortTiles<kRow>(in, buffers.keys.current, n, values, less, stream);
    if (error != cudaSuccess) return error;
    const UniformRuns runs{n, SortShape<Key, LessT, Values>(kRow).tile()};
    return RunPasses<kRow>(works, runs, runs.runs(), n, buffers, less, stream);
  });
}

/// Sorts from one list to another by way of the workspace.
template <typename Input, typename ValueInput, typename Value, typename LessT>
cudaError_t SortLists(void* workspace, std::size_t& workspace_bytes, Input in, ValueInput values_in,
                      ValueOf<Input>* out, Value* values_out, std::uint64_t n, LessT less, cudaStream_t stream) {
  using Key = ValueOf<Input>;
  using Values = std::conditional_t<std::is_same_v<Value, NoValues>, NoValues, SortValues<ValueInput, Value*>>;
  const std::uint64_t most_runs = SortedTilesAnywhere<Key, LessT, Values>(n);
  Arena arena(workspace);
  TileWork* const works = arena.Take<TileWork>(most_runs > 1 ? MaxTilesAnywhere<Key>(n, most_runs) : 0);
  Key* const spare = arena.Take<Key>(most_runs > 1 ? n : 0);
  Value* const values_spare = arena.Take<Value>(kHasValues<Values> && most_runs > 1 ? n : 0);
  if (workspace == nullptr) {
    workspace_bytes = arena.bytes();
    return cudaSuccess;
  }
  if (workspace_bytes < arena.bytes()) return cudaErrorInvalidValue;
  return WithTuning([&](auto row) {
    constexpr TunedFor kRow = decltype(row)::value;
    const UniformRuns runs{n, SortShape<Key, LessT, Values>(kRow).tile()};
    // The last of the passes, each of which changes sides, has to end in `out`.
    PassBuffers<Key, Value> buffers{{out, spare}, {values_out, values_spare}};
    if (PassCount(runs.runs()) % 2 != 0) buffers.Swap();
    Values values{};
    if constexpr (kHasValues<Values>) values = {values_in, buffers.values.current};
    const cudaError_t error = SortTiles<kRow>(in, buffers.keys.current, n, values, less, stream);
    if (error != cudaSuccess) return error;
    return RunPasses<kRow>(works, runs, runs.runs(), n, buffers, less, stream);
  });
}

template <typename IteratorA, typename IteratorB, typename Output, typename Values, typename LessT>
cudaError_t MergeLists(void* workspace, std::size_t& workspace_bytes, IteratorA a, std::uint64_t m, IteratorB b,
                       std::uint64_t n, Output out, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<IteratorA>;
  Arena arena(workspace);
  TileWork* const works = arena.Take<TileWork>(MaxTilesAnywhere<Key>(m + n, 2));
  if (workspace == nullptr) {
    workspace_bytes = arena.bytes();
    return cudaSuccess;
  }
  if (workspace_bytes < arena.bytes()) return cudaErrorInvalidValue;
  return WithTuning([&](auto row) {
    constexpr TunedFor kRow = decltype(row)::value;
    const TwoLists lists{m, n};
    const std::uint64_t tiles = MergePass<TwoLists>{lists, MergeShape<Key>(kRow).tile()}.tiles();
    return RunPass<MergeShape<Key>(kRow)>(works, lists, tiles, false, a, b, out, values, less, stream);
  });
}

/// Number of runs that are not empty. False if the bounds descend or do not begin with 0.
inline bool CountRuns(const std::uint64_t* bounds, std::uint32_t runs, std::uint32_t& count) {
  count = 0;
  if (runs == 0) return true;
  if (bounds[0] != 0) return false;
  for (std::uint32_t r = 0; r < runs; ++r) {
    if (bounds[r + 1] < bounds[r]) return false;
    count += bounds[r + 1] > bounds[r];
  }
  return true;
}

/// Queues the copy of the bounds of all runs that are not empty.
inline cudaError_t StoreBounds(std::uint64_t* out, const std::uint64_t* bounds, std::uint32_t runs,
                               cudaStream_t stream) {
  BoundsChunk chunk;
  chunk.bounds[0] = 0;
  std::uint32_t filled = 1;
  for (std::uint32_t r = 0; r < runs; ++r) {
    if (bounds[r + 1] > bounds[r]) chunk.bounds[filled++] = bounds[r + 1];
    if (filled < BoundsChunk::kCount && r + 1 < runs) continue;
    const cudaError_t error = Launch(StoreBoundsKernel<>, 1, BoundsChunk::kCount, 0, stream, out, chunk, filled);
    if (error != cudaSuccess) return error;
    out += filled;
    filled = 0;
  }
  return cudaSuccess;
}

/// The workspace of MergeRuns. `spare`: room for all keys where the caller has only one list for them.
template <typename Key>
struct MergeRunsArena {
  std::uint64_t* bounds;
  TileWork* works;
  Key* spare;
  std::size_t bytes;

  MergeRunsArena(void* workspace, std::uint64_t n, std::uint32_t runs, bool needs_spare) {
    Arena arena(workspace);
    bounds = arena.Take<std::uint64_t>(std::uint64_t{runs} + 1);
    works = arena.Take<TileWork>(MaxTilesAnywhere<Key>(n, runs));
    spare = arena.Take<Key>(needs_spare ? n : 0);
    bytes = arena.bytes();
  }
};

}  // namespace detail

/// Merges the sorted lists a[0, m) and b[0, n) to out[0, m + n), which overlaps neither. `out` is any random-access
/// iterator that the device can write.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT = Less>
cudaError_t MergeKeys(void* workspace, std::size_t& workspace_bytes, IteratorA a, std::uint64_t m, IteratorB b,
                      std::uint64_t n, Output out, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<IteratorA>;
  static_assert(detail::CheckItem<Key>());
  return detail::MergeLists(workspace, workspace_bytes, detail::ToInput(a), m, detail::ToInput(b), n, out,
                            detail::NoValues{}, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// MergeKeys that takes a value along with each key. Values are copied once, and may be of any size.
template <typename IteratorA, typename ValuesA, typename IteratorB, typename ValuesB, typename Output,
          typename ValuesOutput, typename LessT = Less>
cudaError_t MergePairs(void* workspace, std::size_t& workspace_bytes, IteratorA a, ValuesA values_a, std::uint64_t m,
                       IteratorB b, ValuesB values_b, std::uint64_t n, Output out, ValuesOutput values_out,
                       LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<IteratorA>;
  static_assert(detail::CheckItem<Key>());
  const detail::MergeValues values{detail::ToInput(values_a), detail::ToInput(values_b), values_out};
  return detail::MergeLists(workspace, workspace_bytes, detail::ToInput(a), m, detail::ToInput(b), n, out, values,
                            detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Sorts in[0, n) to out[0, n). `in` may be `out` itself, but not overlap it otherwise. The workspace holds n keys.
template <typename Input, typename LessT = Less>
cudaError_t SortKeys(void* workspace, std::size_t& workspace_bytes, Input in, detail::ValueOf<Input>* out,
                     std::uint64_t n, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  return detail::SortLists(workspace, workspace_bytes, detail::ToInput(in), detail::NoValues{}, out,
                           static_cast<detail::NoValues*>(nullptr), n, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Sorts keys.current[0, n); the workspace is under 1 % of the keys, and grows with n. Only n is looked at while it is
/// asked for.
template <typename Key, typename LessT = Less>
cudaError_t SortKeys(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys, std::uint64_t n,
                     LessT less = {}, cudaStream_t stream = nullptr) {
  static_assert(detail::CheckItem<Key>());
  detail::PassBuffers<Key, detail::NoValues> buffers{keys, {}};
  const cudaError_t error =
      detail::SortBuffers(workspace, workspace_bytes, buffers, n, detail::ToDeviceLess<LessT, Key>(less), stream);
  keys = buffers.keys;
  return error;
}

/// SortKeys that takes a value along with each key. Inputs and outputs do not overlap; the workspace holds n values
/// too.
template <typename Input, typename ValueInput, typename LessT = Less>
cudaError_t SortPairs(void* workspace, std::size_t& workspace_bytes, Input in, ValueInput values_in,
                      detail::ValueOf<Input>* out, detail::ValueOf<ValueInput>* values_out, std::uint64_t n,
                      LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  return detail::SortLists(workspace, workspace_bytes, detail::ToInput(in), detail::ToInput(values_in), out, values_out,
                           n, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// SortPairs in two pairs of lists; keys and values change places together.
template <typename Key, typename Value, typename LessT = Less>
cudaError_t SortPairs(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                      DoubleBuffer<Value>& values, std::uint64_t n, LessT less = {}, cudaStream_t stream = nullptr) {
  static_assert(detail::CheckItem<Key>());
  detail::PassBuffers<Key, Value> buffers{keys, values};
  const cudaError_t error =
      detail::SortBuffers(workspace, workspace_bytes, buffers, n, detail::ToDeviceLess<LessT, Key>(less), stream);
  keys = buffers.keys;
  values = buffers.values;
  return error;
}

/// The workspace of MergeRuns on a DoubleBuffer, for up to n keys in up to `runs` runs: for who makes the workspace
/// before the runs are known. It grows with both.
template <typename Key>
std::size_t MergeRunsWorkspace(std::uint64_t n, std::uint32_t runs) {
  return detail::MergeRunsArena<Key>(nullptr, n, runs, false).bytes;
}

/// Merges `runs` sorted runs that lie one after the other: run r is [bounds[r], bounds[r + 1]) of keys.current, and
/// bounds[0] is 0. `bounds` is host memory with runs + 1 numbers; it is read before the call returns, and also while
/// the workspace is asked for. Runs may be empty and of any lengths; their order decides between equal keys. A tree of
/// pairwise passes: ceil(log2(runs)) times through the keys.
template <typename Key, typename LessT = Less>
cudaError_t MergeRuns(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                      const std::uint64_t* bounds, std::uint32_t runs, LessT less = {}, cudaStream_t stream = nullptr) {
  static_assert(detail::CheckItem<Key>());
  std::uint32_t live = 0;
  if (!detail::CountRuns(bounds, runs, live)) return cudaErrorInvalidValue;
  const std::uint64_t n = runs == 0 ? 0 : bounds[runs];
  const detail::MergeRunsArena<Key> arena(workspace, n, runs, false);
  if (workspace == nullptr) {
    workspace_bytes = arena.bytes;
    return cudaSuccess;
  }
  if (workspace_bytes < arena.bytes) return cudaErrorInvalidValue;
  if (live < 2) return cudaSuccess;
  cudaError_t error = detail::StoreBounds(arena.bounds, bounds, runs, stream);
  if (error != cudaSuccess) return error;
  detail::PassBuffers<Key, detail::NoValues> buffers{keys, {}};
  error = detail::WithTuning([&](auto row) {
    return detail::RunPasses<decltype(row)::value>(arena.works, BoundedRuns{arena.bounds, live}, live, n, buffers,
                                                   detail::ToDeviceLess<LessT, Key>(less), stream);
  });
  keys = buffers.keys;
  return error;
}

/// MergeRuns from in[0, n) to out[0, n), n = bounds[runs], which do not overlap. The workspace holds n keys more if
/// there are over two runs.
template <typename Input, typename LessT = Less>
cudaError_t MergeRuns(void* workspace, std::size_t& workspace_bytes, Input in, detail::ValueOf<Input>* out,
                      const std::uint64_t* bounds, std::uint32_t runs, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  std::uint32_t live = 0;
  if (!detail::CountRuns(bounds, runs, live)) return cudaErrorInvalidValue;
  const std::uint64_t n = runs == 0 ? 0 : bounds[runs];
  const detail::MergeRunsArena<Key> arena(workspace, n, runs, runs > 2);
  if (workspace == nullptr) {
    workspace_bytes = arena.bytes;
    return cudaSuccess;
  }
  if (workspace_bytes < arena.bytes) return cudaErrorInvalidValue;
  if (live == 0) return cudaSuccess;
  const cudaError_t error = detail::StoreBounds(arena.bounds, bounds, runs, stream);
  if (error != cudaSuccess) return error;
  return detail::WithTuning([&](auto row) {
    constexpr TunedFor kRow = decltype(row)::value;
    const auto device_less = detail::ToDeviceLess<LessT, Key>(less);
    // The first pass leaves the input alone (it copies a single run); the others go to and fro and end in `out`.
    const std::uint64_t after_first = (std::uint64_t{live} + 1) / 2;
    detail::PassBuffers<Key, detail::NoValues> buffers{{out, arena.spare}, {}};
    if (PassCount(after_first) % 2 != 0) buffers.Swap();
    const BoundedRuns first{arena.bounds, live};
    const std::uint64_t tiles = n / detail::MergeShape<Key>(kRow).tile() + after_first;
    const cudaError_t status = detail::RunPass<detail::MergeShape<Key>(kRow)>(
        arena.works, first, tiles, false, detail::ToInput(in), detail::ToInput(in), buffers.keys.current,
        detail::NoValues{}, device_less, stream);
    if (status != cudaSuccess) return status;
    return detail::RunPasses<kRow>(arena.works, first.Merged(), after_first, n, buffers, device_less, stream);
  });
}

}  // namespace gpusort
