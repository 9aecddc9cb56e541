// What the blocks of the textbook merge kernels do, for host and device: phases of threads with barriers between.
// BasicMergeBlock merges straight from list to list; BufferedMergeBlock by way of shared memory, tile by tile, with one
// of three ways to keep a window of each list there (ListWindow). Both are written against a Team, which runs a phase
// for every thread: a GPU's block, or a loop on a CPU. Start at BufferedMergeBlock; the kernels are in
// merge_kernels.cuh.
// Sources: Hwu, Kirk and El Hajj, Programming Massively Parallel Processors, 4th ed., ch. 12 (basic, tiled, circular);
// J. Lv, Parallel Merge for Many-Core Architectures, Illinois 2016 (double buffer, shared co-ranks, no branches).
//
// A Team has
//   Each(f)                    one phase: f(thread) for every thread of the block
//   Barrier()                  no thread passes before all came
//   CountLanes<kWide>(t, p)    to thread t: of how many of the kWide threads around it, counted from 0, p(lane) is true
//   PerThread<T>               what a thread keeps from phase to phase, as PerThread<T>()[thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "classic/co_rank.hpp"
#include "classic/sequential.hpp"
#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// How a textbook merge is cut and which of the known improvements it uses.
struct MergeConfig {
  int blocks = 0;            ///< most blocks; 0: what suits the kernel (see merge_kernels.cuh)
  int threads = 256;         ///< of a block
  int items_per_thread = 8;  ///< outputs of a thread in one tile: thread coarsening
  /// A thread searches only the end of its share and reads its begin from its neighbour: half of the searches.
  bool share_co_ranks = false;
  bool branch_free = false;     ///< BranchFreeCoRank and BranchFreeMerge
  bool wide_partition = false;  ///< a block's part of the lists is found by warps (WideCoRank); not for BasicMerge
  bool stage_output = false;    ///< a tile goes out through shared memory, coalesced; not for BasicMerge

  /// Outputs of a block in one round.
  GPUSORT_HD constexpr std::uint32_t tile() const { return static_cast<std::uint32_t>(threads * items_per_thread); }
};

/// What a block keeps of each list in shared memory.
enum class Buffering {
  kSingle,    ///< a tile of each list, read anew for every tile of output: half of what is read is used
  kCircular,  ///< a tile of each list; what was used is replaced, the rest stays where it is
  kDouble,    ///< two tiles of each list; a whole tile is read when fewer items than that are left
};

template <typename T>
GPUSORT_HD constexpr T Least(T a, T b) {
  return b < a ? b : a;
}

/// kCapacity items that begin anywhere in a buffer and go on at its front: [i] is buffer[(start + i) mod kCapacity].
/// Co-rank and merge see contiguous indices, and index - 1 wraps like any other: a cut at b's first item is no case.
template <typename Item, std::uint32_t kCapacity>
struct CircularView {
  using value_type = Item;
  using reference = const Item&;
  using pointer = const Item*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  const Item* buffer;
  std::uint32_t start;  ///< < kCapacity

  GPUSORT_HD static std::uint32_t Wrap(std::uint32_t at) { return at < kCapacity ? at : at - kCapacity; }
  GPUSORT_HD const Item& operator[](std::uint32_t i) const { return buffer[Wrap(start + i)]; }
  GPUSORT_HD CircularView operator+(std::uint32_t i) const { return {buffer, Wrap(start + i)}; }
};

/// The part of one sorted list that a block has in shared memory. Every thread keeps one, and all are the same; only
/// Load does different things in different threads. The items of the list that are not used up are `held` items in the
/// buffer and then list[next, end).
template <Buffering kBuffering, std::uint32_t kTile>
struct ListWindow {
  static constexpr std::uint32_t kCapacity = kBuffering == Buffering::kDouble ? 2 * kTile : kTile;

  std::uint64_t next;
  std::uint64_t end;
  std::uint32_t start = 0;
  std::uint32_t held = 0;

  /// How many items the next Load brings. Behind it a tile is held, or all that is left.
  GPUSORT_HD std::uint32_t Wanted() const {
    std::uint32_t wanted = kTile - held;
    if (kBuffering == Buffering::kDouble) wanted = held == 0 ? 2 * kTile : held < kTile ? kTile : 0;
    return static_cast<std::uint32_t>(Least<std::uint64_t>(wanted, end - next));
  }
  /// Thread's part of the load: neighbouring threads, neighbouring items.
  template <std::uint32_t kThreads, typename Iterator, typename Item>
  GPUSORT_HD void Load(std::uint32_t thread, Iterator list, Item* buffer) const {
    constexpr int kSteps = static_cast<int>((kCapacity + kThreads - 1) / kThreads);
    // So many reads are under way before the first is waited for; 64 bytes of registers do not hurt.
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
  /// The items held. A single buffer never wraps.
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
  /// at < 2 * kCapacity.
  GPUSORT_HD static std::uint32_t Wrap(std::uint32_t at) { return at < kCapacity ? at : at - kCapacity; }
};

/// The shared memory of a block of BufferedMergeBlock.
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

  std::uint64_t* block_co_ranks;  ///< of the begin and the end of the block's outputs
  Item* a;
  Item* b;
  Item* staged;             ///< a tile of output
  std::uint32_t* co_ranks;  ///< [t + 1]: of the end of thread t's share of the tile

  /// `memory`: kBytes bytes, aligned to 16.
  GPUSORT_HD explicit BlockMemory(void* memory)
      : block_co_ranks(static_cast<std::uint64_t*>(memory)),
        a(reinterpret_cast<Item*>(static_cast<char*>(memory) + kABegin)),
        b(reinterpret_cast<Item*>(static_cast<char*>(memory) + kBBegin)),
        staged(reinterpret_cast<Item*>(static_cast<char*>(memory) + kStagedBegin)),
        co_ranks(reinterpret_cast<std::uint32_t*>(static_cast<char*>(memory) + kCoRanksBegin)) {}
};

/// Output ranks [begin, end) of a thread, and the co-ranks of both.
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

/// Phase: cuts the thread's share of outputs [tile_begin, tile_end). If co-ranks are shared, `co_ranks` takes them.
template <MergeConfig kConfig, typename Index, typename A, typename B, typename LessT>
GPUSORT_HD inline ThreadShare<Index> CutShare(std::uint32_t thread, Index tile_begin, Index tile_end, A a, Index m, B b,
                                              Index n, LessT less, Index* co_ranks) {
  constexpr Index kItems = kConfig.items_per_thread;
  ThreadShare<Index> share;
  share.begin = Least<Index>(tile_begin + thread * kItems, tile_end);
  share.end = Least<Index>(tile_begin + (thread + 1) * kItems, tile_end);
  share.last = FindCoRank<kConfig>(share.end, a, m, b, n, less);
  if (!kConfig.share_co_ranks || thread == 0) share.first = FindCoRank<kConfig>(share.begin, a, m, b, n, less);
  if (kConfig.share_co_ranks) co_ranks[thread + 1] = share.last;
  return share;
}

/// Phase: merges a share that CutShare cut, to out[share.begin, share.end).
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
    SequentialMerge<Index>(share_a, from_a, share_b, from_b, out + share.begin, less);
  }
}

/// The basic merge: every thread co-ranks its share in the lists and merges it from list to list. The block takes every
/// blocks-th tile, beginning with the block-th. `co_ranks`: kConfig.threads + 1 numbers, only touched if shared.
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
    // The next round overwrites the co-ranks.
    if constexpr (kConfig.share_co_ranks) team.Barrier();
  }
}

/// Phase: the co-ranks of the begin and the end of a block's outputs.
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

/// Merges outputs [begin, end) of the merge of a[0, m) and b[0, n) by way of shared memory: cut the lists once; then,
/// tile by tile, bring items to shared memory (neighbouring threads, neighbouring items), cut the tile, merge it.
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

    // The last tile may be short.
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
    // Each list moves by what was taken from it, and only from it: a's co-rank of the tile's end, and b's.
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
