// Tests the textbook kernels on a GPU against std::merge and std::stable_sort. GPUSORT_REDUCED=1 uses only small sizes,
// for compute-sanitizer. Guards follow every output, and all work runs on a non-blocking stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_list.cuh"
#include "gpusort/merge_path.hpp"
#include "kernels/classic/merge_kernels.cuh"
#include "kernels/classic/row_column_merge.cuh"
#include "merge_patterns.hpp"

namespace gpusort::classic {
namespace {

using namespace gpusort::testing;

struct IntLess {
  GPUSORT_HD bool operator()(std::int32_t a, std::int32_t b) const { return a < b; }
};

template <typename Item, typename LessT>
std::vector<Item> MakeSorted(std::uint64_t items, std::uint64_t other_items, bool of_b, int pattern, LessT less,
                             std::mt19937_64& random) {
  std::vector<Item> list(items);
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint64_t key = PatternKey(pattern, i, other_items, of_b, 1000000, random);
    if constexpr (std::is_integral_v<Item>) {
      list[i] = static_cast<Item>(key);
    } else {
      list[i].key = static_cast<decltype(Item::key)>(key);
    }
  }
  std::stable_sort(list.begin(), list.end(), less);
  if constexpr (!std::is_integral_v<Item>) {
    const std::uint64_t first = of_b ? 1u << 30 : 0;
    for (std::uint64_t i = 0; i < items; ++i) list[i].origin = static_cast<decltype(Item::origin)>(first + i);
  }
  return list;
}

class ClassicGpu : public GpuTest {
 protected:
  /// Waits for the lists, which the default stream has filled, and then for the work that `call` queues.
  template <typename Call>
  void Run(Call call) {
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(call());
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
  }

  /// Merges lists of every pair of lengths around a thread's share, a tile, and a block's share (several tiles if there
  /// are few blocks). `merge` gets a, m, b, n, out, less, stream.
  template <MergeConfig kConfig, typename Item, typename LessT, typename Merge>
  void ExpectMerges(LessT less, Merge merge) {
    const std::uint64_t share = kConfig.items_per_thread, tile = kConfig.tile();
    std::vector<std::uint64_t> lengths{0, 1, share, tile - 1, tile, tile + 1, 7 * tile + 5};
    if (Reduced()) {
      lengths = {0, 1, tile + 1, 3 * tile - 1};
    } else {
      lengths.insert(lengths.end(), {share - 1, share + 1, 200 * tile + 17});
    }
    std::mt19937_64 random(1);
    for (const std::uint64_t m : lengths) {
      for (const std::uint64_t n : lengths) {
        for (int pattern = 0; pattern < kPatterns; ++pattern) {
          if (Reduced() && m + n > 3 * tile && pattern < 3) continue;
          const auto a = MakeSorted<Item>(m, n, false, pattern, less, random);
          const auto b = MakeSorted<Item>(n, m, true, pattern, less, random);
          std::vector<Item> expected(m + n);
          std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), less);
          const DeviceList<Item> device_a(a), device_b(b), out(m + n);
          const Item *from_a = device_a.data(), *from_b = device_b.data();
          ASSERT_NO_FATAL_FAILURE(Run([&] { return merge(from_a, m, from_b, n, out.data(), less, stream_); }));
          ASSERT_TRUE(ToHost(out.data(), m + n) == expected) << m << " and " << n << ", pattern " << pattern;
        }
      }
    }
  }
};

// The calls as function objects.
template <MergeConfig kConfig>
struct Basic {
  template <typename... Arguments>
  cudaError_t operator()(Arguments... arguments) const {
    return BasicMerge<kConfig>(arguments...);
  }
};
template <MergeConfig kConfig>
struct Tiled {
  template <typename... Arguments>
  cudaError_t operator()(Arguments... arguments) const {
    return TiledMerge<kConfig>(arguments...);
  }
};
template <MergeConfig kConfig>
struct Circular {
  template <typename... Arguments>
  cudaError_t operator()(Arguments... arguments) const {
    return CircularMerge<kConfig>(arguments...);
  }
};
template <MergeConfig kConfig>
struct Doubled {
  template <typename... Arguments>
  cudaError_t operator()(Arguments... arguments) const {
    return DoubleBufferMerge<kConfig>(arguments...);
  }
};

constexpr MergeConfig kPlain{.threads = 256, .items_per_thread = 8};
constexpr MergeConfig kFewBlocks{.blocks = 3, .threads = 256, .items_per_thread = 8};
constexpr MergeConfig kQuick{.threads = 128, .items_per_thread = 7, .share_co_ranks = true, .branch_free = true};
constexpr MergeConfig kAll{.blocks = 5,
                           .threads = 128,
                           .items_per_thread = 11,
                           .share_co_ranks = true,
                           .branch_free = true,
                           .wide_partition = true,
                           .stage_output = true};
/// A single warp that finds both ends of its block's share.
constexpr MergeConfig kOneWarp{.blocks = 7, .threads = 32, .items_per_thread = 5, .wide_partition = true};
constexpr MergeConfig kShared{.blocks = 4, .threads = 64, .items_per_thread = 4, .share_co_ranks = true};
/// With 16-byte items this takes more than 48 KB of shared memory in every kernel.
constexpr MergeConfig kLarge{.threads = 256, .items_per_thread = 13, .share_co_ranks = true, .branch_free = true};
static_assert(BlockMemory<kLarge, Buffering::kSingle, Pair>::kBytes > 48 * 1024);
static_assert(BlockMemory<kLarge, Buffering::kDouble, Pair>::kBytes < 227 * 1024);

using ClassicBasicMerge = ClassicGpu;
using ClassicTiledMerge = ClassicGpu;
using ClassicCircularMerge = ClassicGpu;
using ClassicDoubleBufferMerge = ClassicGpu;
using ClassicRows = ClassicGpu;

TEST_F(ClassicBasicMerge, IsTheStableMerge) {
  ExpectMerges<kPlain, Tagged>(KeyLess{}, Basic<kPlain>{});
  ExpectMerges<kFewBlocks, Tagged>(KeyLess{}, Basic<kFewBlocks>{});
  ExpectMerges<kShared, Tagged>(KeyLess{}, Basic<kShared>{});
  ExpectMerges<kQuick, Pair>(KeyLess{}, Basic<kQuick>{});
}
TEST_F(ClassicTiledMerge, IsTheStableMerge) {
  ExpectMerges<kPlain, Tagged>(KeyLess{}, Tiled<kPlain>{});
  ExpectMerges<kFewBlocks, Tagged>(KeyLess{}, Tiled<kFewBlocks>{});
  ExpectMerges<kAll, Tagged>(KeyLess{}, Tiled<kAll>{});
  ExpectMerges<kLarge, Pair>(KeyLess{}, Tiled<kLarge>{});
}
TEST_F(ClassicCircularMerge, IsTheStableMerge) {
  ExpectMerges<kPlain, Tagged>(KeyLess{}, Circular<kPlain>{});
  ExpectMerges<kFewBlocks, Tagged>(KeyLess{}, Circular<kFewBlocks>{});
  ExpectMerges<kAll, Tagged>(KeyLess{}, Circular<kAll>{});
  ExpectMerges<kOneWarp, Tagged>(KeyLess{}, Circular<kOneWarp>{});
  ExpectMerges<kShared, std::int32_t>(IntLess{}, Circular<kShared>{});
  ExpectMerges<kLarge, Pair>(KeyLess{}, Circular<kLarge>{});
}
TEST_F(ClassicDoubleBufferMerge, IsTheStableMerge) {
  ExpectMerges<kPlain, Tagged>(KeyLess{}, Doubled<kPlain>{});
  ExpectMerges<kFewBlocks, Tagged>(KeyLess{}, Doubled<kFewBlocks>{});
  ExpectMerges<kAll, Tagged>(KeyLess{}, Doubled<kAll>{});
  ExpectMerges<kLarge, Pair>(KeyLess{}, Doubled<kLarge>{});
}

/// A list whose items are computed: item i is i * factor.
struct Multiples {
  using value_type = std::uint64_t;
  using reference = std::uint64_t;
  using pointer = const std::uint64_t*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  std::uint64_t factor;
  std::uint64_t first = 0;
  GPUSORT_HD std::uint64_t operator[](std::uint64_t i) const { return (first + i) * factor; }
  GPUSORT_HD Multiples operator+(std::uint64_t i) const { return {factor, first + i}; }
};

TEST_F(ClassicGpu, TakesAnyIterators) {
  const std::uint64_t m = 40000, n = 70000;
  std::vector<std::uint64_t> a(m), b(n), expected(m + n);
  for (std::uint64_t i = 0; i < m; ++i) a[i] = 5 * i;
  for (std::uint64_t i = 0; i < n; ++i) b[i] = 3 * i;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
  const DeviceList<std::uint64_t> out(m + n);
  Run([&] { return BasicMerge<kPlain>(Multiples{5}, m, Multiples{3}, n, out.data(), Less{}, stream_); });
  EXPECT_TRUE(ToHost(out.data(), m + n) == expected);
  EXPECT_CUDA(cudaMemset(out.data(), 0, (m + n) * sizeof(std::uint64_t)));
  Run([&] { return CircularMerge<kPlain>(Multiples{5}, m, Multiples{3}, n, out.data(), Less{}, stream_); });
  EXPECT_TRUE(ToHost(out.data(), m + n) == expected);
}

template <RowStorage kStorage>
std::uint64_t Slot(const RowMatrix<kStorage>& matrix, std::uint64_t row, std::uint64_t i) {
  return matrix.begin(row) + i * matrix.stride();
}

/// Checks one pass of MergeRowPairs over a matrix of sorted rows.
template <RowStorage kStorage>
void ExpectMergesRowPairs(std::uint64_t items, std::uint64_t row_items, cudaStream_t stream) {
  std::mt19937_64 random(2);
  const RowMatrix<kStorage> matrix{items, row_items};
  const RowMatrix<kStorage> merged = matrix.Merged();
  std::vector<Tagged> in(matrix.slots());
  std::vector<std::vector<Tagged>> rows;
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    rows.push_back(MakeSorted<Tagged>(matrix.length(row), 0, row % 2 != 0, 4 + row % 2, KeyLess{}, random));
    for (std::uint64_t i = 0; i < matrix.length(row); ++i) in[Slot(matrix, row, i)] = rows[row][i];
  }
  const DeviceList<Tagged> device_in(in), device_out(merged.slots());
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(
      MergeRowPairs(matrix, static_cast<const Tagged*>(device_in.data()), device_out.data(), KeyLess{}, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  const auto out = ToHost(device_out.data(), merged.slots());
  rows.emplace_back();  // the empty partner of a last row without one
  for (std::uint64_t row = 0; row < merged.rows(); ++row) {
    const auto &a = rows[2 * row], &b = rows[2 * row + 1];
    std::vector<Tagged> expected(a.size() + b.size()), found;
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), KeyLess{});
    ASSERT_EQ(expected.size(), merged.length(row));
    for (std::uint64_t i = 0; i < merged.length(row); ++i) found.push_back(out[Slot(merged, row, i)]);
    ASSERT_TRUE(found == expected) << items << " in rows of " << row_items << ", row " << row;
  }
}

TEST_F(ClassicRows, MergeInPairsInBothStorages) {
  for (const auto& [items, row_items] : {std::pair<std::uint64_t, std::uint64_t>{0, 4},
                                         {1, 4},
                                         {4, 4},
                                         {5, 4},
                                         {3000, 7},
                                         {24000, 16},
                                         {24000, 24000}}) {
    ASSERT_NO_FATAL_FAILURE(ExpectMergesRowPairs<RowStorage::kRowMajor>(items, row_items, stream_));
    ASSERT_NO_FATAL_FAILURE(ExpectMergesRowPairs<RowStorage::kColumnMajor>(items, row_items, stream_));
  }
}

template <RowStorage kStorage>
void ExpectRowsSort(std::uint64_t items, std::uint64_t row_items, int pattern, cudaStream_t stream) {
  std::mt19937_64 random(3);
  std::vector<Tagged> in(items);
  for (std::uint64_t i = 0; i < items; ++i) {
    in[i].key = static_cast<std::int32_t>(PatternKey(pattern, i, 0, false, 1000000, random));
    in[i].origin = static_cast<std::uint32_t>(i);
  }
  auto expected = in;
  std::stable_sort(expected.begin(), expected.end(), KeyLess{});
  const std::uint64_t slots = RowMergeSortSlots<kStorage>(items, row_items);
  const DeviceList<Tagged> device_in(in), out(slots), spare(slots);
  ASSERT_CUDA(cudaDeviceSynchronize());
  ASSERT_CUDA(RowMergeSort<kStorage>(static_cast<const Tagged*>(device_in.data()), items, row_items, out.data(),
                                     spare.data(), KeyLess{}, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  ASSERT_TRUE(ToHost(out.data(), items) == expected) << items << " in rows of " << row_items << ", pattern " << pattern;
  ASSERT_TRUE(ToHost(device_in.data(), items) == in) << "input changed";
}

TEST_F(ClassicRows, SortEndToEndInBothStorages) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes{{0, 5}, {1, 5}, {5, 5}, {6, 5}, {1000, 16}, {4099, 3}};
  if (!Reduced()) sizes.push_back({240000, 16});
  for (const auto& [items, row_items] : sizes) {
    for (int pattern = 3; pattern < kPatterns; ++pattern) {
      ASSERT_NO_FATAL_FAILURE(ExpectRowsSort<RowStorage::kRowMajor>(items, row_items, pattern, stream_));
      ASSERT_NO_FATAL_FAILURE(ExpectRowsSort<RowStorage::kColumnMajor>(items, row_items, pattern, stream_));
    }
  }
}

}  // namespace
}  // namespace gpusort::classic
