// Tests the public calls on host threads against std::stable_sort of the same items.
#include "gpusort/merge_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpusort/gpusort.hpp"

namespace gpusort {
namespace {

/// A key and its origin. The origin distinguishes equal keys, so it shows the order of ties.
struct Item {
  std::uint32_t key = 0;
  std::uint32_t origin = 0;
  friend bool operator==(const Item&, const Item&) = default;
};
struct ByKey {
  bool operator()(const Item& a, const Item& b) const { return a.key < b.key; }
};

/// Returns sorted runs of the given lengths with keys below `keys`. Origins count up through all runs.
std::vector<std::vector<Item>> MakeRuns(const std::vector<std::uint64_t>& lengths, std::uint32_t keys,
                                        std::mt19937_64& random) {
  std::vector<std::vector<Item>> runs;
  std::uint32_t origin = 0;
  for (const std::uint64_t length : lengths) {
    std::vector<Item> run(length);
    for (Item& item : run) item.key = static_cast<std::uint32_t>(random() % keys);
    std::stable_sort(run.begin(), run.end(), ByKey());
    for (Item& item : run) item.origin = origin++;
    runs.push_back(run);
  }
  return runs;
}

std::vector<Item> StableMerge(const std::vector<std::vector<Item>>& runs) {
  std::vector<Item> all;
  for (const std::vector<Item>& run : runs) all.insert(all.end(), run.begin(), run.end());
  std::stable_sort(all.begin(), all.end(), ByKey());
  return all;
}

std::vector<Range<const Item*>> AsRanges(const std::vector<std::vector<Item>>& runs) {
  std::vector<Range<const Item*>> ranges;
  for (const std::vector<Item>& run : runs) ranges.push_back({run.data(), run.size()});
  return ranges;
}

/// Returns lengths of k runs of several shapes: equal lengths, empty runs, one giant, doubling lengths.
std::vector<std::uint64_t> Lengths(int shape, std::size_t k, std::uint64_t length, std::mt19937_64& random) {
  std::vector<std::uint64_t> lengths(k, length);
  for (std::size_t i = 0; i < k; ++i) {
    if (shape == 1) lengths[i] = random() % 3 == 0 ? 0 : random() % (2 * length + 1);
    if (shape == 2) lengths[i] = i == k / 2 ? length * k : random() % 2;
    if (shape == 3) lengths[i] = i < 14 ? std::uint64_t{1} << i : 1;
  }
  return lengths;
}

TEST(MergeArrays, AgreesForEveryPairOfSmallLengths) {
  std::mt19937_64 random(1);
  for (const std::uint32_t keys : {1u, 2u, 5u, 1000000u}) {
    for (std::uint64_t m = 0; m <= 40; ++m) {
      for (std::uint64_t n = 0; n <= 40; ++n) {
        const auto runs = MakeRuns({m, n}, keys, random);
        std::vector<Item> out(m + n);
        detail::MergeArrays(runs[0].data(), m, runs[1].data(), n, out.data(), ByKey());
        ASSERT_EQ(out, StableMerge(runs)) << m << " " << n << " " << keys;
      }
    }
  }
}

TEST(MergeArrays, AgreesAroundTheLengthsAtWhichItChangesItsWay) {
  std::mt19937_64 random(2);
  for (const std::uint32_t keys : {2u, 300u, 1000000000u}) {
    for (const std::uint64_t m : {1u, 3u, 120u, 127u, 128u, 129u, 255u, 256u, 1000u, 5000u}) {
      for (const std::uint64_t n : {1u, 2u, 127u, 128u, 129u, 136u, 255u, 256u, 1001u, 7000u}) {
        const auto runs = MakeRuns({m, n}, keys, random);
        std::vector<Item> out(m + n);
        detail::MergeArrays(runs[0].data(), m, runs[1].data(), n, out.data(), ByKey());
        ASSERT_EQ(out, StableMerge(runs)) << m << " " << n << " " << keys;
      }
    }
  }
}

TEST(MergeArrays, CopiesDisjointListsInEitherOrder) {
  const std::vector<int> low = {1, 2, 3}, high = {4, 5};
  std::vector<int> out(5);
  detail::MergeArrays(low.data(), 3, high.data(), 2, out.data(), Less());
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 4, 5}));
  detail::MergeArrays(high.data(), 2, low.data(), 3, out.data(), Less());
  EXPECT_EQ(out, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(ForEachTile, CoversTheMergeInBoundedTilesOfNonEmptySlices) {
  std::mt19937_64 random(3);
  for (const std::size_t k : {1u, 2u, 3u, 17u, 70u, 300u}) {
    for (int shape = 0; shape < 4; ++shape) {
      for (const std::uint64_t tile : {1u, 7u, 64u, 1000u}) {
        for (const std::uint32_t keys : {1u, 3u, 100000u}) {
          const auto runs = MakeRuns(Lengths(shape, k, 1 + 600 / k, random), keys, random);
          const std::vector<Item> expected = StableMerge(runs);
          const auto ranges = AsRanges(runs);
          std::vector<Item> out(expected.size());
          std::uint64_t covered = 0;
          ForEachTile(
              std::span<const Range<const Item*>>(ranges), tile, ByKey(), SequentialExecutor(),
              [&](std::span<const Range<const Item*>> slices, std::uint64_t begin, std::uint64_t size, unsigned) {
                ASSERT_LE(size, tile);
                // A cut leaves at least an eighth on each side, so no tile is very small.
                if (expected.size() > tile) {
                  ASSERT_GE(8 * (size + 1), tile);
                }
                std::vector<std::vector<Item>> parts;
                for (const auto& slice : slices) {
                  ASSERT_GT(slice.size, 0u);
                  parts.emplace_back(slice.first, slice.first + slice.size);
                }
                const std::vector<Item> merged = StableMerge(parts);
                ASSERT_EQ(merged.size(), size);
                std::copy(merged.begin(), merged.end(), out.begin() + static_cast<std::ptrdiff_t>(begin));
                covered += size;
              });
          ASSERT_EQ(covered, expected.size());
          ASSERT_EQ(out, expected) << k << " " << shape << " " << tile << " " << keys;
        }
      }
    }
  }
}

TEST(MergeRuns, AgreesWithAStableSortForAnyRuns) {
  std::mt19937_64 random(4);
  for (const std::size_t k : {0u, 1u, 2u, 3u, 5u, 17u, 64u, 2000u}) {
    for (int shape = 0; shape < 4; ++shape) {
      for (const std::uint32_t keys : {1u, 2u, 1000u, 4000000000u}) {
        const auto runs = MakeRuns(Lengths(shape, k, k < 20 ? 9000 : 30, random), keys, random);
        const auto ranges = AsRanges(runs);
        const std::vector<Item> expected = StableMerge(runs);
        std::vector<Item> out(expected.size());
        MergeRuns(std::span<const Range<const Item*>>(ranges), out.data(), ByKey(), SequentialExecutor());
        ASSERT_EQ(out, expected) << k << " " << shape << " " << keys;
        out.assign(expected.size(), Item{});
        MergeRuns(std::span<const Range<const Item*>>(ranges), out.begin(), ByKey(), ThreadExecutor(3));
        ASSERT_EQ(out, expected) << k << " " << shape << " " << keys;
      }
    }
  }
}

TEST(MergeRuns, TakesIteratorsThatAreNoPointersOnBothSides) {
  std::mt19937_64 random(5);
  const auto runs = MakeRuns({50000, 0, 20000, 1, 30000}, 500, random);
  const std::vector<Item> expected = StableMerge(runs);
  std::vector<std::deque<Item>> deques;
  for (const auto& run : runs) deques.emplace_back(run.begin(), run.end());
  std::vector<Range<std::deque<Item>::const_iterator>> ranges;
  for (const auto& deque : deques) ranges.push_back({deque.begin(), deque.size()});
  std::deque<Item> out(expected.size());
  MergeRuns(std::span<const Range<std::deque<Item>::const_iterator>>(ranges), out.begin(), ByKey(), ThreadExecutor(2));
  EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin(), expected.end()));
}

TEST(MergeRuns, TakesItemsThatOwnMemory) {
  std::mt19937_64 random(6);
  std::vector<std::vector<std::string>> runs(9);
  std::vector<std::string> expected;
  for (auto& run : runs) {
    for (int i = 0; i < 3000; ++i) run.push_back(std::string(20, 'x') + std::to_string(random() % 1000));
    std::sort(run.begin(), run.end());
    expected.insert(expected.end(), run.begin(), run.end());
  }
  std::sort(expected.begin(), expected.end());
  std::vector<Range<const std::string*>> ranges;
  for (const auto& run : runs) ranges.push_back({run.data(), run.size()});
  std::vector<std::string> out(expected.size());
  MergeRuns(std::span<const Range<const std::string*>>(ranges), out.begin());
  EXPECT_EQ(out, expected);
}

TEST(MergeRuns, LooksAtFewItemsBeyondTheLevelsOfMerging) {
  // 2000 runs of 200 items have log2(2000) = 11 levels. The search for splitters must take far fewer comparisons than
  // the merge.
  std::mt19937_64 random(7);
  const auto runs = MakeRuns(std::vector<std::uint64_t>(2000, 200), 4000000000u, random);
  const auto ranges = AsRanges(runs);
  std::vector<Item> out(400000);
  std::uint64_t comparisons = 0;
  MergeRuns(
      std::span<const Range<const Item*>>(ranges), out.data(),
      [&](const Item& a, const Item& b) {
        ++comparisons;
        return a.key < b.key;
      },
      SequentialExecutor());
  EXPECT_EQ(out, StableMerge(runs));
  EXPECT_LT(comparisons, 400000u * 16);
}

TEST(MergeKeys, AgreesWithAStableSortForListsOfOtherIterators) {
  std::mt19937_64 random(8);
  for (const std::uint64_t m : {0u, 1u, 1000u, 32768u, 100000u}) {
    for (const std::uint64_t n : {0u, 1u, 999u, 32769u, 70000u}) {
      const auto runs = MakeRuns({m, n}, 5000, random);
      const std::vector<Item> expected = StableMerge(runs);
      std::vector<Item> out(m + n);
      MergeKeys(runs[0].begin(), m, runs[1].begin(), n, out.begin(), ByKey(), ThreadExecutor(3));
      ASSERT_EQ(out, expected) << m << " " << n;
      const std::deque<Item> b(runs[1].begin(), runs[1].end());
      out.assign(m + n, Item{});
      MergeKeys(runs[0].data(), m, b.begin(), n, out.begin(), ByKey(), SequentialExecutor());
      ASSERT_EQ(out, expected) << m << " " << n;
    }
  }
}

TEST(MergePairs, MovesEachValueWithItsKey) {
  std::mt19937_64 random(9);
  for (const std::uint64_t m : {0u, 1u, 40000u, 100000u}) {
    for (const std::uint64_t n : {0u, 1u, 33000u, 70000u}) {
      const auto runs = MakeRuns({m, n}, 700, random);
      const std::vector<Item> expected = StableMerge(runs);
      std::vector<std::vector<std::uint32_t>> keys(2), values(2);
      for (int r = 0; r < 2; ++r) {
        for (const Item& item : runs[r]) {
          keys[r].push_back(item.key);
          values[r].push_back(item.origin);
        }
      }
      std::vector<std::uint32_t> out_keys(m + n);
      std::deque<std::uint64_t> out_values(m + n);
      MergePairs(keys[0].begin(), values[0].begin(), m, keys[1].begin(), values[1].begin(), n, out_keys.begin(),
                 out_values.begin(), Less(), ThreadExecutor(2));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(out_keys[i], expected[i].key) << m << " " << n << " " << i;
        ASSERT_EQ(out_values[i], expected[i].origin) << m << " " << n << " " << i;
      }
    }
  }
}

TEST(SortKeys, AgreesWithAStableSort) {
  std::mt19937_64 random(10);
  for (const std::uint64_t n : {0u, 1u, 2u, 1000u, 65535u, 65536u, 65537u, 200001u}) {
    for (const std::uint32_t keys : {1u, 3u, 4000000000u}) {
      std::vector<Item> items(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        items[i] = {static_cast<std::uint32_t>(random() % keys), static_cast<std::uint32_t>(i)};
      }
      std::vector<Item> expected = items;
      std::stable_sort(expected.begin(), expected.end(), ByKey());
      std::deque<Item> other(items.begin(), items.end());
      SortKeys(items.begin(), n, ByKey(), ThreadExecutor(3));
      ASSERT_EQ(items, expected) << n << " " << keys;
      SortKeys(other.begin(), n, ByKey(), ThreadExecutor(2));
      ASSERT_TRUE(std::equal(other.begin(), other.end(), expected.begin())) << n << " " << keys;
    }
  }
}

TEST(SortKeys, SortsTilesWithTheGivenSorter) {
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> numbers(150000);
  for (auto& number : numbers) number = random();
  std::vector<std::uint64_t> expected = numbers;
  std::sort(expected.begin(), expected.end(), std::greater<>());
  std::atomic<int> tiles{0};
  SortKeys(numbers.begin(), numbers.size(), std::greater<>(), ThreadExecutor(2), [&](auto first, auto last, auto less) {
    ++tiles;
    std::sort(first, last, less);
  });
  EXPECT_EQ(numbers, expected);
  EXPECT_GT(tiles, 1);
}

TEST(SortPairs, MovesEachValueWithItsKey) {
  std::mt19937_64 random(12);
  for (const std::uint64_t n : {0u, 1u, 500u, 100000u}) {
    std::vector<std::uint16_t> keys(n);
    std::vector<std::string> values(n);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint64_t i = 0; i < n; ++i) {
      keys[i] = static_cast<std::uint16_t>(random() % 1000);
      values[i] = std::to_string(i);
    }
    const std::vector<std::uint16_t> given = keys;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return given[a] < given[b]; });
    SortPairs(keys.begin(), values.begin(), n, Less(), ThreadExecutor(2));
    for (std::uint64_t i = 0; i < n; ++i) {
      ASSERT_EQ(keys[i], given[order[i]]);
      ASSERT_EQ(values[i], std::to_string(order[i]));
    }
  }
}

TEST(ThreadExecutor, RunsEveryTaskOnceAndOneAtATimeForEachWorker) {
  const ThreadExecutor executor(4);
  std::vector<std::atomic<int>> runs(1000);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> clash{false};
  executor.ForEach(runs.size(), [&](std::uint64_t task, unsigned worker) {
    if (worker >= 4 || ++busy[worker] != 1) clash = true;
    ++runs[task];
    --busy[worker];
  });
  EXPECT_FALSE(clash);
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(ThreadExecutor, ThrowsWhatATaskThrewAndStartsNoMoreTasks) {
  const ThreadExecutor executor(2);
  std::atomic<int> ran{0};
  EXPECT_THROW(executor.ForEach(100000,
                                [&](std::uint64_t task, unsigned) {
                                  ++ran;
                                  if (task == 3) throw std::runtime_error("task 3");
                                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                }),
               std::runtime_error);
  EXPECT_LT(ran, 100000);
}

TEST(MergeRuns, PassesOnWhatTheOrderThrows) {
  std::vector<int> a(100000, 1), b(100000, 1), out(200000);
  const std::vector<Range<const int*>> ranges = {{a.data(), a.size()}, {b.data(), b.size()}};
  const auto throwing = [](int, int) -> bool { throw std::runtime_error("no order"); };
  EXPECT_THROW(MergeRuns(std::span<const Range<const int*>>(ranges), out.data(), throwing, ThreadExecutor(2)),
               std::runtime_error);
}

}  // namespace
}  // namespace gpusort
