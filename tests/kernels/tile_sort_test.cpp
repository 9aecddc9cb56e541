// labels: brief no_tsan
#include "gpusort/tile_sort.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gpusort/tuning.hpp"

namespace gpusort {
namespace {

struct TileItem {
  std::uint64_t key;
  std::uint32_t origin;
  friend bool operator==(const TileItem&, const TileItem&) = default;
};
struct TileKeyLess {
  bool operator()(const TileItem& a, const TileItem& b) const { return a.key < b.key; }
};

using MakeKey = std::function<std::uint64_t(std::uint64_t i, std::mt19937_64& random)>;
struct Pattern {
  std::string name;
  MakeKey key;
};
const std::vector<Pattern>& Patterns() {
  static const std::vector<Pattern> patterns{
      {"all equal", [](std::uint64_t, std::mt19937_64&) { return 7; }},
      {"sorted", [](std::uint64_t i, std::mt19937_64&) { return i / 2; }},
      {"reversed", [](std::uint64_t i, std::mt19937_64&) { return 1000000 - i / 2; }},
      {"two values", [](std::uint64_t, std::mt19937_64& random) { return random() % 2; }},
      {"random", [](std::uint64_t, std::mt19937_64& random) { return random(); }},
      {"largest", [](std::uint64_t i, std::mt19937_64&) { return ~std::uint64_t{0} - i % 3; }},
  };
  return patterns;
}

std::vector<TileItem> Make(const Pattern& pattern, std::uint64_t n, std::mt19937_64& random) {
  std::vector<TileItem> items;
  for (std::uint64_t i = 0; i < n; ++i) items.push_back({pattern.key(i, random), static_cast<std::uint32_t>(i)});
  items.shrink_to_fit();
  return items;
}

/// Sorts tile[0, tile_items) as kThreads (a power of two) threads of kItems items each do. tile_items must be at most
/// kThreads * kItems. `shares` is room for the registers of all threads: kThreads * kItems items.
template <int kThreads, int kItems, typename Item, typename LessT>
void SortTile(Item* tile, std::uint32_t tile_items, Item* shares, LessT less) {
  using Share = Item[kItems];
  Share* share = reinterpret_cast<Share*>(shares);
  bool in_order = true;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t count = LoadShare<kItems>(tile, tile_items, t, share[t]);
    in_order &= ShareInOrder<kItems>(tile, t, share[t], count, less);
  }
  if (in_order) return;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    SortItems<kItems>(share[t], LoadShare<kItems>(tile, tile_items, t, share[t]), less);
    StoreShare<kItems>(tile, tile_items, t, share[t]);
  }
  for (std::uint32_t run = 1; run < kThreads; run *= 2) {
    for (std::uint32_t t = 0; t < kThreads; ++t) MergeShare<kItems>(tile, tile_items, t, run, share[t], less);
    for (std::uint32_t t = 0; t < kThreads; ++t) StoreShare<kItems>(tile, tile_items, t, share[t]);
  }
}

template <int kThreads, int kItems>
void ExpectSorts(std::uint64_t n, const Pattern& pattern, std::mt19937_64& random) {
  auto items = Make(pattern, n, random);
  auto expected = items;
  std::stable_sort(expected.begin(), expected.end(), TileKeyLess{});
  std::vector<TileItem> shares(kThreads * kItems);
  SortTile<kThreads, kItems>(items.data(), static_cast<std::uint32_t>(n), shares.data(), TileKeyLess{});
  ASSERT_EQ(items, expected) << pattern.name << ", " << n << " items";
}

TEST(SortTile, IsStableForEveryLengthOfASmallTile) {
  std::mt19937_64 random(1);
  for (const Pattern& pattern : Patterns()) {
    for (std::uint64_t n = 0; n <= 8 * 5; ++n) ExpectSorts<8, 5>(n, pattern, random);
    for (std::uint64_t n = 0; n <= 64 * 3; ++n) ExpectSorts<64, 3>(n, pattern, random);
    for (std::uint64_t n = 0; n <= 4; ++n) ExpectSorts<4, 1>(n, pattern, random);
  }
}

TEST(SortTile, IsStableForTheShapesOfTheKernels) {
  std::mt19937_64 random(2);
  constexpr TileShape kLarge = TuningTable(8).sort;
  constexpr TileShape kSmall = TuningTable(16).sort;
  for (const Pattern& pattern : Patterns()) {
    for (const std::uint64_t n : {kLarge.tile(), kLarge.tile() - 1, kLarge.tile() / 2 + 1, 33u}) {
      ExpectSorts<kLarge.threads, kLarge.items>(n, pattern, random);
    }
    ExpectSorts<kSmall.threads, kSmall.items>(kSmall.tile() - 3, pattern, random);
  }
}

TEST(SortTile, LeavesASortedTileAlone) {
  std::vector<int> tile(100);
  for (int i = 0; i < 100; ++i) tile[i] = i / 3;
  std::vector<int> shares(16 * 7);
  int comparisons = 0;
  SortTile<16, 7>(tile.data(), 100, shares.data(), [&comparisons](int a, int b) {
    ++comparisons;
    return a < b;
  });
  EXPECT_EQ(comparisons, 99);
}

TEST(SortTile, ComparesOnlyItemsOfTheTile) {
  // All memory around the tile contains null pointers, which must not be dereferenced.
  const std::vector<int> numbers{5, 3, 9, 1, 1, 8, 2};
  std::vector<const int*> memory(64, nullptr);
  for (std::size_t i = 0; i < numbers.size(); ++i) memory[i] = &numbers[i];
  std::vector<const int*> shares(64, nullptr);
  SortTile<16, 3>(memory.data(), static_cast<std::uint32_t>(numbers.size()), shares.data(),
                  [](const int* a, const int* b) { return *a < *b; });
  std::vector<int> sorted;
  for (std::size_t i = 0; i < numbers.size(); ++i) sorted.push_back(*memory[i]);
  EXPECT_EQ(sorted, (std::vector<int>{1, 1, 2, 3, 5, 8, 9}));
  EXPECT_EQ(memory[numbers.size()], nullptr);
}

RC_GTEST_PROP(SortItems, IsStableAndPadsWithTheLargest, (const std::vector<std::uint8_t>& keys)) {
  constexpr int kItems = 23;
  const std::uint32_t count = static_cast<std::uint32_t>(std::min<std::size_t>(keys.size(), kItems));
  TileItem items[kItems] = {};
  for (std::uint32_t i = 0; i < count; ++i) items[i] = {keys[i] % 8u, i};
  std::vector<TileItem> expected(items, items + count);
  std::stable_sort(expected.begin(), expected.end(), TileKeyLess{});
  SortItems<kItems>(items, count, TileKeyLess{});
  RC_ASSERT(std::equal(expected.begin(), expected.end(), items));
  for (std::uint32_t i = count; count > 0 && i < kItems; ++i) RC_ASSERT(items[i].key == expected.back().key);
}

TEST(TuningTable, FitsTheSharedMemoryItPromises) {
  constexpr std::size_t limit = 48 << 10;
  for (std::size_t bytes = 1; bytes <= kMaxItemBytes + 4; ++bytes) {
    const Tuning tuning = TuningTable(bytes);
    const auto expect_fits = [&](const TileShape& shape, std::size_t item_bytes, std::size_t more) {
      EXPECT_EQ(shape.threads & (shape.threads - 1), 0);
      EXPECT_GE(shape.threads, 32);
      EXPECT_LE(shape.tile() * item_bytes + more, limit) << bytes << " bytes";
      EXPECT_LE(shape.tile(), 0xFFFFu) << "places have 16 bits";
    };
    expect_fits(tuning.sort, bytes, 0);
    // A co-rank for each thread, and a place for each value.
    expect_fits(tuning.network_sort, bytes, tuning.network_sort.threads * sizeof(std::uint32_t));
    for (const TileShape& shape : {tuning.merge, tuning.merge_4}) expect_fits(shape, bytes, 0);
    for (const TileShape& shape : {tuning.merge_pairs, tuning.merge_pairs_4}) {
      expect_fits(shape, bytes, shape.tile() * sizeof(std::uint16_t) + 16);
    }
  }
}

/// Sorts a full tile of items as the threads of the kernel do. Equal items must be identical. `shares` is room for the
/// registers of all threads.
template <int kThreads, int kItems, typename Item, typename LessT>
void SortTileByNetworks(Item* tile, Item* shares, LessT less) {
  using Share = Item[kItems];
  Share* share = reinterpret_cast<Share*>(shares);
  // The assignment of items to threads does not matter.
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kItems; ++i) share[t][i] = tile[i * kThreads + t];
  }
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    detail::RunNetwork<detail::SortNetworkOf>(share[t], less);
    NetworkStore<kItems>(tile, t, 1, share[t]);
  }
  std::uint32_t co_ranks[kThreads];
  for (std::uint32_t run = 1; run < kThreads; run *= 2) {
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      co_ranks[t] = NetworkCoRank(tile, NetworkShareOf<kItems>(t, run), less);
    }
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::uint32_t end = (t + 1) % (2 * run) == 0 ? run * kItems : co_ranks[t + 1];
      NetworkMerge<kItems>(tile, NetworkShareOf<kItems>(t, run), co_ranks[t], end, Item{}, share[t], less);
    }
    for (std::uint32_t t = 0; t < kThreads; ++t) NetworkStore<kItems>(tile, t, 2 * run, share[t]);
  }
}

template <int kThreads, int kItems, typename TileItem, typename LessT>
void ExpectNetworksSort(LessT less, std::mt19937_64& random) {
  constexpr int kTile = kThreads * kItems;
  std::vector<TileItem> shares(kTile);
  for (const std::uint64_t values : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{50}, ~std::uint64_t{0}}) {
    for (const int shape : {0, 1, 2}) {
      std::vector<TileItem> tile(kTile);
      for (TileItem& item : tile) item = static_cast<TileItem>(random() % values);
      if (shape == 1) std::sort(tile.begin(), tile.end(), less);
      if (shape == 2) std::sort(tile.rbegin(), tile.rend(), less);
      auto expected = tile;
      std::sort(expected.begin(), expected.end(), less);
      SortTileByNetworks<kThreads, kItems>(tile.data(), shares.data(), less);
      ASSERT_EQ(tile, expected) << kThreads << " x " << kItems << ", " << values << " values, shape " << shape;
    }
  }
}
TEST(SortTileByNetworks, SortsTilesOfAnyShape) {
  std::mt19937_64 random(3);
  ExpectNetworksSort<2, 1, std::uint32_t>(Less{}, random);
  ExpectNetworksSort<4, 3, std::uint32_t>(Less{}, random);
  ExpectNetworksSort<8, 8, std::int32_t>(Less{}, random);
  ExpectNetworksSort<16, 5, std::uint64_t>(Less{}, random);
  ExpectNetworksSort<32, 17, std::int64_t>(Less{}, random);
  ExpectNetworksSort<64, 33, std::uint64_t>(Less{}, random);
}

TEST(NetworkMerge, FillsShortSharesWithTheLargest) {
  // Five items ascend and four descend. With shares of four items, the last share has one item.
  const std::uint32_t tile[9] = {1, 4, 4, 9, 12, 20, 9, 3, 0};
  const NetworkShare share{0, 5, 9, 8};
  const std::uint32_t first = NetworkCoRank(tile, share, Less{});
  std::uint32_t items[4];
  NetworkMerge<4>(tile, share, first, 5, ~0u, items, Less{});
  EXPECT_EQ(items[0], 20u);
  EXPECT_EQ(items[1], ~0u);
}

}  // namespace
}  // namespace gpusort
