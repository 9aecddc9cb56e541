// Sorts and merges lines on the CPU backend. A batch is sorted through entries of twelve encoded key bytes and a row.
// Lines whose entries are equal are sorted by the next bytes of their keys; lines with keys give 56 of these at a time
// (WideKey). Sorted pieces are merged tile by tile. Only the lines of a tile are indexed. Private to cpu_backend.cpp,
// which passes threads (an executor) and memory. Start at LineSorter::Sort and LineMerger::Merge.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "gpusort/merge_host.hpp"
#include "kernels/cpu/cpu_sorter.hpp"
#include "kernels/cpu/vqsort.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::detail {

/// A long part of the encoded key of one line. It saves looking for the keys of the line again if twelve bytes do not
/// decide.
struct WideKey {
  static constexpr std::uint64_t kBytes = 56;

  Byte bytes[kBytes];  ///< padded in the same way as the chunks of EncodeChunk
  std::uint32_t row;
  std::uint32_t ended;  ///< not 0 if the encoded key ends within these bytes
};

/// Collects a WideKey in the same way as ChunkWriter collects twelve bytes.
class WideWriter {
 public:
  /// Collects bytes [skip, skip + WideKey::kBytes) of an encoded key. The caller will use only the first `wanted` of
  /// them.
  WideWriter(WideKey& key, std::uint64_t skip, std::uint64_t wanted)
      : to_(reinterpret_cast<Byte*>(&key)), skip_(skip), end_(skip + wanted) {}

  void set_reverse(bool reverse) { flip_ = reverse ? ~std::uint64_t{0} : 0; }
  bool reverse() const { return flip_ != 0; }
  bool full() const { return at_ > end_; }

  void Put(unsigned byte) {
    // Before skip_ the difference wraps around and is large.
    if (at_ - skip_ < WideKey::kBytes) to_[at_ - skip_] = static_cast<Byte>(byte ^ flip_);
    ++at_;
  }
  void PutWord(std::uint64_t word) { PutPart(word, 8); }
  void PutPart(std::uint64_t word, unsigned bytes) {
    word ^= flip_ & ~std::uint64_t{0} << (64 - 8 * bytes);
    // Whole words are stored: later bytes overwrite the zeros, and Finish sets the bytes after the last one.
    if (at_ >= skip_) {
      if (at_ - skip_ < WideKey::kBytes) Store(at_ - skip_, word);
    } else if (skip_ - at_ < bytes) {
      Store(0, word << (8 * (skip_ - at_)));
    }
    at_ += bytes;
  }
  void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    if (count >= 255) PutWord(count);
  }
  void PutRest(const Byte* line, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t from = std::min(end, begin + (skip_ - std::min(skip_, at_)));
    const std::uint64_t have = Have();
    const std::uint64_t size = std::min(end - from, WideKey::kBytes - have);
    if (size > 0) std::memcpy(to_ + have, line + from, size);
    for (std::uint64_t i = have; reverse() && i < have + size; ++i) to_[i] = static_cast<Byte>(~to_[i]);
    at_ += end - begin;
    padding_ = reverse() ? 0xFF : 0;
  }
  void Finish(std::uint32_t row) {
    std::memset(to_ + Have(), padding_, WideKey::kBytes - Have());
    const std::uint32_t tail[2] = {row, !full()};
    std::memcpy(to_ + WideKey::kBytes, tail, sizeof(tail));
  }

 private:
  std::uint64_t Have() const { return at_ > skip_ ? std::min(at_ - skip_, WideKey::kBytes) : 0; }
  void Store(std::uint64_t index, std::uint64_t word) {
    word = __builtin_bswap64(word);
    std::memcpy(to_ + index, &word, 8);
  }

  Byte* const to_;
  const std::uint64_t skip_, end_;
  std::uint64_t at_ = 0;
  std::uint64_t flip_ = 0;
  int padding_ = 0;
};
static_assert(sizeof(WideKey) == WideKey::kBytes + 8, "a word at the last byte stays inside");

/// The division of a lane's memory: entries and an index for the lines of a slot, then scratch memory for each worker.
/// All sizes are in bytes.
struct LineShape {
  std::uint64_t rows = 0;       ///< the maximum number of lines of a batch
  std::uint64_t tile_rows = 0;  ///< the maximum number of lines of a merge tile
  std::uint64_t entries_bytes = 0;
  std::uint64_t starts_bytes = 0;
  std::uint64_t worker_bytes = 0;  ///< three tiles of entries, the lines of a tile, and wide keys for half a tile

  /// `batch_lines` is the maximum number of lines of a batch; 0 means SlotRecords().
  LineShape(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint64_t batch_lines) {
    rows = batch_lines != 0 ? batch_lines : SlotRecords(layout, slot_bytes);
    tile_rows = std::clamp<std::uint64_t>(slot_bytes / 256 / 4 * 4, 512, 8192);
    entries_bytes = RoundUp(rows * sizeof(Entry), 64);
    starts_bytes = RoundUp((rows + 1) * sizeof(std::uint32_t), 64);
    worker_bytes = RoundUp(tile_rows * (3 * sizeof(Entry) + sizeof(RecordSpan) + sizeof(WideKey) / 2), 64);
  }
  std::uint64_t bytes(unsigned workers) const { return entries_bytes + starts_bytes + workers * worker_bytes; }

  /// Returns the scratch memory of a worker.
  std::byte* Worker(std::byte* memory, unsigned worker) const {
    return memory + entries_bytes + starts_bytes + worker * worker_bytes;
  }
  Entry* Tile(std::byte* memory, unsigned worker, unsigned index) const {
    return reinterpret_cast<Entry*>(Worker(memory, worker)) + index * tile_rows;
  }
  /// Returns the wide keys of a worker that merges. They lie after its tiles and the lines of one tile.
  std::span<WideKey> MergeKeys(std::byte* memory, unsigned worker) const {
    return {reinterpret_cast<WideKey*>(Tile(memory, worker, 4)), tile_rows / 2};
  }
  /// Returns the wide keys of a worker that sorts. They take all its scratch memory.
  std::span<WideKey> SortKeys(std::byte* memory, unsigned worker) const {
    return {reinterpret_cast<WideKey*>(Worker(memory, worker)), worker_bytes / sizeof(WideKey)};
  }
};

/// Reads the encoded keys of lines: as chunks, as wide keys, or as a range of the line if the key is plain (see
/// plain()).
class LineKeys {
 public:
  explicit LineKeys(const LineOrderView& order)
      : order_(order),
        plain_(IsPlain(order)),
        flip_((order.key_count == 0 ? order.last_resort_reverse : order.keys[0].reverse) ? ~std::uint64_t{0} : 0) {}

  /// Returns the first position in [begin, end) at which the plain keys of a and b differ, at most the length of the
  /// shorter key. Only for plain keys.
  std::uint64_t Find(RecordSpan a, RecordSpan b, std::uint64_t begin, std::uint64_t end) const {
    const RecordSpan x = Key(a), y = Key(b);
    return FirstDifference(x.data(), y.data(), begin,
                           std::min({end, std::uint64_t{x.size()}, std::uint64_t{y.size()}}));
  }
  /// Returns the chunk of the line's encoded key that begins at byte `skip`. `line` has no delimiter.
  LineChunk Chunk(RecordSpan line, std::uint64_t skip) const {
    if (plain_) {
      const RecordSpan key = Key(line);
      if (key.size() >= skip + kEntryKeyBytes) {
        const Byte* const at = AsBytes(key.data()) + skip;
        return {LoadBigEndian(at) ^ flip_, static_cast<std::uint32_t>(LoadBigEndian(at + 4) ^ flip_),
                key.size() == skip + kEntryKeyBytes};
      }
    }
    if (order_.keyed) {
      const RecordSpan field = Field(line);
      Byte bytes[kEntryKeyBytes];
      PutPadded(field, skip, bytes, kEntryKeyBytes);
      return {LoadBigEndian(bytes), static_cast<std::uint32_t>(LoadBigEndian(bytes + 4)),
              field.size() <= skip + kEntryKeyBytes};
    }
    return EncodeChunk(AsBytes(line.data()), line.size(), order_, skip);
  }
  /// Writes bytes [skip, skip + WideKey::kBytes) of the line's encoded key to `key`. Returns true if the encoded key
  /// has no byte after the first `wanted` of them. `line` has no delimiter.
  bool Widen(RecordSpan line, std::uint64_t skip, std::uint32_t row, WideKey& key,
             std::uint64_t wanted = WideKey::kBytes) const {
    if (order_.keyed) {
      const RecordSpan field = Field(line);
      PutPadded(field, skip, key.bytes, WideKey::kBytes);
      key.row = row;
      key.ended = field.size() <= skip + wanted;
      return key.ended != 0;
    }
    WideWriter writer(key, skip, wanted);
    PutKeys(writer, AsBytes(line.data()), line.size(), order_);
    writer.Finish(row);
    return key.ended != 0;
  }
  /// True if every encoded key is a range of the bytes of its line, possibly complemented.
  bool plain() const { return plain_; }
  /// Returns the bytes of the line that are its plain key. They are not complemented.
  RecordSpan Key(RecordSpan line) const {
    if (order_.key_count == 0) return line;
    const KeyRange range = FindKey(AsBytes(line.data()), line.size(), order_.keys[0], order_.separator);
    return line.subspan(range.begin, range.size());
  }
  const LineOrderView& order() const { return order_; }
  int Compare(RecordSpan a, RecordSpan b) const {
    return CompareLines(AsBytes(a.data()), a.size(), AsBytes(b.data()), b.size(), order_);
  }

  /// Returns the first position in [begin, end) at which a and b differ, or `end`.
  static std::uint64_t FirstDifference(const std::byte* a, const std::byte* b, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = begin;
    for (; at + 8 <= end; at += 8) {
      std::uint64_t p, q;
      std::memcpy(&p, a + at, 8);
      std::memcpy(&q, b + at, 8);
      if (p != q) return at + static_cast<unsigned>(__builtin_ctzll(p ^ q)) / 8;
    }
    while (at < end && a[at] == b[at]) ++at;
    return at;
  }

 private:
  static bool IsPlain(const LineOrderView& order) {
    return order.key_count == 0 || (order.key_count == 1 && order.keys[0].plain() && !order.last_resort);
  }

  /// Returns the first field of a keyed line, which is its encoded key up to the first key that the host compares.
  RecordSpan Field(RecordSpan line) const {
    const KeyRange field = KeyedFields(AsBytes(line.data()), line.size(), order_).Next();
    return line.subspan(field.begin, field.size());
  }
  /// Copies `field` from byte `skip` on to `to`, padded with zeros to `room` bytes. Fields contain no zeros.
  static void PutPadded(RecordSpan field, std::uint64_t skip, Byte* to, std::uint64_t room) {
    const std::uint64_t size = std::min(room, field.size() - std::min<std::uint64_t>(skip, field.size()));
    if (size > 0) std::memcpy(to, field.data() + skip, size);
    std::memset(to + size, 0, room - size);
  }

  const LineOrderView& order_;
  const bool plain_;
  const std::uint64_t flip_;  ///< all ones if plain keys are in reverse order, otherwise 0
};

/// Measures how many first bytes of their encoded keys some lines have in common with a given first line. It returns
/// chunks as well, because a chunk costs little once the keys of a line have been found.
class CommonKey {
 public:
  CommonKey(const LineKeys& keys, RecordSpan first) : keys_(keys) {
    if (keys.plain()) {
      plain_ = keys.Key(first);
      most_ = std::min<std::uint64_t>(plain_.size(), 1024);
    } else {
      keys.Widen(first, 0, 0, wide_);
    }
  }
  /// Returns the longest common prefix, in bytes, that can be recognized.
  std::uint64_t most() const { return most_; }

  /// Returns how many of the first `most` key bytes `line` and the first line have in common. `most` <= most().
  std::uint64_t Find(RecordSpan line, std::uint64_t most) const {
    if (keys_.plain()) {
      const RecordSpan key = keys_.Key(line);
      return LineKeys::FirstDifference(plain_.data(), key.data(), 0, std::min<std::uint64_t>(most, key.size()));
    }
    WideKey wide;
    keys_.Widen(line, 0, 0, wide, most);
    return Same(wide, most);
  }
  /// Returns the chunk of `line` that begins at byte `skip`. Lowers `common` to the number of first key bytes that
  /// `line` and the first line have in common.
  LineChunk Chunk(RecordSpan line, std::uint64_t skip, std::uint64_t& common) const {
    if (skip == 0) return keys_.Chunk(line, 0);
    if (keys_.plain()) {
      common = Find(line, common);
      return keys_.Chunk(line, skip);
    }
    WideKey wide;
    const bool ended = keys_.Widen(line, 0, 0, wide, skip + kEntryKeyBytes);
    common = Same(wide, common);
    const Byte* const bytes = wide.bytes + skip;
    return {LoadBigEndian(bytes), static_cast<std::uint32_t>(LoadBigEndian(bytes + 4)), ended};
  }

 private:
  std::uint64_t Same(const WideKey& wide, std::uint64_t most) const {
    return LineKeys::FirstDifference(reinterpret_cast<const std::byte*>(wide.bytes),
                                     reinterpret_cast<const std::byte*>(wide_.bytes), 0, most);
  }

  const LineKeys& keys_;
  RecordSpan plain_;
  WideKey wide_;
  std::uint64_t most_ = WideKey::kBytes - kEntryKeyBytes;
};

inline Entry MakeLineEntry(const LineChunk& chunk, std::uint32_t row) {
  return {static_cast<std::uint64_t>(chunk.lo) << 32 | row, chunk.hi};
}
inline bool SameEntryKey(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

inline void Prefetch(RecordSpan line) {
  __builtin_prefetch(line.data());
  __builtin_prefetch(line.data() + 64);
}

/// Compares lines with keys by their wide keys. Keeps the wide keys of the last lines, because the next comparison of a
/// merge needs one of the two lines again.
template <typename Lines>
class WideCompare {
 public:
  /// `next` is the first encoded byte in which lines may differ. `memory` need not be initialized.
  WideCompare(const LineKeys& keys, Lines lines, std::uint64_t next, std::span<WideKey> memory)
      : keys_(keys), lines_(lines), next_(next), memory_(memory.first(std::bit_floor(memory.size()))) {}

  int operator()(std::uint32_t a, std::uint32_t b) {
    if (keys_.order().key_count == 0 || keys_.order().keyed || Place(a) == Place(b)) {
      return keys_.Compare(lines_(a), lines_(b));
    }
    if (!clean_) {
      for (WideKey& key : memory_) key.row = kNoRow;
      clean_ = true;
    }
    const WideKey &x = Get(a), &y = Get(b);
    const int order = std::memcmp(x.bytes, y.bytes, WideKey::kBytes);
    if (order != 0 || (x.ended && y.ended && ChunksDecide(keys_.order()))) return order;
    return keys_.Compare(lines_(a), lines_(b));
  }

 private:
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};  // no row: batches have fewer lines

  std::uint64_t Place(std::uint32_t row) const { return row & (memory_.size() - 1); }
  const WideKey& Get(std::uint32_t row) const {
    WideKey& key = memory_[Place(row)];
    if (key.row != row) keys_.Widen(lines_(row), next_, row, key);
    return key;
  }

  const LineKeys& keys_;
  const Lines lines_;
  const std::uint64_t next_;
  const std::span<WideKey> memory_;
  bool clean_ = false;
};

/// Orders entries by their twelve bytes. If these are equal, compare(row, row) decides.
template <typename Compare>
struct LineEntryLess {
  Compare* compare;

  bool operator()(const Entry& a, const Entry& b) const {
    if (a.hi != b.hi) return a.hi < b.hi;
    if ((a.lo ^ b.lo) >> 32 != 0) return a.lo < b.lo;
    const int order = (*compare)(a.row(), b.row());
    return order != 0 ? order < 0 : a.row() < b.row();
  }
};

/// Sorts entries that agree in their twelve bytes by the rest of their keys, from the most significant bytes to the
/// least, with a list of groups instead of recursion. Bytes that all keys of a group have in common are skipped. If a
/// key of the host is settled for all lines of a group, the keys after it are encoded anew.
template <typename Lines>
class LineRefiner {
 public:
  /// `memory` is scratch memory of at most 2^32 keys.
  LineRefiner(const LineKeys& keys, Lines lines, std::span<WideKey> memory)
      : keys_(keys), lines_(lines), wide_(memory) {
    const LineOrderView& order = keys.order();
    for (std::uint32_t k = 0; k < order.key_count; ++k) {
      if (order.keys[k].ordering != LineOrdering::kHost) continue;
      LineOrderView rest = order;
      rest.keys += k + 1;
      rest.key_count -= k + 1;
      stages_.push_back({order.keys[k].host, rest});
    }
  }

  /// `entries` must be sorted as numbers. `next` is the first encoded byte that they do not hold. On return the entries
  /// are in full order and hold the same bytes as before.
  void Refine(Entry* entries, std::uint64_t n, std::uint64_t next) {
    const Entry* const last = entries + n;
    const Entry* asked = entries;
    ForEachGroup(entries, n, [&](Entry* group, std::uint64_t size) {
      // Rows are in random order, so each line is a cache miss. Prefetch the lines of the next groups early.
      constexpr std::uint64_t kAhead = 32;
      const std::uint64_t ahead = std::min<std::uint64_t>(std::min(size, kAhead) + kAhead, last - group);
      for (asked = std::max<const Entry*>(asked, group); asked < group + ahead; ++asked) {
        const bool alone = !(asked > entries && SameEntryKey(asked[-1], *asked)) &&
                           !(asked + 1 < last && SameEntryKey(*asked, asked[1]));
        if (!alone) Prefetch(lines_(asked->row()));
      }
      if (size == 1) return;
      const Entry head = group[0];
      if (size <= kPair) return SortByLines(group, size);
      groups_.assign(1, {group, size, next, true, 0});
      while (!groups_.empty()) RefineOne();
      for (std::uint64_t i = 0; i < size; ++i) {
        group[i] = {(head.lo & 0xFFFFFFFF00000000u) | group[i].row(), head.hi};
      }
    });
  }

 private:
  struct Group {
    Entry* entries;
    std::uint64_t size;
    std::uint64_t next;
    bool fresh;         ///< true if the bytes just before `next` separated the group from others
    std::size_t stage;  ///< the number of keys of the host in which all lines of the group are equal
  };
  /// A key of the host that decides between lines that are equal in the keys before it, and the keys after it.
  struct Stage {
    const HostOrder* host;
    LineOrderView rest;
  };
  /// The largest group that is sorted by comparing whole lines. From three lines on, encoding each line once costs
  /// less.
  static constexpr std::uint64_t kPair = 2;
  /// The largest group that is sorted by std::sort. Starting vqsort costs more below this size.
  static constexpr std::uint64_t kFew = 24;

  template <typename F>
  static void ForEachGroup(Entry* entries, std::uint64_t n, F f) {
    for (std::uint64_t begin = 0, end; begin < n; begin = end) {
      for (end = begin + 1; end < n && SameEntryKey(entries[begin], entries[end]);) ++end;
      f(entries + begin, end - begin);
    }
  }

  void SortByLines(Entry* group, std::uint64_t size) const {
    std::sort(group, group + size, [&](const Entry& a, const Entry& b) {
      const int order = keys_.Compare(lines_(a.row()), lines_(b.row()));
      return order != 0 ? order < 0 : a.row() < b.row();
    });
  }

  LineKeys Keys(std::size_t stage) const { return stage == 0 ? keys_ : LineKeys(stages_[stage - 1].rest); }

  /// Orders a group whose encoded keys have ended and are equal with their padding. The lines may still differ in NULs.
  /// Lines that are equal are in order already, because equal entries are in the order of their rows.
  void Settle(const Group& group) {
    if (ChunksDecide(keys_.order())) return;
    const std::span<const Entry> entries(group.entries, group.size);
    if (group.stage < stages_.size()) {
      const Stage& stage = stages_[group.stage];
      const auto settled = [&](const Entry& entry) { return stage.host->Settled(AsBytes(lines_(entry.row()).data())); };
      if (std::all_of(entries.begin(), entries.end(), settled)) {
        if (stage.rest.key_count > 0) groups_.push_back({group.entries, group.size, 0, true, group.stage + 1});
        return;
      }
    }
    for (std::uint64_t i = 1; i < group.size; ++i) {
      if (keys_.Compare(lines_(entries[i - 1].row()), lines_(entries[i].row())) > 0) {
        return SortByLines(group.entries, group.size);
      }
    }
  }

  /// True if all lines of the group are the same bytes.
  bool AllSame(const Group& group) const {
    const RecordSpan head = lines_(group.entries[0].row());
    for (std::uint64_t i = 1; i < group.size; ++i) {
      const RecordSpan line = lines_(group.entries[i].row());
      if (line.size() != head.size() || std::memcmp(line.data(), head.data(), head.size()) != 0) return false;
    }
    return true;
  }

  void RefineOne() {
    const Group group = groups_.back();
    groups_.pop_back();
    const LineKeys keys = Keys(group.stage);
    // The very next bytes usually tell the lines of a small group apart.
    if (keys.plain() && group.fresh && group.size <= kFew) return RefineBy(keys, group, group.next);
    if (AllSame(group)) return;  // otherwise repeated lines would be read to their ends
    if (!keys.plain() && group.size <= wide_.size()) return RefineWide(keys, group);
    std::uint64_t next = group.next;
    if (keys.plain()) {
      const RecordSpan head = lines_(group.entries[0].row());
      std::uint64_t common = ~std::uint64_t{0};
      for (std::uint64_t i = 1; i < group.size && common > next; ++i) {
        common = keys.Find(head, lines_(group.entries[i].row()), next, common);
      }
      next = common;
    }
    RefineBy(keys, group, next);
  }

  /// Sorts a group by the encoded bytes from `next` on.
  void RefineBy(const LineKeys& keys, const Group& group, std::uint64_t next) {
    bool ended = true, same = true;
    for (std::uint64_t i = 0; i < group.size; ++i) {
      Entry& entry = group.entries[i];
      const LineChunk chunk = keys.Chunk(lines_(entry.row()), next);
      ended = ended && chunk.ended;
      entry = MakeLineEntry(chunk, entry.row());
      same = same && SameEntryKey(entry, group.entries[0]);
    }
    next += kEntryKeyBytes;
    // A group in which no entry differs is not sorted: it is still in the order of its rows.
    if (!same) SortGroup(group.entries, group.size);
    ForEachGroup(group.entries, group.size,
                 [&](Entry* inner, std::uint64_t size) { Leave({inner, size, next, !same, group.stage}, ended); });
  }

  static void SortGroup(Entry* entries, std::uint64_t n) {
    if (n <= kFew) {
      std::sort(entries, entries + n, ExactEntryLess());
    } else {
      VqSort(entries, n);
    }
  }

  /// Continues with a group of lines that are equal in all encoded bytes before group.next. `ended`: their keys have no
  /// further bytes.
  void Leave(const Group& group, bool ended) {
    if (group.size == 1) return;
    if (ended) {
      Settle(group);
    } else if (group.size <= kPair) {
      SortByLines(group.entries, group.size);
    } else {
      groups_.push_back(group);
    }
  }

  void RefineWide(const LineKeys& keys, const Group& group) {
    constexpr std::uint64_t kAhead = 8;
    for (std::uint64_t i = 0; i < group.size; ++i) {
      if (i + kAhead < group.size) Prefetch(lines_(group.entries[i + kAhead].row()));
      const std::uint32_t row = group.entries[i].row();
      keys.Widen(lines_(row), group.next, row, wide_[i]);
      group.entries[i] = {i, 0};  // in the order of the rows, because the entries were equal
    }
    SortWide({group.entries, group.size, group.next + WideKey::kBytes, false, group.stage}, 0);
  }

  /// Sorts a group whose wide keys agree before byte `at`. The rows of its entries are indexes of wide_. On return they
  /// are the rows of the lines again.
  void SortWide(const Group& group, std::uint64_t at) {
    Entry* const entries = group.entries;
    const std::uint64_t n = group.size;
    const auto wide = [this](const Entry& entry) -> const WideKey& { return wide_[entry.row()]; };
    if (n > 1) at = Differs(entries, n, at);
    if (n == 1 || at == WideKey::kBytes) {
      bool ended = true;
      for (std::uint64_t i = 0; i < n; ++i) {
        ended = ended && wide(entries[i]).ended;
        entries[i] = {wide(entries[i]).row, 0};
      }
      return Leave(group, ended);
    }
    at = std::min(at, WideKey::kBytes - kEntryKeyBytes);
    for (std::uint64_t i = 0; i < n; ++i) {
      const Byte* const bytes = wide(entries[i]).bytes + at;
      const auto lo = static_cast<std::uint32_t>(LoadBigEndian(bytes + 4));
      entries[i] = MakeLineEntry({LoadBigEndian(bytes), lo, false}, entries[i].row());
    }
    SortGroup(entries, n);
    ForEachGroup(entries, n, [&](Entry* inner, std::uint64_t size) {
      SortWide({inner, size, group.next, false, group.stage}, at + kEntryKeyBytes);
    });
  }

  /// Returns the first byte from `at` on in which not all wide keys agree, or kBytes.
  std::uint64_t Differs(const Entry* entries, std::uint64_t n, std::uint64_t at) const {
    const Byte* const head = wide_[entries[0].row()].bytes;
    for (at = at / 8 * 8; at < WideKey::kBytes; at += 8) {
      std::uint64_t differ = 0;
      for (std::uint64_t i = 1; i < n; ++i) {
        differ |= LoadBigEndian(head + at) ^ LoadBigEndian(wide_[entries[i].row()].bytes + at);
      }
      if (differ != 0) return at + static_cast<unsigned>(__builtin_clzll(differ)) / 8;
    }
    return at;
  }

  const LineKeys& keys_;
  const Lines lines_;
  const std::span<WideKey> wide_;
  std::vector<Stage> stages_;
  std::vector<Group> groups_;
};

/// Sorts a batch of lines that lies in a slot.
class LineSorter {
 public:
  LineSorter(const RecordLayout& layout, const LineShape& shape, std::byte* memory)
      : layout_(layout), keys_(*layout.lines), shape_(shape), memory_(memory) {}

  SlotSorter::Sorted Sort(const std::byte* in, std::uint64_t bytes, std::byte* out, const TeamExecutor& executor) {
    const std::uint64_t n = Index(in, bytes, executor);
    if (InOrder(in, n, executor)) return {true, true, n};
    const auto lines = [in, starts = starts()](std::uint32_t row) {
      return RecordSpan(in + starts[row], starts[row + 1] - starts[row] - 1);
    };
    const std::uint64_t workers = executor.workers();
    const std::uint64_t rounds = DivideUp(n, kEntriesPerPart * workers);
    const std::uint64_t part_items = DivideUp(n, rounds * workers);
    std::vector<Range<const Entry*>> parts;
    for (std::uint64_t begin = 0; begin < n; begin += part_items) {
      parts.push_back({entries() + begin, std::min(part_items, n - begin)});
    }
    // The first encoded bytes that all keys have in common are left out. A sample of lines estimates their number, and
    // all lines are checked on the way. In the rare case that a line disagrees, everything is done again.
    bool exact = false;
    const CommonKey first(keys_, lines(0));
    std::uint64_t skip = SampleCommon(first, lines, n);
    for (std::uint64_t common; (common = SortParts(first, lines, parts, skip, exact, executor)) < skip;) skip = common;
    if (exact) {
      const auto merge = [&](std::span<const Range<const Entry*>> slices, std::uint64_t size, unsigned worker) {
        MergeTree<Entry>(slices, size, Tile(worker, 0), Tile(worker, 1), ExactEntryLess());
      };
      Gather(in, parts, ExactEntryLess(), merge, out, executor);
    } else {
      const auto compare = [&](std::uint32_t a, std::uint32_t b) { return keys_.Compare(lines(a), lines(b)); };
      const auto merge = [&](std::span<const Range<const Entry*>> slices, std::uint64_t size, unsigned worker) {
        // Rows are in random order, so the lines to compare, and to copy later, are cache misses. Prefetch them all at
        // once.
        for (const Range<const Entry*>& slice : slices) {
          for (std::uint64_t i = 0; i < slice.size; ++i) Prefetch(lines(slice.first[i].row()));
        }
        WideCompare wide(keys_, lines, skip + kEntryKeyBytes, shape_.MergeKeys(memory_, worker));
        MergeTree<Entry>(slices, size, Tile(worker, 0), Tile(worker, 1), LineEntryLess<decltype(wide)>{&wide});
      };
      Gather(in, parts, LineEntryLess<decltype(compare)>{&compare}, merge, out, executor);
    }
    return {false, false, n};
  }

 private:
  Entry* entries() const { return reinterpret_cast<Entry*>(memory_); }
  std::uint32_t* starts() const { return reinterpret_cast<std::uint32_t*>(memory_ + shape_.entries_bytes); }
  Entry* Tile(unsigned worker, unsigned index) const { return shape_.Tile(memory_, worker, index); }

  /// Sets starts()[0..n] to the start of each line and the end of the last line. Returns the number n of lines.
  std::uint64_t Index(const std::byte* in, std::uint64_t bytes, const TeamExecutor& executor) const {
    const std::uint64_t chunk =
        std::max<std::uint64_t>(DivideUp(bytes, 4 * std::uint64_t{executor.workers()}), 1 << 16);
    const std::uint64_t chunks = DivideUp(bytes, chunk);
    std::vector<std::uint64_t> first(chunks + 1);
    executor.ForEach(chunks, [&](std::uint64_t c, unsigned) {
      first[c + 1] = CountRecords({in + c * chunk, std::min(chunk, bytes - c * chunk)}, layout_);
    });
    for (std::uint64_t c = 0; c < chunks; ++c) first[c + 1] += first[c];
    if (first[chunks] > shape_.rows)
      throw Error(ErrorCode::kInternal, "CPU backend: a batch of more lines than a slot takes");
    std::uint32_t* const to = starts();
    to[0] = 0;
    executor.ForEach(chunks, [&](std::uint64_t c, unsigned) {
      std::uint32_t* next = to + first[c] + 1;
      const std::byte* const end = in + std::min(bytes, (c + 1) * chunk);
      for (const std::byte* p = in + c * chunk; (p = FindDelimiter(p, end, layout_.delimiter)) != nullptr;) {
        *next++ = static_cast<std::uint32_t>(++p - in);
      }
    });
    return first[chunks];
  }

  bool InOrder(const std::byte* in, std::uint64_t n, const TeamExecutor& executor) const {
    constexpr std::uint64_t kLines = 256;
    const std::uint32_t* const at = starts();
    std::atomic<bool> sorted{true};
    const std::uint64_t share = std::max(kLines, DivideUp(n, 4 * std::uint64_t{executor.workers()}));
    executor.ForEach(DivideUp(n, share), [&](std::uint64_t task, unsigned) {
      // Each step includes the last line of the step before.
      for (std::uint64_t i = task * share, end = std::min(n, i + share); i < end && sorted; i += kLines) {
        const std::uint64_t from = i == 0 ? 0 : i - 1, to = std::min(end, i + kLines);
        if (FirstLineDisorder({in + at[from], at[to] - at[from]}, layout_, false) != kInOrder) sorted = false;
      }
    });
    return sorted;
  }

  /// Sorts each part by its encoded keys from byte `skip` on, and sets `exact` to whether entries alone decide the
  /// order. Returns how many first bytes all keys have in common, at most `skip`. If the result is less than `skip`,
  /// nothing is sorted, and the caller must call again with the result as `skip`.
  template <typename Lines>
  std::uint64_t SortParts(const CommonKey& first, Lines lines, const std::vector<Range<const Entry*>>& parts,
                          std::uint64_t skip, bool& exact, const TeamExecutor& executor) const {
    std::atomic<std::uint64_t> common{skip};
    std::atomic<bool> entries_decide{ChunksDecide(keys_.order())};
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned worker) {
      const auto first_row = static_cast<std::uint64_t>(parts[part].first - entries());
      Entry* const p = entries() + first_row;
      bool ended = true;
      std::uint64_t prefix = skip;
      for (std::uint64_t i = 0; i < parts[part].size; ++i) {
        const auto row = static_cast<std::uint32_t>(first_row + i);
        const LineChunk chunk = first.Chunk(lines(row), skip, prefix);
        ended = ended && chunk.ended;
        p[i] = MakeLineEntry(chunk, row);
      }
      for (std::uint64_t seen = common; prefix < seen && !common.compare_exchange_weak(seen, prefix);) {
      }
      if (common < skip) return;
      VqSort(p, parts[part].size);
      if (!ended || !entries_decide) {
        entries_decide = false;
        LineRefiner(keys_, lines, shape_.SortKeys(memory_, worker)).Refine(p, parts[part].size, skip + kEntryKeyBytes);
      }
    });
    exact = entries_decide;
    return common;
  }

  /// Returns how many first bytes the keys of a sample of lines have in common.
  template <typename Lines>
  static std::uint64_t SampleCommon(const CommonKey& first, Lines lines, std::uint64_t n) {
    const std::uint64_t samples = std::min<std::uint64_t>(64, n - 1);
    std::uint64_t common = first.most();
    for (std::uint64_t s = 1; s <= samples && common > 0; ++s) {
      common = first.Find(lines(static_cast<std::uint32_t>((n - 1) * s / samples)), common);
    }
    return common;
  }

  /// Merges the parts by merge(slices, size, worker), which must leave its result in the worker's first tile. Copies
  /// the lines to `out`, one after the other. All tiles are cut and measured first, because the place of a tile's lines
  /// in `out` depends on the lengths of all lines before it.
  template <typename Less, typename Merge>
  void Gather(const std::byte* in, const std::vector<Range<const Entry*>>& parts, Less less, Merge merge,
              std::byte* out, const TeamExecutor& executor) const {
    struct Cut {
      std::uint64_t begin, size, bytes;
      std::vector<Range<const Entry*>> slices;
    };
    const std::uint32_t* const at = starts();
    std::vector<Cut> cuts;
    std::mutex mutex;
    ForEachTile(std::span<const Range<const Entry*>>(parts), shape_.tile_rows, less, executor,
                [&](std::span<const Range<const Entry*>> slices, std::uint64_t begin, std::uint64_t size, unsigned) {
                  Cut cut{begin, size, 0, {slices.begin(), slices.end()}};
                  for (const Range<const Entry*>& slice : slices) {
                    for (std::uint64_t i = 0; i < slice.size; ++i) {
                      const std::uint32_t row = slice.first[i].row();
                      cut.bytes += at[row + 1] - at[row];
                    }
                  }
                  const std::lock_guard<std::mutex> lock(mutex);
                  cuts.push_back(std::move(cut));
                });
    std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.begin < b.begin; });
    std::uint64_t offset = 0;
    for (Cut& cut : cuts) {
      cut.begin = offset;
      offset += cut.bytes;
    }
    executor.ForEach(cuts.size(), [&](std::uint64_t task, unsigned worker) {
      const Cut& cut = cuts[task];
      const Entry* merged = cut.slices[0].first;
      if (cut.slices.size() > 1) {
        merge(std::span<const Range<const Entry*>>(cut.slices), cut.size, worker);
        merged = Tile(worker, 0);
      }
      // Rows are in random order, so each line costs a few cache misses. Prefetch it well before the copy.
      constexpr std::uint64_t kAhead = 12, kMostAhead = 256;
      const auto prefetch = [&](std::uint64_t i) {
        const std::uint32_t row = merged[i].row();
        const std::uint64_t size = std::min<std::uint64_t>(at[row + 1] - at[row], kMostAhead);
        for (std::uint64_t byte = 0; byte < size; byte += 64) __builtin_prefetch(in + at[row] + byte);
      };
      for (std::uint64_t i = 0; i < std::min(cut.size, kAhead); ++i) prefetch(i);
      std::byte* to = out + cut.begin;
      for (std::uint64_t i = 0; i < cut.size; ++i) {
        if (i + kAhead < cut.size) prefetch(i + kAhead);
        const std::uint32_t row = merged[i].row();
        const std::uint64_t size = at[row + 1] - at[row];
        std::memcpy(to, in + at[row], size);
        to += size;
      }
    });
  }

  const RecordLayout& layout_;
  const LineKeys keys_;
  const LineShape& shape_;
  std::byte* const memory_;
};

/// Merges sorted pieces. The pieces are cut into tiles by their bytes: a cut halves the pieces at the line around the
/// middle byte. Only the lines of one tile are indexed, in the worker's memory.
class LineMerger {
 public:
  LineMerger(const RecordLayout& layout, const LineShape& shape, std::byte* memory)
      : layout_(layout), keys_(*layout.lines), shape_(shape), memory_(memory) {}

  void Merge(std::span<const RecordSpan> pieces, std::byte* out, const TeamExecutor& executor) {
    std::uint64_t total = 0;
    for (const RecordSpan& piece : pieces) total += piece.size();
    std::vector<Node> nodes(1);
    nodes[0] = {{pieces.begin(), pieces.end()}, total, out};
    // First cut the pieces into shares, several for each worker. Then each worker cuts its share into tiles.
    const std::uint64_t share = std::max(kTileBytes, total / (4 * std::uint64_t{executor.workers()}));
    for (std::size_t at = 0; at < nodes.size();) {
      if (nodes[at].bytes <= share || nodes[at].pieces.size() == 1) {
        ++at;
      } else {
        nodes.push_back(SplitOff(nodes[at]));
      }
    }
    executor.ForEach(nodes.size(), [&](std::uint64_t task, unsigned worker) {
      std::vector<Node> stack;
      stack.push_back(std::move(nodes[task]));
      while (!stack.empty()) {
        Node& node = stack.back();
        if (node.pieces.size() == 1) {
          std::memcpy(node.out, node.pieces[0].data(), node.bytes);
        } else if (node.bytes > kTileBytes || !MergeTile(node, worker)) {
          Node right = SplitOff(node);
          stack.push_back(std::move(right));
          continue;
        }
        stack.pop_back();
      }
    });
  }

 private:
  struct Node {
    std::vector<RecordSpan> pieces;  ///< no piece is empty
    std::uint64_t bytes = 0;
    std::byte* out = nullptr;
  };
  /// The maximum size of a tile's lines. Lines and entries of a tile stay in a second-level cache of 1 MiB.
  static constexpr std::uint64_t kTileBytes = std::uint64_t{512} << 10;

  Entry* Tile(unsigned worker, unsigned index) const { return shape_.Tile(memory_, worker, index); }

  /// Splits `node`, which must have at least two pieces: leaves the earlier part in `node` and returns the later part.
  /// Neither part is empty. The cut lies before the weighted median of the pieces' middle lines, in the order (key,
  /// piece).
  Node SplitOff(Node& node) const {
    struct Middle {
      std::size_t piece;
      std::uint64_t begin;
      RecordSpan line;
    };
    std::vector<Middle> middles(node.pieces.size());
    for (std::size_t i = 0; i < middles.size(); ++i) {
      const RecordSpan piece = node.pieces[i];
      const std::uint64_t begin = RecordBegin(piece, piece.size() / 2, layout_);
      middles[i] = {i, begin, FirstRecord(piece.subspan(begin), layout_)};
    }
    std::sort(middles.begin(), middles.end(), [&](const Middle& a, const Middle& b) {
      const int order = CompareRecords(a.line, b.line, layout_);
      return order != 0 ? order < 0 : a.piece < b.piece;
    });
    std::uint64_t before = 0;
    std::size_t median = 0;
    while (before + node.pieces[middles[median].piece].size() <= node.bytes / 2 && median + 1 < middles.size()) {
      before += node.pieces[middles[median++].piece].size();
    }
    const Middle& pivot = middles[median];
    Node left, right;
    left.out = node.out;
    std::vector<std::uint64_t> cuts(node.pieces.size());
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      cuts[i] = i == pivot.piece ? pivot.begin : BytesBefore(node.pieces[i], pivot.line, i < pivot.piece, layout_);
      left.bytes += cuts[i];
    }
    // The pivot is the first line of all. It alone becomes the earlier part.
    if (left.bytes == 0) left.bytes = cuts[pivot.piece] = pivot.line.size();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const RecordSpan piece = node.pieces[i];
      if (cuts[i] > 0) left.pieces.push_back(piece.first(cuts[i]));
      if (cuts[i] < piece.size()) right.pieces.push_back(piece.subspan(cuts[i]));
    }
    right.bytes = node.bytes - left.bytes;
    right.out = node.out + left.bytes;
    node = std::move(left);
    return right;
  }

  /// Merges one tile. Returns false, and writes nothing, if the tile has more lines than fit the worker's memory.
  bool MergeTile(const Node& node, unsigned worker) const {
    auto* const lines = reinterpret_cast<RecordSpan*>(Tile(worker, 3));
    Entry* const unsorted = Tile(worker, 0);
    std::vector<Range<const Entry*>> sources;
    sources.reserve(node.pieces.size());
    std::uint64_t n = 0;
    for (const RecordSpan& piece : node.pieces) {
      const std::uint64_t first = n;
      const std::byte* const end = piece.data() + piece.size();
      for (const std::byte* line = piece.data(); line != end; ++n) {
        if (n == shape_.tile_rows) return false;
        const std::byte* const delimiter = FindDelimiter(line, end, layout_.delimiter);
        if (delimiter == nullptr) throw Error(ErrorCode::kInternal, "CPU backend: a piece to merge ends inside a line");
        new (lines + n) RecordSpan(line, static_cast<std::size_t>(delimiter - line));
        line = delimiter + 1;
      }
      sources.push_back({unsorted + first, n - first});
    }
    // The first bytes in which the first and last keys of all pieces agree are the same in all keys between them.
    const CommonKey common(keys_, lines[0]);
    std::uint64_t skip = common.most();
    for (const Range<const Entry*>& source : sources) {
      const auto first = static_cast<std::uint64_t>(source.first - unsorted);
      skip = common.Find(lines[first], skip);
      skip = common.Find(lines[first + source.size - 1], skip);
    }
    bool exact = ChunksDecide(keys_.order());
    for (std::uint64_t i = 0; i < n; ++i) {
      const LineChunk chunk = keys_.Chunk(lines[i], skip);
      exact = exact && chunk.ended;
      unsorted[i] = MakeLineEntry(chunk, static_cast<std::uint32_t>(i));
    }
    const auto line_of = [lines](std::uint32_t row) { return lines[row]; };
    Entry* const merged = Tile(worker, 1);
    if (exact) {
      MergeTree<Entry>(sources, n, merged, Tile(worker, 2), ExactEntryLess());
    } else {
      WideCompare wide(keys_, line_of, skip + kEntryKeyBytes, shape_.MergeKeys(memory_, worker));
      MergeTree<Entry>(sources, n, merged, Tile(worker, 2), LineEntryLess<decltype(wide)>{&wide});
    }
    std::byte* to = node.out;
    for (std::uint64_t i = 0; i < n; ++i) {
      const RecordSpan line = lines[merged[i].row()];
      std::memcpy(to, line.data(), line.size() + 1);  // with its delimiter
      to += line.size() + 1;
    }
    return true;
  }

  const RecordLayout& layout_;
  const LineKeys keys_;
  const LineShape& shape_;
  std::byte* const memory_;
};

class LineSlotSorter final : public SlotSorter {
 public:
  LineSlotSorter(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint64_t batch_lines)
      : layout_(layout), shape_(layout, slot_bytes, batch_lines) {}
  std::uint64_t LaneBytes(unsigned workers) const override { return shape_.bytes(workers); }
  Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
              const TeamExecutor& executor) const override {
    return LineSorter(layout_, shape_, memory).Sort(in, bytes, out, executor);
  }
  void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
             const TeamExecutor& executor) const override {
    LineMerger(layout_, shape_, memory).Merge(pieces, out, executor);
  }

 private:
  const RecordLayout& layout_;
  const LineShape shape_;
};

}  // namespace gpusort::detail
