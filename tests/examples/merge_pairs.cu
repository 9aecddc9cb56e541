// MergePairs with iterators that compute their values: neither keys nor values lie in memory. The multiples of 3 and
// the multiples of 5 become one sorted list. The value of each number says from which list and which position it came.
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "example.cuh"
#include "gpusort/gpusort.hpp"

struct Times {
  std::int64_t factor;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return factor * i; }
};
struct Origin {
  std::int64_t list;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return 2 * i + list; }
};

int main() {
  if (!HasGpu()) return kSkipped;
  constexpr std::uint64_t m = 1000000, n = 600000;
  const thrust::counting_iterator<std::int64_t> count(0);
  const auto threes = thrust::make_transform_iterator(count, Times{3});
  const auto fives = thrust::make_transform_iterator(count, Times{5});
  const auto from_threes = thrust::make_transform_iterator(count, Origin{0});
  const auto from_fives = thrust::make_transform_iterator(count, Origin{1});
  thrust::device_vector<std::int64_t> keys(m + n), origins(m + n);

  const auto merge = [&](void* workspace, std::size_t& bytes) {
    return gpusort::MergePairs(workspace, bytes, threes, from_threes, m, fives, from_fives, n, keys.data().get(),
                               origins.data().get());
  };
  std::size_t bytes = 0;
  Check(merge(nullptr, bytes), "size");
  thrust::device_vector<unsigned char> workspace(bytes);
  Check(merge(workspace.data().get(), bytes), "MergePairs");

  std::vector<std::int64_t> key(m + n), origin(m + n);
  thrust::copy(keys.begin(), keys.end(), key.begin());
  thrust::copy(origins.begin(), origins.end(), origin.begin());
  std::uint64_t wrong = 0, i = 0, j = 0;
  for (std::uint64_t k = 0; k < m + n; ++k) {
    // Multiples of 15 are in both lists. The number of the first list comes first.
    const bool take_five = j < n && (i == m || Times{5}(j) < Times{3}(i));
    wrong += key[k] != (take_five ? Times{5}(j) : Times{3}(i));
    wrong += origin[k] != (take_five ? Origin{1}(j) : Origin{0}(i));
    ++(take_five ? j : i);
  }
  std::printf("%llu multiples of 3 and of 5 merged, %llu wrong\n", static_cast<unsigned long long>(m + n),
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
