// Tests the textbook merges without a GPU: searches, sequential and parallel merges, and the blocks of the kernels. The
// threads of a block run as a loop (in three orders, because no phase may depend on the order) and as real threads (for
// ThreadSanitizer). Blocks are tiny, so that every buffer wraps.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/classic/co_rank.hpp"
#include "kernels/classic/merge_phases.hpp"
#include "kernels/classic/parallel_host.hpp"
#include "kernels/classic/row_column_merge.hpp"
#include "merge_patterns.hpp"

namespace gpusort::classic {
namespace {

using namespace gpusort::testing;

constexpr int kFromB = 1000000;  ///< the first origin of b

template <typename Item>
struct TwoLists {
  std::vector<Item> a, b, merged;
};

template <typename Item>
TwoLists<Item> MakeLists(std::uint64_t m, std::uint64_t n, int pattern, std::mt19937_64& random) {
  TwoLists<Item> lists;
  const auto make = [&](std::vector<Item>& list, std::uint64_t items, bool of_b) {
    list.resize(items);
    for (std::uint64_t i = 0; i < items; ++i) {
      list[i].key = static_cast<decltype(Item::key)>(PatternKey(pattern, i, of_b ? m : n, of_b, 100, random));
    }
    std::stable_sort(list.begin(), list.end(), KeyLess{});
    for (std::uint64_t i = 0; i < items; ++i) {
      list[i].origin = static_cast<decltype(Item::origin)>(i + (of_b ? kFromB : 0));
    }
  };
  make(lists.a, m, false);
  make(lists.b, n, true);
  lists.merged.resize(m + n);
  std::merge(lists.a.begin(), lists.a.end(), lists.b.begin(), lists.b.end(), lists.merged.begin(), KeyLess{});
  return lists;
}

// ---- Co-rank.

/// The three searches, called with the same arguments: k, a, m, b, n, less.
template <typename Index>
struct Textbook {
  template <typename A, typename B, typename LessT>
  Index operator()(Index k, A a, Index m, B b, Index n, LessT less) const {
    return TextbookCoRank<Index>(k, a, m, b, n, less);
  }
};
template <typename Index>
struct BranchFree {
  template <typename A, typename B, typename LessT>
  Index operator()(Index k, A a, Index m, B b, Index n, LessT less) const {
    return BranchFreeCoRank<Index>(k, a, m, b, n, less);
  }
};
template <typename Index, unsigned kWide>
struct Wide {
  template <typename A, typename B, typename LessT>
  Index operator()(Index k, A a, Index m, B b, Index n, LessT less) const {
    return WideCoRank<kWide, Index>(k, a, m, b, n, less);
  }
};

template <typename Index, typename Search>
void ExpectCutsAsTheMerge(Search search) {
  std::mt19937_64 random(1);
  for (std::uint64_t m = 0; m < 14; ++m) {
    for (std::uint64_t n = 0; n < 14; ++n) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const auto lists = MakeLists<Tagged>(m, n, pattern, random);
        Index from_a = 0;
        for (std::uint64_t k = 0; k <= m + n; ++k) {
          ASSERT_EQ(search(static_cast<Index>(k), lists.a.data(), static_cast<Index>(m), lists.b.data(),
                           static_cast<Index>(n), KeyLess{}),
                    from_a)
              << m << ' ' << n << ' ' << k << ", pattern " << pattern;
          if (k < m + n) from_a += lists.merged[k].origin < kFromB;
        }
      }
    }
  }
}

TEST(TextbookCoRank, CutsEveryPairOfShortListsWhereTheMergeDoes) {
  ExpectCutsAsTheMerge<std::uint64_t>(Textbook<std::uint64_t>());
  ExpectCutsAsTheMerge<std::uint32_t>(Textbook<std::uint32_t>());
}
TEST(BranchFreeCoRank, CutsEveryPairOfShortListsWhereTheMergeDoes) {
  ExpectCutsAsTheMerge<std::uint64_t>(BranchFree<std::uint64_t>());
  ExpectCutsAsTheMerge<std::uint32_t>(BranchFree<std::uint32_t>());
}
TEST(WideCoRank, CutsEveryPairOfShortListsWhereTheMergeDoes) {
  ExpectCutsAsTheMerge<std::uint64_t>(Wide<std::uint64_t, 1>());
  ExpectCutsAsTheMerge<std::uint64_t>(Wide<std::uint64_t, 3>());
  ExpectCutsAsTheMerge<std::uint32_t>(Wide<std::uint32_t, 32>());
}

/// Calls check(c, comparisons) for many co-ranks, where c = min(k, m, n, m + n - k).
template <typename Search, typename Check>
void CountComparisons(Search search, Check check) {
  std::mt19937_64 random(2);
  for (const auto& [m, n] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 100000}, {100000, 7}, {65535, 65536}, {100000, 100000}}) {
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      const auto lists = MakeLists<Tagged>(m, n, pattern, random);
      for (int round = 0; round < 100; ++round) {
        const std::uint64_t k = round == 0 ? 0 : round == 1 ? m + n : random() % (m + n + 1);
        std::uint64_t comparisons = 0;
        search(k, lists.a.data(), m, lists.b.data(), n, [&](const Tagged& x, const Tagged& y) {
          ++comparisons;
          return x.key < y.key;
        });
        ASSERT_NO_FATAL_FAILURE(check(std::min({k, m, n, m + n - k}), comparisons)) << m << ' ' << n << ' ' << k;
      }
    }
  }
}

/// Returns the least s with base^s >= x.
std::uint64_t CeilLog(std::uint64_t base, std::uint64_t x) {
  std::uint64_t s = 0;
  for (std::uint64_t power = 1; power < x; power *= base) ++s;
  return s;
}

TEST(TextbookCoRank, TakesTheLogarithmOfTheShorterListInSteps) {
  CountComparisons(Textbook<std::uint64_t>(), [](std::uint64_t c, std::uint64_t comparisons) {
    ASSERT_LE(comparisons, 2 * (CeilLog(2, c + 1) + 1));
  });
}
TEST(BranchFreeCoRank, TakesAsManyStepsForAnyKeys) {
  CountComparisons(BranchFree<std::uint64_t>(),
                   [](std::uint64_t c, std::uint64_t comparisons) { ASSERT_EQ(comparisons, CeilLog(2, c + 1)); });
}
TEST(WideCoRank, TakesAFifthOfTheSteps) {
  CountComparisons(Wide<std::uint64_t, 32>(), [](std::uint64_t c, std::uint64_t comparisons) {
    ASSERT_EQ(comparisons % 32, 0u);
    ASSERT_LE(comparisons / 32, CeilLog(33, c + 1));
  });
}

TEST(WideCoRank, EndsWithConsecutiveCandidates) {
  for (std::uint32_t count = 1; count <= 32; ++count) {
    std::vector<bool> asked(count, false);
    for (unsigned lane = 0; lane < 32; ++lane) asked[WideCandidate<32>(count, lane)] = true;
    EXPECT_EQ(asked, std::vector<bool>(count, true));
  }
}

TEST(ClassicCoRank, CountsBeyond32Bits) {
  // Lists whose items are computed: a is 0, 2, 4, ...; b is 1, 3, 5, ...
  struct Even {
    std::uint64_t operator[](std::uint64_t i) const { return 2 * i; }
  };
  struct Odd {
    std::uint64_t operator[](std::uint64_t i) const { return 2 * i + 1; }
  };
  constexpr std::uint64_t kItems = std::uint64_t{1} << 40;
  const auto check = [&](auto search) {
    EXPECT_EQ(search(kItems + 1, Even{}, kItems, Odd{}, kItems, Less{}), kItems / 2 + 1);
    EXPECT_EQ(search(2 * kItems, Even{}, kItems, Odd{}, kItems, Less{}), kItems);
    EXPECT_EQ(search(0, Even{}, kItems, Odd{}, kItems, Less{}), 0u);
  };
  check(Textbook<std::uint64_t>());
  check(BranchFree<std::uint64_t>());
  check(Wide<std::uint64_t, 32>());
}

// ---- Sequential and parallel merge.

TEST(ClassicSequentialMerge, IsTheStableMergeInBothForms) {
  std::mt19937_64 random(3);
  for (std::uint64_t m = 0; m < 12; ++m) {
    for (std::uint64_t n = 0; n < 12; ++n) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const auto lists = MakeLists<Tagged>(m, n, pattern, random);
        std::vector<Tagged> out(m + n);
        SerialMerge<std::uint64_t>(lists.a.begin(), m, lists.b.begin(), n, out.begin(), KeyLess{});
        ASSERT_EQ(out, lists.merged) << m << ' ' << n << ", pattern " << pattern;
        out.assign(m + n, {});
        BranchFreeMerge<std::uint32_t>(lists.a.data(), static_cast<std::uint32_t>(m), lists.b.data(),
                                       static_cast<std::uint32_t>(n), out.data(), KeyLess{});
        ASSERT_EQ(out, lists.merged) << m << ' ' << n << ", pattern " << pattern;
      }
    }
  }
}

/// Runs tasks in order, pretends to have `claimed` workers, and counts the tasks.
struct CountingExecutor {
  unsigned claimed;
  std::uint64_t* tasks_run;
  unsigned workers() const { return claimed; }
  template <typename F>
  void ForEach(std::uint64_t tasks, F&& f) const {
    *tasks_run += tasks;
    for (std::uint64_t task = 0; task < tasks; ++task) f(task, 0u);
  }
};

TEST(ParallelMerge, UsesNoMoreThreadsThanPay) {
  constexpr std::uint64_t kPays = kItemsThatPayAThread;
  EXPECT_EQ(ThreadsThatPay(0, 8), 1u);
  EXPECT_EQ(ThreadsThatPay(2 * kPays - 1, 8), 1u);
  EXPECT_EQ(ThreadsThatPay(2 * kPays, 8), 2u);
  EXPECT_EQ(ThreadsThatPay(7 * kPays, 8), 7u);
  EXPECT_EQ(ThreadsThatPay(std::uint64_t{1} << 40, 8), 8u);
  EXPECT_EQ(ThreadsThatPay(std::uint64_t{1} << 40, 0), 1u);
}

TEST(ParallelMerge, IsTheStableMergeForAnyNumberOfShares) {
  constexpr std::uint64_t kPays = kItemsThatPayAThread;
  std::mt19937_64 random(4);
  for (const auto& [m, n] : {std::pair<std::uint64_t, std::uint64_t>{0, 0},
                             {0, 1},
                             {kPays, kPays - 1},
                             {kPays, kPays},
                             {0, 3 * kPays + 1},
                             {3 * kPays + 2, 5},
                             {2 * kPays + 77, 3 * kPays}}) {
    for (int pattern = 0; pattern < kPatterns; ++pattern) {
      const auto lists = MakeLists<Tagged>(m, n, pattern, random);
      for (const unsigned workers : {1u, 2u, 3u, 8u}) {
        std::uint64_t tasks = 0;
        std::vector<Tagged> out(m + n);
        ParallelMerge(lists.a.data(), m, lists.b.data(), n, out.data(), KeyLess{}, CountingExecutor{workers, &tasks});
        ASSERT_TRUE(out == lists.merged) << m << ' ' << n << ", pattern " << pattern << ", workers " << workers;
        const unsigned expected = ThreadsThatPay(m + n, workers);
        ASSERT_EQ(tasks, expected == 1 ? 0 : expected) << "alone, it does not even ask the executor";
      }
    }
  }
}

TEST(ParallelMerge, TakesThreadsAndAnyRandomAccessIterators) {
  constexpr std::uint64_t kPays = kItemsThatPayAThread;
  std::mt19937_64 random(5);
  const auto lists = MakeLists<Tagged>(2 * kPays + 3, 3 * kPays, 5, random);
  const std::deque<Tagged> a(lists.a.begin(), lists.a.end());
  for (const unsigned threads : {0u, 1u, 2u, 64u}) {
    std::deque<Tagged> out(lists.merged.size());
    ParallelMerge(a.begin(), a.size(), lists.b.begin(), lists.b.size(), out.begin(), KeyLess{}, threads);
    ASSERT_TRUE(std::equal(out.begin(), out.end(), lists.merged.begin(), lists.merged.end())) << threads;
  }
  std::vector<Tagged> out(lists.merged.size());
  ParallelMerge(lists.a.data(), lists.a.size(), lists.b.data(), lists.b.size(), out.data(), KeyLess{},
                ThreadExecutor(4));
  EXPECT_TRUE(out == lists.merged);
}

// ---- The blocks of the kernels.

enum class Order { kForward, kBackward, kShuffled };
constexpr Order kOrders[] = {Order::kForward, Order::kBackward, Order::kShuffled};

/// A block whose threads run in a loop. All threads finish a phase before the next phase begins, so the barrier needs
/// no code.
template <int kThreads>
class LoopTeam {
 public:
  explicit LoopTeam(Order order) : order_(order) { std::iota(threads_, threads_ + kThreads, 0u); }
  template <typename Phase>
  void Each(Phase phase) {
    if (order_ == Order::kBackward) std::reverse(threads_, threads_ + kThreads);
    if (order_ == Order::kShuffled) std::shuffle(threads_, threads_ + kThreads, random_);
    for (const std::uint32_t thread : threads_) phase(thread);
  }
  void Barrier() {}
  template <unsigned kWide, typename Probe>
  unsigned CountLanes(std::uint32_t, Probe probe) {
    unsigned count = 0;
    for (unsigned lane = 0; lane < kWide; ++lane) count += probe(lane);
    return count;
  }
  template <typename T>
  struct PerThread {
    T values[kThreads];
    T& operator[](std::uint32_t thread) { return values[thread]; }
  };

 private:
  Order order_;
  std::uint32_t threads_[kThreads];
  std::mt19937_64 random_{6};
};

/// One thread of a block of real threads. Each thread runs the function of the whole block.
class RealTeam {
 public:
  RealTeam(std::uint32_t thread, std::barrier<>& barrier) : thread_(thread), barrier_(barrier) {}
  template <typename Phase>
  void Each(Phase phase) {
    phase(thread_);
  }
  void Barrier() { barrier_.arrive_and_wait(); }
  template <unsigned kWide, typename Probe>
  unsigned CountLanes(std::uint32_t, Probe probe) {
    unsigned count = 0;
    for (unsigned lane = 0; lane < kWide; ++lane) count += probe(lane);
    return count;
  }
  template <typename T>
  struct PerThread {
    T value;
    T& operator[](std::uint32_t) { return value; }
  };

 private:
  std::uint32_t thread_;
  std::barrier<>& barrier_;
};

/// Shared memory of exactly the requested size, so that AddressSanitizer finds writes after its end.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : data_(::operator new (bytes, std::align_val_t{16})) {
    std::memset(data_, 0x5A, bytes);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::operator delete (data_, std::align_val_t{16}); }
  void* data() const { return data_; }

 private:
  void* data_;
};

/// An output that counts how often each place is written.
template <typename Item>
struct Written {
  std::vector<Item> items;
  std::vector<int> times;
  explicit Written(std::uint64_t n) : items(n), times(n) {}

  struct Place {
    Written* list;
    std::uint64_t at;
    void operator=(const Item& item) const {
      list->items.at(at) = item;
      ++list->times.at(at);
    }
  };
  struct Iterator {
    Written* list;
    std::uint64_t begin;
    Place operator[](std::uint64_t i) const { return {list, begin + i}; }
    Iterator operator+(std::uint64_t i) const { return {list, begin + i}; }
  };
  Iterator begin() { return {this, 0}; }
};

template <typename Item>
void ExpectMerged(const Written<Item>& out, const TwoLists<Item>& lists, const std::string& what) {
  ASSERT_EQ(out.times, std::vector<int>(lists.merged.size(), 1)) << what << ": each output is written once";
  ASSERT_TRUE(out.items == lists.merged) << what;
}

/// Calls check(lists, what) for every pair of lengths around a thread's share, a tile and two tiles.
template <typename Item, typename Check>
void ForLists(std::uint64_t share, std::uint64_t tile, Check check) {
  std::vector<std::uint64_t> lengths{0, 1, 2};
  for (const std::uint64_t at : {share, tile, 2 * tile, 5 * tile}) {
    lengths.insert(lengths.end(), {at - 1, at, at + 1});
  }
  std::mt19937_64 random(7);
  for (const std::uint64_t m : lengths) {
    for (const std::uint64_t n : lengths) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const std::string what =
            std::to_string(m) + " and " + std::to_string(n) + ", pattern " + std::to_string(pattern);
        ASSERT_NO_FATAL_FAILURE(check(MakeLists<Item>(m, n, pattern, random), what));
      }
    }
  }
}

template <MergeConfig kConfig, typename Item = Tagged>
void ExpectBasicMerges() {
  ForLists<Item>(kConfig.items_per_thread, kConfig.tile(), [](const TwoLists<Item>& lists, const std::string& what) {
    for (const Order order : kOrders) {
      for (const std::uint64_t blocks : {1, 2, 5}) {
        Written<Item> out(lists.merged.size());
        for (std::uint64_t block = 0; block < blocks; ++block) {
          std::vector<std::uint64_t> co_ranks(kConfig.share_co_ranks ? kConfig.threads + 1 : 0);
          LoopTeam<kConfig.threads> team(order);
          BasicMergeBlock<kConfig>(team, co_ranks.data(), block, blocks, lists.a.data(), lists.a.size(), lists.b.data(),
                                   lists.b.size(), out.begin(), KeyLess{});
        }
        ASSERT_NO_FATAL_FAILURE(ExpectMerged(out, lists, what));
      }
    }
  });
}

template <MergeConfig kConfig, Buffering kBuffering, typename Item = Tagged>
void ExpectBufferedMerges() {
  ForLists<Item>(kConfig.items_per_thread, kConfig.tile(), [](const TwoLists<Item>& lists, const std::string& what) {
    const std::uint64_t total = lists.merged.size(), tile = kConfig.tile();
    for (const Order order : kOrders) {
      for (const std::uint64_t share : {tile - 1, tile, 2 * tile + 3, total}) {
        if (share == 0) continue;
        Written<Item> out(total);
        for (std::uint64_t begin = 0; begin < total; begin += share) {
          using Memory = BlockMemory<kConfig, kBuffering, Item>;
          const SharedMemory shared(Memory::kBytes);
          LoopTeam<kConfig.threads> team(order);
          BufferedMergeBlock<kConfig, kBuffering>(team, Memory(shared.data()), begin, std::min(begin + share, total),
                                                  lists.a.data(), lists.a.size(), lists.b.data(), lists.b.size(),
                                                  out.begin(), KeyLess{});
        }
        ASSERT_NO_FATAL_FAILURE(ExpectMerged(out, lists, what + ", share " + std::to_string(share)));
      }
    }
  });
}

constexpr MergeConfig kPlain{.threads = 4, .items_per_thread = 3};
constexpr MergeConfig kShared{.threads = 4, .items_per_thread = 4, .share_co_ranks = true};
constexpr MergeConfig kNoBranch{.threads = 4, .items_per_thread = 1, .branch_free = true};
constexpr MergeConfig kSharedNoBranch{.threads = 3, .items_per_thread = 5, .share_co_ranks = true, .branch_free = true};
constexpr MergeConfig kWide{.threads = 4, .items_per_thread = 4, .wide_partition = true, .stage_output = true};
constexpr MergeConfig kTwoWarps{
    .threads = 64, .items_per_thread = 1, .share_co_ranks = true, .branch_free = true, .wide_partition = true};

TEST(BasicMerge, IsTheStableMerge) {
  ExpectBasicMerges<kPlain>();
  ExpectBasicMerges<kShared>();
  ExpectBasicMerges<kNoBranch>();
  ExpectBasicMerges<kSharedNoBranch, Pair>();
}
TEST(TiledMerge, IsTheStableMerge) {
  ExpectBufferedMerges<kPlain, Buffering::kSingle>();
  ExpectBufferedMerges<kShared, Buffering::kSingle>();
  ExpectBufferedMerges<kNoBranch, Buffering::kSingle>();
  ExpectBufferedMerges<kSharedNoBranch, Buffering::kSingle, Pair>();
  ExpectBufferedMerges<kWide, Buffering::kSingle>();
}
TEST(CircularMerge, IsTheStableMerge) {
  ExpectBufferedMerges<kPlain, Buffering::kCircular>();
  ExpectBufferedMerges<kShared, Buffering::kCircular>();
  ExpectBufferedMerges<kNoBranch, Buffering::kCircular>();
  ExpectBufferedMerges<kSharedNoBranch, Buffering::kCircular, Pair>();
  ExpectBufferedMerges<kWide, Buffering::kCircular>();
  ExpectBufferedMerges<kTwoWarps, Buffering::kCircular>();
}
TEST(DoubleBufferMerge, IsTheStableMerge) {
  ExpectBufferedMerges<kPlain, Buffering::kDouble>();
  ExpectBufferedMerges<kShared, Buffering::kDouble>();
  ExpectBufferedMerges<kNoBranch, Buffering::kDouble>();
  ExpectBufferedMerges<kSharedNoBranch, Buffering::kDouble, Pair>();
  ExpectBufferedMerges<kWide, Buffering::kDouble>();
}

/// A list that counts how often each item is read.
template <typename Item>
struct CountedReads {
  using value_type = Item;
  using reference = const Item&;
  using pointer = const Item*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  const Item* items;
  int* reads;
  const Item& operator[](std::uint64_t i) const {
    ++reads[i];
    return items[i];
  }
  CountedReads operator+(std::uint64_t i) const { return {items + i, reads + i}; }
};

/// Returns how often each item of a, followed by b, is read when one block merges the lists.
template <MergeConfig kConfig, Buffering kBuffering>
std::vector<int> ReadsOfOneBlock(const TwoLists<Tagged>& lists) {
  using Memory = BlockMemory<kConfig, kBuffering, Tagged>;
  const std::uint64_t m = lists.a.size(), n = lists.b.size();
  std::vector<int> reads(m + n);
  std::vector<Tagged> out(m + n);
  const SharedMemory shared(Memory::kBytes);
  LoopTeam<kConfig.threads> team(Order::kForward);
  BufferedMergeBlock<kConfig, kBuffering>(
      team, Memory(shared.data()), 0, m + n, CountedReads<Tagged>{lists.a.data(), reads.data()}, m,
      CountedReads<Tagged>{lists.b.data(), reads.data() + m}, n, out.data(), KeyLess{});
  EXPECT_TRUE(out == lists.merged);
  return reads;
}

TEST(ListWindow, OfCircularAndDoubleBuffersReadsEachItemOnce) {
  ForLists<Tagged>(3, 12, [](const TwoLists<Tagged>& lists, const std::string& what) {
    const std::vector<int> once(lists.merged.size(), 1);
    ASSERT_EQ((ReadsOfOneBlock<kPlain, Buffering::kCircular>(lists)), once) << what;
    ASSERT_EQ((ReadsOfOneBlock<kPlain, Buffering::kDouble>(lists)), once) << what;
  });
}

TEST(ListWindow, OfASingleBufferReadsInterleavedListsTwice) {
  std::mt19937_64 random(8);
  const std::uint64_t tile = kPlain.tile();
  const auto lists = MakeLists<Tagged>(50 * tile, 50 * tile, 2, random);
  const auto reads = ReadsOfOneBlock<kPlain, Buffering::kSingle>(lists);
  const int all = std::accumulate(reads.begin(), reads.end(), 0);
  // Every round reads a tile of each list and uses half of it. In the last round fewer items are left to read.
  EXPECT_EQ(all, static_cast<int>(100 * 2 * tile - tile));
}

TEST(ListWindow, OfADoubleBufferRefillsByAWholeTileOnceLessIsLeft) {
  ListWindow<Buffering::kDouble, 16> window{0, 100};
  EXPECT_EQ(window.Wanted(), 32u);
  window.Loaded();
  window.Consume(16);
  EXPECT_EQ(window.Wanted(), 0u);
  window.Consume(1);
  EXPECT_EQ(window.Wanted(), 16u);
  window.Loaded();
  EXPECT_EQ(window.held, 31u);
  EXPECT_EQ(window.start, 17u);
  window.Consume(16);
  EXPECT_EQ(window.start, 1u);
}

/// Runs a block on real threads. ThreadSanitizer reports a missing barrier; other builds sometimes give a wrong result.
template <MergeConfig kConfig, Buffering kBuffering>
void ExpectRealThreadsMerge() {
  using Memory = BlockMemory<kConfig, kBuffering, Tagged>;
  std::mt19937_64 random(9);
  for (int pattern = 0; pattern < kPatterns; ++pattern) {
    const auto lists = MakeLists<Tagged>(101, 87, pattern, random);
    const std::uint64_t total = lists.merged.size();
    std::vector<Tagged> out(total);
    const SharedMemory shared(Memory::kBytes);
    std::barrier<> barrier(kConfig.threads);
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t thread = 0; thread < kConfig.threads; ++thread) {
        threads.emplace_back([&, thread] {
          RealTeam team(thread, barrier);
          BufferedMergeBlock<kConfig, kBuffering>(team, Memory(shared.data()), 0, total, lists.a.data(), lists.a.size(),
                                                  lists.b.data(), lists.b.size(), out.data(), KeyLess{});
        });
      }
    }
    ASSERT_EQ(out, lists.merged) << "pattern " << pattern;
  }
}

TEST(BufferedMergeBlock, OnRealThreadsNeedsNoMoreBarriers) {
  ExpectRealThreadsMerge<kPlain, Buffering::kSingle>();
  ExpectRealThreadsMerge<kShared, Buffering::kCircular>();
  ExpectRealThreadsMerge<kWide, Buffering::kCircular>();
  ExpectRealThreadsMerge<kSharedNoBranch, Buffering::kDouble>();
}

TEST(BasicMergeBlock, OnRealThreadsNeedsNoMoreBarriers) {
  std::mt19937_64 random(10);
  const auto lists = MakeLists<Tagged>(101, 87, 4, random);
  std::vector<Tagged> out(lists.merged.size());
  std::vector<std::uint64_t> co_ranks(kShared.threads + 1);
  std::barrier<> barrier(kShared.threads);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < kShared.threads; ++thread) {
      threads.emplace_back([&, thread] {
        RealTeam team(thread, barrier);
        BasicMergeBlock<kShared>(team, co_ranks.data(), 0, 1, lists.a.data(), lists.a.size(), lists.b.data(),
                                 lists.b.size(), out.data(), KeyLess{});
      });
    }
  }
  EXPECT_EQ(out, lists.merged);
}

TEST(BasicMergeBlock, SearchesHalfAsOftenWithSharedCoRanks) {
  std::mt19937_64 random(11);
  const auto lists = MakeLists<Tagged>(3000, 3000, 5, random);
  const auto comparisons = [&]<MergeConfig kConfig>() {
    std::uint64_t count = 0;
    std::vector<Tagged> out(lists.merged.size());
    std::vector<std::uint64_t> co_ranks(kConfig.threads + 1);
    LoopTeam<kConfig.threads> team(Order::kForward);
    BasicMergeBlock<kConfig>(team, co_ranks.data(), 0, 1, lists.a.data(), lists.a.size(), lists.b.data(),
                             lists.b.size(), out.data(), [&](const Tagged& x, const Tagged& y) {
                               ++count;
                               return x.key < y.key;
                             });
    // The merge itself makes the same comparisons in the two configurations.
    return count;
  };
  constexpr MergeConfig kAlone{.threads = 64, .items_per_thread = 1, .branch_free = true};
  constexpr MergeConfig kTogether{.threads = 64, .items_per_thread = 1, .share_co_ranks = true, .branch_free = true};
  const std::uint64_t alone = comparisons.operator()<kAlone>(), together = comparisons.operator()<kTogether>();
  EXPECT_LT(together * 100, alone * 53);
  EXPECT_GT(together * 100, alone * 47);
}

// ---- Rows and columns.

TEST(StridedMerge, IsTheStableMergeAndReadsEachItemOnce) {
  std::mt19937_64 random(12);
  for (std::uint64_t m = 0; m < 10; ++m) {
    for (std::uint64_t n = 0; n < 10; ++n) {
      for (int pattern = 0; pattern < kPatterns; ++pattern) {
        const auto lists = MakeLists<Tagged>(m, n, pattern, random);
        std::vector<Tagged> a(3 * m), b(2 * n), out(5 * (m + n));
        for (std::uint64_t i = 0; i < m; ++i) a[3 * i] = lists.a[i];
        for (std::uint64_t i = 0; i < n; ++i) b[2 * i] = lists.b[i];
        std::vector<int> reads(3 * m + 2 * n);
        StridedMerge(CountedReads<Tagged>{a.data(), reads.data()}, m, 3,
                     CountedReads<Tagged>{b.data(), reads.data() + 3 * m}, n, 2, out.data(), 5, KeyLess{});
        for (std::uint64_t k = 0; k < m + n; ++k) ASSERT_EQ(out[5 * k], lists.merged[k]) << m << ' ' << n << ' ' << k;
        for (std::uint64_t i = 0; i < 3 * m; ++i) ASSERT_EQ(reads[i], i % 3 == 0) << m << ' ' << n << ' ' << i;
        for (std::uint64_t i = 0; i < 2 * n; ++i) ASSERT_EQ(reads[3 * m + i], i % 2 == 0) << m << ' ' << n << ' ' << i;
      }
    }
  }
}

template <RowStorage kStorage>
void ExpectRowsSort() {
  std::mt19937_64 random(13);
  for (const std::uint64_t row_items : {1, 2, 3, 5, 16, 100}) {
    for (std::uint64_t items = 0; items < 90; ++items) {
      for (const int values : {1, 2, 1000}) {
        std::vector<Tagged> in(items);
        for (std::uint64_t i = 0; i < items; ++i) {
          in[i] = {static_cast<std::int32_t>(random() % static_cast<unsigned>(values)), static_cast<std::uint32_t>(i)};
        }
        auto expected = in;
        std::stable_sort(expected.begin(), expected.end(), KeyLess{});
        const std::uint64_t slots = RowMergeSortSlots<kStorage>(items, row_items);
        ASSERT_GE(slots, items);
        ASSERT_LE(slots, std::max<std::uint64_t>(2 * items, 1));
        std::vector<Tagged> out(slots), spare(slots);
        RowMergeSortOnHost<kStorage>(in.data(), items, row_items, out.data(), spare.data(), KeyLess{});
        out.resize(items);
        ASSERT_EQ(out, expected) << items << " in rows of " << row_items;
      }
    }
  }
}
TEST(RowMergeSort, IsTheStableSortOfRows) { ExpectRowsSort<RowStorage::kRowMajor>(); }
TEST(RowMergeSort, IsTheStableSortOfColumns) { ExpectRowsSort<RowStorage::kColumnMajor>(); }

TEST(RowMatrix, TransposedPutsNeighbouringThreadsNextToEachOther) {
  const RowMatrix<RowStorage::kColumnMajor> columns{1000, 10};
  const RowMatrix<RowStorage::kRowMajor> rows{1000, 10};
  for (std::uint64_t row = 0; row + 1 < rows.rows(); ++row) {
    EXPECT_EQ(columns.begin(row + 1) - columns.begin(row), 1u);
    EXPECT_EQ(rows.begin(row + 1) - rows.begin(row), rows.row_items);
  }
  EXPECT_EQ(columns.stride(), columns.rows());
  EXPECT_EQ(rows.stride(), 1u);
}

}  // namespace
}  // namespace gpusort::classic
