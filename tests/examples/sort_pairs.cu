// SortPairs with a workspace of the caller: one allocation for the largest batch serves every batch on the caller's
// stream. No call allocates or waits.
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "example.cuh"
#include "gpusort/gpusort.hpp"

int main() {
  if (!HasGpu()) return kSkipped;
  const std::vector<std::uint64_t> batches = {300000, 1, 123457, 0, 299999};
  const std::uint64_t most = *std::max_element(batches.begin(), batches.end());
  const std::uint64_t all = std::accumulate(batches.begin(), batches.end(), std::uint64_t{0});

  std::mt19937 random(7);
  std::vector<std::uint32_t> keys(all), rows(all);
  for (std::uint32_t& key : keys) key = random() % 1000;
  std::iota(rows.begin(), rows.end(), 0u);
  const thrust::device_vector<std::uint32_t> keys_in = keys, rows_in = rows;
  thrust::device_vector<std::uint32_t> keys_out(all), rows_out(all);

  cudaStream_t stream;
  Check(cudaStreamCreate(&stream), "cudaStreamCreate");
  const auto sort = [&](void* workspace, std::size_t& bytes, std::uint64_t begin, std::uint64_t n) {
    return gpusort::SortPairs(workspace, bytes, keys_in.data().get() + begin, rows_in.data().get() + begin,
                              keys_out.data().get() + begin, rows_out.data().get() + begin, n, gpusort::Less{}, stream);
  };
  std::size_t bytes = 0;
  Check(sort(nullptr, bytes, 0, most), "size");
  thrust::device_vector<unsigned char> workspace(bytes);
  for (std::uint64_t begin = 0; const std::uint64_t n : batches) {
    Check(sort(workspace.data().get(), bytes, begin, n), "SortPairs");
    begin += n;
  }
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  Check(cudaStreamDestroy(stream), "cudaStreamDestroy");

  std::vector<std::uint32_t> sorted(all), moved(all);
  thrust::copy(keys_out.begin(), keys_out.end(), sorted.begin());
  thrust::copy(rows_out.begin(), rows_out.end(), moved.begin());
  bool right = true;
  for (std::uint64_t begin = 0; const std::uint64_t n : batches) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
    std::stable_sort(first, first + static_cast<std::ptrdiff_t>(n),
                     [&](std::uint32_t x, std::uint32_t y) { return keys[x] < keys[y]; });
    for (std::uint64_t i = begin; i < begin + n; ++i) {
      if (moved[i] != rows[i] || sorted[i] != keys[rows[i]]) right = false;
    }
    begin += n;
  }
  std::printf("%zu batches of up to %llu pairs sorted in one workspace of %zu bytes: %s\n", batches.size(),
              static_cast<unsigned long long>(most), bytes, right ? "stable and in order" : "WRONG");
  return right ? 0 : 1;
}
