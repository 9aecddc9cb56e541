#include "gpusort/merge_path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace gpusort {
namespace {

/// A key with its origin, so that stability shows. Only `key` is compared.
struct Item {
  int key = 0;
  std::uint32_t origin = 0;
  friend bool operator==(const Item&, const Item&) = default;
};
struct KeyLess {
  bool operator()(const Item& a, const Item& b) const { return a.key < b.key; }
};

std::vector<Item> SortedItems(std::uint64_t n, int values, std::uint32_t first_origin, std::mt19937_64& random) {
  std::vector<Item> items(n);
  for (std::uint64_t i = 0; i < n; ++i) items[i].key = static_cast<int>(random() % static_cast<unsigned>(values));
  std::stable_sort(items.begin(), items.end(), KeyLess{});
  for (std::uint64_t i = 0; i < n; ++i) items[i].origin = first_origin + static_cast<std::uint32_t>(i);
  return items;
}

TEST(CoRank, TakesTheLeftElementOnTies) {
  const std::vector<int> a{1, 1}, b{1, 1};
  for (std::uint64_t k = 0; k <= 4; ++k)
    EXPECT_EQ(CoRank(k, a.data(), 2, b.data(), 2, Less{}), std::min<std::uint64_t>(k, 2));
}

TEST(CoRank, CutsEveryPairOfShortListsWhereTheMergeDoes) {
  std::mt19937_64 random(1);
  for (std::uint64_t m = 0; m < 12; ++m) {
    for (std::uint64_t n = 0; n < 12; ++n) {
      for (const int values : {1, 2, 5, 1000}) {
        const auto a = SortedItems(m, values, 0, random), b = SortedItems(n, values, 1000, random);
        std::vector<Item> merged(m + n);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin(), KeyLess{});
        std::uint64_t from_a = 0;
        for (std::uint64_t k = 0; k <= m + n; ++k) {
          ASSERT_EQ(CoRank(k, a.begin(), m, b.begin(), n, KeyLess{}), from_a) << m << ' ' << n << ' ' << k;
          ASSERT_EQ(CoRankIn<std::uint32_t>(static_cast<std::uint32_t>(k), a.data(), static_cast<std::uint32_t>(m),
                                            b.data(), static_cast<std::uint32_t>(n), KeyLess{}),
                    from_a);
          if (k < m + n) from_a += merged[k].origin < 1000;
        }
      }
    }
  }
}

TEST(CoRank, ComparesAtMostTheLogarithmOfTheShorterList) {
  std::mt19937_64 random(2);
  for (const auto& [m, n] : {std::pair<std::uint64_t, std::uint64_t>{1, 1 << 20}, {1 << 20, 7}, {100000, 100000}}) {
    const auto a = SortedItems(m, 1 << 30, 0, random), b = SortedItems(n, 1 << 30, 0, random);
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t k = random() % (m + n + 1);
      std::uint32_t steps = 0;
      CoRank(k, a.data(), m, b.data(), n, [&steps](const Item& x, const Item& y) {
        ++steps;
        return x.key < y.key;
      });
      std::uint32_t most = 0;
      while ((std::uint64_t{1} << most) < std::min({k, m, n, m + n - k}) + 1) ++most;
      ASSERT_LE(steps, most);
    }
  }
}

TEST(CoRank, CountsBeyond32Bits) {
  // Lists that are functions: a is 0, 2, 4, ...; b is 1, 3, 5, ...
  struct Even {
    std::uint64_t operator[](std::uint64_t i) const { return 2 * i; }
  };
  struct Odd {
    std::uint64_t operator[](std::uint64_t i) const { return 2 * i + 1; }
  };
  constexpr std::uint64_t kItems = std::uint64_t{1} << 40;
  EXPECT_EQ(CoRank(kItems + 1, Even{}, kItems, Odd{}, kItems, Less{}), kItems / 2 + 1);
  EXPECT_EQ(CoRank(2 * kItems, Even{}, kItems, Odd{}, kItems, Less{}), kItems);
}

TEST(SerialMerge, IsTheStableMerge) {
  std::mt19937_64 random(3);
  for (std::uint64_t m = 0; m < 9; ++m) {
    for (std::uint64_t n = 0; n < 9; ++n) {
      const auto a = SortedItems(m, 3, 0, random), b = SortedItems(n, 3, 1000, random);
      std::vector<Item> expected(m + n), merged(m + n);
      std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), KeyLess{});
      SerialMerge(a.begin(), m, b.begin(), n, merged.begin(), KeyLess{});
      ASSERT_EQ(merged, expected);
    }
  }
}

/// One pass done by the phases that the kernels run, tile by tile and thread by thread.
template <int kThreads, int kItems, typename Runs>
std::vector<Item> RunPassByPhases(const Runs& runs, const std::vector<Item>& a, const std::vector<Item>& b,
                                  std::uint64_t n) {
  const MergePass<Runs> pass{runs, kThreads * kItems};
  std::vector<Item> out(n);
  std::vector<int> written(n);
  for (std::uint64_t t = 0; t < pass.tiles(); ++t) {
    const MergeTile tile = pass.tile(t);
    EXPECT_LE(tile.items, pass.tile_items);
    if (tile.items == 0) continue;
    const std::uint64_t first = PairCoRank(tile.pair, tile.begin, a.data(), b.data(), KeyLess{});
    const std::uint64_t end = PairCoRank(tile.pair, tile.begin + tile.items, a.data(), b.data(), KeyLess{});
    if (tile.continued()) {
      // The next tile's start is this tile's end: one search serves both.
      EXPECT_EQ(pass.tile(t + 1).begin, tile.begin + tile.items);
      EXPECT_EQ(pass.tile(t + 1).pair.out_begin, tile.pair.out_begin);
    } else {
      EXPECT_EQ(end, tile.pair.a_items);
    }
    const TileInputs inputs = InputsOfTile(tile, first, end);
    EXPECT_EQ(inputs.a_items + inputs.b_items, tile.items);
    std::vector<Item> shared(a.begin() + inputs.a_begin, a.begin() + inputs.a_begin + inputs.a_items);
    shared.insert(shared.end(), b.begin() + inputs.b_begin, b.begin() + inputs.b_begin + inputs.b_items);
    shared.shrink_to_fit();
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      Item items[kItems];
      std::uint32_t from[kItems];
      MergeTileShare<kItems>(shared.data(), static_cast<std::uint32_t>(inputs.a_items),
                             static_cast<std::uint32_t>(inputs.b_items), thread, items, from, KeyLess{});
      for (std::uint32_t i = 0; i < kItems && thread * kItems + i < tile.items; ++i) {
        const std::uint64_t at = tile.out_begin() + thread * kItems + i;
        EXPECT_EQ(items[i], shared[from[i]]);
        out[at] = items[i];
        ++written[at];
      }
    }
  }
  EXPECT_EQ(written, std::vector<int>(n, 1)) << "every output position is written once";
  return out;
}

/// Runs of the given lengths, each sorted, with origins in order of position.
std::vector<Item> MakeRuns(const std::vector<std::uint64_t>& bounds, int values, std::mt19937_64& random) {
  std::vector<Item> items;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
    const auto run = SortedItems(bounds[r + 1] - bounds[r], values, static_cast<std::uint32_t>(bounds[r]), random);
    items.insert(items.end(), run.begin(), run.end());
  }
  return items;
}

std::vector<Item> StableSorted(std::vector<Item> items) {
  std::stable_sort(items.begin(), items.end(), KeyLess{});
  return items;
}

TEST(MergePass, MergesTwoListsOfEveryLengthAroundAShareAndATile) {
  constexpr int kThreads = 4, kItems = 3;
  std::mt19937_64 random(4);
  const std::vector<std::uint64_t> lengths{0, 1, 2, 3, 4, 11, 12, 13, 23, 24, 25};
  for (const std::uint64_t m : lengths) {
    for (const std::uint64_t n : lengths) {
      for (const int values : {1, 2, 1000}) {
        const auto a = SortedItems(m, values, 0, random), b = SortedItems(n, values, 1000, random);
        std::vector<Item> expected(m + n);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), KeyLess{});
        ASSERT_EQ((RunPassByPhases<kThreads, kItems>(TwoLists{m, n}, a, b, m + n)), expected) << m << ' ' << n;
      }
    }
  }
}

TEST(MergePass, RepeatedOnUniformRunsSorts) {
  constexpr int kThreads = 4, kItems = 3;
  std::mt19937_64 random(5);
  for (const std::uint64_t run_items : {1, 5, 12, 13, 24}) {
    for (std::uint64_t n = 0; n < 130; ++n) {
      std::vector<std::uint64_t> bounds;
      for (std::uint64_t at = 0; at < n; at += run_items) bounds.push_back(at);
      bounds.push_back(n);
      auto items = MakeRuns(bounds, 9, random);
      const auto expected = StableSorted(items);
      UniformRuns runs{n, run_items};
      ASSERT_EQ(runs.runs(), bounds.size() - 1);
      for (; runs.runs() > 1; runs = runs.Merged()) items = RunPassByPhases<kThreads, kItems>(runs, items, items, n);
      ASSERT_EQ(items, expected) << run_items << ' ' << n;
    }
  }
}

TEST(MergePass, UniformTilesAreNeverEmpty) {
  for (const std::uint64_t n : {1, 11, 12, 13, 24, 25, 100, 1000}) {
    for (const std::uint64_t run_items : {1, 6, 7, 12, 24, 500, 5000}) {
      const MergePass<UniformRuns> pass{{n, run_items}, 12};
      std::uint64_t items = 0;
      for (std::uint64_t t = 0; t < pass.tiles(); ++t) {
        EXPECT_GT(pass.tile(t).items, 0u);
        EXPECT_EQ(pass.tile(t).out_begin(), items);
        items += pass.tile(t).items;
      }
      EXPECT_EQ(items, n);
    }
  }
}

TEST(MergePass, CountsBeyond32Bits) {
  constexpr std::uint64_t kItems = (std::uint64_t{1} << 42) + 5;
  const MergePass<UniformRuns> pass{{kItems, std::uint64_t{1} << 36}, 4096};
  const MergeTile last = pass.tile(pass.tiles() - 1);
  EXPECT_EQ(last.out_begin() + last.items, kItems);
  const std::vector<std::uint64_t> bounds{0, 1, std::uint64_t{1} << 40, kItems};
  const MergePass<BoundedRuns> bounded{{bounds.data(), 3, 0}, 4096};
  const MergeTile pair = bounded.tile(1000000);
  EXPECT_EQ(pair.pair.items(), bounds[2]);
  EXPECT_EQ(pair.out_begin(), 4096000000u);
  EXPECT_TRUE(pair.continued());
}

TEST(OddRunRule, NeverCopiesTwiceAndAlwaysEndsWhole) {
  for (std::uint64_t all = 1; all < 3000; ++all) {
    // What each list holds: for each run of the present level, whether it is there.
    std::vector<bool> current(all, true), alternate(all, false);
    OddRunRule rule;
    std::uint32_t passes = 0, copies_in_a_row = 0;
    for (std::uint64_t runs = all; runs > 1; runs = (runs + 1) / 2, ++passes) {
      const bool skips = rule.Skips(runs);
      std::vector<bool> out((runs + 1) / 2, true), in(out.size(), false);
      for (std::uint64_t p = 0; p < runs / 2; ++p) ASSERT_TRUE(current[2 * p] && current[2 * p + 1]) << all;
      if (runs % 2 != 0) {
        in.back() = current.back();
        out.back() = skips ? alternate.back() : current.back();
        copies_in_a_row = skips ? 0 : copies_in_a_row + 1;
        ASSERT_LE(copies_in_a_row, 1u) << all;
      } else {
        ASSERT_FALSE(skips);
        copies_in_a_row = 0;
      }
      current = out;
      alternate = in;
    }
    ASSERT_TRUE(current[0]) << all;
    ASSERT_EQ(passes, PassCount(all));
  }
}

RC_GTEST_PROP(MergeTree, OfAnyRunsIsAStableSort, (const std::vector<std::uint8_t>& lengths, std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> bounds{0};
  for (const std::uint8_t length : lengths) bounds.push_back(bounds.back() + (length % 4 == 0 ? 0 : length));
  auto items = MakeRuns(bounds, 1 + static_cast<int>(random() % 50), random);
  const auto expected = StableSorted(items);
  BoundedRuns runs{bounds.data(), bounds.size() - 1, 0};
  for (; runs.runs() > 1; runs = runs.Merged()) {
    const MergePass<BoundedRuns> pass{runs, 15};
    RC_ASSERT(pass.tiles() == items.size() / 15 + pass.pairs());
    items = RunPassByPhases<5, 3>(runs, items, items, items.size());
  }
  RC_ASSERT(items == expected);
}

}  // namespace
}  // namespace gpusort
