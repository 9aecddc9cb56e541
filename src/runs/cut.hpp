// Decides which bytes of each run are merged next. A run is a sorted part of the data, in memory as a whole or in
// blocks that are read in advance. The bytes chosen together are a window: all of its records sort before all records
// of later windows. Records with equal keys keep the order of the runs. Start at Cutter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
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

/// A block of a run that was read into memory. All windows with bytes of the block share it. When the last of them is
/// done, the buffer returns to its pool.
struct LoadedBlock {
  std::uint64_t begin = 0;  ///< the offset of the block in the run, in bytes
  BlockPool::Block buffer;
  HostBuffer own;  ///< the memory of the block, if a line is too long for a buffer of the pool
  std::span<const std::byte> bytes;
  RecordSum sum;  ///< set by KeyedInput: the checksum of the records without their keys
};

/// The position of the merge in one run: how much is merged, and how much is in memory.
struct Cursor {
  Run* run = nullptr;
  /// True: the size of the run is not known yet, because its keys are made while it is read. Run::bytes is an estimate
  /// until the last block is loaded.
  bool grows = false;
  std::uint64_t taken = 0;  ///< the number of bytes of the run that were merged in earlier windows
  /// The end of the bytes that are in memory; for a run that is in memory as a whole, the end of the run.
  std::uint64_t loaded = 0;
  // The following members, up to `forecast`, are used only for runs that are read in blocks.
  std::deque<std::shared_ptr<LoadedBlock>> blocks;  ///< the loaded blocks from the merge position on, without a gap
  /// Loaded blocks that come after a block that is still being read, by block number.
  std::map<std::size_t, std::shared_ptr<LoadedBlock>> early;
  std::size_t next_to_schedule = 0, next_to_arrive = 0;
  ForecastKey last_scheduled{};
  bool forecast = false;  ///< true: last_scheduled is set
  // The following members belong to the window that is being chosen now.
  std::uint64_t take = 0;
  std::uint64_t weight = 1;
  std::vector<std::byte> sample, head;  ///< copies of records of a run in GPU memory

  /// Skips the first `bytes` bytes of the run, because an earlier process has merged them. They must be whole records.
  /// For a run in blocks, call this before any block is read.
  void BeginAt(std::uint64_t bytes) {
    taken = loaded = bytes;
    const auto numbers = std::views::iota(std::size_t{0}, run->blocks.size());
    const auto ended = [&](std::size_t number) {
      const RunBlock block = run->blocks[number];
      return block.begin + block.bytes <= bytes;
    };
    next_to_schedule = next_to_arrive =
        static_cast<std::size_t>(std::ranges::partition_point(numbers, ended) - numbers.begin());
  }
  /// Returns the block that contains byte `at` of the run. The block must be loaded.
  const LoadedBlock& BlockAt(std::uint64_t at) const {
    const auto after = std::upper_bound(blocks.begin(), blocks.end(), at,
                                        [](std::uint64_t byte, const auto& block) { return byte < block->begin; });
    return **std::prev(after);
  }
  /// Returns the offset in the run of the first byte after the bytes chosen for the current window.
  std::uint64_t next() const { return taken + take; }
  /// Returns the number of bytes after the bytes chosen for the current window. While the size of the run is not known,
  /// returns a larger number.
  std::uint64_t remaining() const { return (grows ? kMaxSize : run->bytes) - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// The bytes that are merged into one window: pieces of several runs.
struct WindowPieces {
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< the blocks that contain the pieces
};

/// Chooses the windows of a merge, one after the other, from the beginnings of the unmerged parts of all runs. A window
/// is filled in rounds. In a round, each run offers the records that it has in memory, up to a limit: its share of the
/// window. Among the runs that have more records after their offer, the smallest last key of an offer is the cut. Run j
/// is the first run whose offer ends with this key, and it gives its whole offer. Runs before j give their keys <= the
/// cut, and runs after j their keys < the cut. Equal keys therefore keep the order of the runs, and later windows have
/// no smaller key. The share of j grows each round, so that a window also becomes full if one run has all of the
/// smallest keys. If the next line of a run is longer than its share, the run offers nothing, and the key of this line
/// counts as its last offered key.
class Cutter {
 public:
  /// `backend` reads the runs that are in GPU memory. If there are no such runs, it is not used.
  Cutter(const RecordLayout& layout, Backend& backend, std::vector<Cursor>& cursors)
      : layout_(layout), backend_(backend), cursors_(cursors) {}

  /// Chooses the next window: sets Cursor::take of every cursor to a number of bytes. The window has at most `limit`
  /// bytes, or it is a single longer record. Returns the size of the window in bytes. Every run that is not completely
  /// merged must have a record in memory.
  std::uint64_t Cut(std::uint64_t limit) {
    const std::uint64_t unit = LeastRecordBytes(layout_);
    for (Cursor& cursor : cursors_) {
      cursor.take = 0;
      cursor.weight = 1;
    }
    std::uint64_t total = 0;
    constexpr int kMaxRounds = 24;
    for (int round = 0; round < kMaxRounds && total + total / 4 < limit; ++round) {
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
        // Each run's share of the window has room for one record. The rest of the room is divided by the weights of the
        // runs.
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
        if (offer.bytes == cursor.remaining()) continue;
        if (offer.bytes == 0) offer.last = Head(cursor);
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
      cursors_[offers_[*least].cursor].weight *= 4;
      if (by_loading) break;
    }
    return total == 0 ? TakeOne() : total;
  }

  /// Returns the pieces of the window that Cut() has chosen, and moves the cursors after them.
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
    // The cursors move only now, after the window has got a reference to every block. If they moved earlier, an
    // exception could release a block here, and the pool would wait for the lock that this thread holds.
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
  struct Offer {
    std::size_t cursor;
    std::uint64_t bytes;
    RecordSpan last;  ///< the last record of the offer; empty: the run has no records after the offer
  };

  /// Chooses a window that is only the smallest record. Cut() uses this if its rounds have found no record.
  std::uint64_t TakeOne() {
    Cursor* least = nullptr;
    std::vector<std::byte> record;
    for (Cursor& cursor : cursors_) {
      if (cursor.remaining() == 0) continue;
      const RecordSpan head = Head(cursor);
      if (least != nullptr && CompareRecords(head, record, layout_) >= 0) continue;
      least = &cursor;
      record.assign(head.begin(), head.end());
    }
    return least->take = record.size();
  }

  std::uint64_t Give(std::size_t least) {
    const RecordSpan cut = offers_[least].last;
    std::vector<SearchRange> ranges;
    std::vector<std::size_t> on_device;
    std::uint64_t given = 0;
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
        // A count that is too large would make the merge read beyond the run, so it is an error. A count that is wrong
        // in another way makes the proof of the output fail.
        if (counts[i] > ranges[i].bytes || counts[i] % LeastRecordBytes(layout_) != 0) {
          throw WrongResult("the GPU counts " + std::to_string(counts[i]) + " bytes in front of a cut, of " +
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

  /// Copies the bytes near the ends of all offers from GPU memory, in a single call. One call for each offer would take
  /// as long as merging the window.
  void LookAtEnds() {
    reads_.clear();
    for (const Offer& offer : offers_) {
      Cursor& cursor = cursors_[offer.cursor];
      if (!cursor.run->on_device() || offer.bytes == cursor.remaining()) continue;
      const std::uint64_t from = cursor.next();
      reads_.push_back(RunView(*cursor.run->records, layout_).FirstLook(from, from + offer.bytes, cursor.sample));
    }
    if (!reads_.empty()) backend_.Read(reads_);
  }

  /// Shortens an offer to whole records, and sets `offer.last`. Does nothing if the run has no records after the offer.
  void SetLast(Offer& offer) const {
    Cursor& cursor = cursors_[offer.cursor];
    if (offer.bytes == cursor.remaining()) return;
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
    // Each block, and therefore the loaded bytes, ends with a whole record.
    offer.bytes = begin + whole - from;
    if (offer.bytes == 0) return;
    const LoadedBlock& holder = cursor.BlockAt(from + offer.bytes - 1);
    offer.last = LastRecord(holder.bytes.first(from + offer.bytes - holder.begin), layout_);
  }

  /// Returns how many of the next `bytes` bytes of the run are records that sort before the record `cut`. If
  /// `inclusive` is true, records equal to `cut` are counted too.
  std::uint64_t Before(Cursor& cursor, std::uint64_t bytes, RecordSpan cut, bool inclusive) const {
    const std::uint64_t from = cursor.next(), end = from + bytes;
    if (cursor.run->records) {
      return gpusort::BytesBefore({cursor.run->records->data() + from, bytes}, cut, inclusive, layout_);
    }
    // The counted bytes end in the first block whose last record does not sort before the cut.
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

  /// Returns the next record of the run, which must be loaded. If the run is in GPU memory, copies the record into
  /// `cursor.head`.
  RecordSpan Head(Cursor& cursor) const {
    const std::uint64_t at = cursor.next();
    if (cursor.run->records) return RunView(*cursor.run->records, layout_).RecordAt(at, cursor.head);
    const LoadedBlock& block = cursor.BlockAt(at);
    return FirstRecord(block.bytes.subspan(at - block.begin), layout_);
  }

  const RecordLayout& layout_;
  Backend& backend_;
  std::vector<Cursor>& cursors_;
  std::vector<Offer> offers_;
  std::vector<SlotRead> reads_;
  std::vector<std::pair<std::size_t, std::uint64_t>> counts_;
};

}  // namespace gpusort
