// Sorts and merges fixed records on the CPU. The sort moves an Entry for each record instead of the record. An Entry
// has twelve bytes of the record's key and the index of the record. Small parts of the output (tiles) are merged in the
// cache, and each record is moved once. Start at RecordSorter.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gpusort/merge_host.hpp"
#include "kernels/cpu/cpu_sorter.hpp"
#include "kernels/cpu/vqsort.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

constexpr std::uint64_t kEntriesPerTile = std::uint64_t{1} << 13;
/// The largest group of entries with equal key bytes that is sorted by comparing records. Larger groups are sorted by
/// their next key bytes.
constexpr std::uint64_t kSmallGroup = 48;

/// Reads normalized keys (bytes that sort as the keys do) in words of eight bytes, as KeyWord does. If the key is a
/// single field of bytes, each word takes one load.
class KeyReader {
 public:
  KeyReader(const RecordLayout& layout)
      : layout_(layout), bytes_only_(layout.field_count == 1 && layout.fields[0].type == KeyType::kBytes) {}

  std::uint64_t Word(const Byte* record, std::uint64_t begin) const {
    const KeyField& field = layout_.fields[0];
    // The load may read bytes after the end of the key, but not after the end of the record.
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
  /// Returns the position of the first byte in [begin, end) in which the normalized keys (bytes that sort as the keys
  /// do) of records a and b differ. Returns `end` if these bytes are equal.
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

/// Orders entries (twelve key bytes and a record index) by the whole keys of their records, then by the index. The
/// record of an entry is at the address records[entry.row()].
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

inline bool SameKeyBytes(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

inline void SetKeyBytes(Entry& entry, const Entry& from) {
  entry.hi = from.hi;
  entry.lo = (from.lo & 0xFFFFFFFF00000000u) | entry.row();
}

/// Sorts the entries that have the same twelve key bytes, by the rest of their keys. (An Entry has twelve key bytes and
/// a record index.)
class Refiner {
 public:
  Refiner(const KeyReader& keys, const Byte* records) : keys_(keys), layout_(keys.layout()), records_(records) {}

  /// Sorts entries with equal key bytes by the rest of their keys, from byte `next` on, and then by row. The entries
  /// must be sorted by their twelve key bytes. Changes only the order of the entries.
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
    // If all keys are equal, the group is in order already: equal entries are in the order of their record indices.
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

/// An iterator that returns the addresses of records. The records are `stride` bytes apart.
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

/// Copies one record. Copies up to 512 bytes by inlined loads and stores, without a call of memcpy.
inline void CopyRecord(std::byte* to, const Byte* from, std::uint64_t stride) {
  const auto copy = [&](std::uint64_t at, auto chunk) {
    std::memcpy(&chunk, from + at, sizeof(chunk));
    std::memcpy(to + at, &chunk, sizeof(chunk));
  };
  // Copies the record in chunks of sizeof(chunk) bytes. The last chunk ends with the record, so it may overlap the
  // chunk before it.
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

/// Copies records to `to`, one after the other, in the order of `n` entries. The record of an entry is at the address
/// record_of(entry.row()).
template <typename RecordOf>
void Gather(const Entry* entries, std::uint64_t n, std::uint64_t stride, std::byte* to, RecordOf record_of) {
  // Record indices are in random order, so copying a record causes a cache miss or two. Prefetches each record well
  // before it is copied.
  constexpr std::uint64_t kAhead = 16;
  const auto prefetch = [&](std::uint64_t i) {
    const Byte* record = record_of(entries[i].row());
    // Prefetches the first 256 bytes of a longer record. The hardware then prefetches the rest.
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

class RecordSorter final : public SlotSorter {
 public:
  RecordSorter(const RecordLayout& layout, std::uint64_t slot_bytes)
      : layout_(layout), keys_(layout), records_(std::max<std::uint64_t>(1, slot_bytes / layout.stride)) {}

  std::uint64_t LaneBytes(unsigned workers) const override { return EntriesBytes() + workers * WorkerBytes(); }

  Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
              const TeamExecutor& executor) const override {
    const std::uint64_t stride = layout_.stride, n = bytes / stride;
    Entry* const entries = reinterpret_cast<Entry*>(memory);
    const Byte* const records = AsBytes(in);
    // Reads keys to learn whether the records are in order already, and how many leading bytes are equal in all keys.
    // Stops once both answers are known.
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
    if (sorted) return {true, true, n};

    const std::uint64_t skip = common;
    const std::uint64_t rounds = DivideUp(n, kEntriesPerPart * executor.workers());
    const std::uint64_t part_items = DivideUp(n, rounds * executor.workers());
    std::vector<Range<const Entry*>> parts;
    for (std::uint64_t begin = 0; begin < n; begin += part_items) {
      parts.push_back({entries + begin, std::min(part_items, n - begin)});
    }
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned) {
      const std::uint64_t first_row = part * part_items;
      Entry* const p = entries + first_row;
      for (std::uint64_t i = 0; i < parts[part].size; ++i) {
        const std::uint64_t row = first_row + i;
        p[i] = keys_.MakeEntry(records + row * stride, skip, static_cast<std::uint32_t>(row));
      }
      VqSort(p, parts[part].size);
      Refiner(keys_, records).Refine(p, parts[part].size, skip + kEntryKeyBytes);
    });

    const auto merge = [&](auto less) {
      ForEachTile(
          std::span<const Range<const Entry*>>(parts), tile_items_, less, executor,
          [&](std::span<const Range<const Entry*>> segments, std::uint64_t begin, std::uint64_t size, unsigned worker) {
            const Entry* merged = segments[0].first;
            if (segments.size() > 1) {
              MergeTree<Entry>(segments, size, Tile(memory, worker, 0), Tile(memory, worker, 1), less);
              merged = Tile(memory, worker, 0);
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
    return {false, false, n};
  }

  void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
             const TeamExecutor& executor) const override {
    const std::uint64_t stride = layout_.stride;
    std::vector<Range<RecordIterator>> runs;
    for (const RecordSpan& piece : pieces) runs.push_back({{AsBytes(piece.data()), stride}, piece.size() / stride});
    ForEachTile(
        std::span<const Range<RecordIterator>>(runs), tile_items_,
        [&](const Byte* a, const Byte* b) { return CompareKeys(a, b, layout_) < 0; }, executor,
        [&](std::span<const Range<RecordIterator>> segments, std::uint64_t begin, std::uint64_t size, unsigned worker) {
          std::byte* const to = out + begin * stride;
          if (segments.size() == 1) {
            std::memcpy(to, *segments[0].first, size * stride);
            return;
          }
          // Finds how many leading bytes are equal in all keys. Each segment (the tile's part of one sorted run) is
          // sorted, so it is enough to read its first and its last key: the keys between them begin with the same
          // bytes.
          const Byte* const head = *segments[0].first;
          std::uint64_t skip = layout_.key_bytes;
          for (const Range<RecordIterator>& segment : segments) {
            skip = keys_.FirstDifference(head, *segment.first, 0, skip);
            skip = keys_.FirstDifference(head, *detail::Advance(segment.first, segment.size - 1), 0, skip);
          }
          Entry* const unsorted = Tile(memory, worker, 0);
          const Byte** const addresses = Addresses(memory, worker);
          std::vector<Range<const Entry*>> sources;
          sources.reserve(segments.size());
          std::uint32_t row = 0;
          for (const Range<RecordIterator>& segment : segments) {
            sources.push_back({unsorted + row, segment.size});
            const Byte* record = *segment.first;
            for (std::uint64_t i = 0; i < segment.size; ++i, ++row, record += stride) {
              addresses[row] = record;
              unsorted[row] = keys_.MakeEntry(record, skip, row);
            }
          }
          Entry* const merged = Tile(memory, worker, 1);
          Entry* const scratch = Tile(memory, worker, 2);
          if (skip + kEntryKeyBytes >= layout_.key_bytes) {
            MergeTree<Entry>(sources, size, merged, scratch, ExactEntryLess());
          } else {
            MergeTree<Entry>(sources, size, merged, scratch,
                             AddressEntryLess{addresses, &layout_, skip + kEntryKeyBytes});
          }
          Gather(merged, size, stride, to, [&](std::uint32_t r) { return addresses[r]; });
        });
  }

 private:
  // The scratch memory begins with an Entry (twelve key bytes and a record index) for each record. Then each worker has
  // three tiles of entries and one tile of record addresses. A tile (the memory for a small part of the output) has
  // room for tile_items_ entries or addresses.
  std::uint64_t EntriesBytes() const { return RoundUp(records_ * sizeof(Entry), 64); }
  std::uint64_t WorkerBytes() const { return RoundUp(tile_items_ * (3 * sizeof(Entry) + sizeof(const Byte*)), 64); }
  Entry* Tile(std::byte* memory, unsigned worker, unsigned index) const {
    return reinterpret_cast<Entry*>(memory + EntriesBytes() + worker * WorkerBytes()) + index * tile_items_;
  }
  const Byte** Addresses(std::byte* memory, unsigned worker) const {
    return reinterpret_cast<const Byte**>(Tile(memory, worker, 3));
  }

  const RecordLayout& layout_;
  const KeyReader keys_;
  const std::uint64_t records_;  ///< the maximum number of records in a buffer
  /// The number of records in a tile (the part of the output that one thread merges at a time). Tiles of large records
  /// have fewer records, so that the threads share the work evenly.
  const std::uint64_t tile_items_ =
      std::min(records_, std::clamp<std::uint64_t>((std::uint64_t{8} << 20) / layout_.stride, 16, kEntriesPerTile));
};

}  // namespace gpusort::detail
