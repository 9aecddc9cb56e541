// Stable merging and sorting on host threads, for any random-access iterators and any strict weak order. Equal keys
// keep the order of their sorted runs. An executor supplies the threads, for example the thread pool of an application.
// Start at MergeRuns. gpusort.hpp describes all functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpusort/merge_path.hpp"

namespace gpusort {

/// An executor runs tasks on threads. ForEach(tasks, f) must call f(task, worker) once for each task in [0, tasks). It
/// must return when all tasks are done, and must throw the first exception of a task. `worker` is a number below
/// workers(). Two tasks with the same `worker` number must not run at the same time.
template <typename E>
concept HostExecutor = requires(const E& e, void (*f)(std::uint64_t, unsigned)) {
  { e.workers() } -> std::convertible_to<unsigned>;
  e.ForEach(std::uint64_t{}, f);
};

/// An executor that runs every task on the calling thread, in order.
struct SequentialExecutor {
  unsigned workers() const { return 1; }
  template <typename F>
  void ForEach(std::uint64_t tasks, F&& f) const {
    for (std::uint64_t task = 0; task < tasks; ++task) f(task, 0u);
  }
};

/// An executor that starts new threads in each call of ForEach, and joins them before ForEach returns. Starting a
/// thread takes about 20 us. The calling thread runs tasks, too.
class ThreadExecutor {
 public:
  /// `threads` is the number of threads, including the calling thread. 0 means one thread for each core.
  explicit ThreadExecutor(unsigned threads = 0)
      : workers_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {}
  unsigned workers() const { return workers_; }

  template <typename F>
  void ForEach(std::uint64_t tasks, F&& f) const {
    std::atomic<std::uint64_t> next{0};
    std::exception_ptr error;
    std::mutex error_mutex;
    const auto work = [&](unsigned worker) {
      try {
        for (std::uint64_t task = next++; task < tasks; task = next++) f(task, worker);
      } catch (...) {
        next = tasks;
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(workers_, tasks));
      if (wanted > 1) threads.reserve(wanted - 1);
      try {
        for (unsigned worker = 1; worker < wanted; ++worker) threads.emplace_back(work, worker);
      } catch (const std::system_error&) {
        // The system refuses to start more threads. This thread and the threads that have started do all tasks.
      }
      work(0);
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  unsigned workers_;
};

/// A range of `size` items, which begins at `first`.
template <typename It>
struct Range {
  It first{};
  std::uint64_t size = 0;
};

/// The default for the argument sort_tile of SortKeys: sorts one part of the keys with std::stable_sort.
struct StableTileSorter {
  template <typename It, typename LessT>
  void operator()(It first, It last, LessT less) const {
    std::stable_sort(first, last, less);
  }
};

namespace detail {

/// The size in bytes of a tile, the part of the output that one thread merges at a time. A tile, its scratch memory and
/// its parts of the sorted runs fit together in a cache of 1 MiB.
inline constexpr std::uint64_t kMergeTileBytes = std::uint64_t{256} << 10;
/// The smallest number of items that is worth a thread. With fewer items, a thread costs more time than it saves.
inline constexpr std::uint64_t kParallelItems = std::uint64_t{1} << 15;

template <typename It>
It Advance(It it, std::uint64_t n) {
  return it + static_cast<std::iter_difference_t<It>>(n);
}

template <typename T>
constexpr std::uint64_t TileItems(std::uint64_t bytes = kMergeTileBytes) {
  return std::max<std::uint64_t>(64, bytes / sizeof(T));
}

/// Returns how many items at the start of [first, first + n) satisfy `before`. The items that satisfy `before` must all
/// come before the items that do not. The binary search has no branch that depends on the data.
template <typename It, typename Before>
std::uint64_t PartitionPoint(It first, std::uint64_t n, Before before) {
  std::uint64_t base = 0;
  while (n > 0) {
    const std::uint64_t half = n / 2;
    const bool go = before(*Advance(first, base + half));
    base = go ? base + half + 1 : base;
    n = go ? n - half - 1 : half;
  }
  return base;
}

/// Divides a set of sorted runs at one item, the pivot: items before the pivot form the left part, and all other items
/// form the right part. Equal items are ordered by the index of their run, and then by their position in the run.
template <typename It, typename LessT>
class Cutter {
 public:
  explicit Cutter(LessT less) : less_(less) {}

  /// Divides the sorted runs into a left and a right part, neither of them empty. Sets cuts()[r] to the number of items
  /// of run r in the left part. Returns the number of items in the left part of all runs. No run may be empty.
  /// - total: the number of items of all runs, at least 2
  std::uint64_t Cut(std::span<const Range<It>> runs, std::uint64_t total) {
    cuts_.assign(runs.size(), 0);
    if (runs.size() == 1) return cuts_[0] = total / 2;
    if (runs.size() > 2 * kSamples) {
      // First tries to divide the sorted runs at the median of a few random items. This is usually good enough, and
      // much faster than a look at every run.
      Sample(runs, total);
      const std::uint64_t left = CutAt(runs, Median(candidates_.size()));
      if (left >= total / 8 && total - left >= total / 8 && left != 0 && left != total) return left;
    }
    // Each sorted run proposes its middle item as the pivot, the item at which all runs are divided. The median of
    // these items, weighted by the sizes of the runs, leaves at least a quarter of all items on each side.
    candidates_.clear();
    for (std::size_t r = 0; r < runs.size(); ++r) candidates_.push_back({r, runs[r].size / 2, runs[r].size});
    return CutAt(runs, Median(total, runs));
  }
  const std::vector<std::uint64_t>& cuts() const { return cuts_; }

 private:
  struct Candidate {
    std::size_t run;
    std::uint64_t position;
    std::uint64_t weight;
  };
  static constexpr std::uint64_t kSamples = 33;

  void Order(std::span<const Range<It>> runs) {
    std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
      const It x = Advance(runs[a.run].first, a.position);
      const It y = Advance(runs[b.run].first, b.position);
      if (less_(*x, *y)) return true;
      if (less_(*y, *x)) return false;
      return a.run != b.run ? a.run < b.run : a.position < b.position;
    });
  }

  /// Picks kSamples random items as candidates for the pivot, the item at which all sorted runs are divided. The items
  /// of all runs together are divided into kSamples equal parts, and one candidate is picked from each part.
  void Sample(std::span<const Range<It>> runs, std::uint64_t total) {
    candidates_.clear();
    std::size_t run = 0;
    std::uint64_t run_begin = 0;
    for (std::uint64_t s = 0; s < kSamples; ++s) {
      const std::uint64_t begin = total / kSamples * s;
      const std::uint64_t width = std::max<std::uint64_t>(1, total / kSamples);
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t at = begin + (random_ >> 16) % width;
      while (at - run_begin >= runs[run].size) run_begin += runs[run++].size;
      candidates_.push_back({run, at - run_begin, 1});
    }
    Order(runs);
  }
  const Candidate& Median(std::size_t count) const { return candidates_[count / 2]; }
  const Candidate& Median(std::uint64_t total, std::span<const Range<It>> runs) {
    Order(runs);
    std::uint64_t sum = 0;
    for (const Candidate& candidate : candidates_) {
      sum += candidate.weight;
      if (sum > total / 2) return candidate;
    }
    return candidates_.back();
  }

  std::uint64_t CutAt(std::span<const Range<It>> runs, const Candidate& pivot) {
    const It at = Advance(runs[pivot.run].first, pivot.position);
    decltype(auto) value = *at;
    std::uint64_t left = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (r < pivot.run) {
        cuts_[r] = PartitionPoint(runs[r].first, runs[r].size, [&](const auto& x) { return !less_(value, x); });
      } else if (r > pivot.run) {
        cuts_[r] = PartitionPoint(runs[r].first, runs[r].size, [&](const auto& x) { return less_(x, value); });
      } else {
        cuts_[r] = pivot.position;
      }
      left += cuts_[r];
    }
    return left;
  }

  LessT less_;
  std::vector<std::uint64_t> cuts_;
  std::vector<Candidate> candidates_;
  std::uint64_t random_ = 1;
};

/// Merges one item from the front: writes the lesser of *a and *b to *out, or *a if they are equal. Increments `out`,
/// and the list pointer (`a` or `b`) from which the item came. Has no branch.
template <typename T, typename LessT>
inline void StepFront(const T*& a, const T*& b, T*& out, LessT& less) {
  const bool take_b = less(*b, *a);
  *out++ = *(take_b ? b : a);
  a += !take_b;
  b += take_b;
}

/// Merges one item from the back: writes the greater of a[-1] and b[-1] to out[-1], or b[-1] if they are equal.
/// Decrements `out`, and the list pointer (`a` or `b`) from which the item came. Has no branch.
template <typename T, typename LessT>
inline void StepBack(const T*& a, const T*& b, T*& out, LessT& less) {
  const bool take_a = less(b[-1], a[-1]);
  *--out = (take_a ? a : b)[-1];
  a -= take_a;
  b -= !take_a;
}

/// The state of a merge of two sorted lists: the items of both lists that are not merged yet, and the part of the
/// output that is not written yet.
template <typename T>
struct Cursors {
  const T* a;
  const T* a_end;
  const T* b;
  const T* b_end;
  T* out;
  T* out_end;

  /// Returns how often StepFront and StepBack can both be called before one of the lists is empty.
  std::uint64_t Safe() const { return static_cast<std::uint64_t>(std::min(a_end - a, b_end - b)) / 2; }
  template <typename LessT>
  void Finish(LessT& less) {
    while (Safe() >= 4) {
      for (std::uint64_t steps = Safe(); steps > 0; --steps) {
        StepFront(a, b, out, less);
        StepBack(a_end, b_end, out_end, less);
      }
    }
    while (a != a_end && b != b_end) StepFront(a, b, out, less);
    out = std::copy(a, a_end, out);
    std::copy(b, b_end, out);
  }
};

/// Merges the sorted arrays a[0, m) and b[0, n) stably to out[0, m + n).
template <typename T, typename LessT>
void MergeArrays(const T* a, std::uint64_t m, const T* b, std::uint64_t n, T* out, LessT less) {
  if (m == 0 || n == 0 || !less(b[0], a[m - 1])) {
    std::copy(b, b + n, std::copy(a, a + m, out));
    return;
  }
  if (less(b[n - 1], a[0])) {
    std::copy(a, a + m, std::copy(b, b + n, out));
    return;
  }
  if constexpr (!std::is_trivially_copyable_v<T> || sizeof(T) > 64) {
    SerialMerge(a, m, b, n, out, less);
  } else if (m + n < 256) {
    Cursors<T>{a, a + m, b, b + n, out, out + m + n}.Finish(less);
  } else {
    // Four independent merges, two for each half of the output, so that the processor can overlap their steps. In a
    // single merge, each step would wait about eight cycles for the step before it.
    const std::uint64_t k = (m + n) / 2;
    const std::uint64_t i = CoRank(k, a, m, b, n, less);
    const std::uint64_t j = k - i;
    Cursors<T> x{a, a + i, b, b + j, out, out + k};
    Cursors<T> y{a + i, a + m, b + j, b + n, out + k, out + m + n};
    while (std::min(x.Safe(), y.Safe()) >= 4) {
      for (std::uint64_t steps = std::min(x.Safe(), y.Safe()); steps > 0; --steps) {
        StepFront(x.a, x.b, x.out, less);
        StepBack(x.a_end, x.b_end, x.out_end, less);
        StepFront(y.a, y.b, y.out, less);
        StepBack(y.a_end, y.b_end, y.out_end, less);
      }
    }
    x.Finish(less);
    y.Finish(less);
  }
}

/// Merges the sorted arrays `runs` (at least one), which have `total` items together, to out[0, total). `scratch` must
/// have room for `total` items.
template <typename T, typename LessT>
void MergeTree(std::span<const Range<const T*>> runs, std::uint64_t total, T* out, T* scratch, LessT less) {
  if (runs.size() == 1) {
    std::copy_n(runs[0].first, total, out);
    return;
  }
  // Divides the arrays into two groups of similar size. Small groups stay in the first-level cache, because one group
  // is merged completely before the other. `out` is scratch memory for the groups.
  std::size_t cut = 1;
  std::uint64_t left = runs[0].size;
  while (cut + 1 < runs.size() && left + runs[cut].size / 2 < total / 2) left += runs[cut++].size;
  const auto child = [&](std::span<const Range<const T*>> part, std::uint64_t begin, std::uint64_t size) -> const T* {
    if (part.size() == 1) return part[0].first;
    MergeTree(part, size, scratch + begin, out + begin, less);
    return scratch + begin;
  };
  const T* a = child(runs.first(cut), 0, left);
  const T* b = child(runs.subspan(cut), left, total - left);
  MergeArrays(a, left, b, total - left, out, less);
}

/// Divides the output of the merge of a[0, m) and b[0, n) into parts, and calls merge(i, i_end, j, j_end) once for each
/// part, in parallel. The call must merge a[i, i_end) and b[j, j_end), and write the result from output position i + j
/// on.
template <typename ItA, typename ItB, typename LessT, HostExecutor Executor, typename Merge>
void ForEachShare(ItA a, std::uint64_t m, ItB b, std::uint64_t n, LessT less, const Executor& executor, Merge merge) {
  const std::uint64_t total = m + n;
  if (total == 0) return;
  const std::uint64_t share = std::max(kParallelItems, total / (4 * std::uint64_t{executor.workers()}) + 1);
  executor.ForEach((total + share - 1) / share, [&](std::uint64_t task, unsigned) {
    const std::uint64_t begin = task * share, end = std::min(total, begin + share);
    const std::uint64_t i = CoRank(begin, a, m, b, n, less), i_end = CoRank(end, a, m, b, n, less);
    merge(i, i_end, begin - i, end - i_end);
  });
}

}  // namespace detail

/// Divides the output of the stable merge of `runs` into tiles, and calls `body` once for each tile, in parallel and in
/// any order.
/// - tile_items: the maximum number of items of a tile, at least 1
/// - body: called as body(segments, begin, size, worker) for the output [begin, begin + size)
/// - segments: the parts of the sorted runs in this tile, in the order of the runs, without empty parts
/// - worker: the number that the executor gives
template <typename It, typename LessT, HostExecutor Executor, typename Body>
void ForEachTile(std::span<const Range<It>> runs, std::uint64_t tile_items, LessT less, const Executor& executor,
                 Body body) {
  struct Node {
    std::vector<Range<It>> runs;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };
  std::vector<Node> nodes(1);
  for (const Range<It>& run : runs) {
    if (run.size == 0) continue;
    nodes[0].runs.push_back(run);
    nodes[0].size += run.size;
  }
  const std::uint64_t total = nodes[0].size;
  if (total == 0) return;

  detail::Cutter<It, LessT> cutter(less);
  // First divides the output into several shares for each worker, so that all workers end at about the same time. Then
  // the workers divide their shares into tiles.
  const std::uint64_t share =
      executor.workers() == 1 ? total : std::max(tile_items, total / (4 * std::uint64_t{executor.workers()}));
  for (std::size_t at = 0; at < nodes.size();) {
    if (nodes[at].size <= share) {
      ++at;
      continue;
    }
    Node left, right;
    left.begin = nodes[at].begin;
    left.size = cutter.Cut(nodes[at].runs, nodes[at].size);
    right.begin = left.begin + left.size;
    right.size = nodes[at].size - left.size;
    for (std::size_t r = 0; r < nodes[at].runs.size(); ++r) {
      const Range<It>& run = nodes[at].runs[r];
      const std::uint64_t cut = cutter.cuts()[r];
      if (cut > 0) left.runs.push_back({run.first, cut});
      if (cut < run.size) right.runs.push_back({detail::Advance(run.first, cut), run.size - cut});
    }
    nodes[at] = std::move(left);
    nodes.push_back(std::move(right));
  }

  executor.ForEach(nodes.size(), [&](std::uint64_t task, unsigned worker) {
    // A Frame is a part of the output that may still have to be divided. Its sorted runs are in `stack`, from index
    // runs_begin on.
    struct Frame {
      std::size_t runs_begin;
      std::uint64_t begin;
      std::uint64_t size;
    };
    detail::Cutter<It, LessT> tile_cutter(less);
    std::vector<Range<It>> stack = std::move(nodes[task].runs);
    std::vector<Range<It>> left_runs;
    std::vector<Frame> frames = {{0, nodes[task].begin, nodes[task].size}};
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const std::span<Range<It>> here = std::span(stack).subspan(frame.runs_begin);
      if (frame.size <= tile_items) {
        body(std::span<const Range<It>>(here), frame.begin, frame.size, worker);
        stack.resize(frame.runs_begin);
        frames.pop_back();
        continue;
      }
      const std::uint64_t left = tile_cutter.Cut(here, frame.size);
      left_runs.clear();
      std::size_t kept = 0;
      for (std::size_t r = 0; r < here.size(); ++r) {
        const Range<It> run = here[r];
        const std::uint64_t cut = tile_cutter.cuts()[r];
        if (cut > 0) left_runs.push_back({run.first, cut});
        if (cut < run.size) here[kept++] = {detail::Advance(run.first, cut), run.size - cut};
      }
      const Frame left_frame{frame.runs_begin + kept, frame.begin, left};
      frame.begin += left;
      frame.size -= left;
      stack.resize(left_frame.runs_begin);
      stack.insert(stack.end(), left_runs.begin(), left_runs.end());
      frames.push_back(left_frame);
    }
  });
}

template <typename It, typename Out, typename LessT = Less, HostExecutor Executor = ThreadExecutor>
void MergeRuns(std::span<const Range<It>> runs, Out out, LessT less = {}, const Executor& executor = Executor()) {
  using T = std::iter_value_t<It>;
  constexpr bool kDirectIn = std::contiguous_iterator<It>;
  constexpr bool kDirectOut = std::contiguous_iterator<Out> && std::is_same_v<std::iter_value_t<Out>, T>;
  struct Scratch {
    std::unique_ptr<T[]> other, in, out;
    std::vector<Range<const T*>> segments;
  };
  std::uint64_t total = 0;
  for (const Range<It>& run : runs) total += run.size;
  const std::uint64_t tile = std::min(detail::TileItems<T>(), std::max<std::uint64_t>(total, 1));
  std::vector<Scratch> scratches(executor.workers());

  const auto body = [&](std::span<const Range<It>> segments, std::uint64_t begin, std::uint64_t size, unsigned worker) {
    const Out to = detail::Advance(out, begin);
    if (segments.size() == 1) {
      std::copy_n(segments[0].first, size, to);
      return;
    }
    Scratch& scratch = scratches[worker];
    if (!scratch.other) {
      scratch.other = std::make_unique_for_overwrite<T[]>(tile);
      if (!kDirectIn) scratch.in = std::make_unique_for_overwrite<T[]>(tile);
      if (!kDirectOut) scratch.out = std::make_unique_for_overwrite<T[]>(tile);
    }
    scratch.segments.clear();
    T* copied = scratch.in.get();
    for (const Range<It>& segment : segments) {
      if constexpr (kDirectIn) {
        scratch.segments.push_back({std::to_address(segment.first), segment.size});
      } else {
        scratch.segments.push_back({copied, segment.size});
        copied = std::copy_n(segment.first, segment.size, copied);
      }
    }
    const std::span<const Range<const T*>> sources(scratch.segments);
    if constexpr (kDirectOut) {
      detail::MergeTree<T>(sources, size, std::to_address(to), scratch.other.get(), less);
    } else {
      detail::MergeTree<T>(sources, size, scratch.out.get(), scratch.other.get(), less);
      std::move(scratch.out.get(), scratch.out.get() + size, to);
    }
  };
  ForEachTile(runs, tile, less, executor, body);
}

template <typename ItA, typename ItB, typename Out, typename LessT = Less, HostExecutor Executor = ThreadExecutor>
void MergeKeys(ItA a, std::uint64_t m, ItB b, std::uint64_t n, Out out, LessT less = {},
               const Executor& executor = Executor()) {
  using T = std::iter_value_t<ItA>;
  constexpr bool kArrays = std::contiguous_iterator<ItA> && std::contiguous_iterator<ItB> &&
                           std::contiguous_iterator<Out> && std::is_same_v<std::iter_value_t<ItB>, T> &&
                           std::is_same_v<std::iter_value_t<Out>, T>;
  const auto merge = [&](std::uint64_t i, std::uint64_t i_end, std::uint64_t j, std::uint64_t j_end) {
    if constexpr (kArrays) {
      detail::MergeArrays<T>(std::to_address(a) + i, i_end - i, std::to_address(b) + j, j_end - j,
                             std::to_address(out) + i + j, less);
    } else {
      SerialMerge(detail::Advance(a, i), i_end - i, detail::Advance(b, j), j_end - j, detail::Advance(out, i + j),
                  less);
    }
  };
  detail::ForEachShare(a, m, b, n, less, executor, merge);
}

template <typename KeyItA, typename ValueItA, typename KeyItB, typename ValueItB, typename KeyOut, typename ValueOut,
          typename LessT = Less, HostExecutor Executor = ThreadExecutor>
void MergePairs(KeyItA a_keys, ValueItA a_values, std::uint64_t m, KeyItB b_keys, ValueItB b_values, std::uint64_t n,
                KeyOut out_keys, ValueOut out_values, LessT less = {}, const Executor& executor = Executor()) {
  const auto merge = [&](std::uint64_t i, std::uint64_t i_end, std::uint64_t j, std::uint64_t j_end) {
    for (std::uint64_t k = i + j; k < i_end + j_end; ++k) {
      const bool take_b = j < j_end && (i == i_end || less(*detail::Advance(b_keys, j), *detail::Advance(a_keys, i)));
      if (take_b) {
        *detail::Advance(out_keys, k) = *detail::Advance(b_keys, j);
        *detail::Advance(out_values, k) = *detail::Advance(b_values, j);
        ++j;
      } else {
        *detail::Advance(out_keys, k) = *detail::Advance(a_keys, i);
        *detail::Advance(out_values, k) = *detail::Advance(a_values, i);
        ++i;
      }
    }
  };
  detail::ForEachShare(a_keys, m, b_keys, n, less, executor, merge);
}

template <typename It, typename LessT = Less, HostExecutor Executor = ThreadExecutor,
          typename TileSorter = StableTileSorter>
void SortKeys(It keys, std::uint64_t n, LessT less = {}, const Executor& executor = Executor(),
              TileSorter sort_tile = {}) {
  using T = std::iter_value_t<It>;
  if (n < 2 * detail::kParallelItems || executor.workers() == 1) {
    sort_tile(keys, detail::Advance(keys, n), less);
    return;
  }
  const std::uint64_t tile = std::max(detail::kParallelItems, n / (4 * std::uint64_t{executor.workers()}) + 1);
  std::vector<Range<It>> tiles;
  for (std::uint64_t begin = 0; begin < n; begin += tile) {
    tiles.push_back({detail::Advance(keys, begin), std::min(tile, n - begin)});
  }
  executor.ForEach(tiles.size(), [&](std::uint64_t task, unsigned) {
    sort_tile(tiles[task].first, detail::Advance(tiles[task].first, tiles[task].size), less);
  });
  const auto merged = std::make_unique_for_overwrite<T[]>(n);
  MergeRuns(std::span<const Range<It>>(tiles), merged.get(), less, executor);
  executor.ForEach(tiles.size(), [&](std::uint64_t task, unsigned) {
    T* from = merged.get() + task * tile;
    std::move(from, from + tiles[task].size, tiles[task].first);
  });
}

template <typename KeyIt, typename ValueIt, typename LessT = Less, HostExecutor Executor = ThreadExecutor>
void SortPairs(KeyIt keys, ValueIt values, std::uint64_t n, LessT less = {}, const Executor& executor = Executor()) {
  struct Pair {
    std::iter_value_t<KeyIt> key;
    std::iter_value_t<ValueIt> value;
  };
  const auto pairs = std::make_unique_for_overwrite<Pair[]>(n);
  const std::uint64_t share = std::max(detail::kParallelItems, n / (4 * std::uint64_t{executor.workers()}) + 1);
  const auto for_each_share = [&](auto move) {
    executor.ForEach((n + share - 1) / share, [&](std::uint64_t task, unsigned) {
      for (std::uint64_t i = task * share, end = std::min(n, i + share); i < end; ++i) move(i);
    });
  };
  for_each_share([&](std::uint64_t i) {
    pairs[i].key = std::move(*detail::Advance(keys, i));
    pairs[i].value = std::move(*detail::Advance(values, i));
  });
  SortKeys(
      pairs.get(), n, [&](const Pair& a, const Pair& b) { return less(a.key, b.key); }, executor);
  for_each_share([&](std::uint64_t i) {
    *detail::Advance(keys, i) = std::move(pairs[i].key);
    *detail::Advance(values, i) = std::move(pairs[i].value);
  });
}

}  // namespace gpusort
