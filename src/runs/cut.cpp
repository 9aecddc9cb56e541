#include "runs/cut.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

/// The byte of its run that a cursor offers first.
std::uint64_t Next(const Cursor& cursor) { return cursor.taken + cursor.take; }

/// The loaded block that holds byte `at` of the run.
const LoadedBlock& BlockAt(const Cursor& cursor, std::uint64_t at) {
  const auto after = std::upper_bound(cursor.blocks.begin(), cursor.blocks.end(), at,
                                      [](std::uint64_t byte, const auto& block) { return byte < block->begin; });
  return **std::prev(after);
}

}  // namespace

std::uint64_t Cutter::Cut(std::uint64_t limit) {
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
    for (const Cursor& cursor : cursors_) {
      if (cursor.remaining() == 0) continue;
      weights += cursor.weight;
      ++active;
    }
    if (active == 0 || limit - total < active * unit) break;
    offers_.clear();
    const std::uint64_t room = (limit - total) / unit - active;
    std::size_t least = kNone;
    bool starved = false;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[i];
      if (cursor.remaining() == 0) continue;
      if (cursor.available() == 0) {
        starved = true;
        break;
      }
      // Every share has one record; the rest of the room is dealt by weight.
      const std::uint64_t share =
          1 + static_cast<std::uint64_t>(static_cast<unsigned __int128>(room) * cursor.weight / weights);
      offers_.push_back({i, std::min(cursor.available(), share * unit), {}});
    }
    if (starved) break;
    LookAtEnds();
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      Offer& offer = offers_[i];
      Cursor& cursor = cursors_[offer.cursor];
      SetLast(offer);
      if (offer.bytes == cursor.remaining()) continue;
      if (offer.bytes == 0) offer.last = Head(cursor);
      if (least == kNone || CompareRecords(offer.last, offers_[least].last, layout_) < 0) least = i;
    }
    if (least == kNone) {
      for (const Offer& offer : offers_) {
        cursors_[offer.cursor].take += offer.bytes;
        total += offer.bytes;
      }
      break;
    }
    const bool by_loading = offers_[least].bytes == cursors_[offers_[least].cursor].available();
    total += Give(least);
    cursors_[offers_[least].cursor].weight *= 4;
    if (by_loading) break;
  }
  return total == 0 ? TakeOne() : total;
}

void Cursor::BeginAt(std::uint64_t bytes) {
  taken = loaded = bytes;
  // The block that the next byte is in.
  std::size_t low = 0, high = run->blocks.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const RunBlock block = run->blocks[middle];
    (block.begin + block.bytes <= bytes ? low : high) = block.begin + block.bytes <= bytes ? middle + 1 : middle;
  }
  next_to_schedule = next_to_arrive = low;
}

WindowPieces Cutter::Take() {
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
  // Not before: where memory for the window is refused, a block that it alone has would be given back here, under the
  // lock that its pool asks for.
  for (Cursor& cursor : cursors_) {
    cursor.taken += std::exchange(cursor.take, 0);
    while (!cursor.blocks.empty() &&
           cursor.blocks.front()->begin + cursor.blocks.front()->bytes.size() <= cursor.taken) {
      cursor.blocks.pop_front();
    }
  }
  return window;
}

/// For windows of fewer records than there are runs: the least record alone.
std::uint64_t Cutter::TakeOne() {
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

std::uint64_t Cutter::Give(std::size_t least) {
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
      ranges.push_back({cursor.run->records->data() + Next(cursor), offer.bytes, i < least,
                        cursor.run->records->device()});
      on_device.push_back(i);
    } else {
      counts_.emplace_back(offer.cursor, Before(cursor, offer.bytes, cut, i < least));
    }
  }
  if (!ranges.empty()) {
    const std::vector<std::uint64_t> counts = backend_.BytesBefore(ranges, cut);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      // Lines that are cut inside of one are found by the proof. More than there is would be read past the run's end.
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

/// Fetches, for all at once, where the last record is that each offers of a run on a device: one by one that took as
/// long as merging the window.
void Cutter::LookAtEnds() {
  reads_.clear();
  for (const Offer& offer : offers_) {
    Cursor& cursor = cursors_[offer.cursor];
    if (!cursor.run->on_device() || offer.bytes == cursor.remaining()) continue;
    const std::uint64_t from = Next(cursor);
    reads_.push_back(RunView(*cursor.run->records, layout_).FirstLook(from, from + offer.bytes, cursor.sample));
  }
  if (!reads_.empty()) backend_.Read(reads_);
}

/// Shortens the offer to whole records and sets `offer.last`. Leaves an offer that is the rest of the run as it is.
void Cutter::SetLast(Offer& offer) const {
  Cursor& cursor = cursors_[offer.cursor];
  if (offer.bytes == cursor.remaining()) return;
  const std::uint64_t from = Next(cursor), end = from + offer.bytes;
  if (cursor.run->records) {
    const bool seen = cursor.run->on_device();
    const RunView::Last last = RunView(*cursor.run->records, layout_).LastBefore(from, end, cursor.sample, seen);
    offer.bytes = last.end - from;
    offer.last = last.record;
    return;
  }
  const LoadedBlock& block = BlockAt(cursor, end - 1);
  const std::uint64_t begin = std::max(from, block.begin);
  const std::uint64_t whole = WholeRecordBytes(block.bytes.subspan(begin - block.begin, end - begin), layout_);
  // The loaded bytes and every block end with a whole record.
  offer.bytes = begin + whole - from;
  if (offer.bytes == 0) return;
  const LoadedBlock& holder = BlockAt(cursor, from + offer.bytes - 1);
  offer.last = LastRecord(holder.bytes.first(from + offer.bytes - holder.begin), layout_);
}

/// How many of the next `bytes` order before the cut.
std::uint64_t Cutter::Before(Cursor& cursor, std::uint64_t bytes, RecordSpan cut, bool inclusive) const {
  const std::uint64_t from = Next(cursor), end = from + bytes;
  if (cursor.run->records) {
    return gpusort::BytesBefore({cursor.run->records->data() + from, bytes}, cut, inclusive, layout_);
  }
  // The first block whose last record is kept, by halving; it holds the border.
  std::size_t low = 0, high = cursor.blocks.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const LoadedBlock& block = *cursor.blocks[middle];
    bool given = block.begin + block.bytes.size() <= from;
    if (!given && block.begin < end) {
      const int order = CompareRecords(LastRecord(block.bytes, layout_), cut, layout_);
      given = order < 0 || (order == 0 && inclusive);
    }
    low = given ? middle + 1 : low;
    high = given ? high : middle;
  }
  if (low == cursor.blocks.size() || cursor.blocks[low]->begin >= end) return bytes;
  const LoadedBlock& block = *cursor.blocks[low];
  const std::uint64_t begin = std::max(from, block.begin);
  const std::uint64_t stop = std::min(end, block.begin + block.bytes.size());
  return begin - from +
         gpusort::BytesBefore(block.bytes.subspan(begin - block.begin, stop - begin), cut, inclusive, layout_);
}

/// The next record; it must be loaded. Device records are fetched.
RecordSpan Cutter::Head(Cursor& cursor) const {
  const std::uint64_t at = Next(cursor);
  if (cursor.run->records) return RunView(*cursor.run->records, layout_).RecordAt(at, cursor.head);
  const LoadedBlock& block = BlockAt(cursor, at);
  return FirstRecord(block.bytes.subspan(at - block.begin), layout_);
}

}  // namespace gpusort
