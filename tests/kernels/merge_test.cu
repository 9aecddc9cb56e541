// Tests the public GPU calls against std::merge and std::stable_sort. GPUSORT_REDUCED=1 uses only small sizes, for
// compute-sanitizer. Every call runs with a workspace of exactly the size that it asked for, on a non-blocking stream,
// with guards after the workspace and every output.
#include <gtest/gtest.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_list.cuh"
#include "gpusort/merge.cuh"
#include "kernels/records/key.hpp"

namespace gpusort {

static bool operator==(const Entry& a, const Entry& b) { return a.hi == b.hi && a.lo == b.lo; }

namespace {

using testing::DeviceList;
using testing::Reduced;
using testing::ToHost;

class Gpu : public testing::GpuTest {
 protected:
  /// Runs call(workspace, bytes) -> cudaError_t twice: asks for the size, then does the work. Waits for the end.
  template <typename Call>
  void Run(Call call) {
    // The lists were filled on the default stream, for which a non-blocking stream does not wait.
    ASSERT_CUDA(cudaDeviceSynchronize());
    std::size_t bytes = 0;
    ASSERT_CUDA(call(nullptr, bytes));
    ASSERT_GT(bytes, 0u);
    const DeviceList<unsigned char> workspace(bytes);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(call(workspace.data(), bytes));
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    ASSERT_CUDA(cudaGetLastError());
  }
};
using GpuSortKeys = Gpu;
using GpuSortPairs = Gpu;
using GpuMergeKeys = Gpu;
using GpuMergePairs = Gpu;
using GpuMergeRuns = Gpu;

/// A key with its origin, which shows whether a sort is stable. Only `key` is compared.
struct Tagged {
  std::uint32_t key;
  std::uint32_t origin;
  friend bool operator==(const Tagged&, const Tagged&) = default;
};
struct TaggedLess {
  GPUSORT_HD bool operator()(const Tagged& a, const Tagged& b) const { return a.key < b.key; }
};
/// An item of the maximum size, aligned to one byte.
struct Large {
  unsigned char bytes[kMaxItemBytes];
  friend bool operator==(const Large& a, const Large& b) { return std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }
};
struct LargeLess {
  GPUSORT_HD bool operator()(const Large& a, const Large& b) const {
    return a.bytes[3] != b.bytes[3] ? a.bytes[3] < b.bytes[3] : a.bytes[kMaxItemBytes - 1] < b.bytes[kMaxItemBytes - 1];
  }
};
struct Greater {
  template <typename T>
  GPUSORT_HD bool operator()(const T& a, const T& b) const {
    return b < a;
  }
};

/// Returns key i of n keys with one of kPatterns patterns.
constexpr int kPatterns = 6;
std::uint64_t PatternKey(int pattern, std::uint64_t i, std::uint64_t n, std::mt19937_64& random) {
  switch (pattern) {
    case 0:
      return 7;  // all equal
    case 1:
      return i;  // sorted
    case 2:
      return n - i;  // reversed
    case 3:
      return random() % 2;  // two values
    case 4:
      return ~std::uint64_t{0} - i % 5;  // the largest keys
    default:
      return random();
  }
}
template <typename Key>
std::vector<Key> MakeKeys(int pattern, std::uint64_t n, std::mt19937_64& random) {
  std::vector<Key> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t key = PatternKey(pattern, i, n, random);
    if constexpr (std::is_same_v<Key, Tagged>) {
      keys[i] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(i)};
    } else {
      keys[i] = static_cast<Key>(key);
    }
  }
  return keys;
}
template <typename Key, typename LessT>
std::vector<Key> Sorted(std::vector<Key> keys, LessT less) {
  std::stable_sort(keys.begin(), keys.end(), less);
  return keys;
}

template <typename Key, typename LessT>
constexpr std::uint64_t SortTileItems() {
  return detail::SortShape<Key, LessT, detail::NoValues>().tile();
}

/// Returns sizes around a tile of the two shapes, and some that take several passes.
std::vector<std::uint64_t> SizesAround(std::uint64_t tile) {
  std::vector<std::uint64_t> sizes{0, 1, 2, 33, tile - 1, tile, tile + 1, 2 * tile + 1, 3 * tile};
  if (!Reduced()) sizes.insert(sizes.end(), {5 * tile - 1, 9 * tile, 11 * tile + 5, 1 << 20, (1 << 22) + 12345});
  return sizes;
}

template <typename Key, typename LessT>
class SortCheck : public Gpu {
 protected:
  void Check(const std::vector<Key>& keys, LessT less, const std::string& what) {
    const auto expected = Sorted(keys, less);
    const std::uint64_t n = keys.size();
    {
      const DeviceList<Key> a(keys), b(n);
      DoubleBuffer<Key> buffer{a.data(), b.data()};
      Run([&](void* w, std::size_t& bytes) { return SortKeys(w, bytes, buffer, n, less, stream_); });
      ASSERT_TRUE(ToHost(buffer.current, n) == expected) << what << ", double buffer";
      ASSERT_TRUE(buffer.current == a.data() || buffer.current == b.data());
      ASSERT_NE(buffer.current, buffer.alternate);
    }
    {
      const DeviceList<Key> in(keys), out(n);
      Run([&](void* w, std::size_t& bytes) { return SortKeys(w, bytes, in.data(), out.data(), n, less, stream_); });
      ASSERT_TRUE(ToHost(out.data(), n) == expected) << what << ", list to list";
      ASSERT_TRUE(ToHost(in.data(), n) == keys) << what << ", input changed";
      Run([&](void* w, std::size_t& bytes) { return SortKeys(w, bytes, in.data(), in.data(), n, less, stream_); });
      ASSERT_TRUE(ToHost(in.data(), n) == expected) << what << ", in place";
    }
  }
  void CheckAll(LessT less) {
    std::mt19937_64 random(1);
    for (const std::uint64_t n : SizesAround(SortTileItems<Key, LessT>())) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        Check(MakeKeys<Key>(pattern, n, random), less, "pattern " + std::to_string(pattern) + ", " + std::to_string(n));
      }
    }
  }
};

using SortU32 = SortCheck<std::uint32_t, std::less<>>;
using SortI32 = SortCheck<std::int32_t, std::less<std::int32_t>>;
using SortU64 = SortCheck<std::uint64_t, std::less<>>;
using SortU64Down = SortCheck<std::uint64_t, Greater>;
using SortTagged = SortCheck<Tagged, TaggedLess>;
using SortLarge = SortCheck<Large, LargeLess>;
using SortExact = SortCheck<Entry, ExactEntryLess>;
TEST_F(SortU32, IsTheSort) { CheckAll({}); }
TEST_F(SortI32, PutsNegativeNumbersFirst) { CheckAll({}); }
TEST_F(SortU64, IsTheSort) { CheckAll({}); }
TEST_F(SortU64Down, TakesACustomComparator) { CheckAll({}); }
TEST_F(SortTagged, IsStable) { CheckAll({}); }

TEST_F(SortLarge, TakesItemsOfTheLargestSize) {
  std::mt19937_64 random(2);
  for (const std::uint64_t n : {1, 383, 384, 385, 5000}) {
    std::vector<Large> items(n);
    for (Large& item : items) {
      for (unsigned char& byte : item.bytes) byte = static_cast<unsigned char>(random());
      item.bytes[3] %= 3;
      item.bytes[kMaxItemBytes - 1] %= 4;
    }
    Check(items, {}, std::to_string(n));
  }
}

/// Records of 40 bytes, ordered by bytes 4 to 23 descending and then by a number. Entries hold 12 bytes of this key.
struct RecordFixture {
  RecordLayout layout;
  std::vector<Byte> records;
  std::vector<Entry> entries;

  RecordFixture(std::uint64_t n, std::mt19937_64& random) {
    KeySpec spec;
    spec.fields.push_back({4, 20, KeyType::kBytes, false, true});
    spec.fields.push_back({32, 8, KeyType::kSigned, false, false});
    layout = MakeFixedLayout(40, spec);
    records.resize(n * layout.stride);
    for (std::uint64_t i = 0; i < n; ++i) {
      Byte* const record = records.data() + i * layout.stride;
      for (std::uint64_t b = 0; b < layout.stride; ++b) record[b] = static_cast<Byte>(random());
      // Long common prefixes, and equal keys.
      for (int b = 4; b < 20; ++b) record[b] = b == 6 ? record[b] % 2 : 9;
      for (int b = 20; b < 24; ++b) record[b] %= 3;
      for (int b = 32; b < 40; ++b) record[b] = b == 39 ? static_cast<Byte>(random() % 2 * 0xFF) : 1;
      entries.push_back(MakeEntry(record, layout, 0, static_cast<std::uint32_t>(i)));
    }
  }
};

TEST_F(SortExact, SortsEntriesByKeyAndRow) {
  std::mt19937_64 random(3);
  for (const std::uint64_t n : SizesAround(SortTileItems<Entry, ExactEntryLess>())) {
    if (n <= 1 << 20) Check(RecordFixture(n, random).entries, {}, std::to_string(n));
  }
}

TEST_F(GpuSortKeys, FollowsPrefixesToTheRecords) {
  std::mt19937_64 random(4);
  for (const std::uint64_t n : SizesAround(SortTileItems<Entry, PrefixEntryLess>())) {
    if (n > 1 << 18) continue;
    const RecordFixture fixture(n, random);
    const auto expected =
        Sorted(fixture.entries, PrefixEntryLess{fixture.records.data(), &fixture.layout, kEntryKeyBytes});
    const DeviceList<Byte> records(fixture.records);
    const DeviceList<RecordLayout> layout(std::vector<RecordLayout>{fixture.layout});
    const PrefixEntryLess less{records.data(), layout.data(), kEntryKeyBytes};
    const DeviceList<Entry> a(fixture.entries), b(n);
    DoubleBuffer<Entry> buffer{a.data(), b.data()};
    Run([&](void* w, std::size_t& bytes) { return SortKeys(w, bytes, buffer, n, less, stream_); });
    ASSERT_TRUE(ToHost(buffer.current, n) == expected) << n;

    // Merges the same entries as five runs.
    std::vector<std::uint64_t> bounds{0, n / 7, n / 7, n / 3, n / 2, n};
    auto runs = fixture.entries;
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
      std::stable_sort(runs.begin() + bounds[r], runs.begin() + bounds[r + 1],
                       PrefixEntryLess{fixture.records.data(), &fixture.layout, kEntryKeyBytes});
    }
    const DeviceList<Entry> c(runs);
    buffer = {c.data(), b.data()};
    Run([&](void* w, std::size_t& bytes) { return MergeRuns(w, bytes, buffer, bounds.data(), 5, less, stream_); });
    ASSERT_TRUE(ToHost(buffer.current, n) == expected) << n;
  }
}

struct Times {
  std::uint64_t factor;
  GPUSORT_HD std::uint64_t operator()(std::uint64_t i) const { return i * factor; }
};
auto Multiples(std::uint64_t factor) {
  return thrust::make_transform_iterator(thrust::make_counting_iterator<std::uint64_t>(0), Times{factor});
}
// A device lambda must not be in a test itself, which is a protected function.
cudaError_t SortMultiplesByLowBits(void* workspace, std::size_t& bytes, std::uint64_t factor, std::uint64_t* out,
                                   std::uint64_t n, cudaStream_t stream) {
  return SortKeys(
      workspace, bytes, Multiples(factor), out, n,
      [] __host__ __device__(std::uint64_t a, std::uint64_t b) -> bool { return a % 1024 < b % 1024; }, stream);
}

TEST_F(GpuSortKeys, TakesIteratorsAndLambdas) {
  const std::uint64_t n = 50000, factor = 0x9E3779B97F4A7C15u;
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = i * factor;
  const DeviceList<std::uint64_t> out(n);
  Run([&](void* w, std::size_t& bytes) { return SortMultiplesByLowBits(w, bytes, factor, out.data(), n, stream_); });
  EXPECT_EQ(ToHost(out.data(), n), Sorted(keys, [](auto a, auto b) { return a % 1024 < b % 1024; }));
}

TEST_F(GpuSortKeys, CanBeCapturedInAGraph) {
  // A call that waits or allocates would end the capture.
  std::mt19937_64 random(6);
  const std::uint64_t n = 100000;
  const auto keys = MakeKeys<std::uint64_t>(5, n, random);
  const DeviceList<std::uint64_t> a(keys), b(n);
  DoubleBuffer<std::uint64_t> buffer{a.data(), b.data()};
  std::size_t bytes = 0;
  ASSERT_CUDA(SortKeys(nullptr, bytes, buffer, n, Less{}, stream_));
  const DeviceList<unsigned char> workspace(bytes);
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(SortKeys(workspace.data(), bytes, buffer, n, Less{}, stream_));
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
  cudaGraphExec_t exec = nullptr;
  ASSERT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_CUDA(cudaGraphLaunch(exec, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(ToHost(buffer.current, n), Sorted(keys, Less{}));
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(GpuSortPairs, CarriesValuesStably) {
  std::mt19937_64 random(7);
  for (const std::uint64_t n : SizesAround(
           detail::SortShape<std::uint64_t, Less, detail::SortValues<const std::uint32_t*, std::uint32_t*>>().tile())) {
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      const auto keys = MakeKeys<std::uint64_t>(pattern, n, random);
      std::vector<std::uint32_t> values(n), order(n);
      std::iota(order.begin(), order.end(), 0u);
      for (std::uint64_t i = 0; i < n; ++i) values[i] = static_cast<std::uint32_t>(7 * i + 1);
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
      std::vector<std::uint64_t> sorted_keys(n);
      std::vector<std::uint32_t> sorted_values(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        sorted_keys[i] = keys[order[i]];
        sorted_values[i] = values[order[i]];
      }
      const DeviceList<std::uint64_t> a(keys), b(n);
      const DeviceList<std::uint32_t> va(values), vb(n);
      Run([&](void* w, std::size_t& bytes) {
        return SortPairs(w, bytes, a.data(), va.data(), b.data(), vb.data(), n, Less{}, stream_);
      });
      ASSERT_TRUE(ToHost(b.data(), n) == sorted_keys && ToHost(vb.data(), n) == sorted_values) << pattern << ' ' << n;
      DoubleBuffer<std::uint64_t> buffer{a.data(), b.data()};
      DoubleBuffer<std::uint32_t> value_buffer{va.data(), vb.data()};
      Run([&](void* w, std::size_t& bytes) { return SortPairs(w, bytes, buffer, value_buffer, n, Less{}, stream_); });
      ASSERT_TRUE(ToHost(buffer.current, n) == sorted_keys) << pattern << ' ' << n;
      ASSERT_TRUE(ToHost(value_buffer.current, n) == sorted_values) << pattern << ' ' << n;
    }
  }
}

/// Returns two sorted lists. The origins of b follow those of a.
std::pair<std::vector<Tagged>, std::vector<Tagged>> TwoSorted(std::uint64_t m, std::uint64_t n, int pattern,
                                                              std::mt19937_64& random) {
  auto a = Sorted(MakeKeys<Tagged>(pattern, m, random), TaggedLess{});
  auto b = Sorted(MakeKeys<Tagged>(pattern, n, random), TaggedLess{});
  for (std::uint64_t i = 0; i < m; ++i) a[i].origin = static_cast<std::uint32_t>(i);
  for (std::uint64_t i = 0; i < n; ++i) b[i].origin = static_cast<std::uint32_t>(m + i);
  return {a, b};
}

TEST_F(GpuMergeKeys, IsTheStableMergeForLengthsAroundAShareAndATile) {
  std::mt19937_64 random(8);
  const std::uint64_t share = detail::MergeShape<2, Tagged, detail::NoValues>().items;
  const std::uint64_t tile = detail::MergeShape<2, Tagged, detail::NoValues>().tile();
  std::vector<std::uint64_t> sizes{0, 1, share, share + 1, tile - 1, tile, tile + 1};
  if (!Reduced()) sizes.insert(sizes.end(), {3 * tile - 2, 200 * tile + 7});
  for (const std::uint64_t m : sizes) {
    for (const std::uint64_t n : sizes) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const auto [a, b] = TwoSorted(m, n, pattern, random);
        std::vector<Tagged> expected(m + n);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), TaggedLess{});
        const DeviceList<Tagged> device_a(a), device_b(b), out(m + n);
        Run([&](void* w, std::size_t& bytes) {
          return MergeKeys(w, bytes, device_a.data(), m, device_b.data(), n, out.data(), TaggedLess{}, stream_);
        });
        ASSERT_TRUE(ToHost(out.data(), m + n) == expected) << m << ' ' << n << ", pattern " << pattern;
      }
    }
  }
}

TEST_F(GpuMergeKeys, MergesDisjointLists) {
  const std::uint64_t m = 30000, n = 20000;
  std::vector<std::uint32_t> low(m), high(n), expected(m + n);
  std::iota(low.begin(), low.end(), 0u);
  std::iota(high.begin(), high.end(), static_cast<std::uint32_t>(m));
  std::iota(expected.begin(), expected.end(), 0u);
  const DeviceList<std::uint32_t> a(low), b(high), out(m + n);
  Run([&](void* w, std::size_t& bytes) {
    return MergeKeys(w, bytes, a.data(), m, b.data(), n, out.data(), Less{}, stream_);
  });
  EXPECT_EQ(ToHost(out.data(), m + n), expected);
  Run([&](void* w, std::size_t& bytes) {
    return MergeKeys(w, bytes, b.data(), n, a.data(), m, out.data(), Less{}, stream_);
  });
  EXPECT_EQ(ToHost(out.data(), m + n), expected);
}

TEST_F(GpuMergeKeys, TakesCountingAndTransformIterators) {
  const std::uint64_t m = 40000, n = 70000;
  const auto a = thrust::make_counting_iterator<std::uint64_t>(100);
  const auto b = Multiples(3);
  std::vector<std::uint64_t> host_a(m), host_b(n), expected(m + n);
  std::iota(host_a.begin(), host_a.end(), 100u);
  for (std::uint64_t i = 0; i < n; ++i) host_b[i] = 3 * i;
  std::merge(host_a.begin(), host_a.end(), host_b.begin(), host_b.end(), expected.begin());
  const DeviceList<std::uint64_t> out(m + n);
  Run([&](void* w, std::size_t& bytes) { return MergeKeys(w, bytes, a, m, b, n, out.data(), std::less<>{}, stream_); });
  EXPECT_EQ(ToHost(out.data(), m + n), expected);
}

struct Value {
  unsigned char bytes[13];
  bool operator==(const Value&) const = default;
};
TEST_F(GpuMergePairs, CarriesValuesOfOddSizes) {
  const auto value_of = [](std::uint32_t origin) {
    Value value{};
    for (int b = 0; b < 13; ++b) value.bytes[b] = static_cast<unsigned char>(origin >> (b % 4 * 8));
    return value;
  };
  std::mt19937_64 random(9);
  for (const auto& [m, n] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 0}, {0, 5}, {3000, 0}, {5000, 7}, {5632, 5631}, {40000, 60001}}) {
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      const auto [a, b] = TwoSorted(m, n, pattern, random);
      std::vector<Value> values_a, values_b, expected_values;
      for (const Tagged& item : a) values_a.push_back(value_of(item.origin));
      for (const Tagged& item : b) values_b.push_back(value_of(item.origin));
      std::vector<Tagged> expected(m + n);
      std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), TaggedLess{});
      for (const Tagged& item : expected) expected_values.push_back(value_of(item.origin));
      const DeviceList<Tagged> device_a(a), device_b(b), out(m + n);
      const DeviceList<Value> device_values_a(values_a), device_values_b(values_b), values_out(m + n);
      Run([&](void* w, std::size_t& bytes) {
        return MergePairs(w, bytes, device_a.data(), device_values_a.data(), m, device_b.data(), device_values_b.data(),
                          n, out.data(), values_out.data(), TaggedLess{}, stream_);
      });
      ASSERT_TRUE(ToHost(out.data(), m + n) == expected) << m << ' ' << n << ", pattern " << pattern;
      ASSERT_TRUE(ToHost(values_out.data(), m + n) == expected_values) << m << ' ' << n << ", pattern " << pattern;
    }
  }
}

class MergeRunsCheck : public Gpu {
 protected:
  /// Checks the two forms of MergeRuns. The bounds are destroyed as soon as each call returns.
  void Check(const std::vector<std::uint64_t>& bounds, int pattern, std::mt19937_64& random) {
    const std::uint64_t n = bounds.back();
    const std::uint32_t runs = static_cast<std::uint32_t>(bounds.size() - 1);
    auto keys = MakeKeys<Tagged>(pattern, n, random);
    for (std::uint32_t r = 0; r < runs; ++r) {
      std::stable_sort(keys.begin() + bounds[r], keys.begin() + bounds[r + 1], TaggedLess{});
    }
    for (std::uint64_t i = 0; i < n; ++i) keys[i].origin = static_cast<std::uint32_t>(i);
    const auto expected = Sorted(keys, TaggedLess{});
    const std::string what =
        std::to_string(runs) + " runs of " + std::to_string(n) + ", pattern " + std::to_string(pattern);

    const DeviceList<Tagged> a(keys), b(n);
    Run([&](void* w, std::size_t& bytes) {
      auto passing = bounds;
      const cudaError_t error = MergeRuns(w, bytes, a.data(), b.data(), passing.data(), runs, TaggedLess{}, stream_);
      std::fill(passing.begin(), passing.end(), ~std::uint64_t{0});
      return error;
    });
    ASSERT_TRUE(ToHost(b.data(), n) == expected) << what;
    ASSERT_TRUE(ToHost(a.data(), n) == keys) << what << ": input changed";

    DoubleBuffer<Tagged> buffer{a.data(), b.data()};
    Run([&](void* w, std::size_t& bytes) {
      auto passing = bounds;
      const cudaError_t error = MergeRuns(w, bytes, buffer, passing.data(), runs, TaggedLess{}, stream_);
      std::fill(passing.begin(), passing.end(), ~std::uint64_t{0});
      if (w == nullptr) EXPECT_EQ(bytes, MergeRunsWorkspace<Tagged>(n, runs));
      return error;
    });
    ASSERT_TRUE(ToHost(buffer.current, n) == expected) << what << ", double buffer";
  }
};

TEST_F(MergeRunsCheck, MergesAnyNumberOfUnevenRuns) {
  std::mt19937_64 random(10);
  for (const std::uint32_t runs : {1, 2, 3, 4, 5, 6, 7, 9, 16, 17, 33, 1000}) {
    if (Reduced() && runs > 9 && runs != 33) continue;
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      std::vector<std::uint64_t> bounds{0};
      for (std::uint32_t r = 0; r < runs; ++r) {
        // Lengths from 0 to many tiles: about every third run is empty or tiny.
        const std::uint64_t most = random() % 3 == 0 ? 3 : random() % 3 == 0 ? 30000 : 900;
        bounds.push_back(bounds.back() + random() % most);
      }
      ASSERT_NO_FATAL_FAILURE(Check(bounds, pattern, random));
    }
  }
}

TEST_F(MergeRunsCheck, MergesEmptyRuns) {
  std::mt19937_64 random(11);
  Check({0, 0}, 5, random);
  Check({0, 0, 0, 0}, 5, random);
  Check({0, 5000, 5000, 5000}, 5, random);
  Check({0, 0, 0, 7000}, 5, random);
  Check({0, 0, 4000, 4000, 9000, 9000, 9001}, 3, random);
}

TEST_F(MergeRunsCheck, MergesManyTinyRuns) {
  std::mt19937_64 random(12);
  std::vector<std::uint64_t> bounds;
  for (std::uint64_t r = 0; r <= 5000; ++r) bounds.push_back(r);
  Check(bounds, 5, random);
}

TEST_F(MergeRunsCheck, MergesOneLongAndManyShortRuns) {
  std::mt19937_64 random(13);
  std::vector<std::uint64_t> bounds{0, Reduced() ? 20000u : 2000000u};
  for (int r = 0; r < 12; ++r) bounds.push_back(bounds.back() + 11);
  for (int pattern = 0; pattern < kPatterns; ++pattern) Check(bounds, pattern, random);
}

TEST_F(GpuMergeRuns, PadsTilesWhoseThreadsMeetInBanks) {
  // Every thread of a warp takes the first 16 of its keys, a whole row of banks, from one run, and the rest from the
  // other.
  constexpr std::uint64_t kShare = TuningTable(sizeof(std::uint64_t)).merge_4.items, kRow = 16;
  std::vector<std::vector<std::uint64_t>> runs{std::vector<std::uint64_t>(200000)};
  std::iota(runs[0].begin(), runs[0].end(), std::uint64_t{0});
  const auto expected = runs[0];
  for (int level = 0; level < 2; ++level) {
    std::vector<std::vector<std::uint64_t>> halves;
    for (const auto& run : runs) {
      std::vector<std::uint64_t> a, b;
      for (std::uint64_t k = 0; k < run.size(); ++k) {
        const bool even_warp = k / kShare / 32 % 2 == 0;
        (even_warp == (k % kShare < kRow) ? a : b).push_back(run[k]);
      }
      halves.push_back(a);
      halves.push_back(b);
    }
    runs = halves;
  }
  std::vector<std::uint64_t> keys, bounds{0};
  for (const auto& run : runs) {
    keys.insert(keys.end(), run.begin(), run.end());
    bounds.push_back(keys.size());
  }
  const DeviceList<std::uint64_t> in(keys), out(keys.size());
  Run([&](void* w, std::size_t& bytes) {
    return MergeRuns(w, bytes, in.data(), out.data(), bounds.data(), 4, Less{}, stream_);
  });
  EXPECT_TRUE(ToHost(out.data(), keys.size()) == expected);
}

TEST_F(GpuMergeRuns, TakesNoRunsAtAll) {
  DoubleBuffer<std::uint64_t> buffer;
  Run([&](void* w, std::size_t& bytes) { return MergeRuns(w, bytes, buffer, nullptr, 0, Less{}, stream_); });
}

// The tests below need no GPU.

TEST(Workspace, IsKnownWithoutAGpu) {
  DoubleBuffer<std::uint64_t> keys;
  std::size_t bytes = 0;
  ASSERT_CUDA(SortKeys(nullptr, bytes, keys, std::uint64_t{1} << 34));
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, (std::uint64_t{1} << 34) * sizeof(std::uint64_t) / 100);
  std::size_t before = 0;
  for (std::uint64_t n = 0; n < 100000; n += 77) {
    ASSERT_CUDA(SortKeys(nullptr, bytes, keys, n));
    EXPECT_GE(bytes, before);
    before = bytes;
    EXPECT_GE(MergeRunsWorkspace<std::uint64_t>(n + 1, 10), MergeRunsWorkspace<std::uint64_t>(n, 9));
  }
}

TEST(Workspace, ThatIsTooSmallIsRefused) {
  DoubleBuffer<std::uint64_t> keys;
  alignas(256) unsigned char workspace[256];
  std::size_t bytes = 1;
  EXPECT_EQ(SortKeys(workspace, bytes, keys, 1 << 20), cudaErrorInvalidValue);
  const std::uint64_t bounds[] = {0, 5, 9};
  EXPECT_EQ(MergeRuns(workspace, bytes, keys, bounds, 2), cudaErrorInvalidValue);
}

TEST(MergeRuns, RefusesBoundsThatDescendOrDoNotBeginWithZero) {
  DoubleBuffer<std::uint64_t> keys;
  std::size_t bytes = 0;
  const std::uint64_t descending[] = {0, 5, 4, 9}, late[] = {1, 5};
  EXPECT_EQ(MergeRuns(nullptr, bytes, keys, descending, 3), cudaErrorInvalidValue);
  EXPECT_EQ(MergeRuns(nullptr, bytes, keys, late, 1), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpusort
