// Makes the inputs of all benchmarks and inspects all outputs. Uses none of gpusort's own sorts.
#include <cub/device/device_merge_sort.cuh>

#include "bench/conflict.hpp"
#include "bench/gpu.cuh"

namespace gpusort::bench {
namespace {

constexpr int kBlocks = 1024, kThreads = 256;

__device__ std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
__device__ std::uint64_t Hash(std::uint64_t x) { return Mix(x + 0x9E3779B97F4A7C15u); }
__device__ std::uint64_t Hash(std::int64_t x) { return Hash(static_cast<std::uint64_t>(x)); }
__device__ std::uint64_t Hash(std::int32_t x) { return Hash(static_cast<std::uint64_t>(x)); }
__device__ std::uint64_t Hash(const Key16& x) { return Mix(Hash(x.hi) + x.lo); }

__device__ void Random(std::uint64_t i, std::int32_t& key) { key = static_cast<std::int32_t>(Hash(i)); }
__device__ void Random(std::uint64_t i, std::int64_t& key) { key = static_cast<std::int64_t>(Hash(i)); }
__device__ void Random(std::uint64_t i, Key16& key) { key = {Mix(i) << 32 | (i & 0xFFFFFFFF), Hash(i)}; }
/// Sets `key` to the key with this rank in the order of the keys.
__device__ void OfRank(std::uint64_t rank, std::int32_t& key) { key = static_cast<std::int32_t>(rank); }
__device__ void OfRank(std::uint64_t rank, std::int64_t& key) { key = static_cast<std::int64_t>(rank); }
__device__ void OfRank(std::uint64_t rank, Key16& key) { key = {rank, rank >> 8}; }

template <typename Function>
__device__ void ForEach(std::uint64_t n, Function function) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) function(i);
}

template <typename Key>
__global__ void FillKernel(Key* keys, std::uint64_t n, Order order, std::uint64_t first_rank) {
  ForEach(n, [&](std::uint64_t i) {
    if (order == Order::kRandom) {
      Random(first_rank + i, keys[i]);
    } else {
      OfRank(order == Order::kEqual ? 42 : first_rank + (order == Order::kSorted ? i : n - 1 - i), keys[i]);
    }
  });
}

template <typename Value>
__global__ void FillPlacesKernel(Value* values, std::uint64_t n) {
  ForEach(n, [&](std::uint64_t i) { values[i] = static_cast<Value>(i); });
}

template <typename Key>
__global__ void UnmergeKernel(const Key* in, Key* out, std::uint64_t n, std::uint64_t run, std::uint64_t m,
                              ConflictPattern pattern) {
  ForEach(n, [&](std::uint64_t i) {
    const std::uint64_t begin = i / run * run;
    const std::uint64_t items = n - begin < run ? n - begin : run;
    const std::uint64_t first = m < items ? m : items;
    out[begin + pattern.Place(i - begin, first, items - first)] = in[i];
  });
}

template <typename Key, typename Value>
__global__ void InspectKernel(const Key* keys, const Value* values, std::uint64_t n, Facts* facts) {
  const LessOf<Key> less;
  Facts own;
  ForEach(n, [&](std::uint64_t i) {
    std::uint64_t hash = Hash(keys[i]);
    if constexpr (kPairs<Value>) hash = Mix(hash + Hash(values[i]) * 3);
    own.sum += hash;
    if (i == 0) return;
    if (less(keys[i], keys[i - 1])) ++own.descents;
    if constexpr (kPairs<Value>) {
      if (!less(keys[i - 1], keys[i]) && values[i] < values[i - 1]) ++own.swaps;
    }
  });
  atomicAdd(&facts->sum, own.sum);
  atomicAdd(&facts->descents, own.descents);
  atomicAdd(&facts->swaps, own.swaps);
}

}  // namespace

template <typename Key>
void Fill(Key* keys, std::uint64_t n, Order order, std::uint64_t first_rank) {
  FillKernel<<<kBlocks, kThreads>>>(keys, n, order, first_rank);
  GPUSORT_CHECK(cudaGetLastError());
}

template <typename Value>
void FillPlaces(Value* values, std::uint64_t n) {
  FillPlacesKernel<<<kBlocks, kThreads>>>(values, n);
  GPUSORT_CHECK(cudaGetLastError());
}

template <typename Key>
void SortRange(const Key* in, Key* out, std::uint64_t n) {
  if (n == 0) return;
  std::size_t bytes = 0;
  GPUSORT_CHECK(cub::DeviceMergeSort::SortKeysCopy(nullptr, bytes, in, out, n, LessOf<Key>{}));
  const DeviceList<unsigned char> workspace(bytes);
  GPUSORT_CHECK(cub::DeviceMergeSort::SortKeysCopy(workspace.data(), bytes, in, out, n, LessOf<Key>{}));
  GPUSORT_CHECK(cudaDeviceSynchronize());
}

template <typename Key>
void Unmerge(const Key* in, Key* out, std::uint64_t n, std::uint64_t run, std::uint64_t m, std::uint32_t thread_items) {
  UnmergeKernel<<<kBlocks, kThreads>>>(in, out, n, run, m,
                                       ConflictPattern(thread_items, static_cast<std::uint32_t>(sizeof(Key))));
  GPUSORT_CHECK(cudaGetLastError());
}

template <typename Key>
void FillConflicts(Key* keys, std::uint64_t n, std::uint64_t shortest, std::uint32_t thread_items) {
  const DeviceList<Key> spare(n);
  std::uint64_t passes = 0;
  for (std::uint64_t run = n; run > shortest; run /= 2) ++passes;
  Key* from = passes % 2 == 0 ? keys : spare.data();
  Key* to = passes % 2 == 0 ? spare.data() : keys;
  Fill(from, n, Order::kSorted);
  // Undoes the merges of a sort, the last merge first.
  for (std::uint64_t run = n; run > shortest; run /= 2) {
    Unmerge(from, to, n, run, run / 2, thread_items);
    std::swap(from, to);
  }
  GPUSORT_CHECK(cudaDeviceSynchronize());
}

template <typename Key, typename Value>
Facts Inspect(const Key* keys, const Value* values, std::uint64_t n) {
  const DeviceList<Facts> facts(1);
  GPUSORT_CHECK(cudaMemset(facts.data(), 0, sizeof(Facts)));
  InspectKernel<<<kBlocks, kThreads>>>(keys, values, n, facts.data());
  GPUSORT_CHECK(cudaGetLastError());
  Facts result;
  GPUSORT_CHECK(cudaMemcpy(&result, facts.data(), sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

#define GPUSORT_BENCH_KEY(Key)                                                                              \
  template void Fill<Key>(Key*, std::uint64_t, Order, std::uint64_t);                                       \
  template void SortRange<Key>(const Key*, Key*, std::uint64_t);                                            \
  template void FillConflicts<Key>(Key*, std::uint64_t, std::uint64_t, std::uint32_t);                      \
  template void Unmerge<Key>(const Key*, Key*, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t); \
  template Facts Inspect<Key, NoValue>(const Key*, const NoValue*, std::uint64_t);
GPUSORT_BENCH_KEY(std::int32_t)
GPUSORT_BENCH_KEY(std::int64_t)
GPUSORT_BENCH_KEY(Key16)
template void FillPlaces<std::int32_t>(std::int32_t*, std::uint64_t);
template void FillPlaces<std::int64_t>(std::int64_t*, std::uint64_t);
template Facts Inspect<std::int32_t, std::int32_t>(const std::int32_t*, const std::int32_t*, std::uint64_t);
template Facts Inspect<std::int64_t, std::int64_t>(const std::int64_t*, const std::int64_t*, std::uint64_t);

}  // namespace gpusort::bench
