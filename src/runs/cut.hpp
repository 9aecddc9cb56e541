// Decides which bytes of the sorted runs a merge takes next. The output of one merge step is a window. The records of a
// window sort before those of later windows. Records with equal keys keep the order of the runs. Start at Cutter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flow/pipeline.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// A block of a sorted run that was read into memory. All windows (pieces of merged output) with records of the block
/// share it. When the last of these windows is destroyed, the buffer returns to its pool.
struct LoadedBlock {
  std::uint64_t begin = 0;  ///< the offset of the block in the sorted run, in bytes
  BlockPool::Block buffer;
  HostBuffer own;  ///< the memory of the block, if a line is too long for a buffer of the pool
  std::span<const std::byte> bytes;
  RecordSum sum;  ///< set by KeyedInput: the checksum of the records without their keys
};

/// The position of a merge in one of its sorted runs: how many bytes are merged, and how many are in memory.
struct Cursor {
  Run* run = nullptr;
  /// True: Run::bytes is only an estimate until the last block of the sorted run is loaded.
  bool grows = false;
  std::uint64_t taken = 0;  ///< the number of bytes of the sorted run that were merged so far
  /// All bytes of the sorted run before this offset are in memory or already merged. If the whole run is in memory, the
  /// offset is the size of the run.
  std::uint64_t loaded = 0;
  // The members from here to `forecast` are used only for sorted runs that are read in blocks.
  std::deque<std::shared_ptr<LoadedBlock>> blocks;  ///< the loaded blocks from the merge position on, without a gap
  /// Blocks that were loaded while an earlier block of the sorted run is still being read. The key is the index of the
  /// block.
  std::map<std::size_t, std::shared_ptr<LoadedBlock>> early;
  std::size_t next_to_schedule = 0, next_to_arrive = 0;
  ForecastKey last_scheduled{};
  bool forecast = false;  ///< true: last_scheduled is set
  /// A record of the sorted run and the offset of its end. Used only if all runs are completely in memory.
  struct Sample {
    std::uint64_t end = 0;  ///< the offset in the sorted run after the record, in bytes
    /// The first bytes of the key. If two samples differ in `word`, the smaller `word` belongs to the smaller record.
    std::uint64_t word = 0;
    RecordSpan record;            ///< in `copy` or in the sorted run; empty: this sample stands for the end of the run
    std::vector<std::byte> copy;  ///< used if the sorted run is in GPU memory
  };
  /// Some records of the sorted run after offset `taken`, in the order of the run. Used only if all runs are in memory.
  std::deque<Sample> samples;
  // The following members describe the next window (piece of merged output).
  std::uint64_t take = 0;               ///< the number of bytes of the sorted run in the window, from offset `taken` on
  std::uint64_t weight = 1;             ///< a sorted run with a larger weight gets a larger share of the window
  std::size_t passed = 0;               ///< the number of samples in the window
  std::vector<std::byte> sample, head;  ///< if the sorted run is in GPU memory: copies of some of its records

  /// Skips the first `bytes` bytes of the sorted run, because an earlier process has already merged them. `bytes` must
  /// be the size of whole records. For a run in blocks, call this before any block is read.
  void BeginAt(std::uint64_t bytes) {
    taken = loaded = bytes;
    std::size_t number = 0;
    for (; number < run->blocks.size(); ++number) {
      const RunBlock block = run->blocks[number];
      if (block.begin + block.bytes > bytes) break;
    }
    next_to_schedule = next_to_arrive = number;
  }
  /// Returns the block that contains byte `at` of the sorted run. This block must be in memory.
  const LoadedBlock& BlockAt(std::uint64_t at) const {
    const auto after = std::upper_bound(blocks.begin(), blocks.end(), at,
                                        [](std::uint64_t byte, const auto& block) { return byte < block->begin; });
    return **std::prev(after);
  }
  /// Returns the offset of the first byte of the sorted run that is neither merged nor chosen for the next window.
  std::uint64_t next() const { return taken + take; }
  /// Returns the number of bytes of the sorted run that are neither merged nor chosen for the next window. Returns a
  /// very large number if the size of the run is not known yet.
  std::uint64_t remaining() const { return (grows ? kMaxSize : run->bytes) - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// The pieces of sorted runs that are merged into one window (piece of merged output).
struct WindowPieces {
  std::vector<RunPiece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< the blocks that contain the pieces
};

/// Chooses the windows of a merge one after the other. A window is a piece of the merged output: the next bytes of each
/// sorted run, up to a limit.
class Cutter {
 public:
  /// `cursors` has the position of the merge in each sorted run. `backend` reads runs in GPU memory, and is not used if
  /// there are no such runs.
  Cutter(const RecordLayout& layout, Backend& backend, std::vector<Cursor>& cursors)
      : layout_(layout), backend_(backend), cursors_(cursors) {}

  /// Chooses the next window, a piece of the merged output. Sets the member `take` of every cursor. The window has at
  /// most `limit` bytes, or is a single longer record. Returns the size of the window in bytes. Before the call, every
  /// sorted run that is not completely merged must have a record in memory.
  std::uint64_t Cut(std::uint64_t limit) {
    for (Cursor& cursor : cursors_) {
      cursor.take = 0;
      cursor.weight = 1;
    }
    const bool in_memory = std::ranges::all_of(cursors_, [](const Cursor& c) { return c.run->records != nullptr; });
    const std::uint64_t bytes = in_memory ? CutBySamples(limit) : 0;
    return bytes > 0 ? bytes : CutByOffers(limit);
  }

  /// Returns the pieces of sorted runs that Cut() has chosen for the next window. Moves the positions in the runs past
  /// these pieces.
  WindowPieces Take() {
    WindowPieces window;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      const Cursor& cursor = cursors_[i];
      if (cursor.take == 0) continue;
      const std::uint64_t begin = cursor.taken, end = cursor.taken + cursor.take;
      const auto run = static_cast<std::uint32_t>(i);
      if (cursor.run->records) {
        window.pieces.push_back({cursor.run->records->data() + begin, cursor.take, run, cursor.run->records->device()});
      } else {
        for (const std::shared_ptr<LoadedBlock>& block : cursor.blocks) {
          const std::uint64_t from = std::max(begin, block->begin);
          const std::uint64_t to = std::min(end, block->begin + block->bytes.size());
          if (from >= to) break;
          window.pieces.push_back({block->bytes.data() + (from - block->begin), to - from, run});
          window.blocks.push_back(block);
        }
      }
    }
    // Do this last. If a line above throws, the cursors must still own their blocks. Freeing a block here would take a
    // lock that this thread already holds.
    for (Cursor& cursor : cursors_) {
      cursor.taken += std::exchange(cursor.take, 0);
      while (!cursor.blocks.empty() &&
             cursor.blocks.front()->begin + cursor.blocks.front()->bytes.size() <= cursor.taken) {
        cursor.blocks.pop_front();
      }
    }
    return window;
  }

 private:
  /// The next records of one sorted run. All of them or only the first few become part of the next window.
  struct Offer {
    std::size_t cursor;
    std::uint64_t bytes;
    RecordSpan last;  ///< the last of these records; empty: they reach the end of the sorted run
  };

  /// Chooses the next window by samples. All sorted runs must be completely in memory. Returns the size of the window
  /// in bytes. Returns 0 if no window of at most `limit` bytes is found, for example because records are very long.
  std::uint64_t CutBySamples(std::uint64_t limit) {
    heads_.clear();
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      std::deque<Cursor::Sample>& samples = cursors_[i].samples;
      while (!samples.empty() && samples.front().end <= cursors_[i].taken) samples.pop_front();
      cursors_[i].passed = 0;
      if (cursors_[i].remaining() > 0) heads_.push_back(i);
    }
    // The distance between two samples of a sorted run in bytes.
    const std::uint64_t step = limit / (4 * (heads_.size() + 1));
    // Reading samples is slow. Returns 0 if they would be more than 1/16 of all bytes.
    constexpr std::uint64_t kLeastSamples = 16;
    for (const std::size_t run : heads_) {
      if (step < kLeastSamples * SampleBytes(*cursors_[run].run)) return 0;
    }
    std::uint64_t most = 0;  // the maximum size of the window: the bytes of all sorted runs up to their next samples
    for (const std::size_t run : heads_) {
      if (!HasSample(run, 0, step)) return 0;
      most += Head(run).end - cursors_[run].taken;
    }
    if (most > limit) return 0;
    const auto after = [this](std::size_t a, std::size_t b) { return IsAfter(a, b); };
    std::ranges::make_heap(heads_, after);
    // Adds samples to the window in sorted order, until the window is full. `cut` is the sorted run of the last added
    // sample.
    std::optional<std::size_t> cut;
    while (!Head(heads_.front()).record.empty()) {
      const std::size_t least = heads_.front();
      Cursor& cursor = cursors_[least];
      if (!HasSample(least, cursor.passed + 1, step)) break;
      const std::uint64_t more = cursor.samples[cursor.passed + 1].end - Head(least).end;
      if (most + more > limit) break;
      most += more;
      cut = least;
      std::ranges::pop_heap(heads_, after);
      ++cursor.passed;
      std::ranges::push_heap(heads_, after);
    }
    if (Head(heads_.front()).record.empty()) {
      for (Cursor& cursor : cursors_) cursor.take = cursor.remaining();
      return most;
    }
    if (!cut) return 0;
    offers_.clear();
    std::size_t least = 0;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[i];
      if (cursor.remaining() == 0) continue;
      const std::uint64_t from = cursor.passed > 0 ? cursor.samples[cursor.passed - 1].end : cursor.taken;
      const std::uint64_t to = Head(i).end;
      if (i == *cut) {
        least = offers_.size();
        offers_.push_back({i, 0, cursor.samples[cursor.passed - 1].record});
      } else {
        offers_.push_back({i, to - from, {}});
      }
      cursor.take = from - cursor.taken;
      total += cursor.take;
    }
    return total + Give(least);
  }

  /// Returns the next sample of the sorted run.
  const Cursor::Sample& Head(std::size_t run) const { return cursors_[run].samples[cursors_[run].passed]; }
  /// Returns true if Head(a) sorts after Head(b). The end of a sorted run sorts after all records. If two records are
  /// equal, the record of the run with the larger index sorts after the other.
  bool IsAfter(std::size_t a, std::size_t b) const {
    const Cursor::Sample &sample_a = Head(a), &sample_b = Head(b);
    const bool ends_a = sample_a.record.empty(), ends_b = sample_b.record.empty();
    if (ends_a || ends_b) return ends_a && (!ends_b || a > b);
    if (sample_a.word != sample_b.word) return sample_a.word > sample_b.word;
    const int order = CompareRecords(sample_a.record, sample_b.record, layout_);
    return order > 0 || (order == 0 && a > b);
  }
  /// Returns true if the sorted run has a sample with the index `i`. Reads more samples if needed (see TakeSamples).
  bool HasSample(std::size_t run, std::size_t i, std::uint64_t step) {
    if (i >= cursors_[run].samples.size()) TakeSamples(step);
    return i < cursors_[run].samples.size();
  }

  /// Reads more samples of every sorted run that has few left. `step` is the distance between two samples in bytes.
  void TakeSamples(std::uint64_t step) {
    constexpr std::size_t kMany = 16, kFew = 4;
    struct Look {
      Cursor* cursor;
      std::uint64_t base, from, end;
      std::vector<std::byte> copy{};
    };
    // A sample is the last whole record in SampleBytes() bytes. If the bytes contain no whole record, there is no
    // sample.
    std::deque<Look> looks;
    reads_.clear();
    for (Cursor& cursor : cursors_) {
      const std::uint64_t base = cursor.samples.empty() ? cursor.taken : cursor.samples.back().end;
      if (base == cursor.run->bytes || cursor.samples.size() > cursor.passed + kFew) continue;
      for (std::size_t i = 1; i <= kMany; ++i) {
        const std::uint64_t last = base + std::min(i * step, cursor.run->bytes - base);
        const std::uint64_t end = layout_.fixed() ? last - (last - base) % layout_.stride : last;
        looks.push_back({&cursor, base, end - std::min(SampleBytes(*cursor.run), end - base), end});
        if (end == cursor.run->bytes) break;
        if (!cursor.run->on_device()) continue;
        Look& look = looks.back();
        look.copy.resize(end - look.from);
        reads_.push_back({cursor.run->records->data() + look.from, look.copy, cursor.run->records->device()});
      }
    }
    if (!reads_.empty()) backend_.Read(reads_);
    for (const Look& look : looks) AddSample(*look.cursor, look.base, look.from, look.end, look.copy);
  }

  /// Adds the last whole record in the bytes [from, end) of a sorted run to the samples of the run.
  /// - A record must begin at offset `base`.
  /// - `copy` has the bytes if the run is in GPU memory.
  void AddSample(Cursor& cursor, std::uint64_t base, std::uint64_t from, std::uint64_t end, RecordSpan copy) const {
    if (end == cursor.run->bytes) {
      cursor.samples.push_back({end, 0, {}, {}});
      return;
    }
    const bool copied = cursor.run->on_device();
    const RecordSpan bytes = copied ? copy : RecordSpan(cursor.run->records->data() + from, end - from);
    const std::uint64_t whole = WholeRecordBytes(bytes, layout_);
    const std::uint64_t first = whole == 0 ? 0 : RecordBegin(bytes, whole - 1, layout_);
    // The record is complete if it begins at `base`, or if another record in `bytes` ends before it.
    const bool seen = whole > 0 && (layout_.fixed() || first > 0 || from == base);
    if (!seen || (!cursor.samples.empty() && from + whole <= cursor.samples.back().end)) return;
    Cursor::Sample& sample = cursor.samples.emplace_back();
    sample.end = from + whole;
    sample.record = bytes.subspan(first, whole - first);
    sample.word = FirstWord(sample.record);
    if (!copied) return;
    sample.copy.assign(sample.record.begin(), sample.record.end());
    sample.record = sample.copy;
  }

  std::uint64_t FirstWord(RecordSpan record) const {
    const Byte* const bytes = AsBytes(record.data());
    if (layout_.fixed()) return KeyWord(bytes, layout_, 0);
    return NeedsHost(*layout_.lines) ? 0 : EncodeChunk(bytes, record.size() - 1, *layout_.lines, 0).hi;
  }

  /// Returns the number of bytes of the sorted run that are read for one sample. For records of fixed size, this is one
  /// record. Otherwise it is four times the average size of a record, between 256 and 4096.
  std::uint64_t SampleBytes(const Run& run) const {
    if (layout_.fixed()) return layout_.stride;
    constexpr std::uint64_t kLeast = 256, kMost = 4096;
    return std::clamp(4 * (run.bytes / std::max<std::uint64_t>(1, run.sum.records)), kLeast, kMost);
  }

  /// Chooses the next window (piece of merged output). Returns its size in bytes. For `limit`, see Cut().
  std::uint64_t CutByOffers(std::uint64_t limit) {
    const std::uint64_t unit = LeastRecordBytes(layout_);
    std::uint64_t total = 0;
    constexpr int kMaxRounds = 24;
    for (int round = 0; round < kMaxRounds && total + total / 4 < limit; ++round) {
      // In each round, `offers_` gets the next records of every sorted run, up to the run's share of the window.
      std::uint64_t weights = 0;
      std::size_t active = 0;
      bool starved = false;
      for (const Cursor& cursor : cursors_) {
        if (cursor.remaining() == 0) continue;
        weights += cursor.weight;
        ++active;
        starved = starved || cursor.available() == 0;
      }
      if (starved || active == 0 || limit - total < active * unit) break;
      offers_.clear();
      const std::uint64_t room = (limit - total) / unit - active;
      for (std::size_t i = 0; i < cursors_.size(); ++i) {
        const Cursor& cursor = cursors_[i];
        if (cursor.remaining() == 0) continue;
        // The run may add share * unit bytes to the window. The share is proportional to the weight of the run.
        const std::uint64_t share =
            1 + static_cast<std::uint64_t>(static_cast<unsigned __int128>(room) * cursor.weight / weights);
        offers_.push_back({i, std::min(cursor.available(), share * unit), {}});
      }
      LookAtEnds();
      std::optional<std::size_t> least;
      for (std::size_t i = 0; i < offers_.size(); ++i) {
        Offer& offer = offers_[i];
        Cursor& cursor = cursors_[offer.cursor];
        SetLast(offer);
        // Finds the element of `offers_` with the smallest last record. Ignores elements that reach the end of a sorted
        // run.
        if (offer.bytes == cursor.remaining()) continue;
        // No record fits into the share of the sorted run, so `last` is the next record of the run.
        if (offer.bytes == 0) offer.last = NextRecord(cursor);
        if (!least || CompareRecords(offer.last, offers_[*least].last, layout_) < 0) least = i;
      }
      if (!least) {
        for (const Offer& offer : offers_) {
          cursors_[offer.cursor].take += offer.bytes;
          total += offer.bytes;
        }
        break;
      }
      const bool by_loading = offers_[*least].bytes == cursors_[offers_[*least].cursor].available();
      total += Give(*least);
      // The share of this sorted run was too small, so the run gets a larger share in the next round.
      cursors_[offers_[*least].cursor].weight *= 4;
      if (by_loading) break;
    }
    return total == 0 ? TakeOne() : total;
  }

  /// Chooses only the smallest record of all sorted runs as the next window. Used if no larger window is found. Returns
  /// the size of the record in bytes.
  std::uint64_t TakeOne() {
    Cursor* least = nullptr;
    std::vector<std::byte> record;
    for (Cursor& cursor : cursors_) {
      if (cursor.remaining() == 0) continue;
      const RecordSpan head = NextRecord(cursor);
      if (least != nullptr && CompareRecords(head, record, layout_) >= 0) continue;
      least = &cursor;
      record.assign(head.begin(), head.end());
    }
    return least->take = record.size();
  }

  /// Adds the records to the next window that come before offers_[least].last in the merged output. Also adds this
  /// record if it is part of offers_[least]. Returns the size of the added records in bytes.
  std::uint64_t Give(std::size_t least) {
    const RecordSpan cut = offers_[least].last;
    std::vector<SearchRange> ranges;
    std::vector<std::size_t> on_device;
    std::uint64_t given = 0;
    // Counts the records before `cut` in each sorted run. In earlier runs (i < least), also counts records equal to
    // `cut`.
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      const Offer& offer = offers_[i];
      Cursor& cursor = cursors_[offer.cursor];
      if (i == least) {
        given += offer.bytes;
      } else if (offer.bytes == 0) {
        continue;
      } else if (cursor.run->on_device()) {
        ranges.push_back(
            {cursor.run->records->data() + cursor.next(), offer.bytes, i < least, cursor.run->records->device()});
        on_device.push_back(i);
      } else {
        counts_.emplace_back(offer.cursor, Before(cursor, offer.bytes, cut, i < least));
      }
    }
    if (!ranges.empty()) {
      const std::vector<std::uint64_t> counts = backend_.BytesBefore(ranges, cut);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        // The GPU has counted these bytes. A count that is too large would make the merge read beyond the end of the
        // sorted run, so it is an error. Any other wrong count is found later, when the order and the checksum of the
        // output are checked.
        if (counts[i] > ranges[i].bytes || counts[i] % LeastRecordBytes(layout_) != 0) {
          throw WrongResult("the GPU counts " + std::to_string(counts[i]) + " bytes before a cut, of " +
                            std::to_string(ranges[i].bytes));
        }
        counts_.emplace_back(offers_[on_device[i]].cursor, counts[i]);
      }
    }
    cursors_[offers_[least].cursor].take += offers_[least].bytes;
    for (const auto& [cursor, bytes] : counts_) {
      cursors_[cursor].take += bytes;
      given += bytes;
    }
    counts_.clear();
    return given;
  }

  /// Copies the last bytes of each element of `offers_` that is in GPU memory to host memory.
  void LookAtEnds() {
    reads_.clear();
    for (const Offer& offer : offers_) {
      Cursor& cursor = cursors_[offer.cursor];
      if (!cursor.run->on_device() || offer.bytes == cursor.remaining()) continue;
      const std::uint64_t from = cursor.next();
      reads_.push_back(RunView(*cursor.run->records, layout_).FirstLook(from, from + offer.bytes, cursor.sample));
    }
    // One call for all sorted runs is much faster than one call for each run.
    if (!reads_.empty()) backend_.Read(reads_);
  }

  /// Shortens `offer` to complete records, and sets offer.last to the last one. At the end of a sorted run, offer.last
  /// stays empty.
  void SetLast(Offer& offer) const {
    Cursor& cursor = cursors_[offer.cursor];
    if (offer.bytes == cursor.remaining()) return;  // offer.last stays empty at the end of a sorted run
    const std::uint64_t from = cursor.next(), end = from + offer.bytes;
    if (cursor.run->records) {
      const bool seen = cursor.run->on_device();
      const RunView::Last last = RunView(*cursor.run->records, layout_).LastBefore(from, end, cursor.sample, seen);
      offer.bytes = last.end - from;
      offer.last = last.record;
      return;
    }
    const LoadedBlock& block = cursor.BlockAt(end - 1);
    const std::uint64_t begin = std::max(from, block.begin);
    const std::uint64_t whole = WholeRecordBytes(block.bytes.subspan(begin - block.begin, end - begin), layout_);
    // Each block ends with a whole record. Therefore the loaded bytes also end with a whole record.
    offer.bytes = begin + whole - from;
    if (offer.bytes == 0) return;
    const LoadedBlock& holder = cursor.BlockAt(from + offer.bytes - 1);
    offer.last = LastRecord(holder.bytes.first(from + offer.bytes - holder.begin), layout_);
  }

  /// Returns how many of the next `bytes` bytes of the sorted run are records before `cut`. Also counts records equal
  /// to `cut` if `inclusive` is true.
  std::uint64_t Before(Cursor& cursor, std::uint64_t bytes, RecordSpan cut, bool inclusive) const {
    const std::uint64_t from = cursor.next(), end = from + bytes;
    if (cursor.run->records) {
      return gpusort::BytesBefore({cursor.run->records->data() + from, bytes}, cut, inclusive, layout_);
    }
    // Returns true if all records of the block sort before the record `cut`, so that the whole block counts.
    const auto given = [&](const std::shared_ptr<LoadedBlock>& block) {
      if (block->begin + block->bytes.size() <= from) return true;
      if (block->begin >= end) return false;
      const int order = CompareRecords(LastRecord(block->bytes, layout_), cut, layout_);
      return order < 0 || (order == 0 && inclusive);
    };
    const auto border = std::ranges::partition_point(cursor.blocks, given);
    if (border == cursor.blocks.end() || (*border)->begin >= end) return bytes;
    const LoadedBlock& block = **border;
    const std::uint64_t begin = std::max(from, block.begin);
    const std::uint64_t stop = std::min(end, block.begin + block.bytes.size());
    return begin - from +
           gpusort::BytesBefore(block.bytes.subspan(begin - block.begin, stop - begin), cut, inclusive, layout_);
  }

  /// Returns the record at cursor.next(), which must be in memory. A record in GPU memory is copied to `cursor.head`.
  RecordSpan NextRecord(Cursor& cursor) const {
    const std::uint64_t at = cursor.next();
    if (cursor.run->records) return RunView(*cursor.run->records, layout_).RecordAt(at, cursor.head);
    const LoadedBlock& block = cursor.BlockAt(at);
    return FirstRecord(block.bytes.subspan(at - block.begin), layout_);
  }

  const RecordLayout& layout_;
  Backend& backend_;
  std::vector<Cursor>& cursors_;
  /// Indices of sorted runs in `cursors_`, as a heap. The first is the run with the smallest next sample.
  std::vector<std::size_t> heads_;
  std::vector<Offer> offers_;
  std::vector<SlotRead> reads_;
  std::vector<std::pair<std::size_t, std::uint64_t>> counts_;
};

}  // namespace gpusort
