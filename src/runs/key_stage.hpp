// Reads the input and puts a sort key before each record, in the order of the input. One thread finds where records
// end, and joins records that lie in several blocks. Other threads make the keys. Start at KeyStage.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "data/reader.hpp"
#include "flow/pipeline.hpp"
#include "formats/key_encoder.hpp"
#include "kernels/error.hpp"
#include "plan/memory_shares.hpp"
#include "runs/run.hpp"

namespace gpusort {

class KeyStage {
 public:
  /// Starts threads of `pipeline` that read `ranges` of `inputs` and fill blocks of `pool` with keyed records. Inputs
  /// that are streams are read completely. `order` is the order that every input must have already.
  KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, KeyScheme& keys, const KeyShape& shape,
           BlockPool& pool, const std::vector<InputRange>& ranges, const RecordLayout& lines, std::uint64_t max_record,
           NeededOrder order, unsigned readers, StageClock& clock)
      : pipeline_(pipeline),
        inputs_(inputs),
        format_(inputs.format()),
        scheme_(keys),
        layout_(keys.layout()),
        max_record_(max_record),
        most_keyed_(max_record + keys.most_added(max_record)),
        most_waiting_(shape.threads),
        long_bytes_(4 * shape.piece_bytes),
        order_(order),
        pool_(pool),
        raw_(memory, shape.block_bytes(), shape.blocks()),
        clock_(clock),
        pieces_(pipeline, 1),
        keyed_(pipeline),
        reader_(pipeline, inputs, raw_, ranges, lines, shape.piece_bytes, readers, clock, InputReader::Looks::kAhead) {
    keys.LimitKeys(most_keyed_);
    pipeline.Start([this] { Cut(); }, 1, "record finder");
    pipeline.Start([this] { MakeKeys(); }, shape.threads, "key maker");
  }

  /// Returns the next block of keyed records, or std::nullopt at the end. The offset of the block is the number of
  /// bytes in all earlier blocks. A block without bytes only tells how much of the input was read. `waiter` is the
  /// pipeline of the calling thread.
  std::optional<InputReader::Block> Next(const Pipeline& waiter) {
    std::optional<InputReader::Block> block = keyed_.Pop(waiter);
    if (block && block->bytes.empty()) empty_waits_ = false;
    return block;
  }
  // Call the following functions only after Next() has returned std::nullopt.
  /// Returns the checksum of all records that were read, with the bytes that they have in the output. Records that the
  /// job leaves out do not count.
  const RecordSum& sum() const { return sum_; }
  const KeyTally& tally() const { return tally_; }
  /// Returns the bytes after the last record of the inputs.
  const std::vector<std::byte>& trailer() const { return trailer_; }

 private:
  /// Consecutive whole records of the input, from which one thread makes keyed records. They are the bytes of `head`,
  /// which were joined from several blocks, and then the bytes [begin, end) of `block`.
  struct Piece {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t offset = 0;  ///< the offset of the piece in the input, in bytes
    ScanState state;           ///< the state of the search for record ends at `offset`
    std::vector<std::byte> head;
    InputReader::Block block;
    std::uint64_t begin = 0, end = 0;
    std::uint64_t stored = 0;  ///< the number of bytes that were read from the file since the previous piece
  };
  /// The place of a record in an input: how many records and newlines come before it, and its offset in bytes.
  struct Place {
    std::uint64_t records = 0, newlines = 0, offset = 0;
  };
  /// The keyed records that were made from one piece, and facts about them.
  struct Made {
    std::uint64_t number = 0;
    std::uint32_t input = 0;
    std::uint64_t stored = 0;
    std::vector<std::byte> keyed;
    RecordSum sum, rest;          ///< checksums of the records without their keys; `rest` is without the first record
    std::uint64_t first_end = 0;  ///< the offset in `keyed` of the end of the first record
    std::uint64_t longest = 0;    ///< the size in bytes of the longest keyed record, without the first one
    KeyTally tally;               ///< irregular values and records, also those of records that the job leaves out
    std::uint64_t newlines = 0;
    // The places of two records for the check of the order. Their counts begin at the beginning of the piece.
    Place first;  ///< the first record in `keyed`
    /// The first record that is out of order; no value: all are in order.
    std::optional<Place> disorder;
  };

  void Cut() {
    std::vector<std::byte> open;       // the beginning of a record that continues in the next block
    ScanState state, open_state;       // the format's state after all bytes read, and at the beginning of `open`
    std::uint64_t number = 0, at = 0;  // number of the next piece, and offset after all bytes read
    std::uint64_t stored = 0;          // bytes that were read from the file since the previous piece
    std::uint32_t input = 0;
    bool begun = false;
    const auto begin = [&] {
      if (!begun) scheme_.ReadHeader(inputs_.header());
      begun = true;
    };
    const auto take_state = [&] {
      if (input == inputs_.count() || inputs_.state(input).empty()) return;
      state = open_state = format_.LoadState(inputs_.state(input));
    };
    const auto fail = [&](std::uint64_t records_from, std::uint64_t offset, const std::string& why) {
      WaitForTurn(number);
      Blame(input, {0, 0, std::max(records_from, offset)}, why);
    };
    const auto push = [&](Piece piece) {
      piece.number = number++;
      piece.input = input;
      piece.stored = std::exchange(stored, 0);
      // Long records need much memory, so only one of them is processed at a time.
      const bool alone = piece.head.size() > long_bytes_;
      if (alone) WaitForTurn(piece.number);
      pieces_.Push(std::move(piece));
      if (alone) WaitForTurn(number);
    };
    const auto end_input = [&] {
      std::uint64_t whole = 0;
      if (inputs_.ends_inside(input) && !open.empty() && !format_.ends_in(state)) {
        throw Error(ErrorCode::kIntegrity,
                    EscapeName(inputs_.path(input)) + ": what is sorted of it ends inside a record");
      }
      try {
        whole = inputs_.ends_inside(input) ? open.size() : format_.Finish(open, state);
      } catch (const BadRecord& bad) {
        fail(at - open.size(), at - open.size() + bad.at(), bad.what());
      }
      SetTrailer(input, RecordSpan(open).subspan(whole));
      open.resize(whole);
      Piece last;
      last.offset = at - open.size();
      last.state = open_state;
      last.head = std::exchange(open, {});
      if (whole > 0) push(std::move(last));
      state = open_state = format_.NextInput(state);
      at = 0;
      ++input;
      take_state();
    };
    take_state();
    while (std::optional<InputReader::Block> block = reader_.Next(pipeline_)) {
      stored += block->stored;
      begin();
      while (input != block->range.input) end_input();
      if (block->range.offset == 0 && inputs_.state(input).empty()) {
        format_.BeginInput(block->bytes, input, state);
        open_state = state;
      }
      RecordSpan bytes = block->bytes;
      at = block->range.offset;
      RecordFormat::Ends ends;
      std::optional<BadRecord> bad;
      const ScanState front = state;
      try {
        ends = Scan(*block, state);
      } catch (const BadRecord& error) {
        // The records before the bad record are still processed, so that the error message can count them.
        bad = error;
        bytes = bytes.first(error.at());
        ends = format_.Scan(bytes, state = front);
      }
      at += bytes.size();
      if (ends.none()) {
        open.insert(open.end(), bytes.begin(), bytes.end());
        if (bad) fail(at - open.size(), at, bad->what());
        if (open.size() <= max_record_) continue;
        const std::string why = format_.WhyOpen(state);
        if (why.empty()) {
          throw LineTooLong(inputs_.path(input), inputs_.begin(input) + at - open.size(), max_record_);
        }
        fail(at - open.size(), at - open.size(),
             why + " in the next " + std::to_string(open.size()) + " bytes (longer records: --max-record)");
      }
      Piece piece;
      piece.offset = block->range.offset - open.size();
      piece.state = std::exchange(open_state, std::move(ends.state));
      piece.end = ends.last;
      if (!open.empty()) {
        piece.begin = ends.at_front ? 0 : ends.first;
        open.insert(open.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(piece.begin));
        piece.head = std::exchange(open, {});
      }
      open.assign(bytes.begin() + static_cast<std::ptrdiff_t>(ends.last), bytes.end());
      piece.block = std::move(*block);
      push(std::move(piece));
      if (bad) fail(at - open.size(), at, bad->what());
    }
    begin();
    while (input < inputs_.count()) end_input();
    pieces_.Finish();
    const std::lock_guard lock(mutex_);
    pieces_end_ = number;
    if (turn_ == pieces_end_) keyed_.Finish(blocks_);
  }

  void MakeKeys() {
    const std::unique_ptr<KeyEncoder> encoder = scheme_.MakeEncoder();
    while (std::optional<Piece> piece = pieces_.Pop()) {
      Made made;
      {
        const std::lock_guard lock(mutex_);
        if (!spare_.empty()) {
          made.keyed = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      made.number = piece->number;
      made.input = made.tally.input = piece->input;
      made.stored = piece->stored;
      try {
        const Busy busy(clock_, Resource::kCompute, piece->head.size() + piece->end - piece->begin,
                        {"make keys", piece->number});
        Make(*piece, *encoder, made);
      } catch (const BadRecord& bad) {
        WaitForTurn(piece->number);
        const std::uint64_t before = made.tally.offset - piece->offset;
        Blame(piece->input, {made.tally.record, Newlines(*piece, before), made.tally.offset + bad.at()}, bad.what());
      }
      piece.reset();  // returns the buffer to the reader
      HandOnInTurn(std::move(made));
    }
  }

  void Make(Piece& piece, KeyEncoder& encoder, Made& made) {
    made.tally.offset = piece.offset;
    PartSum prefixed{RecordLayout{}};
    const ScanState front = order_ == NeededOrder::kNone ? ScanState() : piece.state;
    const RecordSpan rest = piece.block.bytes.subspan(piece.begin, piece.end - piece.begin);
    for (RecordSpan part : {RecordSpan(piece.head), rest}) {
      while (!part.empty()) {
        const std::size_t begin = made.keyed.size();
        const std::uint64_t size = encoder.Append(part, piece.state, made.keyed, made.tally);
        if (size > max_record_) {
          throw LineTooLong(inputs_.path(piece.input), inputs_.begin(piece.input) + made.tally.offset, max_record_);
        }
        // This also finds records with keys that were cut off at their limit.
        if (made.keyed.size() - begin > most_keyed_) {
          throw BadRecord(0, "with its keys it takes more than " + std::to_string(most_keyed_) +
                                 " bytes: allow it with --max-record");
        }
        if (made.keyed.size() > begin) {
          if (begin == 0) made.first = {made.tally.record, 0, made.tally.offset};
          AddSum(Sum(encoder.prefix(), part.first(size), prefixed), made.keyed.size() - begin, made);
        }
        ++made.tally.record;
        made.tally.offset += size;
        part = part.subspan(size);
      }
    }
    made.newlines = Newlines(piece, piece.head.size() + rest.size());
    if (order_ == NeededOrder::kNone || made.keyed.empty()) return;
    made.first.newlines = Newlines(piece, made.first.offset - piece.offset);
    const std::uint64_t disorder = FirstLineDisorder(made.keyed, layout_, order_ == NeededOrder::kCheckUnique);
    if (disorder != kInOrder) made.disorder = FindPlace(piece, front, encoder, RecordSpan(made.keyed).first(disorder));
  }

  /// Returns the checksum of a record that consists of `prefix` and `record`. `parts` is a buffer.
  static RecordSum Sum(RecordSpan prefix, RecordSpan record, PartSum& parts) {
    if (prefix.empty()) return SumRecord(record);
    parts.Add(prefix);
    parts.Add(record);
    return parts.End();
  }

  /// Adds `sum`, the checksum of the last record of `made`, to the sums there. `size` is the size of that keyed record
  /// in bytes.
  static void AddSum(const RecordSum& sum, std::uint64_t size, Made& made) {
    made.sum += sum;
    if (size == made.keyed.size()) {
      made.first_end = size;
    } else {
      made.longest = std::max(made.longest, size);
      made.rest += sum;
    }
  }

  /// Returns the place of the first record of `piece` that is out of order. `in_order` are the keyed records before it.
  /// `state` is the format's state at the beginning of the piece.
  Place FindPlace(const Piece& piece, ScanState state, KeyEncoder& encoder, RecordSpan in_order) {
    Place place{0, 0, piece.offset};
    std::vector<std::byte> again;
    KeyTally tally;
    tally.input = piece.input;
    const RecordSpan parts[] = {piece.head, piece.block.bytes.subspan(piece.begin, piece.end - piece.begin)};
    std::uint64_t left = CountRecords(in_order, layout_);  // records that are not left out
    for (RecordSpan part : parts) {
      while (!part.empty()) {
        again.clear();
        const std::uint64_t size = encoder.Append(part, state, again, tally);
        if (!again.empty() && left-- == 0) {
          place.newlines = Newlines(piece, place.offset - piece.offset);
          return place;
        }
        ++place.records;
        place.offset += size;
        part = part.subspan(size);
      }
    }
    throw Error(ErrorCode::kInternal, "a piece has fewer records than its keys");
  }

  /// Returns the number of newlines in the first `count` bytes of the records of a piece.
  static std::uint64_t Newlines(const Piece& piece, std::uint64_t count) {
    const std::uint64_t in_head = std::min<std::uint64_t>(count, piece.head.size());
    return detail::CountBytes(piece.head.data(), in_head, '\n') +
           detail::CountBytes(piece.block.bytes.data() + piece.begin, count - in_head, '\n');
  }

  /// Finds the ends of records in a block, as RecordFormat::Scan does. The reader has already scanned the block from
  /// its first newline on, with a guess that a record ends there. Uses that result if the guess is right. Throws
  /// BadRecord.
  RecordFormat::Ends Scan(const InputReader::Block& block, ScanState& state) const {
    const RecordFormat::Guess& guess = block.guess;
    const std::uint64_t front = guess.from > 0 ? guess.from : block.bytes.size();
    RecordFormat::Ends ends = format_.Scan(block.bytes.first(front), state);
    if (guess.from == 0) return ends;
    if (ends.last == front) {  // the guess is right
      state = guess.state;
      if (guess.last > 0) {
        ends.last = guess.last;
        ends.state = guess.at_last;
      }
      return ends;
    }
    const RecordFormat::Ends rest = format_.Scan(block.bytes.subspan(front), state);
    if (rest.last > 0) {
      if (ends.first == 0) ends.first = front + rest.first;
      ends.last = front + rest.last;
      ends.state = rest.state;
    }
    return ends;
  }

  void SetTrailer(std::uint32_t input, RecordSpan trailer) {
    if (trailer.empty()) return;
    const bool joins = format_.joins_trailers();
    const bool same = std::equal(trailer.begin(), trailer.end(), trailer_.begin(), trailer_.end());
    if (!joins && !trailer_.empty() && !same) {
      throw Error(ErrorCode::kBadInput,
                  EscapeName(inputs_.path(input)) + ": its end differs from that of another input");
    }
    if (!joins) trailer_.clear();
    trailer_.insert(trailer_.end(), trailer.begin(), trailer.end());
  }

  /// Waits until the keyed records of all pieces before `number` are in the output queue.
  void WaitForTurn(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    pipeline_.Wait(lock, turn_changed_, [&] { return turn_ == number; });
  }

  /// Stores the keyed records of a piece. Then moves all stored pieces whose turn has come to the output queue, in the
  /// order of the input. Waits while too many pieces are stored.
  void HandOnInTurn(Made made) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(made.number, std::move(made));
    while (!waiting_.empty() && waiting_.begin()->first == turn_) {
      const auto next = waiting_.extract(waiting_.begin());
      lock.unlock();
      HandOn(next.mapped());
      lock.lock();
      std::vector<std::byte>& keyed = next.mapped().keyed;
      keyed.clear();
      if (keyed.capacity() <= 2 * long_bytes_) spare_.push_back(std::move(keyed));
    }
    pipeline_.Wait(lock, turn_changed_, [&] { return waiting_.size() < most_waiting_; });
  }

  /// Puts the keyed records of a piece into blocks and pushes the blocks to the output queue. Call this only when all
  /// earlier pieces are in the queue. Only one thread at a time takes blocks of the pool. If a piece fills several
  /// blocks, each block is pushed before the next is taken. No thread therefore waits for a block that this function
  /// holds.
  void HandOn(const Made& made) {
    RecordSpan keyed = made.keyed;
    if (made.input != input_) {
      const std::lock_guard lock(mutex_);
      input_ = made.input;
      records_ = newlines_ = 0;
      last_.clear();
    }
    if (order_ != NeededOrder::kNone && !keyed.empty()) {
      const bool merge = order_ == NeededOrder::kMerge, unique = order_ == NeededOrder::kCheckUnique;
      const int border = last_.empty() ? -1 : CompareRecords(last_, FirstRecord(keyed, layout_), layout_);
      std::optional<Place> disorder = made.disorder;
      if (border > (unique ? -1 : 0)) disorder = made.first;
      if (disorder) {
        throw Error(merge ? ErrorCode::kBadInput : ErrorCode::kNotSorted,
                    EscapeName(inputs_.path(made.input)) + ": not sorted: " + PlaceText(made.input, *disorder) +
                        " orders before " + (unique ? "or equals " : "") + "the one in front of it" +
                        (merge ? "; sort it without -m" : ""));
      }
      const RecordSpan last = LastRecord(keyed, layout_);
      last_.assign(last.begin(), last.end());
    }
    InputReader::Block block;
    const auto take = [&](std::uint64_t count) {
      block = {};
      block.buffer = std::make_shared<BlockPool::Block>(pool_.Acquire(pipeline_));
      block.range = {0, bytes_, count};
      bytes_ += count;
      return blocks_++;
    };
    const auto hand_on = [&](std::uint64_t place) {
      std::memcpy(block.buffer->data(), keyed.data(), block.range.bytes);
      block.bytes = block.buffer->span().first(block.range.bytes);
      if (block.range.bytes == made.keyed.size()) {
        // Sets the members that InputReader::Block::Describe would set, without reading all bytes again. If the copied
        // bytes are wrong, the proof of the output fails.
        block.head = made.first_end;
        block.end = made.keyed.size();
        block.longest = made.longest;
        block.sum = made.rest;
      } else {
        block.Describe(layout_);
      }
      keyed = keyed.subspan(block.range.bytes);
      keyed_.Push(place, std::move(block));
    };
    const std::uint64_t room = pool_.block_bytes();
    while (keyed.size() > room) {
      const std::uint64_t whole = WholeRecordBytes(keyed.first(room), layout_);
      hand_on(take(whole > 0 ? whole : room));
    }
    stored_ += made.stored;
    // A block without bytes only shows progress. One such block in the queue is enough, even if the job leaves all
    // records out.
    const bool passes = !keyed.empty() || !empty_waits_.exchange(true);
    const std::uint64_t last = !passes ? 0 : keyed.empty() ? blocks_++ : take(keyed.size());
    if (passes) block.stored = std::exchange(stored_, 0);
    {
      const std::lock_guard lock(mutex_);
      sum_ += made.sum;
      tally_.Add(made.tally);
      records_ += made.tally.record;
      newlines_ += made.newlines;
      ++turn_;
      turn_changed_.notify_all();
      if (turn_ == pieces_end_) keyed_.Finish(blocks_);
    }
    if (!passes) return;
    keyed.empty() ? keyed_.Push(last, std::move(block)) : hand_on(last);
  }

  /// Throws Error(kBadInput) with the message `why` about the record at `place`. `place` counts from the end of the
  /// records that are in the output queue. Call this only when all earlier pieces are in the queue.
  [[noreturn]] void Blame(std::uint32_t input, const Place& place, const std::string& why) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: {}: {}", EscapeName(inputs_.path(input)), PlaceText(input, place), why));
  }

  /// Returns the text "record N, line N, byte N" for the record at `place`. `place` counts from the end of the records
  /// that are in the output queue.
  std::string PlaceText(std::uint32_t input, const Place& place) {
    const std::string byte = fmt::format("byte {}", inputs_.begin(input) + place.offset);
    if (inputs_.in_middle(input)) return byte;
    std::uint64_t record = place.records + 1, line = place.newlines + 1;
    {
      const std::lock_guard lock(mutex_);
      if (input == input_) {
        record += records_;
        line += newlines_;
      }
    }
    const std::span<const std::byte> header = inputs_.header();
    if (inputs_.begin(input) > 0) line += detail::CountBytes(header.data(), header.size(), '\n');
    return fmt::format("record {}{}, {}", record, format_.newlines() ? fmt::format(", line {}", line) : "", byte);
  }

  Pipeline& pipeline_;
  Inputs& inputs_;
  const RecordFormat& format_;
  KeyScheme& scheme_;
  const RecordLayout layout_;
  const std::uint64_t max_record_, most_keyed_;
  const std::size_t most_waiting_;
  const std::uint64_t long_bytes_;  ///< the size in bytes above which records are processed one at a time
  const NeededOrder order_;
  BlockPool& pool_;
  BlockPool raw_;
  StageClock& clock_;
  BoundedQueue<Piece> pieces_;
  OrderedQueue<InputReader::Block> keyed_;
  std::vector<std::byte> trailer_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t turn_ = 0;                     ///< the number of the piece that goes to the output queue next
  std::map<std::uint64_t, Made> waiting_;      ///< finished pieces that wait for an earlier piece, by number
  std::atomic<bool> empty_waits_{false};       ///< true: a block without bytes is in the output queue
  std::vector<std::vector<std::byte>> spare_;  ///< buffers for keyed records, to be used again
  std::uint64_t blocks_ = 0;                   ///< the number of blocks that were pushed to the output queue
  std::uint64_t bytes_ = 0;                    ///< the number of bytes of these blocks
  std::uint64_t pieces_end_ = ~std::uint64_t{0};
  RecordSum sum_;
  KeyTally tally_;
  // The following members describe the input to which the piece number `turn_` belongs.
  std::uint32_t input_ = 0;
  std::uint64_t records_ = 0, newlines_ = 0;
  /// The last keyed record of this input that was pushed. Set only if the order is checked.
  std::vector<std::byte> last_;
  std::uint64_t stored_ = 0;  ///< the number of bytes that were read from the file since the last block was pushed
  // `reader_` comes last: as soon as it exists, its threads may use the other members, even if this constructor then
  // throws.
  InputReader reader_;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace gpusort
