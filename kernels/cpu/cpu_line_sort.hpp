// Sorts a batch of lines on the CPU. The sort moves an Entry for each line instead of the line. An Entry has the index
// of the line, and twelve bytes that sort as the lines do. Lines with the same twelve bytes are sorted by later bytes
// of their keys. Start at LineSorter::Sort.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gpusort/merge_host.hpp"
#include "kernels/cpu/cpu_line_keys.hpp"
#include "kernels/cpu/cpu_sorter.hpp"
#include "kernels/cpu/vqsort.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::detail {

/// The arrays in the scratch memory for sorting lines, and their sizes in bytes. First comes an Entry (twelve key bytes
/// and a line index) for each line, then the offset of each line, then memory for each worker.
struct LineMemoryMap {
  std::uint64_t rows = 0;       ///< the maximum number of lines that are sorted together
  std::uint64_t tile_rows = 0;  ///< the maximum number of lines that are merged at once
  std::uint64_t entries_bytes = 0;
  std::uint64_t starts_bytes = 0;
  std::uint64_t worker_bytes = 0;  ///< three tiles of entries, a table of lines, and half a tile of wide keys

  /// `batch_lines` is the maximum number of lines that are sorted together; 0 means the number that SlotRecords plans
  /// for a slot (a buffer) of slot_bytes bytes.
  LineMemoryMap(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint64_t batch_lines) {
    rows = batch_lines != 0 ? batch_lines : SlotRecords(layout, slot_bytes);
    tile_rows = std::clamp<std::uint64_t>(slot_bytes / 256 / 4 * 4, 512, 8192);
    entries_bytes = RoundUp(rows * sizeof(Entry), 64);
    starts_bytes = RoundUp((rows + 1) * sizeof(std::uint32_t), 64);
    worker_bytes = RoundUp(tile_rows * (3 * sizeof(Entry) + sizeof(RecordSpan) + sizeof(WideKey) / 2), 64);
  }
  std::uint64_t bytes(unsigned workers) const { return entries_bytes + starts_bytes + workers * worker_bytes; }

  std::byte* Worker(std::byte* memory, unsigned worker) const {
    return memory + entries_bytes + starts_bytes + worker * worker_bytes;
  }
  Entry* Tile(std::byte* memory, unsigned worker, unsigned index) const {
    return reinterpret_cast<Entry*>(Worker(memory, worker)) + index * tile_rows;
  }
  /// Returns the scratch memory of a merging worker for WideKey objects.
  std::span<WideKey> MergeKeys(std::byte* memory, unsigned worker) const {
    // Before the keys are three tiles of entries and a table of lines, which is as large as one tile.
    return {reinterpret_cast<WideKey*>(Tile(memory, worker, 4)), tile_rows / 2};
  }
  /// Returns the scratch memory of a sorting worker for WideKey objects.
  std::span<WideKey> SortKeys(std::byte* memory, unsigned worker) const {
    return {reinterpret_cast<WideKey*>(Worker(memory, worker)), worker_bytes / sizeof(WideKey)};
  }
};

/// Sorts lines whose entries have the same twelve key bytes. Compares later key bytes, and at last the whole lines.
template <typename Lines>
class LineRefiner {
 public:
  /// `memory` is scratch memory of any size, up to 2^32 WideKey objects.
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

  /// Sorts entries with the same twelve bytes by the later bytes of their keys. The entries must already be sorted by
  /// their twelve bytes. next(row) must return the index of the first key byte of line `row` that is still to be
  /// compared. Changes only the order of the entries, not their content.
  template <typename Next>
  void Refine(Entry* entries, std::uint64_t n, Next next) {
    const Entry* const last = entries + n;
    const Entry* asked = entries;
    ForEachGroup(entries, n, [&](Entry* group, std::uint64_t size) {
      // Line indices are in random order here, so reading a line is a cache miss. Prefetches the lines of the next
      // groups (lines with equal key bytes) early.
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
      groups_.assign(1, {group, size, next(head.row()), true, 0});
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
    bool fresh;         ///< true if the bytes just before `next` have separated this group from other lines
    std::size_t stage;  ///< the number of host-only keys that are equal in all lines of the group
  };
  /// A sort key that only the CPU can compare. Lines with equal keys are then sorted by `rest`.
  struct Stage {
    const HostOrder* host;
    LineOrderView rest;
  };
  /// A group (lines that are equal so far) of at most this many lines is sorted by comparing whole lines. For three or
  /// more lines, encoding the key of each line once is faster.
  static constexpr std::uint64_t kPair = 2;
  /// A group (lines that are equal so far) of at most this many lines is sorted by std::sort. Starting vqsort takes
  /// longer than sorting so few lines.
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

  /// Sorts a group of lines whose encoded keys are equal. Such lines can still differ in NULs at the ends of keys, and
  /// in keys that only the host can compare.
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
      // Sorts the group only if two neighbouring lines are out of order.
      if (keys_.Compare(lines_(entries[i - 1].row()), lines_(entries[i].row())) > 0) {
        return SortByLines(group.entries, group.size);
      }
    }
  }

  /// Returns true if all lines of the group have the same bytes.
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
    // In a small group of lines that are equal so far, the next key bytes usually differ. Sorts by them at once,
    // because a search for a common prefix would usually find nothing.
    if (keys.plain() && group.fresh && group.size <= kFew) return RefineBy(keys, group, group.next);
    if (AllSame(group)) return;  // otherwise equal lines would be read to their ends
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

  /// Sorts a group of lines by twelve bytes of their encoded keys (bytes that sort as the lines do), from byte `next`
  /// on.
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
    // If all entries are equal, the group stays as it is, in the order of the line indices.
    if (!same) SortGroup(group.entries, group.size);
    ForEachGroup(group.entries, group.size, [&](Entry* inner, std::uint64_t size) {
      Leave({inner, size, next, !same, group.stage}, ended);
    });
  }

  static void SortGroup(Entry* entries, std::uint64_t n) {
    if (n <= kFew) {
      std::sort(entries, entries + n, ExactEntryLess());
    } else {
      VqSort(entries, n);
    }
  }

  /// Puts a group of lines into groups_ if it must be sorted by later key bytes. Sorts the group at once if it has at
  /// most kPair lines or if the keys have `ended`.
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
      group.entries[i] = {i, 0};  // equal entries are in the order of their rows
    }
    SortWide({group.entries, group.size, group.next + WideKey::kBytes, false, group.stage}, 0);
  }

  /// Sorts a group of lines by the copies of key bytes in wide_. Bytes before `at` must be equal. On entry,
  /// Entry::row() is an index into wide_. On return, Entry::row() is the index of a line.
  void SortWide(const Group& group, std::uint64_t at) {
    Entry* const entries = group.entries;
    const std::uint64_t n = group.size;
    const auto wide = [this](const Entry& entry) -> const WideKey& { return wide_[entry.row()]; };
    if (n > 1) at = Differs(entries, n, at);
    if (n == 1 || at == WideKey::kBytes) {
      bool ended = true;
      for (std::uint64_t i = 0; i < n; ++i) {
        ended = ended && wide(entries[i]).ended();
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

  /// Returns the first position, from `at` on, at which the key bytes in wide_ differ between entries. Returns
  /// WideKey::kBytes if they are equal.
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
  std::vector<Group> groups_;  ///< groups that are still to be sorted
};

/// Sorts the lines of one batch (the lines that are sorted together).
class LineSorter {
 public:
  LineSorter(const RecordLayout& layout, const LineMemoryMap& map, std::byte* memory)
      : layout_(layout), keys_(*layout.lines), map_(map), memory_(memory) {}

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
    // The entries leave out the leading bytes that are equal in all encoded keys. A sample of the lines gives an
    // estimate of the number of these bytes, and SortParts checks the estimate with all lines. If the estimate is too
    // large, SortParts runs again with the right number.
    bool exact = false;
    const CommonKey first(keys_, lines(0));
    std::uint64_t skip = SampleCommon(first, lines, n);
    std::optional<KeyCode> code = SampleCode(first, lines, n, skip);
    for (std::uint64_t common; (common = SortParts(first, lines, parts, skip, code, exact, executor)) < skip;) {
      skip = common;
      code = SampleCode(first, lines, n, skip);  // the old code is only for later key bytes
    }
    if (exact) {
      const auto merge = [&](std::span<const Range<const Entry*>> segments, std::uint64_t size, unsigned worker) {
        MergeTree<Entry>(segments, size, Tile(worker, 0), Tile(worker, 1), ExactEntryLess());
      };
      Gather(in, parts, ExactEntryLess(), merge, out, executor);
    } else {
      const auto compare = [&](std::uint32_t a, std::uint32_t b) { return keys_.Compare(lines(a), lines(b)); };
      const auto merge = [&](std::span<const Range<const Entry*>> segments, std::uint64_t size, unsigned worker) {
        // Line indices are in random order, so reading the lines to compare and to copy causes cache misses. Prefetches
        // all lines first.
        for (const Range<const Entry*>& segment : segments) {
          for (std::uint64_t i = 0; i < segment.size; ++i) Prefetch(lines(segment.first[i].row()));
        }
        WideCompare wide(keys_, lines, skip + (code ? code->least_bytes() : kEntryKeyBytes),
                         map_.MergeKeys(memory_, worker));
        MergeTree<Entry>(segments, size, Tile(worker, 0), Tile(worker, 1), LineEntryLess<decltype(wide)>{&wide});
      };
      Gather(in, parts, LineEntryLess<decltype(compare)>{&compare}, merge, out, executor);
    }
    return {false, false, n};
  }

 private:
  Entry* entries() const { return reinterpret_cast<Entry*>(memory_); }
  std::uint32_t* starts() const { return reinterpret_cast<std::uint32_t*>(memory_ + map_.entries_bytes); }
  Entry* Tile(unsigned worker, unsigned index) const { return map_.Tile(memory_, worker, index); }

  /// Sets starts()[0..n] to the offset of each line and the end of the last line. Returns n, the number of lines.
  std::uint64_t Index(const std::byte* in, std::uint64_t bytes, const TeamExecutor& executor) const {
    const std::uint64_t chunk =
        std::max<std::uint64_t>(DivideUp(bytes, 4 * std::uint64_t{executor.workers()}), 1 << 16);
    const std::uint64_t chunks = DivideUp(bytes, chunk);
    std::vector<std::uint64_t> first(chunks + 1);
    executor.ForEach(chunks, [&](std::uint64_t c, unsigned) {
      first[c + 1] = CountRecords({in + c * chunk, std::min(chunk, bytes - c * chunk)}, layout_);
    });
    for (std::uint64_t c = 0; c < chunks; ++c) first[c + 1] += first[c];
    if (first[chunks] > map_.rows)
      throw Error(ErrorCode::kInternal, "CPU backend: a batch of more lines than a slot takes");
    std::uint32_t* const to = starts();
    to[0] = 0;
    executor.ForEach(chunks, [&](std::uint64_t c, unsigned) {
      std::uint32_t* next = to + first[c] + 1;
      const std::byte* const end = in + std::min(bytes, (c + 1) * chunk);
      const std::byte* p = in + c * chunk;
      // For lines of usual sizes, this takes less time than a call of memchr for each line.
      constexpr unsigned kBlock = 64;
      for (; end - p >= kBlock; p += kBlock) {
        std::uint64_t found = 0;
        for (unsigned i = 0; i < kBlock; i += 16) {
          found |= std::uint64_t{EqualMask16(AsBytes(p + i), layout_.delimiter)} << i;
        }
        for (; found != 0; found &= found - 1)
          *next++ = static_cast<std::uint32_t>(p - in + std::countr_zero(found) + 1);
      }
      while ((p = FindDelimiter(p, end, layout_.delimiter)) != nullptr) *next++ = static_cast<std::uint32_t>(++p - in);
    });
    return first[chunks];
  }

  bool InOrder(const std::byte* in, std::uint64_t n, const TeamExecutor& executor) const {
    constexpr std::uint64_t kLines = 256;
    const std::uint32_t* const at = starts();
    std::atomic<bool> sorted{true};
    const std::uint64_t share = std::max(kLines, DivideUp(n, 4 * std::uint64_t{executor.workers()}));
    executor.ForEach(DivideUp(n, share), [&](std::uint64_t task, unsigned) {
      // Each step also compares its first line with the last line of the step before, so that all neighbours are
      // compared.
      for (std::uint64_t i = task * share, end = std::min(n, i + share); i < end && sorted; i += kLines) {
        const std::uint64_t from = i == 0 ? 0 : i - 1, to = std::min(end, i + kLines);
        if (FirstLineDisorder({in + at[from], at[to] - at[from]}, layout_, false) != kInOrder) sorted = false;
      }
    });
    return sorted;
  }

  /// Sorts each part of the lines. Returns `skip` if the first `skip` key bytes are equal in all lines. Otherwise
  /// returns a smaller number, and the caller must call again with this number as `skip`.
  /// - code: if set, the entries get compressed key bytes
  /// - exact: set to true if the entries show the order of all lines
  template <typename Lines>
  std::uint64_t SortParts(const CommonKey& first, Lines lines, const std::vector<Range<const Entry*>>& parts,
                          std::uint64_t skip, const std::optional<KeyCode>& code, bool& exact,
                          const TeamExecutor& executor) const {
    std::atomic<std::uint64_t> common{skip};
    std::atomic<bool> entries_decide{ChunksDecide(keys_.order())};
    executor.ForEach(parts.size(), [&](std::uint64_t part, unsigned worker) {
      const auto first_row = static_cast<std::uint64_t>(parts[part].first - entries());
      Entry* const p = entries() + first_row;
      bool ended = true;
      std::uint64_t prefix = skip;
      for (std::uint64_t i = 0; i < parts[part].size; ++i) {
        const auto row = static_cast<std::uint32_t>(first_row + i);
        const LineChunk chunk =
            code ? first.Code(lines(row), skip, *code, prefix).chunk : first.Chunk(lines(row), skip, prefix);
        ended = ended && chunk.ended;
        p[i] = MakeLineEntry(chunk, row);
      }
      for (std::uint64_t seen = common; prefix < seen && !common.compare_exchange_weak(seen, prefix);) {
      }
      if (common < skip) return;
      VqSort(p, parts[part].size);
      if (!ended || !entries_decide) {
        entries_decide = false;
        const auto next = [&](std::uint32_t row) {
          std::uint64_t unused = 0;
          return skip + (code ? first.Code(lines(row), skip, *code, unused).bytes : kEntryKeyBytes);
        };
        LineRefiner(keys_, lines, map_.SortKeys(memory_, worker)).Refine(p, parts[part].size, next);
      }
    });
    exact = entries_decide;
    return common;
  }

  /// Estimates from a sample how many leading bytes are equal in the encoded keys of all lines.
  template <typename Lines>
  static std::uint64_t SampleCommon(const CommonKey& first, Lines lines, std::uint64_t n) {
    const std::uint64_t samples = std::min<std::uint64_t>(64, n - 1);
    std::uint64_t common = first.most();
    for (std::uint64_t s = 1; s <= samples && common > 0; ++s) {
      common = first.Find(lines(static_cast<std::uint32_t>((n - 1) * s / samples)), common);
    }
    return common;
  }

  /// Returns a code to compress key bytes from byte `skip` on. Returns std::nullopt if compression does not pay.
  template <typename Lines>
  static std::optional<KeyCode> SampleCode(const CommonKey& first, Lines lines, std::uint64_t n, std::uint64_t skip) {
    const std::uint64_t samples = std::min<std::uint64_t>(1024, n / 16);
    if (samples < 256) return std::nullopt;
    const auto line = [&](std::uint64_t s) { return lines(static_cast<std::uint32_t>(n * s / samples)); };
    std::vector<Entry> sample(samples);
    const auto equal = [&sample] {
      std::sort(sample.begin(), sample.end(), ExactEntryLess());
      std::uint64_t count = 0;
      for (std::uint64_t s = 1; s < sample.size(); ++s) count += SameEntryKey(sample[s - 1], sample[s]);
      return count;
    };
    std::uint64_t common = 0;
    for (std::uint64_t s = 0; s < samples; ++s) sample[s] = MakeLineEntry(first.Chunk(line(s), skip, common), 0);
    const std::uint64_t plain = equal();
    if (plain == 0) return std::nullopt;
    KeyCode::Counts counts{};
    for (std::uint64_t s = 0; s < samples; ++s) first.Count(line(s), skip, counts);
    const KeyCode code(counts);
    for (std::uint64_t s = 0; s < samples; ++s) {
      sample[s] = MakeLineEntry(first.Code(line(s), skip, code, common).chunk, 0);
    }
    // Compression pays only if it more than halves the number of equal entries in the sample.
    return 2 * equal() < plain ? std::optional(code) : std::nullopt;
  }

  /// Copies the lines to `out` in sorted order. The entries in each of `parts` must be sorted.
  /// - merge: merge(segments, size, worker) must merge the sorted `segments` to the buffer Tile(worker, 0)
  template <typename Less, typename Merge>
  void Gather(const std::byte* in, const std::vector<Range<const Entry*>>& parts, Less less, Merge merge,
              std::byte* out, const TeamExecutor& executor) const {
    struct Cut {
      std::uint64_t begin, size, bytes;
      std::vector<Range<const Entry*>> segments;
    };
    const std::uint32_t* const at = starts();
    std::vector<Cut> cuts;
    std::mutex mutex;
    // Adds up the sizes of the lines of each tile, which decide where in `out` the next tile begins.
    ForEachTile(std::span<const Range<const Entry*>>(parts), map_.tile_rows, less, executor,
                [&](std::span<const Range<const Entry*>> segments, std::uint64_t begin, std::uint64_t size, unsigned) {
                  Cut cut{begin, size, 0, {segments.begin(), segments.end()}};
                  for (const Range<const Entry*>& segment : segments) {
                    for (std::uint64_t i = 0; i < segment.size; ++i) {
                      const std::uint32_t row = segment.first[i].row();
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
      const Entry* merged = cut.segments[0].first;
      if (cut.segments.size() > 1) {
        merge(std::span<const Range<const Entry*>>(cut.segments), cut.size, worker);
        merged = Tile(worker, 0);
      }
      // Line indices are in random order, so copying a line causes a few cache misses. Prefetches each line well before
      // it is copied.
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
  const LineMemoryMap& map_;
  std::byte* const memory_;
};

}  // namespace gpusort::detail
