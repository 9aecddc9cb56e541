// The CPU backend: slots in host memory, tiles sorted by Highway's vqsort, cache-sized tiles merged on a team of
// threads. Records that are one number are sorted as that number (NumberMap); all others through entries, and each
// record is moved once; lines have cpu_lines.hpp. Start at CpuLane::Sort and CpuLane::Merge.
#include <hwy/contrib/sort/vqsort.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "backend.hpp"
#include "cpu_lines.hpp"
#include "error.hpp"
#include "gpusort/merge_host.hpp"
#include "records/key.hpp"
#include "slot_pool.hpp"
#include "thread_team.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// Batches and merges below this are done on the calling thread: waking another costs more.
constexpr std::uint64_t kSmallBytes = kMiB / 4;
/// Entries sorted by one vqsort. A quicksort level out of cache costs more than a level of merging in cache (2 GHz
/// Xeon, AVX-512: 21 ns an entry at 2^16, 34 at 2^22; a merge level 1.1 to 2). Numbers are sorted in one part a worker:
/// their quicksort levels cost 0.3 ns (4 bytes) to 1.1 ns (8 bytes), a merge level 1.3.
constexpr std::uint64_t kEntriesPerPart = std::uint64_t{1} << 18;
constexpr std::uint64_t kNumberTileBytes = detail::kMergeTileBytes;
constexpr std::uint64_t kEntriesPerTile = std::uint64_t{1} << 13;
/// From this many slices on, sorting a tile of numbers is faster than merging it: in cache vqsort takes 6.7 ns for an
/// item of 8 bytes and 3.7 for 4, a level of merging 1.3 for both.
template <typename U>
constexpr std::size_t kSlicesToSort = sizeof(U) == 8 ? 48 : 9;
/// Groups of equal prefixes up to this size are ordered by comparing records; larger ones by the next key bytes.
constexpr std::uint64_t kSmallGroup = 48;

[[noreturn]] void FailInternal(const std::string& what) { throw Error(ErrorCode::kInternal, "CPU backend: " + what); }

constexpr std::uint64_t RoundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t DivideUp(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

unsigned AvailableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory: the arena of slots, and what a lane needs beside them.

class Arena : public SlotPool {
 public:
  Arena(const ArenaShape& shape, std::uint64_t lane_bytes, HostMemory& memory) : SlotPool(shape.lanes), shape_(shape) {
    for (std::uint32_t i = 0; i < shape.lanes; ++i) lane_memory_.emplace_back(memory, lane_bytes);
    for (std::uint32_t i = 0; i < shape.slots; ++i) slots_.emplace_back(memory, shape.slot_bytes);
    AddSlots(shape.slots, [this](std::uint32_t slot) { return slots_[slot].data(); });
  }
  const ArenaShape& shape() const { return shape_; }
  std::byte* lane_memory(std::uint32_t lane) const { return lane_memory_[lane].data(); }

 private:
  const ArenaShape shape_;
  std::vector<HostBuffer> lane_memory_;
  std::vector<HostBuffer> slots_;
};

/// Layout of a lane's memory: entries for every record of a slot, then scratch for each worker. All in bytes.
struct LaneShape {
  std::uint64_t tile_items = 0;     ///< items of a merge tile
  std::uint64_t entries_bytes = 0;  ///< 0 if numbers are sorted directly
  std::uint64_t item_bytes = 0;     ///< a number or an entry
  std::uint64_t worker_bytes = 0;   ///< three tiles of items, and for entries a tile of record addresses

  LaneShape(const RecordLayout& layout, std::uint64_t slot_bytes) {
    if (!layout.fixed()) return;  // detail::LineShape
    const std::uint64_t records = std::max<std::uint64_t>(1, slot_bytes / layout.stride);
    if (layout.direct()) {
      item_bytes = layout.stride;
      tile_items = std::min(records, kNumberTileBytes / layout.stride);
      worker_bytes = RoundUp(3 * tile_items * item_bytes, 64);
    } else {
      item_bytes = sizeof(Entry);
      // Large records: fewer a tile, so that threads share the work evenly.
      tile_items = std::min(records, std::clamp<std::uint64_t>(8 * kMiB / layout.stride, 16, kEntriesPerTile));
      entries_bytes = RoundUp(records * sizeof(Entry), 64);
      worker_bytes = RoundUp(3 * tile_items * item_bytes + tile_items * sizeof(const Byte*), 64);
    }
  }
  std::uint64_t bytes(unsigned workers) const { return entries_bytes + workers * worker_bytes; }
};

// ---------------------------------------------------------------------------------------------------------------------
// Numbers.

void VqSort(std::uint32_t* p, std::uint64_t n) { hwy::Sorter()(p, n, hwy::SortAscending()); }
void VqSort(std::uint64_t* p, std::uint64_t n) { hwy::Sorter()(p, n, hwy::SortAscending()); }
void VqSort(Entry* p, std::uint64_t n) { detail::SortEntries(p, n); }

/// Calls f with the map as a type that the compiler can vectorize over: the swap is decided outside the loop.
template <typename U, typename F>
void WithMap(const NumberMap<U>& map, F f) {
  const U mask = map.magnitude_mask, flip = map.flip;
  const auto swap = [](U x) {
    if constexpr (sizeof(U) == 8)
      return static_cast<U>(__builtin_bswap64(x));
    else
      return static_cast<U>(__builtin_bswap32(x));
  };
  const auto fill = [](U x) { return NumberMap<U>::SignFill(x); };
  if (map.swap) {
    f([=](U x) { return static_cast<U>(swap(x) ^ (fill(swap(x)) & mask) ^ flip); },
      [=](U y) { return swap(static_cast<U>(y ^ flip ^ (fill(static_cast<U>(y ^ flip)) & mask))); });
  } else {
    f([=](U x) { return static_cast<U>(x ^ (fill(x) & mask) ^ flip); },
      [=](U y) { return static_cast<U>(y ^ flip ^ (fill(static_cast<U>(y ^ flip)) & mask)); });
  }
}

template <typename U>
void UnmapInPlace(U* p, std::uint64_t n, const NumberMap<U>& map) {
  if (map.identity()) return;
  WithMap(map, [&](auto, auto unmap) {
    for (std::uint64_t i = 0; i < n; ++i) p[i] = unmap(p[i]);
  });
}

/// to[i] = map of the i-th number at `from`, which may be unaligned and does not overlap `to`.
template <typename U>
void MapTo(const Byte* from, U* to, std::uint64_t n, const NumberMap<U>& map) {
  if (map.identity()) {
    std::memcpy(to, from, n * sizeof(U));
    return;
  }
  WithMap(map, [&](auto map_one, auto) {
    for (std::uint64_t i = 0; i < n; ++i) {
      U x;
      std::memcpy(&x, from + i * sizeof(U), sizeof(U));
      to[i] = map_one(x);
    }
  });
}

/// Maps p[0, n) in place; true if the mapped numbers are in order.
template <typename U>
bool MapAndCheck(U* p, std::uint64_t n, const NumberMap<U>& map) {
  constexpr std::uint64_t kChunk = 4096 / sizeof(U);
  bool sorted = true;
  for (std::uint64_t begin = 0; begin < n; begin += kChunk) {
    const std::uint64_t end = std::min(n, begin + kChunk);
    if (!map.identity()) {
      WithMap(map, [&](auto map_one, auto) {
        for (std::uint64_t i = begin; i < end; ++i) p[i] = map_one(p[i]);
      });
    }
    if (sorted) {
      unsigned descents = 0;
      for (std::uint64_t i = std::max<std::uint64_t>(begin, 1); i < end; ++i) descents += p[i] < p[i - 1];
      sorted = descents == 0;
    } else if (map.identity()) {
      break;
    }
  }
  return sorted;
}

/// Iterates over numbers that may be unaligned, as their mapped values.
template <typename U>
class MappedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = U;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = U;

  MappedIterator() = default;
  MappedIterator(const Byte* p, const NumberMap<U>* map) : p_(p), map_(map) {}
  const Byte* address() const { return p_; }
  U operator*() const {
    U x;
    std::memcpy(&x, p_, sizeof(U));
    return map_->Map(x);
  }
  MappedIterator operator+(difference_type n) const { return {p_ + n * static_cast<difference_type>(sizeof(U)), map_}; }

 private:
  const Byte* p_ = nullptr;
  const NumberMap<U>* map_ = nullptr;
};

// ---------------------------------------------------------------------------------------------------------------------
// Records.

/// KeyWord with the common case, one field of bytes, as one load.
class KeyReader {
 public:
  KeyReader(const RecordLayout& layout)
      : layout_(layout), bytes_only_(layout.field_count == 1 && layout.fields[0].type == KeyType::kBytes) {}

  std::uint64_t Word(const Byte* record, std::uint64_t begin) const {
    const KeyField& field = layout_.fields[0];
    // The load may pass the key's end but not the record's.
    if (bytes_only_ && begin < field.length && field.offset + begin + 8 <= layout_.stride) {
      std::uint64_t word;
      std::memcpy(&word, record + field.offset + begin, 8);
      word = __builtin_bswap64(word);
      if (field.descending) word = ~word;
      const std::uint64_t have = field.length - begin;
      return have >= 8 ? word : word & ~(~std::uint64_t{0} >> (8 * have));
    }
    return KeyWord(record, layout_, begin);
  }
  Entry MakeEntry(const Byte* record, std::uint64_t begin, std::uint32_t row) const {
    const std::uint64_t next = layout_.key_bytes > begin + 8 ? Word(record, begin + 8) : 0;
    return {(next & 0xFFFFFFFF00000000u) | row, Word(record, begin)};
  }
  /// The first byte in [begin, end) in which the normalized keys of a and b differ, else `end`.
  std::uint64_t FirstDifference(const Byte* a, const Byte* b, std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t at = begin; at < end; at += 8) {
      const std::uint64_t differ = Word(a, at) ^ Word(b, at);
      if (differ != 0) return std::min<std::uint64_t>(end, at + static_cast<unsigned>(std::countl_zero(differ)) / 8);
    }
    return end;
  }
  const RecordLayout& layout() const { return layout_; }

 private:
  const RecordLayout& layout_;
  const bool bytes_only_;
};

/// As PrefixEntryLess, for rows that index a table of record addresses.
struct AddressEntryLess {
  const Byte* const* records;
  const RecordLayout* layout;
  std::uint64_t rest;

  bool operator()(const Entry& a, const Entry& b) const {
    if (a.hi != b.hi) return a.hi < b.hi;
    if ((a.lo ^ b.lo) >> 32 != 0) return a.lo < b.lo;
    const int order = CompareKeys(records[a.row()], records[b.row()], *layout, rest);
    return order != 0 ? order < 0 : a.row() < b.row();
  }
};

bool SameKeyBytes(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

void SetKeyBytes(Entry& entry, const Entry& from) {
  entry.hi = from.hi;
  entry.lo = (from.lo & 0xFFFFFFFF00000000u) | entry.row();
}

/// Orders entries that agree in their first twelve bytes by the rest of their keys.
class Refiner {
 public:
  Refiner(const KeyReader& keys, const Byte* records) : keys_(keys), layout_(keys.layout()), records_(records) {}

  /// `entries` are sorted as numbers; `next` is the first key byte that they do not hold. Afterwards they are in full
  /// key order, rows breaking ties, and hold the bytes that they held before.
  /// Most significant bytes first, with a list of groups in place of recursion. A group skips what all its keys have in
  /// common at once, so a key byte is read a bounded number of times for each level of sorting.
  void Refine(Entry* entries, std::uint64_t n, std::uint64_t next) {
    if (next >= layout_.key_bytes) return;
    ForEachGroup(entries, n, [&](Entry* group, std::uint64_t size) {
      if (size <= kSmallGroup) return SortSmall(group, size, next);
      const Entry head = group[0];
      groups_.assign(1, {group, size, next});
      while (!groups_.empty()) RefineOne();
      for (std::uint64_t i = 0; i < size; ++i) SetKeyBytes(group[i], head);
    });
  }

 private:
  struct Group {
    Entry* entries;
    std::uint64_t size;
    std::uint64_t next;
  };

  const Byte* Record(const Entry& entry) const { return records_ + entry.row() * layout_.stride; }

  template <typename F>
  static void ForEachGroup(Entry* entries, std::uint64_t n, F f) {
    for (std::uint64_t begin = 0, end; begin < n; begin = end) {
      for (end = begin + 1; end < n && SameKeyBytes(entries[begin], entries[end]);) ++end;
      if (end - begin > 1) f(entries + begin, end - begin);
    }
  }

  void SortSmall(Entry* group, std::uint64_t size, std::uint64_t next) const {
    std::sort(group, group + size, [&](const Entry& a, const Entry& b) {
      const int order = CompareKeys(Record(a), Record(b), layout_, next);
      return order != 0 ? order < 0 : a.row() < b.row();
    });
  }

  void RefineOne() {
    const Group group = groups_.back();
    groups_.pop_back();
    std::uint64_t common = layout_.key_bytes;
    for (std::uint64_t i = 1; i < group.size && common > group.next; ++i) {
      common = keys_.FirstDifference(Record(group.entries[0]), Record(group.entries[i]), group.next, common);
    }
    // Equal to the end: in order already, because equal numbers are in order of their rows.
    if (common >= layout_.key_bytes) return;
    for (std::uint64_t i = 0; i < group.size; ++i) {
      Entry& entry = group.entries[i];
      entry = keys_.MakeEntry(Record(entry), common, entry.row());
    }
    VqSort(group.entries, group.size);
    const std::uint64_t next = common + kEntryKeyBytes;
    if (next >= layout_.key_bytes) return;
    ForEachGroup(group.entries, group.size, [&](Entry* inner, std::uint64_t size) {
      if (size <= kSmallGroup) {
        SortSmall(inner, size, next);
      } else {
        groups_.push_back({inner, size, next});
      }
    });
  }

  const KeyReader& keys_;
  const RecordLayout& layout_;
  const Byte* records_;
  std::vector<Group> groups_;
};

/// Iterates over records of fixed stride as their addresses.
class RecordIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = const Byte*;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = const Byte*;

  RecordIterator() = default;
  RecordIterator(const Byte* p, std::uint64_t stride) : p_(p), stride_(stride) {}
  const Byte* operator*() const { return p_; }
  RecordIterator operator+(difference_type n) const { return {p_ + static_cast<std::uint64_t>(n) * stride_, stride_}; }

 private:
  const Byte* p_ = nullptr;
  std::uint64_t stride_ = 0;
};

/// Copies one record; small ones without a call.
inline void CopyRecord(std::byte* to, const Byte* from, std::uint64_t stride) {
  const auto copy = [&](std::uint64_t at, auto chunk) {
    std::memcpy(&chunk, from + at, sizeof(chunk));
    std::memcpy(to + at, &chunk, sizeof(chunk));
  };
  // The last chunk overlaps the one before it.
  const auto run = [&](auto chunk) {
    for (std::uint64_t at = 0; at + sizeof(chunk) < stride; at += sizeof(chunk)) copy(at, chunk);
    copy(stride - sizeof(chunk), chunk);
  };
  if (stride > 512) {
    std::memcpy(to, from, stride);
  } else if (stride >= 32) {
    run(std::array<std::uint64_t, 4>{});
  } else if (stride >= 8) {
    run(std::uint64_t{});
  } else {
    for (std::uint64_t i = 0; i < stride; ++i) to[i] = static_cast<std::byte>(from[i]);
  }
}

/// Copies the records that `record_of` names for entries [0, n) behind each other to `to`.
template <typename RecordOf>
void Gather(const Entry* entries, std::uint64_t n, std::uint64_t stride, std::byte* to, RecordOf record_of) {
  // Rows are random, so each record is a cache miss or two: ask for it well before it is copied.
  constexpr std::uint64_t kAhead = 16;
  const auto prefetch = [&](std::uint64_t i) {
    const Byte* record = record_of(entries[i].row());
    // The hardware goes on by itself in records longer than this.
    const std::uint64_t last = std::min<std::uint64_t>(stride - 1, 255);
    for (std::uint64_t at = 0; at < last; at += 64) __builtin_prefetch(record + at);
    __builtin_prefetch(record + last);
  };
  for (std::uint64_t i = 0; i < std::min(n, kAhead); ++i) prefetch(i);
  for (std::uint64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) prefetch(i + kAhead);
    CopyRecord(to + i * stride, record_of(entries[i].row()), stride);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

class CpuLane : public Lane {
 public:
  CpuLane(std::shared_ptr<Arena> arena, detail::ThreadTeam& team)
      : arena_(std::move(arena)),
        layout_(arena_->shape().layout),
        keys_(layout_),
        shape_(layout_, arena_->shape().slot_bytes),
        line_shape_(layout_, arena_->shape().slot_bytes),
        executor_(team),
        seat_(arena_),
        memory_(arena_->lane_memory(seat_.lane())) {}

  std::unique_ptr<SortedRecords> Sort(BatchSource& source) override {
    auto [in, out] = arena_->TakeTwo();
    const std::uint64_t bytes = Fill(source, in.data());
    if (!layout_.fixed()) {
      detail::LineSorter sorter(layout_, line_shape_, memory_);
      const auto result = bytes <= kSmallBytes ? sorter.Sort(in.data(), bytes, out.data(), SequentialExecutor())
                                               : sorter.Sort(in.data(), bytes, out.data(), executor_);
      return std::make_unique<SortedSlot>(std::move(result.in_input ? in : out), bytes, result.records,
                                          result.was_sorted);
    }
    const std::uint64_t records = bytes / layout_.stride;
    const auto sort = [&, from = in.data(), to = out.data()](const auto& executor) {
      if (!layout_.direct()) return SortRecords(from, records, to, executor);
      if (layout_.stride == 4) return SortNumbers<std::uint32_t>(from, records, to, executor);
      return SortNumbers<std::uint64_t>(from, records, to, executor);
    };
    const Sorted result = bytes <= kSmallBytes ? sort(SequentialExecutor()) : sort(executor_);
    return std::make_unique<SortedSlot>(std::move(result.in_input ? in : out), bytes, records, result.was_sorted);
  }

  void Merge(std::span<const Piece> pieces, std::byte* out) override {
    std::vector<Piece> live;
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces) {
      if (piece.on_device) FailInternal("a piece to merge lies on a device");
      if (WholeRecordBytes({piece.data, piece.bytes}, layout_) != piece.bytes) {
        FailInternal("a piece to merge ends inside a record");
      }
      if (piece.bytes > 0) live.push_back(piece);
      bytes += piece.bytes;
    }
    if (bytes > arena_->shape().slot_bytes) FailInternal("the pieces to merge are larger than a slot");
    const auto merge = [&](const auto& executor) {
      if (live.size() == 1) {
        CopyBytes(live[0], out, executor);
      } else if (!layout_.fixed()) {
        std::vector<RecordSpan> lines;
        for (const Piece& piece : live) lines.emplace_back(piece.data, piece.bytes);
        detail::LineMerger(layout_, line_shape_, memory_).Merge(std::move(lines), out, executor);
      } else if (!layout_.direct()) {
        MergeRecords(live, out, executor);
      } else if (layout_.stride == 4) {
        MergeNumbers<std::uint32_t>(live, out, executor);
      } else {
        MergeNumbers<std::uint64_t>(live, out, executor);
      }
    };
    if (bytes <= kSmallBytes) {
      merge(SequentialExecutor());
    } else {
      merge(executor_);
    }
  }

 private:
  struct Sorted {
    bool in_input;  ///< the result is where the input was
    bool was_sorted;
  };

  Entry* entries() const { return reinterpret_cast<Entry*>(memory_); }
  /// Scratch tile `index` (0, 1 or 2) of a worker.
  template <typename T>
  T* Tile(unsigned worker, unsigned index) const {
    std::byte* begin = memory_ + shape_.entries_bytes + worker * shape_.worker_bytes;
    return reinterpret_cast<T*>(begin + index * shape_.tile_items * shape_.item_bytes);
  }
  const Byte** Addresses(unsigned worker) const { return Tile<const Byte*>(worker, 3); }

  /// Copies the batch into a slot and returns its size.
  std::uint64_t Fill(BatchSource& source, std::byte* to) const {
    std::uint64_t bytes = 0;
    while (const std::unique_ptr<InputBlock> block = source.Next()) {
      const std::span<const std::byte> data = block->bytes();
      if (data.size() > arena_->shape().slot_bytes - bytes) FailInternal("a batch is larger than a slot");
      if (!data.empty()) std::memcpy(to + bytes, data.data(), data.size());
      bytes += data.size();
    }
    if (bytes == 0) FailInternal("an empty batch");
    if (WholeRecordBytes({to, bytes}, layout_) != bytes) FailInternal("a batch ends inside a record");
    return bytes;
  }

  /// Items of each part when `n` are sorted by all workers: equal shares, none over `most`.
  template <typename Executor>
  static std::uint64_t PartItems(std::uint64_t n, std::uint64_t most, const Executor& executor) {
    const std::uint64_t rounds = DivideUp(n, most * executor.workers());
    return DivideUp(n, rounds * executor.workers());
  }

  /// Equal numbers are equal in every bit, so a tile of many slices may as well be sorted. Uses scratch tile 0.
  template <typename U>
  void MergeTileOfNumbers(std::span<const Range<const U*>> slices, std::uint64_t size, U* to, unsigned worker) const {
    if (slices.size() < kSlicesToSort<U>) {
      detail::MergeTree<U>(slices, size, to, Tile<U>(worker, 0), Less());
      return;
    }
    U* end = to;
    for (const Range<const U*>& slice : slices) end = std::copy_n(slice.first, slice.size, end);
    VqSort(to, size);
  }

  template <typename U, typename Executor>
  Sorted SortNumbers(std::byte* in, std::uint64_t n, std::byte* out, const Executor& executor) const {
    U* const numbers = reinterpret_cast<U*>(in);
    const NumberMap<U> map = MakeNumberMap<U>(layout_.fields[0]);
    const std::uint64_t part_items = DivideUp(n, executor.workers());
    std::vector<Range<const U*>> parts;
    for (std::uint64_t begin = 0; begin < n; begin += part_items) {
      parts.push_back({numbers + begin, std::min(part_items, n - begin)});
    }
    std::atomic<bool> all_sorted{true};
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
      U* const p = numbers + part * part_items;
      if (!MapAndCheck(p, parts[part].size, map)) {
        all_sorted = false;
        VqSort(p, parts[part].size);
      }
    });
    bool in_order = true;
    for (std::size_t i = 1; i < parts.size(); ++i) in_order = in_order && parts[i].first[-1] <= parts[i].first[0];
    if (in_order) {
      executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
        UnmapInPlace(numbers + part * part_items, parts[part].size, map);
      });
      return {true, all_sorted};
    }
    U* const to = reinterpret_cast<U*>(out);
    ForEachTile(std::span<const Range<const U*>>(parts), shape_.tile_items, Less(), executor,
                [&](std::span<const Range<const U*>> slices, std::uint64_t begin, std::uint64_t size, unsigned worker) {
                  MergeTileOfNumbers<U>(slices, size, to + begin, worker);
                  UnmapInPlace(to + begin, size, map);
                });
    return {false, false};
  }

  template <typename Executor>
  Sorted SortRecords(std::byte* in, std::uint64_t n, std::byte* out, const Executor& executor) const {
    const std::uint64_t stride = layout_.stride;
    const Byte* const records = AsBytes(in);
    // One look at every key, while it has anything to tell: is the batch in order, and what do all keys begin with?
    std::atomic<bool> sorted{true};
    std::atomic<std::uint64_t> common{layout_.key_bytes};
    const std::uint64_t chunk = DivideUp(n, 4 * std::uint64_t{executor.workers()});
    executor.ForEach(DivideUp(n, chunk), [&](std::uint64_t task, unsigned) {
      bool in_order = sorted;
      std::uint64_t prefix = common;
      for (std::uint64_t i = std::max<std::uint64_t>(1, task * chunk), end = std::min(n, (task + 1) * chunk);
           i < end && (in_order || prefix > 0); ++i) {
        const Byte* record = records + i * stride;
        if (in_order && CompareKeys(record - stride, record, layout_) > 0) {
          in_order = false;
          sorted = false;
        }
        if (prefix > 0) prefix = keys_.FirstDifference(records, record, 0, prefix);
      }
      for (std::uint64_t seen = common; prefix < seen && !common.compare_exchange_weak(seen, prefix);) {
      }
    });
    if (sorted) return {true, true};

    const std::uint64_t skip = common;
    const std::uint64_t part_items = PartItems(n, kEntriesPerPart, executor);
    std::vector<Range<const Entry*>> parts;
    for (std::uint64_t begin = 0; begin < n; begin += part_items) {
      parts.push_back({entries() + begin, std::min(part_items, n - begin)});
    }
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
      const std::uint64_t first_row = part * part_items;
      Entry* const p = entries() + first_row;
      for (std::uint64_t i = 0; i < parts[part].size; ++i) {
        const std::uint64_t row = first_row + i;
        p[i] = keys_.MakeEntry(records + row * stride, skip, static_cast<std::uint32_t>(row));
      }
      VqSort(p, parts[part].size);
      Refiner(keys_, records).Refine(p, parts[part].size, skip + kEntryKeyBytes);
    });

    const auto merge = [&](auto less) {
      ForEachTile(
          std::span<const Range<const Entry*>>(parts), shape_.tile_items, less, executor,
          [&](std::span<const Range<const Entry*>> slices, std::uint64_t begin, std::uint64_t size, unsigned worker) {
            const Entry* merged = slices[0].first;
            if (slices.size() > 1) {
              detail::MergeTree<Entry>(slices, size, Tile<Entry>(worker, 0), Tile<Entry>(worker, 1), less);
              merged = Tile<Entry>(worker, 0);
            }
            Gather(merged, size, stride, out + begin * stride,
                   [&](std::uint32_t row) { return records + row * stride; });
          });
    };
    if (skip + kEntryKeyBytes >= layout_.key_bytes) {
      merge(ExactEntryLess());
    } else {
      merge(PrefixEntryLess{records, &layout_, skip + kEntryKeyBytes});
    }
    return {false, false};
  }

  template <typename Executor>
  void CopyBytes(const Piece& piece, std::byte* out, const Executor& executor) const {
    executor.ForEach(DivideUp(piece.bytes, kMiB), [&](std::uint64_t task, unsigned) {
      const std::uint64_t begin = task * kMiB;
      std::memcpy(out + begin, piece.data + begin, std::min(kMiB, piece.bytes - begin));
    });
  }

  template <typename U, typename Executor>
  void MergeNumbers(std::span<const Piece> pieces, std::byte* out, const Executor& executor) const {
    const NumberMap<U> map = MakeNumberMap<U>(layout_.fields[0]);
    const auto aligned = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(U) == 0; };
    const bool aligned_out = aligned(out);
    bool as_it_is = map.identity();
    for (const Piece& piece : pieces) as_it_is = as_it_is && aligned(piece.data);

    const auto place = [&](std::uint64_t begin, unsigned worker) {
      return aligned_out ? reinterpret_cast<U*>(out) + begin : Tile<U>(worker, 2);
    };
    const auto finish = [&](U* from, std::uint64_t begin, std::uint64_t size) {
      UnmapInPlace(from, size, map);
      if (!aligned_out) std::memcpy(out + begin * sizeof(U), from, size * sizeof(U));
    };

    if (as_it_is) {
      std::vector<Range<const U*>> runs;
      for (const Piece& piece : pieces) {
        runs.push_back({reinterpret_cast<const U*>(piece.data), piece.bytes / sizeof(U)});
      }
      ForEachTile(
          std::span<const Range<const U*>>(runs), shape_.tile_items, Less(), executor,
          [&](std::span<const Range<const U*>> slices, std::uint64_t begin, std::uint64_t size, unsigned worker) {
            U* const to = place(begin, worker);
            MergeTileOfNumbers<U>(slices, size, to, worker);
            finish(to, begin, size);
          });
      return;
    }
    // Mapped once on the way into the tile, which costs less than mapping in every comparison.
    std::vector<Range<MappedIterator<U>>> runs;
    for (const Piece& piece : pieces) runs.push_back({{AsBytes(piece.data), &map}, piece.bytes / sizeof(U)});
    ForEachTile(std::span<const Range<MappedIterator<U>>>(runs), shape_.tile_items, Less(), executor,
                [&](std::span<const Range<MappedIterator<U>>> slices, std::uint64_t begin, std::uint64_t size,
                    unsigned worker) {
                  U* const to = place(begin, worker);
                  U* mapped = slices.size() == 1 ? to : Tile<U>(worker, 1);
                  std::vector<Range<const U*>> sources;
                  sources.reserve(slices.size());
                  for (const Range<MappedIterator<U>>& slice : slices) {
                    MapTo(slice.first.address(), mapped, slice.size, map);
                    sources.push_back({mapped, slice.size});
                    mapped += slice.size;
                  }
                  if (slices.size() > 1) MergeTileOfNumbers<U>(sources, size, to, worker);
                  finish(to, begin, size);
                });
  }

  template <typename Executor>
  void MergeRecords(std::span<const Piece> pieces, std::byte* out, const Executor& executor) const {
    const std::uint64_t stride = layout_.stride;
    std::vector<Range<RecordIterator>> runs;
    for (const Piece& piece : pieces) runs.push_back({{AsBytes(piece.data), stride}, piece.bytes / stride});
    ForEachTile(
        std::span<const Range<RecordIterator>>(runs), shape_.tile_items,
        [&](const Byte* a, const Byte* b) { return CompareKeys(a, b, layout_) < 0; }, executor,
        [&](std::span<const Range<RecordIterator>> slices, std::uint64_t begin, std::uint64_t size, unsigned worker) {
          std::byte* const to = out + begin * stride;
          if (slices.size() == 1) {
            std::memcpy(to, *slices[0].first, size * stride);
            return;
          }
          // What the first and last keys of the slices have in common, all keys between them have too.
          const Byte* const head = *slices[0].first;
          std::uint64_t skip = layout_.key_bytes;
          for (const Range<RecordIterator>& slice : slices) {
            skip = keys_.FirstDifference(head, *slice.first, 0, skip);
            skip = keys_.FirstDifference(head, *detail::Advance(slice.first, slice.size - 1), 0, skip);
          }
          Entry* const unsorted = Tile<Entry>(worker, 0);
          const Byte** const addresses = Addresses(worker);
          std::vector<Range<const Entry*>> sources;
          sources.reserve(slices.size());
          std::uint32_t row = 0;
          for (const Range<RecordIterator>& slice : slices) {
            sources.push_back({unsorted + row, slice.size});
            const Byte* record = *slice.first;
            for (std::uint64_t i = 0; i < slice.size; ++i, ++row, record += stride) {
              addresses[row] = record;
              unsorted[row] = keys_.MakeEntry(record, skip, row);
            }
          }
          Entry* const merged = Tile<Entry>(worker, 1);
          Entry* const scratch = Tile<Entry>(worker, 2);
          if (skip + kEntryKeyBytes >= layout_.key_bytes) {
            detail::MergeTree<Entry>(sources, size, merged, scratch, ExactEntryLess());
          } else {
            detail::MergeTree<Entry>(sources, size, merged, scratch,
                                     AddressEntryLess{addresses, &layout_, skip + kEntryKeyBytes});
          }
          Gather(merged, size, stride, to, [&](std::uint32_t r) { return addresses[r]; });
        });
  }

  const std::shared_ptr<Arena> arena_;
  const RecordLayout& layout_;
  const KeyReader keys_;
  const LaneShape shape_;
  const detail::LineShape line_shape_;
  const detail::TeamExecutor executor_;
  const SlotPool::Seat seat_;
  std::byte* const memory_;
};

class CpuBackend : public ArenaBackend<Arena> {
 public:
  explicit CpuBackend(unsigned threads) : team_(threads) {
    limits_.name = "CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    limits_.threads = threads;
  }

  std::uint64_t LaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes) const override {
    return CpuLaneBytes(layout, slot_bytes, limits_.threads);
  }

  std::unique_ptr<Lane> OpenLane() override { return std::make_unique<CpuLane>(arena(), team_); }
  void Pin(void*, std::uint64_t) override {}
  void Unpin(void*) override {}

  std::vector<std::uint64_t> BytesBefore(std::span<const SearchRange> ranges, RecordSpan cut_record) override {
    const std::shared_ptr<Arena> arena = this->arena();
    std::vector<std::uint64_t> bytes;
    bytes.reserve(ranges.size());
    for (const SearchRange& range : ranges) {
      bytes.push_back(
          gpusort::BytesBefore({range.data, range.bytes}, cut_record, range.inclusive, arena->shape().layout));
    }
    return bytes;
  }

  std::uint64_t device_peak() const override { return 0; }
  unsigned refused_threads() const override { return team_.refused(); }

 private:
  std::shared_ptr<Arena> NewArena(const ArenaShape& shape, HostMemory& memory) override {
    return std::make_shared<Arena>(shape, LaneBytes(shape.layout, shape.slot_bytes), memory);
  }

  detail::ThreadTeam team_;
};

}  // namespace

std::uint64_t CpuLaneBytes(const RecordLayout& layout, std::uint64_t slot_bytes, unsigned threads) {
  return layout.fixed() ? LaneShape(layout, slot_bytes).bytes(threads)
                        : detail::LineShape(layout, slot_bytes).bytes(threads);
}

std::unique_ptr<Backend> OpenCpuBackend(unsigned threads) {
  return std::make_unique<CpuBackend>(threads != 0 ? threads : AvailableCores());
}

}  // namespace gpusort
