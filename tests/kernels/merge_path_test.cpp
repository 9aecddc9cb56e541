// labels: brief no_tsan
#include "gpusort/merge_path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace gpusort {
namespace {

/// A key with its origin, which shows whether a merge is stable. Only `key` is compared.
struct MergeItem {
  int key = 0;
  std::uint32_t origin = 0;
  friend bool operator==(const MergeItem&, const MergeItem&) = default;
};
struct KeyLess {
  bool operator()(const MergeItem& a, const MergeItem& b) const { return a.key < b.key; }
};

std::vector<MergeItem> SortedItems(std::uint64_t n, int values, std::uint32_t first_origin, std::mt19937_64& random) {
  std::vector<MergeItem> items(n);
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
        std::vector<MergeItem> merged(m + n);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin(), KeyLess{});
        std::uint64_t from_a = 0;
        for (std::uint64_t k = 0; k <= m + n; ++k) {
          ASSERT_EQ(CoRank(k, a.begin(), m, b.begin(), n, KeyLess{}), from_a) << m << ' ' << n << ' ' << k;
          const auto low = static_cast<std::uint32_t>(k > n ? k - n : 0),
                     high = static_cast<std::uint32_t>(std::min(k, m));
          ASSERT_EQ(CoRankBetween(static_cast<std::uint32_t>(k), a.data(), b.data(), low, high, KeyLess{}), from_a);
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
      CoRank(k, a.data(), m, b.data(), n, [&steps](const MergeItem& x, const MergeItem& y) {
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
  // Lists that are computed: a is 0, 2, 4, ...; b is 1, 3, 5, ...
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
      std::vector<MergeItem> expected(m + n), merged(m + n);
      std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), KeyLess{});
      SerialMerge(a.begin(), m, b.begin(), n, merged.begin(), KeyLess{});
      ASSERT_EQ(merged, expected);
    }
  }
}

/// The lists that contain the runs of a pass.
struct Lists {
  const MergeItem* a;
  const MergeItem* b;
  const MergeItem* first() const { return a; }
  const MergeItem* last() const { return b; }
};

/// Runs the levels of one tile by the phases of the kernels, thread by thread. Sets `from` to the place of origin of
/// each item.
template <int kLevel, int kWays, int kThreads, int kItems>
void MergeLevelsByPhases(std::vector<MergeItem>& tile, std::vector<std::uint32_t>& from,
                         const std::uint32_t (&bounds)[kWays + 1]) {
  std::vector<MergeItem> merged(tile.size());
  std::vector<std::uint32_t> merged_from(tile.size());
  std::vector<int> written(tile.size());
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    MergeItem items[kItems];
    std::uint32_t places[kItems];
    const LevelShare share =
        MergeWaysShare<kLevel, kWays, kItems>(tile.data(), bounds, thread, items, places, KeyLess{});
    for (std::uint32_t i = 0; i < share.items; ++i) {
      EXPECT_EQ(items[i], tile[places[i]]);
      merged[share.begin + i] = items[i];
      merged_from[share.begin + i] = from[places[i]];
      ++written[share.begin + i];
    }
  }
  EXPECT_EQ(written, std::vector<int>(tile.size(), 1)) << "every item is written once";
  tile = merged;
  from = merged_from;
  if constexpr ((2 << kLevel) < kWays) MergeLevelsByPhases<kLevel + 1, kWays, kThreads, kItems>(tile, from, bounds);
}

/// Runs one pass with the phases of the kernels, tile by tile.
template <int kWays, int kThreads, int kItems, typename Runs>
std::vector<MergeItem> RunPassByPhases(const Runs& runs, const std::vector<MergeItem>& a,
                                       const std::vector<MergeItem>& b, std::uint64_t n) {
  const MergePass<Runs, kWays> pass{runs, WayTileItems<kWays>(kThreads, kItems)};
  const Lists lists{a.data(), b.data()};
  std::vector<MergeItem> out(n);
  std::vector<int> written(n);
  // The memory is filled with a pattern, because WriteCut must write all of it.
  std::vector<WayTile<kWays>> works(pass.tiles());
  if (!works.empty()) std::memset(static_cast<void*>(works.data()), 0xA5, works.size() * sizeof(WayTile<kWays>));
  for (std::uint64_t t = 0; t < pass.tiles(); ++t) {
    const MergeTile tile = pass.tile(t);
    EXPECT_LE(tile.items, pass.tile_items);
    if (tile.continued()) {
      EXPECT_EQ(pass.tile(t + 1).begin, tile.begin + tile.items);
      EXPECT_EQ(pass.tile(t + 1).group, tile.group);
    }
    std::uint64_t split[kWays];
    SplitGroup(pass, tile, lists, KeyLess{}, split);
    WriteCut(pass, t, tile, split, works.data());
  }
  for (std::uint64_t t = 0; t < pass.tiles(); ++t) {
    std::uint32_t bounds[kWays + 1] = {};
    std::vector<MergeItem> shared;
    std::vector<std::uint32_t> from;
    for (int w = 0; w < kWays; ++w) {
      const std::vector<MergeItem>& list = w == 0 ? a : b;
      const WayTile<kWays>& work = works[t];
      EXPECT_LE(work.begin[w], work.end[w]);
      shared.insert(shared.end(), list.begin() + work.begin[w], list.begin() + work.end[w]);
      bounds[w + 1] = static_cast<std::uint32_t>(shared.size());
    }
    EXPECT_EQ(shared.size(), pass.tile(t).items);
    if (shared.empty()) continue;
    shared.shrink_to_fit();
    for (std::uint32_t i = 0; i < shared.size(); ++i) from.push_back(i);
    const std::vector<MergeItem> before = shared;
    MergeLevelsByPhases<0, kWays, kThreads, kItems>(shared, from, bounds);
    for (std::size_t i = 0; i < shared.size(); ++i) {
      EXPECT_EQ(shared[i], before[from[i]]);
      out[works[t].out_begin + i] = shared[i];
      ++written[works[t].out_begin + i];
    }
  }
  EXPECT_EQ(written, std::vector<int>(n, 1)) << "every output position is written once";
  return out;
}

/// Returns runs of the given lengths, each sorted, with origins in the order of positions.
std::vector<MergeItem> MakeRuns(const std::vector<std::uint64_t>& bounds, int values, std::mt19937_64& random) {
  std::vector<MergeItem> items;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
    const auto run = SortedItems(bounds[r + 1] - bounds[r], values, static_cast<std::uint32_t>(bounds[r]), random);
    items.insert(items.end(), run.begin(), run.end());
  }
  return items;
}

std::vector<MergeItem> StableSorted(std::vector<MergeItem> items) {
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
        std::vector<MergeItem> expected(m + n);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), KeyLess{});
        ASSERT_EQ((RunPassByPhases<2, kThreads, kItems>(TwoLists{m, n}, a, b, m + n)), expected) << m << ' ' << n;
      }
    }
  }
}

template <int kWays>
void ExpectPassesSort(std::uint64_t run_items) {
  constexpr int kThreads = 5, kItems = 3;
  std::mt19937_64 random(5);
  for (std::uint64_t n = 0; n < 130; ++n) {
    std::vector<std::uint64_t> bounds;
    for (std::uint64_t at = 0; at < n; at += run_items) bounds.push_back(at);
    bounds.push_back(n);
    auto items = MakeRuns(bounds, 9, random);
    const auto expected = StableSorted(items);
    UniformRuns runs{n, run_items};
    ASSERT_EQ(runs.runs(), bounds.size() - 1);
    for (; runs.runs() > 1; runs = runs.Merged(MergePass<UniformRuns, kWays>::kLevels)) {
      items = RunPassByPhases<kWays, kThreads, kItems>(runs, items, items, n);
    }
    ASSERT_EQ(items, expected) << kWays << " ways, runs of " << run_items << " in " << n;
  }
}
TEST(MergePass, RepeatedOnUniformRunsSorts) {
  for (const std::uint64_t run_items : {1, 5, 12, 13, 24}) {
    ExpectPassesSort<2>(run_items);
    ExpectPassesSort<4>(run_items);
    ExpectPassesSort<8>(run_items);
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

TEST(PassCount, IsHalfTheLevelsRoundedUp) {
  EXPECT_EQ(PassCount(0), 0u);
  EXPECT_EQ(PassCount(1), 0u);
  EXPECT_EQ(PassCount(2), 1u);
  EXPECT_EQ(PassCount(4), 1u);
  EXPECT_EQ(PassCount(5), 2u);
  EXPECT_EQ(PassCount(16), 2u);
  EXPECT_EQ(PassCount(17), 3u);
}

/// Counts how many of the first `rank` items of the stable merge each run has.
std::vector<std::uint64_t> Counted(const std::vector<std::uint64_t>& bounds, const std::vector<MergeItem>& items,
                                   std::uint64_t rank) {
  const auto sorted = StableSorted(items);
  std::vector<std::uint64_t> counts(bounds.size() - 1);
  for (std::uint64_t i = 0; i < rank; ++i) {
    const auto run = std::upper_bound(bounds.begin(), bounds.end(), sorted[i].origin) - bounds.begin() - 1;
    ++counts[run];
  }
  return counts;
}

template <int kWays, int kProbes>
void ExpectSplits(std::mt19937_64& random) {
  std::vector<std::uint64_t> bounds{0};
  std::uint64_t begin[kWays], items[kWays], split[kWays];
  for (int w = 0; w < kWays; ++w) {
    begin[w] = bounds.back();
    items[w] = random() % 4 == 0 ? 0 : random() % (random() % 2 == 0 ? 8 : 300);
    bounds.push_back(begin[w] + items[w]);
  }
  const auto list = MakeRuns(bounds, 1 + static_cast<int>(random() % 200), random);
  const std::uint64_t rank = random() % (bounds.back() + 1);
  const auto expected = Counted(bounds, list, rank);
  std::uint64_t steps = 0, most_steps = 0;
  for (const std::uint64_t n : items) most_steps += std::bit_width(n) + 1;
  SplitRuns<kWays>(
      rank, list.begin(), begin, items,
      [&](const MergeItem& a, const MergeItem& b) {
        ++steps;
        return KeyLess{}(a, b);
      },
      split);
  ASSERT_EQ(std::vector<std::uint64_t>(split, split + kWays), expected);
  ASSERT_LE(steps, 2 * kWays * most_steps);

  // Runs the same search with many workers: each phase of a step for all workers.
  SplitSearch<std::uint32_t, kWays, kProbes> search(static_cast<std::uint32_t>(rank), items);
  int rounds = 0;
  for (; !search.done(); ++rounds) {
    ASSERT_LT(rounds, 100);
    std::vector<MergeItem> probes(kWays * kProbes);
    int found[kWays] = {}, beyond[kWays] = {};
    const auto unknown = [&](int w) { return search.low[w] < search.high[w]; };
    for (int i = 0; i < kWays * kProbes; ++i) {
      const int w = i / kProbes;
      if (unknown(w)) probes[i] = list[begin[w] + search.Probe(search.low[w], search.high[w], i % kProbes)];
    }
    for (int i = 0; i < kWays * kProbes; ++i) {
      const int verdict = unknown(i / kProbes) ? search.Verdict(i, probes.data(), KeyLess{}) : 0;
      found[i / kProbes] += verdict > 0;
      beyond[i / kProbes] += verdict < 0;
    }
    for (int w = 0; w < kWays; ++w) search.Narrow(w, found[w], beyond[w]);
  }
  ASSERT_EQ(std::vector<std::uint64_t>(search.low, search.low + kWays), expected);
}
TEST(SplitRuns, CountsWhatEachRunHasAmongTheFirst) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    ExpectSplits<2, 16>(random);
    ExpectSplits<4, 8>(random);
    ExpectSplits<8, 4>(random);
  }
}

TEST(CoRankNear, IsCoRankWhereverItStarts) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t m = random() % 200, n = random() % (random() % 2 == 0 ? 5 : 3000);
    const int values = 1 + static_cast<int>(random() % 100);
    auto a = SortedItems(m, values, 0, random), b = SortedItems(n, values, 1000, random);
    // Cuts far from the middle: all keys of one list come before all keys of the other.
    if (i % 3 == 0)
      for (MergeItem& item : b) item.key += 1000;
    if (i % 3 == 1)
      for (MergeItem& item : a) item.key += 1000;
    const std::uint64_t k = random() % (m + n + 1);
    std::uint64_t steps = 0;
    const auto counting = [&](const MergeItem& x, const MergeItem& y) {
      ++steps;
      return KeyLess{}(x, y);
    };
    ASSERT_EQ(CoRankNear<std::uint64_t>(k, a.data(), m, b.data(), n, counting),
              CoRank(k, a.data(), m, b.data(), n, KeyLess{}));
    ASSERT_LE(steps, 2 * std::bit_width(std::min(m, n)) + 2);
  }
}

RC_GTEST_PROP(MergeTree, OfAnyRunsIsAStableSort, (const std::vector<std::uint8_t>& lengths, std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> bounds{0};
  for (const std::uint8_t length : lengths) bounds.push_back(bounds.back() + (length % 4 == 0 ? 0 : length));
  auto items = MakeRuns(bounds, 1 + static_cast<int>(random() % 50), random);
  const auto expected = StableSorted(items);
  BoundedRuns runs{bounds.data(), bounds.size() - 1, 0};
  // 2-way and 4-way passes in any order.
  while (runs.runs() > 1) {
    if (random() % 2 == 0) {
      const MergePass<BoundedRuns> pass{runs, 15};
      RC_ASSERT(pass.tiles() == items.size() / 15 + pass.groups());
      items = RunPassByPhases<2, 5, 3>(runs, items, items, items.size());
      runs = runs.Merged(1);
    } else {
      items = RunPassByPhases<4, 6, 3>(runs, items, items, items.size());
      runs = runs.Merged(2);
    }
  }
  RC_ASSERT(items == expected);
}

}  // namespace
}  // namespace gpusort
