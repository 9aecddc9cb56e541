// Reads the input and makes keyed records: the sort key of each record, and then the record itself. Keyed records keep
// the order of the input. One thread finds where records end, and joins records that lie in several blocks. Other
// threads make the keys. Start at KeyStage.
#pragma once

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
#include "runs/keyed_pieces.hpp"
#include "runs/run.hpp"

namespace gpusort {

class KeyStage {
 public:
  /// Starts threads of `pipeline` that fill blocks of `pool` with keyed records (each is a sort key and its record).
  /// - `ranges`: the parts of the inputs to read. Not used for streams, which are read completely.
  /// - `order`: the order that each input must have. The threads throw an error if an input has another order.
  KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, KeyScheme& keys, const KeyShape& shape,
           BlockPool& pool, const std::vector<InputRange>& ranges, const RecordLayout& lines, std::uint64_t max_record,
           NeededOrder order, unsigned readers, StageClock& clock)
      : pipeline_(pipeline),
        inputs_(inputs),
        format_(inputs.format()),
        scheme_(keys),
        layout_(keys.layout()),
        max_record_(max_record),
        maker_(inputs, keys, max_record, order),
        most_waiting_(shape.threads),
        long_bytes_(4 * shape.piece_bytes),
        order_(order),
        pool_(pool),
        raw_(memory, shape.block_bytes(), shape.blocks()),
        clock_(clock),
        pieces_(pipeline, 1),
        keyed_(pipeline),
        reader_(pipeline, inputs, raw_, ranges, lines, shape.piece_bytes, readers, clock, InputReader::Looks::kAhead) {
    keys.LimitKeys(maker_.most_keyed());
    pipeline.Start([this] { Cut(); }, 1, "record finder");
    pipeline.Start([this] { MakeKeys(); }, shape.threads, "key maker");
  }

  /// Returns the next block of keyed records (each is a sort key and its record), or std::nullopt at the end.
  /// - The offset of the block is the number of bytes in all earlier blocks.
  /// - A block without bytes only tells how much of the input was read.
  /// - `waiter`: the pipeline of the calling thread. If this pipeline is stopped, Next() throws.
  std::optional<InputReader::Block> Next(const Pipeline& waiter) {
    std::optional<InputReader::Block> block = keyed_.Pop(waiter);
    if (block && block->bytes.empty()) empty_waits_ = false;
    return block;
  }
  // The following functions may be called only after Next() has returned std::nullopt.
  /// Returns the checksum of the records, without sort keys. Records that the job leaves out do not count.
  const RecordSum& sum() const { return sum_; }
  const KeyTally& tally() const { return tally_; }
  /// Returns the bytes after the last record of the inputs, such as the last lines of an SQL dump.
  const std::vector<std::byte>& trailer() const { return trailer_; }

 private:
  /// Some consecutive records of the input, whose sort keys are made by one thread.
  struct InputPiece {
    std::uint64_t number = 0;
    RawPiece raw;
    InputReader::Block block;  ///< owns the bytes of raw.rest
    std::uint64_t stored = 0;  ///< bytes that were read from the file since the previous piece
  };
  /// The keyed records (each is a sort key and its record) that were made from one piece of the input.
  struct Made : KeyedPiece {
    std::uint64_t number = 0;
    std::uint64_t stored = 0;
  };

  void Cut() {
    PieceCutter cutter(inputs_, max_record_);
    std::uint64_t number = 0;  // the number of the next piece
    std::uint64_t stored = 0;  // bytes that were read from the file since the previous piece
    std::uint32_t input = 0;
    bool begun = false;
    const auto begin = [&] {
      if (!begun) scheme_.ReadHeader(inputs_.header());
      begun = true;
    };
    const auto push = [&](PieceCutter::Cut cut, InputReader::Block block) {
      if (cut.piece) {
        InputPiece piece;
        piece.number = number++;
        piece.raw = std::move(*cut.piece);
        piece.block = std::move(block);
        piece.stored = std::exchange(stored, 0);
        // A long record needs much memory. It therefore waits until all earlier records have their keys and are in the
        // output queue, and later records wait for it.
        const bool alone = piece.raw.head.size() > long_bytes_;
        if (alone) WaitForTurn(piece.number);
        pieces_.Push(std::move(piece));
        if (alone) WaitForTurn(number);
      }
      if (!cut.failure) return;
      WaitForTurn(number);
      Blame(input, {0, 0, cut.failed_at}, *cut.failure);
    };
    const auto end_input = [&] {
      PieceCutter::Cut cut = cutter.End();
      if (!cut.failure) {
        SetTrailer(input, cutter.trailer());
        ends_.input = input;
        if (!inputs_.ends_inside(input)) format_.NoteEnd(cutter.state(), ends_);
      }
      push(std::move(cut), {});
      if (++input < inputs_.count()) cutter.Begin(input, format_.NextInput(cutter.state()));
    };
    const auto take = [&](InputReader::Block block) {
      PieceCutter::Cut cut = cutter.Take(block.bytes, block.range.offset, block.guess);
      push(std::move(cut), std::move(block));
    };
    // The first blocks of an input wait until enough bytes were read to find out its format. The result therefore does
    // not depend on the size of blocks, and thus not on --memory.
    constexpr std::size_t kMostHeld = RecordFormat::kFrontBytes / KeyShape::kLeastPiece;
    static_assert(kMostHeld < KeyShape{1, 0}.blocks(), "the reader needs a block while others wait");
    std::vector<InputReader::Block> held;
    const auto learn = [&] {
      if (held.empty()) return;
      if (held.size() == 1) {
        cutter.Learn(held[0].bytes);
      } else {
        std::vector<std::byte> front;
        for (const InputReader::Block& block : held) front.insert(front.end(), block.bytes.begin(), block.bytes.end());
        cutter.Learn(front);
      }
      for (InputReader::Block& block : std::exchange(held, {})) take(std::move(block));
    };
    if (inputs_.count() > 0) cutter.Begin(0, {});
    while (std::optional<InputReader::Block> block = reader_.Next(pipeline_)) {
      stored += block->stored;
      begin();
      if (input != block->range.input) learn();
      while (input != block->range.input) end_input();
      if (!held.empty() && block->range.offset != held.back().range.offset + held.back().range.bytes) learn();
      if (block->range.offset > 0 && held.empty()) {
        take(std::move(*block));
        continue;
      }
      const std::uint64_t known = block->range.offset + block->range.bytes;
      held.push_back(std::move(*block));
      if (!format_.learns() || held.size() == kMostHeld || known >= RecordFormat::kFrontBytes) learn();
    }
    begin();
    learn();
    while (input < inputs_.count()) end_input();
    pieces_.Finish();
    const std::lock_guard lock(mutex_);
    pieces_end_ = number;
    if (turn_ == pieces_end_) FinishKeyed();
  }

  void MakeKeys() {
    const std::unique_ptr<KeyEncoder> encoder = scheme_.MakeEncoder();
    while (std::optional<InputPiece> piece = pieces_.Pop()) {
      Made made;
      {
        const std::lock_guard lock(mutex_);
        if (!spare_.empty()) {
          made.keyed = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      made.number = piece->number;
      made.stored = piece->stored;
      RawPiece& raw = piece->raw;
      try {
        const Busy busy(clock_, Resource::kCompute, raw.head.size() + raw.rest.size(), {"make keys", piece->number});
        maker_.Make(raw, *encoder, made);
      } catch (const BadRecord& bad) {
        WaitForTurn(piece->number);
        const std::uint64_t before = made.tally.offset - raw.offset;
        Blame(raw.input, {made.tally.record, raw.Newlines(before), made.tally.offset + bad.at()}, bad.what());
      }
      piece.reset();  // returns the buffer to the reader
      HandOnInTurn(std::move(made));
    }
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

  /// Waits until all pieces of the input before piece `number` have their keys and are in the output queue.
  void WaitForTurn(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    pipeline_.Wait(lock, turn_changed_, [&] { return turn_ == number; });
  }

  /// Stores `made`. Moves stored pieces to the output queue, in the order of the input. Waits while too many are
  /// stored.
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

  /// Copies the keyed records into blocks, and pushes the blocks to the output queue. One thread at a time may call
  /// this. All earlier pieces must be in the queue.
  void HandOn(const Made& made) {
    RecordSpan keyed = made.keyed;
    const std::uint32_t input = made.tally.input;
    if (input != input_) {
      const std::lock_guard lock(mutex_);
      input_ = input;
      records_ = newlines_ = 0;
      last_.clear();
    }
    if (order_ != NeededOrder::kNone && !keyed.empty()) {
      if (const auto disorder = maker_.FindDisorder(made, last_)) {
        maker_.ThrowNotSorted(input, Absolute(input, *disorder), tally_, made.tally);
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
        // The block contains all records of `made`, so these values are already known.
        block.head = made.first_end;
        block.end = made.keyed.size();
        block.longest = made.longest;
        block.sum = made.rest;  // computed before the memcpy, so the check of the output finds a wrong copy
      } else {
        block.Describe(layout_);
      }
      keyed = keyed.subspan(block.range.bytes);
      keyed_.Push(place, std::move(block));
    };
    const std::uint64_t room = pool_.block_bytes();
    // Pushes each block before it takes the next one, because only pushed blocks return to the pool.
    while (keyed.size() > room) {
      const std::uint64_t whole = WholeRecordBytes(keyed.first(room), layout_);
      hand_on(take(whole > 0 ? whole : room));
    }
    stored_ += made.stored;
    // A block without bytes only tells how much of the input was read. At most one such block waits in the queue.
    // Otherwise many of them would pile up if the job leaves out all records.
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
      if (turn_ == pieces_end_) FinishKeyed();
    }
    if (!passes) return;
    keyed.empty() ? keyed_.Push(last, std::move(block)) : hand_on(last);
  }

  /// Ends the output queue. Call this once, with `mutex_` locked, when all pieces of the input are in the queue.
  void FinishKeyed() {
    tally_.Add(ends_);
    keyed_.Finish(blocks_);
  }

  /// Throws Error(kBadInput) with the message `why` about a record. For `place`, see Absolute().
  [[noreturn]] void Blame(std::uint32_t input, const RecordPlace& place, const std::string& why) {
    BlameRecord(inputs_, input, Absolute(input, place), why);
  }

  /// Adds the numbers of records and lines in all earlier pieces of the input to `place`, and returns the sum.
  RecordPlace Absolute(std::uint32_t input, RecordPlace place) {
    const std::lock_guard lock(mutex_);
    if (input != input_) return place;  // this is the first piece of the input
    place.records += records_;
    place.newlines += newlines_;
    return place;
  }

  Pipeline& pipeline_;
  Inputs& inputs_;
  const RecordFormat& format_;
  KeyScheme& scheme_;
  const RecordLayout layout_;
  const std::uint64_t max_record_;
  const PieceKeys maker_;
  const std::size_t most_waiting_;
  const std::uint64_t long_bytes_;  ///< a record with more bytes is processed alone, to save memory
  const NeededOrder order_;
  BlockPool& pool_;
  BlockPool raw_;
  StageClock& clock_;
  BoundedQueue<InputPiece> pieces_;
  OrderedQueue<InputReader::Block> keyed_;
  std::vector<std::byte> trailer_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t turn_ = 0;                 ///< the number of the piece of the input that goes to the output queue next
  std::map<std::uint64_t, Made> waiting_;  ///< finished pieces that wait for an earlier piece, by number
  std::atomic<bool> empty_waits_{false};   ///< true: a block without bytes is in the output queue
  std::vector<std::vector<std::byte>> spare_;  ///< buffers for keyed records, to be used again
  std::uint64_t blocks_ = 0;                   ///< the number of blocks that were pushed to the output queue
  std::uint64_t bytes_ = 0;  ///< the number of bytes in the blocks that were pushed to the output queue
  std::uint64_t pieces_end_ = ~std::uint64_t{0};
  RecordSum sum_;
  KeyTally tally_;
  KeyTally ends_;  ///< the counts of RecordFormat::NoteEnd(), which is called at the end of each input
  // The following members describe the input file that contains piece number `turn_`, the piece that goes to the output
  // queue next.
  std::uint32_t input_ = 0;
  std::uint64_t records_ = 0, newlines_ = 0;
  /// The last record of this input that is in the output queue, with its sort key. Used only if the order of the input
  /// is checked.
  std::vector<std::byte> last_;
  std::uint64_t stored_ = 0;  ///< the number of bytes that were read from the file since the last block was pushed
  // Threads run from the constructor of `reader_` to the destructor of `guard_`, even if the constructor of this class
  // throws. Declare all members that the threads use before `reader_`.
  InputReader reader_;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace gpusort
