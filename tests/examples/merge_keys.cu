// MergeKeys with a user-defined comparator: merges two lists of structs, each in order of distance.
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "example.cuh"
#include "gpusort/gpusort.hpp"

struct Star {
  float distance;
  std::uint32_t number;
};

// A comparator is any copyable function object that the device can call. Stars with equal distances keep their order.
struct Nearer {
  __host__ __device__ bool operator()(const Star& a, const Star& b) const { return a.distance < b.distance; }
};

int main() {
  if (!HasGpu()) return kSkipped;
  std::vector<Star> north, south;
  for (std::uint32_t i = 0; i < 100000; ++i) north.push_back({static_cast<float>(i / 3), i});
  for (std::uint32_t i = 0; i < 1234; ++i) south.push_back({static_cast<float>(i * 50), 1000000 + i});
  const thrust::device_vector<Star> a = north, b = south;
  thrust::device_vector<Star> out(a.size() + b.size());
  const Star* const from_a = a.data().get();
  const Star* const from_b = b.data().get();

  // The first call returns the size of the workspace. The second call queues the work on the stream.
  std::size_t bytes = 0;
  Check(gpusort::MergeKeys(nullptr, bytes, from_a, a.size(), from_b, b.size(), out.data().get(), Nearer{}), "size");
  thrust::device_vector<unsigned char> workspace(bytes);
  Check(
      gpusort::MergeKeys(workspace.data().get(), bytes, from_a, a.size(), from_b, b.size(), out.data().get(), Nearer{}),
      "MergeKeys");

  // Copying to the host waits for the stream.
  std::vector<Star> merged(out.size());
  thrust::copy(out.begin(), out.end(), merged.begin());
  std::vector<Star> expected(out.size());
  std::merge(north.begin(), north.end(), south.begin(), south.end(), expected.begin(), Nearer{});
  const bool same = std::equal(merged.begin(), merged.end(), expected.begin(),
                               [](const Star& x, const Star& y) { return x.number == y.number; });
  std::printf("%zu stars merged by distance: %s\n", merged.size(), same ? "as std::merge does" : "WRONG");
  return same ? 0 : 1;
}
