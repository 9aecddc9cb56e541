// The work of one thread block of the textbook merge kernels (merge_kernels.cuh), for host and device. BasicMergeBlock
// merges from list to list, BufferedMergeBlock through shared memory. Start at BufferedMergeBlock.
//
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12; J. Lv, Parallel Merge for
// Many-Core Architectures, Illinois 2016.
//
// The parameter `Team` is a class for the threads of a block: a GPU block, or a loop on a CPU. Its members:
// - Each(f) calls f(thread) for every thread.
// - Barrier() waits for all threads.
// - CountLanes<kWide>(thread, p) returns how many of the calls p(0), p(1), ... p(kWide - 1) return true.
// - PerThread<T> is the type of a variable x with one T for each thread: x[thread].
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"
#include "gpusort/merge_path.hpp"
#include "kernels/classic/co_rank.hpp"

namespace gpusort::classic {

/// How a textbook merge kernel divides its work among threads, and which known improvements it uses.
struct MergeConfig {
  int blocks = 0;     ///< the maximum number of blocks; 0: the best number for the kernel (see merge_kernels.cuh)
  int threads = 256;  ///< number of threads of a block
  int items_per_thread = 8;  ///< number of items that a thread writes in one round (thread coarsening)
  /// True: each thread searches the lists only for the end of its part of the output, and gets the start of its part
  /// from the thread before it. This halves the number of searches.
  bool share_co_ranks = false;
  bool branch_free = false;  ///< true: uses BranchFreeCoRank and BranchFreeMerge
  /// True: uses WideCoRank to find the part of each list that a thread block merges. BasicMerge does not compile with
  /// this option.
  bool wide_partition = false;
  /// True: output goes through shared memory, so that writes are coalesced. BasicMerge does not compile with this
  /// option.
  bool stage_output = false;

  /// Returns the size of a tile: the number of items that a block writes in one round.
  GPUSORT_HD constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads * items_per_thread); }
};

/// How a thread block keeps parts of each list in shared memory. A tile is the number of items that a block writes in
/// one round.
enum class Buffering {
  kSingle,    ///< one tile of each list, loaded again for every tile of output
  kCircular,  ///< one tile of each list; new items replace used items, and the others stay in place
  kDouble,    ///< two tiles of each list; a whole tile is loaded when less than one tile is left
};

template <typename T>
GPUSORT_HD constexpr T Least(T a, T b) {
  return b < a ? b : a;
}

/// A view of a circular buffer of kCapacity items, for searches and merges, which expect contiguous items. Item i of
/// the view is buffer[(start + i) mod kCapacity]. An index must be at most kCapacity, because Wrap() subtracts
/// kCapacity only once.
template <typename Item, std::uint32_t kCapacity>
struct CircularView {
  using value_type = Item;
  using reference = const Item&;
  using pointer = const Item*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  const Item* buffer;
  std::uint32_t start;  ///< below kCapacity

  GPUSORT_HD static std::uint32_t Wrap(std::uint32_t at) { return at < kCapacity ? at : at - kCapacity; }
  GPUSORT_HD const Item& operator[](std::uint32_t i) const { return buffer[Wrap(start + i)]; }
  GPUSORT_HD CircularView operator+(std::uint32_t i) const { return {buffer, Wrap(start + i)}; }
};

/// The part of one sorted list that a thread block keeps in shared memory. Every thread has its own copy of this
/// struct, and all copies are equal. The items that are not merged yet are the `held` items in the buffer, followed by
/// list[next, end).
template <Buffering kBuffering, std::uint32_t kTile>
struct ListWindow {
  static constexpr std::uint32_t kCapacity = kBuffering == Buffering::kDouble ? 2 * kTile : kTile;

  std::uint64_t next;
  std::uint64_t end;
  std::uint32_t start = 0;
  std::uint32_t held = 0;

  /// Returns how many items the next Load reads into the buffer.
  GPUSORT_HD std::uint32_t Wanted() const {
    // Fills the buffer. With kDouble, loads only whole tiles, except at the end of the list.
    std::uint32_t wanted = kTile - held;
    if (kBuffering == Buffering::kDouble) wanted = held == 0 ? 2 * kTile : held < kTile ? kTile : 0;
    return static_cast<std::uint32_t>(Least<std::uint64_t>(wanted, end - next));
  }
  /// Loads this thread's part of the next Wanted() items of the list to shared memory. All threads of the block must
  /// call this. Neighbouring threads load neighbouring items.
  template <std::uint32_t kThreads, typename Iterator, typename Item>
  GPUSORT_HD void Load(std::uint32_t thread, Iterator list, Item* buffer) const {
    constexpr int kSteps = static_cast<int>((kCapacity + kThreads - 1) / kThreads);
    // The number of loads that a thread starts before it stores the first result. The results take at most 64 bytes of
    // registers, unless one item is larger.
    constexpr int kBatch = sizeof(Item) >= 64 ? 1 : static_cast<int>(64 / sizeof(Item));
    const std::uint32_t wanted = Wanted();
    GPUSORT_UNROLL
    for (int first = 0; first < kSteps; first += kBatch) {
      Item items[kBatch];
      GPUSORT_UNROLL
      for (int step = 0; step < kBatch; ++step) {
        const std::uint32_t at = thread + static_cast<std::uint32_t>(first + step) * kThreads;
        if (at < wanted) items[step] = list[next + at];
      }
      GPUSORT_UNROLL
      for (int step = 0; step < kBatch; ++step) {
        const std::uint32_t at = thread + static_cast<std::uint32_t>(first + step) * kThreads;
        if (at < wanted) buffer[Wrap(start + held + at)] = items[step];
      }
    }
  }
  GPUSORT_HD void Loaded() {
    const std::uint32_t loaded = Wanted();
    next += loaded;
    held += loaded;
  }
  /// Returns a view of the items in the buffer that are not merged yet. With kSingle, these items begin at the start of
  /// the buffer, so the view is a pointer. Otherwise the buffer is a ring, and the view is a CircularView.
  template <typename Item>
  GPUSORT_HD auto View(const Item* buffer) const {
    if constexpr (kBuffering == Buffering::kSingle) {
      return buffer;
    } else {
      return CircularView<Item, kCapacity>{buffer, start};
    }
  }
  GPUSORT_HD void Consume(std::uint32_t items) {
    if (kBuffering == Buffering::kSingle) {
      next -= held - items;
      held = 0;
    } else {
      start = Wrap(start + items);
      held -= items;
    }
  }

 private:
  /// Returns `at` modulo kCapacity. `at` must be below 2 * kCapacity.
  GPUSORT_HD static std::uint32_t Wrap(std::uint32_t at) { return at < kCapacity ? at : at - kCapacity; }
};

/// The layout of the shared memory of a thread block that runs BufferedMergeBlock.
template <MergeConfig kConfig, Buffering kBuffering, typename Item>
struct BlockMemory {
  static_assert(alignof(Item) <= 16);
  static constexpr std::size_t kWindow = ListWindow<kBuffering, kConfig.tile()>::kCapacity * sizeof(Item);
  static constexpr std::size_t kStaged = kConfig.stage_output ? kConfig.tile() * sizeof(Item) : 0;
  static constexpr std::size_t kABegin = 2 * sizeof(std::uint64_t);
  static constexpr std::size_t kBBegin = kABegin + kWindow;
  static constexpr std::size_t kStagedBegin = kBBegin + kWindow;
  static constexpr std::size_t kCoRanksBegin = (kStagedBegin + kStaged + 3) / 4 * 4;
  static constexpr std::size_t kBytes = kCoRanksBegin + (kConfig.threads + 1) * sizeof(std::uint32_t);

  /// block_co_ranks[0] is the number of items of list `a` that come before the first output item of this block.
  /// block_co_ranks[1] is the number of items of list `a` that come before the end of the block's output.
  std::uint64_t* block_co_ranks;
  Item* a;
  Item* b;
  Item* staged;  ///< one tile of output, used only with stage_output
  /// co_ranks[t + 1] is the number of items of list `a` that the threads 0 to t write in this round. A round writes one
  /// tile of output.
  std::uint32_t* co_ranks;

  /// `memory` must have kBytes bytes and be aligned to 16.
  GPUSORT_HD explicit BlockMemory(void* memory)
      : block_co_ranks(static_cast<std::uint64_t*>(memory)),
        a(reinterpret_cast<Item*>(static_cast<char*>(memory) + kABegin)),
        b(reinterpret_cast<Item*>(static_cast<char*>(memory) + kBBegin)),
        staged(reinterpret_cast<Item*>(static_cast<char*>(memory) + kStagedBegin)),
        co_ranks(reinterpret_cast<std::uint32_t*>(static_cast<char*>(memory) + kCoRanksBegin)) {}
};

/// The part of the output that one thread writes: the positions [begin, end). In the merged output, `first` items of
/// list `a` come before position `begin`, and `last` items of list `a` come before position `end`.
template <typename Index>
struct ThreadShare {
  Index begin = 0, end = 0;
  Index first = 0, last = 0;
};

template <MergeConfig kConfig, typename Index, typename A, typename B, typename LessT>
GPUSORT_HD inline Index FindCoRank(Index k, A a, Index m, B b, Index n, LessT less) {
  if constexpr (kConfig.branch_free) {
    return BranchFreeCoRank<Index>(k, a, m, b, n, less);
  } else {
    return TextbookCoRank<Index>(k, a, m, b, n, less);
  }
}

/// Returns the part of the output positions [tile_begin, tile_end) that this thread must merge. All threads of a block
/// must call this, and then wait at a barrier if kConfig.share_co_ranks is true.
template <MergeConfig kConfig, typename Index, typename A, typename B, typename LessT>
GPUSORT_HD inline ThreadShare<Index> CutShare(std::uint32_t thread, Index tile_begin, Index tile_end, A a, Index m, B b,
                                              Index n, LessT less, Index* co_ranks) {
  constexpr Index kItems = kConfig.items_per_thread;
  ThreadShare<Index> share;
  share.begin = Least<Index>(tile_begin + thread * kItems, tile_end);
  share.end = Least<Index>(tile_begin + (thread + 1) * kItems, tile_end);
  share.last = FindCoRank<kConfig>(share.end, a, m, b, n, less);
  // With share_co_ranks, thread t > 0 gets its `first` from co_ranks[t] in MergeShare.
  if (!kConfig.share_co_ranks || thread == 0) share.first = FindCoRank<kConfig>(share.begin, a, m, b, n, less);
  if (kConfig.share_co_ranks) co_ranks[thread + 1] = share.last;
  return share;
}

/// Merges a[0, m) and b[0, n) to `out`, as SerialMerge does. No branch depends on the keys until one list ends, so the
/// threads of a warp do not diverge. Source: J. Lv, Parallel Merge for Many-Core Architectures, Illinois 2016.
template <typename Index, typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void BranchFreeMerge(IteratorA a, Index m, IteratorB b, Index n, Output out, LessT less) {
  using Item = typename std::iterator_traits<IteratorA>::value_type;
  Index i = 0, j = 0, k = 0;
  while (i < m && j < n) {
    const Item head_a = a[i];
    const Item head_b = b[j];
    const bool take_b = less(head_b, head_a);
    out[k++] = take_b ? head_b : head_a;
    j += take_b;
    i += !take_b;
  }
  while (i < m) out[k++] = a[i++];
  while (j < n) out[k++] = b[j++];
}

/// Merges this thread's part of `a` and `b` to out[share.begin, share.end). `share` and `co_ranks` must be results of
/// CutShare.
template <MergeConfig kConfig, typename Index, typename A, typename B, typename Output, typename LessT>
GPUSORT_HD inline void MergeShare(std::uint32_t thread, const ThreadShare<Index>& share, A a, B b, Output out,
                                  LessT less, const Index* co_ranks) {
  const Index first = kConfig.share_co_ranks && thread > 0 ? co_ranks[thread] : share.first;
  const Index from_a = share.last - first;
  const Index from_b = share.end - share.begin - from_a;
  const A share_a = a + first;
  const B share_b = b + (share.begin - first);
  if constexpr (kConfig.branch_free) {
    BranchFreeMerge<Index>(share_a, from_a, share_b, from_b, out + share.begin, less);
  } else {
    SerialMerge<Index>(share_a, from_a, share_b, from_b, out + share.begin, less);
  }
}

/// Runs thread block number `block` of `blocks` for the basic merge of a[0, m) and b[0, n) to `out`.
/// - co_ranks: shared memory for kConfig.threads + 1 numbers, used only if kConfig.share_co_ranks is true
template <MergeConfig kConfig, typename Team, typename A, typename B, typename Output, typename LessT>
GPUSORT_HD inline void BasicMergeBlock(Team& team, std::uint64_t* co_ranks, std::uint64_t block, std::uint64_t blocks,
                                       A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less) {
  static_assert(!kConfig.wide_partition, "the basic merge has no partition by blocks");
  static_assert(!kConfig.stage_output, "the basic merge does not use shared memory for items");
  typename Team::template PerThread<ThreadShare<std::uint64_t>> share;
  for (std::uint64_t begin = block * kConfig.tile(); begin < m + n; begin += blocks * kConfig.tile()) {
    const std::uint64_t end = Least<std::uint64_t>(begin + kConfig.tile(), m + n);
    team.Each([&](std::uint32_t thread) {
      share[thread] = CutShare<kConfig, std::uint64_t>(thread, begin, end, a, m, b, n, less, co_ranks);
    });
    if constexpr (kConfig.share_co_ranks) team.Barrier();
    team.Each([&](std::uint32_t thread) { MergeShare<kConfig>(thread, share[thread], a, b, out, less, co_ranks); });
    // All threads must have read the co-ranks before the next round overwrites them.
    if constexpr (kConfig.share_co_ranks) team.Barrier();
  }
}

/// Sets co_ranks[0] and co_ranks[1] to the number of items of list `a` that come before the output positions `begin`
/// and `end`. All threads of a block must call this, and wait at a barrier before they read co_ranks.
template <MergeConfig kConfig, typename Team, typename A, typename B, typename LessT>
GPUSORT_HD inline void CutBlock(Team& team, std::uint32_t thread, std::uint64_t begin, std::uint64_t end, A a,
                                std::uint64_t m, B b, std::uint64_t n, LessT less, std::uint64_t* co_ranks) {
  if constexpr (kConfig.wide_partition) {
    constexpr unsigned kWide = kConfig.threads < 32 ? kConfig.threads : 32;
    constexpr unsigned kWarps = kConfig.threads / kWide;
    static_assert(kConfig.threads % kWide == 0, "only whole warps search");
    for (unsigned r = thread / kWide; r < 2; r += kWarps) {
      const std::uint64_t co_rank =
          WideCoRank<kWide, std::uint64_t>(r == 0 ? begin : end, a, m, b, n, less,
                                           [&](auto probe) { return team.template CountLanes<kWide>(thread, probe); });
      if (thread % kWide == 0) co_ranks[r] = co_rank;
    }
  } else {
    static_assert(kConfig.threads >= 2, "one thread finds the begin and one the end");
    if (thread >= 2) return;
    const std::uint64_t rank = thread == 0 ? begin : end;
    co_ranks[thread] = FindCoRank<kConfig>(rank, a, m, b, n, less);
  }
}

/// Merges a[0, m) and b[0, n), but writes only the part out[begin, end) of the result. Runs in one thread block. Keeps
/// the items in shared memory.
template <MergeConfig kConfig, Buffering kBuffering, typename Team, typename A, typename B, typename Output,
          typename LessT>
GPUSORT_HD inline void BufferedMergeBlock(
    Team& team, const BlockMemory<kConfig, kBuffering, typename std::iterator_traits<A>::value_type>& memory,
    std::uint64_t begin, std::uint64_t end, A a, std::uint64_t m, B b, std::uint64_t n, Output out, LessT less) {
  constexpr std::uint32_t kThreads = kConfig.threads;
  constexpr std::uint32_t kTile = kConfig.tile();

  team.Each([&](std::uint32_t thread) {
    CutBlock<kConfig>(team, thread, begin, end, a, m, b, n, less, memory.block_co_ranks);
  });
  team.Barrier();
  ListWindow<kBuffering, kTile> window_a{memory.block_co_ranks[0], memory.block_co_ranks[1]};
  ListWindow<kBuffering, kTile> window_b{begin - window_a.next, end - window_a.end};

  typename Team::template PerThread<ThreadShare<std::uint32_t>> share;
  while (begin < end) {
    team.Each([&](std::uint32_t thread) {
      window_a.template Load<kThreads>(thread, a, memory.a);
      window_b.template Load<kThreads>(thread, b, memory.b);
    });
    window_a.Loaded();
    window_b.Loaded();
    team.Barrier();

    // The last tile (the items that the block writes in one round) may be shorter than the others.
    const std::uint32_t items = static_cast<std::uint32_t>(Least<std::uint64_t>(kTile, end - begin));
    const auto view_a = window_a.View(memory.a);
    const auto view_b = window_b.View(memory.b);
    team.Each([&](std::uint32_t thread) {
      share[thread] = CutShare<kConfig, std::uint32_t>(thread, 0, items, view_a, window_a.held, view_b, window_b.held,
                                                       less, memory.co_ranks);
      if (thread + 1 == kThreads) memory.co_ranks[kThreads] = share[thread].last;
    });
    team.Barrier();

    team.Each([&](std::uint32_t thread) {
      if constexpr (kConfig.stage_output) {
        MergeShare<kConfig>(thread, share[thread], view_a, view_b, memory.staged, less, memory.co_ranks);
      } else {
        MergeShare<kConfig>(thread, share[thread], view_a, view_b, out + begin, less, memory.co_ranks);
      }
    });
    // co_ranks[kThreads] is how many items of this tile (the output of this round) come from list `a`. The other items
    // of the tile come from list `b`.
    const std::uint32_t from_a = memory.co_ranks[kThreads];
    window_a.Consume(from_a);
    window_b.Consume(items - from_a);
    team.Barrier();

    if constexpr (kConfig.stage_output) {
      team.Each([&](std::uint32_t thread) {
        for (std::uint32_t at = thread; at < items; at += kThreads) out[begin + at] = memory.staged[at];
      });
    }
    begin += items;
  }
}

}  // namespace gpusort::classic
