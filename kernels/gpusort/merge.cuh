// Merging and sorting on a GPU: MergeKeys, MergePairs, SortKeys, SortPairs and MergeRuns, at the end of this file. All
// of them are stable: equal keys keep their input order.
// - Workspace: call each function twice, as in CUB. With workspace = nullptr, it only sets workspace_bytes, and needs
//   no GPU. Then allocate this many bytes of device memory, aligned to 256 bytes, and pass them as the workspace.
// - Stream: with a workspace, a function queues its work on `stream` and returns. No function allocates memory or
//   waits.
// - Lifetimes: device memory in use must stay valid until the stream has finished the work. Arguments in host memory
//   need not outlive the call.
// - Items: keys and values must be trivially copyable and default constructible. Keys have at most kMaxItemBytes bytes.
//   Keys of more than 64 bytes are slow.
// - Inputs: random-access iterators that the device can read, including counting and transform iterators.
// - Comparators: copyable function objects that the device can call as bool less(key, key), a strict weak order.
//   std::less works without --expt-relaxed-constexpr.
// - Errors: a function returns cudaErrorInvalidValue if the workspace is too small, if bounds descend or do not begin
//   with 0, or if there are more than 2^31 thread blocks. Otherwise it returns the result of the kernel launches.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cuda/std/functional>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "gpusort/merge_kernels.cuh"
#include "gpusort/merge_path.hpp"
#include "gpusort/tuning.hpp"

namespace gpusort {

/// Two device lists of the same length, as in CUB: `current` holds the items, and `alternate` is scratch memory. A
/// function that takes a DoubleBuffer leaves its result in `current`. It may overwrite both lists and swap the two
/// pointers.
template <typename Item>
struct DoubleBuffer {
  Item* current = nullptr;
  Item* alternate = nullptr;
};

namespace detail {

/// Returns Less{} if `less` is std::less or cuda::std::less, and returns any other order unchanged. nvcc accepts Less
/// as device code without any option, and the sort kernels for Less are faster.
template <typename LessT, typename Key>
auto ToDeviceLess(const LessT& less) {
  if constexpr (std::is_same_v<LessT, std::less<>> || std::is_same_v<LessT, std::less<Key>> ||
                std::is_same_v<LessT, cuda::std::less<>> || std::is_same_v<LessT, cuda::std::less<Key>>) {
    return Less{};
  } else {
    return less;
  }
}

template <typename Key>
constexpr bool CheckItem() {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_default_constructible_v<Key>);
  static_assert(sizeof(Key) <= kMaxItemBytes, "sort long items through keys or rows");
  return true;
}

/// Converts a pointer to items into a pointer to const items, so const and non-const lists use the same kernel. Returns
/// any other iterator unchanged.
template <typename Iterator>
auto ToInput(Iterator in) {
  if constexpr (std::is_pointer_v<Iterator>) {
    return static_cast<const ValueOf<Iterator>*>(in);
  } else {
    return in;
  }
}

/// Divides the caller's workspace into arrays. If the workspace is null, only adds up the sizes of the arrays.
class WorkspaceLayout {
 public:
  explicit WorkspaceLayout(void* memory) : memory_(static_cast<unsigned char*>(memory)) {}

  template <typename T>
  T* Take(std::uint64_t count) {
    T* const array = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return array;
  }
  /// Returns the total size of all arrays, in bytes. Returns at least kAlign, so that a workspace of this size is never
  /// null.
  std::size_t bytes() const { return bytes_ == 0 ? kAlign : bytes_; }

 private:
  static constexpr std::size_t kAlign = 256;
  unsigned char* memory_;
  std::size_t bytes_ = 0;
};

/// Checks the caller's workspace. Returns one of:
/// - std::nullopt: the workspace has at least `needed` bytes, and the public function can do its work.
/// - cudaSuccess: there is no workspace, because the caller asks for its size. Sets workspace_bytes to `needed`.
/// - cudaErrorInvalidValue: the workspace is too small.
inline std::optional<cudaError_t> EndsHere(const void* workspace, std::size_t& workspace_bytes, std::size_t needed) {
  if (workspace != nullptr) return workspace_bytes < needed ? std::optional(cudaErrorInvalidValue) : std::nullopt;
  workspace_bytes = needed;
  return cudaSuccess;
}

/// The lists that merge passes read and write: two lists of keys and, for pairs, two lists of values. Each pass reads
/// the lists `current` and writes the lists `alternate`. Then Swap exchanges the two.
template <typename Key, typename Value>
struct PassBuffers {
  DoubleBuffer<Key> keys;
  DoubleBuffer<Value> values;

  auto merge_values() const {
    if constexpr (std::is_same_v<Value, NoValues>) {
      return NoValues{};
    } else {
      return MergeValues<OneList<const Value*>, Value*>{{values.current}, values.alternate};
    }
  }
  void Swap() {
    std::swap(keys.current, keys.alternate);
    std::swap(values.current, values.alternate);
  }
};

/// Returns the number of tiles of a merge pass over n items in run_count sorted runs. A tile is the part of the output
/// that one block merges. Does not read the bounds of the runs, which may be in device memory.
template <int kWays, std::uint32_t kTile, typename Runs>
std::uint64_t TilesOfPass(const Runs& runs, std::uint64_t run_count, std::uint64_t n) {
  if constexpr (std::is_same_v<Runs, UniformRuns>) {
    return MergePass<Runs, kWays>{runs, kTile}.tiles();
  } else {
    // At most n / kTile tiles are full. Each group of kWays sorted runs has at most one tile that is not full.
    return n / kTile + (run_count + kWays - 1) / kWays;
  }
}

/// Queues one merge pass from the list `in`, which contains all sorted runs, to the list `out`. Sets `runs` and
/// `run_count` to the runs after the pass and their number.
template <typename Runs, typename Input, typename Key, typename Values, typename LessT>
cudaError_t RunPassOf(void* way_tiles, Runs& runs, std::uint64_t& run_count, std::uint64_t n, Input in, Key* out,
                      Values values, LessT less, cudaStream_t stream) {
  const OneList<Input> lists{in};
  const auto pass = [&](auto ways) {
    constexpr int kWays = decltype(ways)::value;
    constexpr TileShape kShape = MergeShape<kWays, Key, Values>();
    constexpr std::uint32_t kTile = WayTileItems<kWays>(kShape.threads, kShape.items);
    const std::uint64_t tiles = TilesOfPass<kWays, kTile>(runs, run_count, n);
    run_count = (run_count + kWays - 1) / kWays;
    const Runs before = runs;
    runs = runs.Merged(MergePass<Runs, kWays>::kLevels);
    return RunPass<kWays, kShape>(way_tiles, before, tiles, lists, out, values, less, stream);
  };
  // Merging 4 sorted runs at a time reads and writes device memory half as often as merging 2. If the number of levels
  // of pairwise merging is odd, the first pass merges 2 runs at a time. A single run is copied to the output.
  if (LevelCount(run_count) % 2 != 0 || run_count == 1) return pass(std::integral_constant<int, 2>{});
  return pass(std::integral_constant<int, 4>{});
}

/// Queues merge passes on `stream` until one sorted run is left. Leaves the result in the lists `current` of `buffers`.
/// n is the number of items of all runs together.
template <typename Runs, typename Key, typename Value, typename LessT>
cudaError_t RunPasses(void* way_tiles, Runs runs, std::uint64_t run_count, std::uint64_t n,
                      PassBuffers<Key, Value>& buffers, LessT less, cudaStream_t stream) {
  while (run_count > 1) {
    const Key* const keys = buffers.keys.current;
    const cudaError_t error =
        RunPassOf(way_tiles, runs, run_count, n, keys, buffers.keys.alternate, buffers.merge_values(), less, stream);
    if (error != cudaSuccess) return error;
    buffers.Swap();
  }
  return cudaSuccess;
}

/// Returns the sorted runs with which a sort begins to merge. Each run is a tile, the part of the items that one thread
/// block has sorted.
template <typename Key, typename LessT, typename Values>
constexpr UniformRuns SortedTiles(std::uint64_t n) {
  return {n, SortShape<Key, LessT, Values>().tile()};
}

/// Sorts the n items in the lists `current` of `buffers`, and leaves the result in these lists. The merge passes
/// alternate between the two lists of the caller, so the workspace needs no room for items.
template <typename Key, typename Value, typename LessT>
cudaError_t SortBuffers(void* workspace, std::size_t& workspace_bytes, PassBuffers<Key, Value>& buffers,
                        std::uint64_t n, LessT less, cudaStream_t stream) {
  using Values = std::conditional_t<std::is_same_v<Value, NoValues>, NoValues, SortValues<const Value*, Value*>>;
  const UniformRuns runs = SortedTiles<Key, LessT, Values>(n);
  WorkspaceLayout layout(workspace);
  void* const way_tiles = layout.Take<unsigned char>(runs.runs() > 1 ? WayTileBytes<Key, Values>(n, runs.runs()) : 0);
  if (const auto end = EndsHere(workspace, workspace_bytes, layout.bytes())) return *end;
  // Sorts each tile, which is the items of one thread block. Without values, sorts the keys in place. With values,
  // writes keys and values to the lists `alternate`, which then become the lists `current`.
  Values values{};
  if constexpr (kHasValues<Values>) {
    values = {buffers.values.current, buffers.values.alternate};
    buffers.Swap();
  }
  const Key* const in = kHasValues<Values> ? buffers.keys.alternate : buffers.keys.current;
  const cudaError_t error = SortTiles(in, buffers.keys.current, n, values, less, stream);
  if (error != cudaSuccess) return error;
  return RunPasses(way_tiles, runs, runs.runs(), n, buffers, less, stream);
}

/// Sorts in[0, n) to out[0, n). The merge passes alternate between `out` and a second list, which is in the workspace.
template <typename Input, typename ValueInput, typename Value, typename LessT>
cudaError_t SortLists(void* workspace, std::size_t& workspace_bytes, Input in, ValueInput values_in,
                      ValueOf<Input>* out, Value* values_out, std::uint64_t n, LessT less, cudaStream_t stream) {
  using Key = ValueOf<Input>;
  using Values = std::conditional_t<std::is_same_v<Value, NoValues>, NoValues, SortValues<ValueInput, Value*>>;
  const UniformRuns runs = SortedTiles<Key, LessT, Values>(n);
  WorkspaceLayout layout(workspace);
  void* const way_tiles = layout.Take<unsigned char>(runs.runs() > 1 ? WayTileBytes<Key, Values>(n, runs.runs()) : 0);
  Key* const spare = layout.Take<Key>(runs.runs() > 1 ? n : 0);
  Value* const values_spare = layout.Take<Value>(kHasValues<Values> && runs.runs() > 1 ? n : 0);
  if (const auto end = EndsHere(workspace, workspace_bytes, layout.bytes())) return *end;
  // Each merge pass reads one of the lists `out` and `spare` and writes the other. Chooses the list for the sorted
  // tiles so that the last pass writes `out`.
  PassBuffers<Key, Value> buffers{{out, spare}, {values_out, values_spare}};
  if (PassCount(runs.runs()) % 2 != 0) buffers.Swap();
  Values values{};
  if constexpr (kHasValues<Values>) values = {values_in, buffers.values.current};
  const cudaError_t error = SortTiles(in, buffers.keys.current, n, values, less, stream);
  if (error != cudaSuccess) return error;
  return RunPasses(way_tiles, runs, runs.runs(), n, buffers, less, stream);
}

/// Merges two sorted lists of keys. `values` is a MergeValues if the keys have values, and NoValues otherwise.
template <typename IteratorA, typename IteratorB, typename Output, typename Values, typename LessT>
cudaError_t MergeLists(void* workspace, std::size_t& workspace_bytes, IteratorA a, std::uint64_t m, IteratorB b,
                       std::uint64_t n, Output out, Values values, LessT less, cudaStream_t stream) {
  using Key = ValueOf<IteratorA>;
  WorkspaceLayout layout(workspace);
  void* const way_tiles = layout.Take<unsigned char>(WayTileBytes<Key, Values>(m + n, 2));
  if (const auto end = EndsHere(workspace, workspace_bytes, layout.bytes())) return *end;
  constexpr TileShape kShape = MergeShape<2, Key, Values>();
  const TwoLists runs{m, n};
  const std::uint64_t tiles = MergePass<TwoLists>{runs, kShape.tile()}.tiles();
  return RunPass<2, kShape>(way_tiles, runs, tiles, ListPair<IteratorA, IteratorB>{a, b}, out, values, less, stream);
}

/// Up to kCount bounds of sorted runs, as a kernel parameter (at most 4 KB). Launching the kernel copies the parameter
/// before the launch returns, so the caller's array need not stay valid.
struct BoundsChunk {
  static constexpr std::uint32_t kCount = 480;
  std::uint64_t bounds[kCount];
};

/// Stores the first `count` bounds of `chunk` to device memory at `out`.
template <typename = void>
__global__ void StoreBoundsKernel(std::uint64_t* out, BoundsChunk chunk, std::uint32_t count) {
  WaitForKernelsBefore();
  LetNextKernelStart();
  if (threadIdx.x < count) out[threadIdx.x] = chunk.bounds[threadIdx.x];
}

/// Counts the sorted runs that are not empty, and sets `count` to their number. Run r is [bounds[r], bounds[r + 1]).
/// Returns false if the bounds descend or do not begin with 0.
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

/// Queues kernels that write the bounds of the sorted runs to device memory at `out`. Leaves out empty runs.
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

/// The arrays in the workspace of MergeRuns. If needs_spare is true, `spare` is a list of n keys.
template <typename Key>
struct MergeRunsLayout {
  std::uint64_t* bounds;
  void* way_tiles;
  Key* spare;
  std::size_t bytes;

  MergeRunsLayout(void* workspace, std::uint64_t n, std::uint32_t runs, bool needs_spare) {
    WorkspaceLayout layout(workspace);
    bounds = layout.Take<std::uint64_t>(std::uint64_t{runs} + 1);
    way_tiles = layout.Take<unsigned char>(WayTileBytes<Key, NoValues>(n, runs));
    spare = layout.Take<Key>(needs_spare ? n : 0);
    bytes = layout.bytes();
  }
};

}  // namespace detail

/// Merges the sorted lists a[0, m) and b[0, n) to out[0, m + n), which must not overlap the inputs. `out` is any
/// random-access iterator to which the device can write.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT = Less>
cudaError_t MergeKeys(void* workspace, std::size_t& workspace_bytes, IteratorA a, std::uint64_t m, IteratorB b,
                      std::uint64_t n, Output out, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<IteratorA>;
  static_assert(detail::CheckItem<Key>());
  return detail::MergeLists(workspace, workspace_bytes, detail::ToInput(a), m, detail::ToInput(b), n, out,
                            detail::NoValues{}, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Merges two sorted lists of keys as MergeKeys does, and moves a value along with each key. Values may have any size.
/// Each value is copied only once.
template <typename IteratorA, typename ValuesA, typename IteratorB, typename ValuesB, typename Output,
          typename ValuesOutput, typename LessT = Less>
cudaError_t MergePairs(void* workspace, std::size_t& workspace_bytes, IteratorA a, ValuesA values_a, std::uint64_t m,
                       IteratorB b, ValuesB values_b, std::uint64_t n, Output out, ValuesOutput values_out,
                       LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<IteratorA>;
  static_assert(detail::CheckItem<Key>());
  const detail::ListPair values_in{detail::ToInput(values_a), detail::ToInput(values_b)};
  const detail::MergeValues<std::remove_const_t<decltype(values_in)>, ValuesOutput> values{values_in, values_out};
  return detail::MergeLists(workspace, workspace_bytes, detail::ToInput(a), m, detail::ToInput(b), n, out, values,
                            detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Sorts in[0, n) to out[0, n). `in` may be equal to `out`, but must not overlap it otherwise. The workspace needs
/// memory for n keys.
template <typename Input, typename LessT = Less>
cudaError_t SortKeys(void* workspace, std::size_t& workspace_bytes, Input in, detail::ValueOf<Input>* out,
                     std::uint64_t n, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  return detail::SortLists(workspace, workspace_bytes, detail::ToInput(in), detail::NoValues{}, out,
                           static_cast<detail::NoValues*>(nullptr), n, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Sorts keys.current[0, n) and leaves the result in keys.current. The workspace takes at most about 1 % of the size of
/// the keys. With workspace = nullptr, only sets workspace_bytes, and `keys` may contain null pointers.
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

/// Sorts keys as SortKeys does, and moves a value along with each key. Inputs and outputs must not overlap. The
/// workspace needs memory for n keys and n values.
template <typename Input, typename ValueInput, typename LessT = Less>
cudaError_t SortPairs(void* workspace, std::size_t& workspace_bytes, Input in, ValueInput values_in,
                      detail::ValueOf<Input>* out, detail::ValueOf<ValueInput>* values_out, std::uint64_t n,
                      LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  return detail::SortLists(workspace, workspace_bytes, detail::ToInput(in), detail::ToInput(values_in), out, values_out,
                           n, detail::ToDeviceLess<LessT, Key>(less), stream);
}

/// Sorts keys.current[0, n), and moves each value along with its key. May swap the two pointers of `keys`, and then
/// also those of `values`. In any case, `current` points to the result.
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

/// Returns the size, in bytes, of a workspace that is large enough for MergeRuns on a DoubleBuffer with at most `n`
/// keys in at most `runs` sorted runs.
template <typename Key>
std::size_t MergeRunsWorkspace(std::uint64_t n, std::uint32_t runs) {
  return detail::MergeRunsLayout<Key>(nullptr, n, runs, false).bytes;
}

/// Merges `runs` sorted runs that lie one after the other in keys.current, and leaves the result in keys.current. Run r
/// is keys.current[bounds[r], bounds[r + 1]). `bounds` is an array of runs + 1 indices in host memory; bounds[0] must
/// be 0. A call with workspace = nullptr needs `bounds`, too.
template <typename Key, typename LessT = Less>
cudaError_t MergeRuns(void* workspace, std::size_t& workspace_bytes, DoubleBuffer<Key>& keys,
                      const std::uint64_t* bounds, std::uint32_t runs, LessT less = {}, cudaStream_t stream = nullptr) {
  static_assert(detail::CheckItem<Key>());
  std::uint32_t live = 0;
  if (!detail::CountRuns(bounds, runs, live)) return cudaErrorInvalidValue;
  const std::uint64_t n = runs == 0 ? 0 : bounds[runs];
  const detail::MergeRunsLayout<Key> layout(workspace, n, runs, false);
  if (const auto end = detail::EndsHere(workspace, workspace_bytes, layout.bytes)) return *end;
  if (live < 2) return cudaSuccess;
  cudaError_t error = detail::StoreBounds(layout.bounds, bounds, runs, stream);
  if (error != cudaSuccess) return error;
  detail::PassBuffers<Key, detail::NoValues> buffers{keys, {}};
  error = detail::RunPasses(layout.way_tiles, BoundedRuns{layout.bounds, live}, live, n, buffers,
                            detail::ToDeviceLess<LessT, Key>(less), stream);
  keys = buffers.keys;
  return error;
}

/// Merges `runs` sorted runs that lie one after the other in `in`, and writes the result to out[0, bounds[runs]), which
/// must not overlap `in`. Run r is in[bounds[r], bounds[r + 1]). `bounds` is an array of runs + 1 indices in host
/// memory; bounds[0] must be 0. If there are more than four runs, the workspace includes memory for all keys.
template <typename Input, typename LessT = Less>
cudaError_t MergeRuns(void* workspace, std::size_t& workspace_bytes, Input in, detail::ValueOf<Input>* out,
                      const std::uint64_t* bounds, std::uint32_t runs, LessT less = {}, cudaStream_t stream = nullptr) {
  using Key = detail::ValueOf<Input>;
  static_assert(detail::CheckItem<Key>());
  std::uint32_t live = 0;
  if (!detail::CountRuns(bounds, runs, live)) return cudaErrorInvalidValue;
  const std::uint64_t n = runs == 0 ? 0 : bounds[runs];
  const detail::MergeRunsLayout<Key> layout(workspace, n, runs, runs > 4);
  if (const auto end = detail::EndsHere(workspace, workspace_bytes, layout.bytes)) return *end;
  if (live == 0) return cudaSuccess;
  const cudaError_t error = detail::StoreBounds(layout.bounds, bounds, runs, stream);
  if (error != cudaSuccess) return error;
  const auto device_less = detail::ToDeviceLess<LessT, Key>(less);
  // Each pass swaps the lists `out` and `spare`. An even number of passes starts with `spare`, and the last pass writes
  // to `out`. A single sorted run takes one pass, which copies it.
  const std::uint32_t passes = std::max<std::uint32_t>(1, PassCount(live));
  detail::PassBuffers<Key, detail::NoValues> buffers{{out, layout.spare}, {}};
  if (passes % 2 == 0) buffers.Swap();
  BoundedRuns remaining{layout.bounds, live};
  std::uint64_t count = live;
  const cudaError_t status = detail::RunPassOf(layout.way_tiles, remaining, count, n, detail::ToInput(in),
                                               buffers.keys.current, detail::NoValues{}, device_less, stream);
  if (status != cudaSuccess) return status;
  return detail::RunPasses(layout.way_tiles, remaining, count, n, buffers, device_less, stream);
}

}  // namespace gpusort
