// MergeRuns of 100 sorted runs of very different lengths, some of them empty, in one call.
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "example.cuh"
#include "gpusort/gpusort.hpp"

int main() {
  if (!HasGpu()) return kSkipped;
  // Run r is keys[bounds[r], bounds[r + 1]).
  constexpr std::uint32_t kRuns = 100;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> bounds{0};
  for (std::uint32_t r = 0; r < kRuns; ++r)
    bounds.push_back(bounds.back() + (r % 7 == 0 ? 0 : random() % (1 << r % 18)));
  std::vector<std::uint64_t> keys(bounds.back());
  for (std::uint64_t& key : keys) key = random();
  for (std::uint32_t r = 0; r < kRuns; ++r) {
    std::sort(keys.begin() + static_cast<std::ptrdiff_t>(bounds[r]),
              keys.begin() + static_cast<std::ptrdiff_t>(bounds[r + 1]));
  }
  const thrust::device_vector<std::uint64_t> runs = keys;
  thrust::device_vector<std::uint64_t> out(keys.size());
  const std::uint64_t* const in = runs.data().get();

  // The bounds are in host memory and are read before the call returns.
  std::size_t bytes = 0;
  Check(gpusort::MergeRuns(nullptr, bytes, in, out.data().get(), bounds.data(), kRuns), "size");
  thrust::device_vector<unsigned char> workspace(bytes);
  Check(gpusort::MergeRuns(workspace.data().get(), bytes, in, out.data().get(), bounds.data(), kRuns), "MergeRuns");

  std::vector<std::uint64_t> merged(keys.size());
  thrust::copy(out.begin(), out.end(), merged.begin());
  std::sort(keys.begin(), keys.end());
  const bool same = merged == keys;
  std::printf("%u runs of %zu keys in all merged: %s\n", kRuns, keys.size(), same ? "in order" : "WRONG");
  return same ? 0 : 1;
}
