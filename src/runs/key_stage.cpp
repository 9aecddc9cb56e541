#include "runs/key_stage.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "error.hpp"

namespace gpusort {

KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads) {
  constexpr std::uint64_t kPage = 4096, kLeast = std::uint64_t{16} << 10, kMost = std::uint64_t{256} << 10;
  KeyShape shape;
  shape.threads = threads;
  // An eighth of the memory.
  shape.piece_bytes = std::clamp(memory / 8 / (5 * threads + 3) / kPage * kPage, kLeast, kMost);
  return shape;
}

KeyStage::KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, const KeyedOrder& order,
                   const KeyShape& shape, BlockPool& pool, const std::vector<InputRange>& ranges,
                   const RecordLayout& lines, std::uint64_t max_record, unsigned readers, StageClock& clock)
    : pipeline_(pipeline),
      inputs_(inputs),
      order_(order),
      lines_(lines),
      layout_(order.layout(lines.delimiter)),
      max_record_(max_record),
      long_bytes_(4 * shape.piece_bytes),
      pool_(pool),
      raw_(memory, shape.block_bytes(), shape.blocks()),
      reader_(pipeline, inputs, raw_, ranges, lines, shape.piece_bytes, readers, clock),
      clock_(clock),
      pieces_(pipeline, 1),
      keyed_(pipeline) {
  pipeline.Start([this] { Cut(); });
  pipeline.Start([this] { MakeKeys(); }, shape.threads);
}

void KeyStage::Cut() {
  std::vector<std::byte> open;  // of a line that goes on in the next block
  std::uint64_t number = 0;
  while (std::optional<InputReader::Block> block = reader_.Next(pipeline_)) {
    if (block->has_longer(max_record_, open.size())) block->ThrowTooLong(max_record_, open.size(), inputs_, lines_);
    if (inputs_.rereadable()) inputs_.AddStoredBytesRead(block->range.bytes);
    const RecordSpan bytes = block->bytes;
    if (block->end == 0) {
      open.insert(open.end(), bytes.begin(), bytes.end());
      continue;
    }
    Piece piece;
    piece.number = number++;
    if (!open.empty()) {
      piece.begin = block->head;
      open.insert(open.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(block->head));
      piece.head = std::exchange(open, {});
    }
    open.assign(bytes.begin() + static_cast<std::ptrdiff_t>(block->end), bytes.end());
    piece.block = std::move(*block);
    // A long line is far more than threads have memory for: only one at a time.
    const bool alone = piece.head.size() > long_bytes_;
    if (alone) WaitForTurn(piece.number);
    pieces_.Push(std::move(piece));
    if (alone) WaitForTurn(number);
  }
  if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
  pieces_.Finish();
  const std::lock_guard lock(mutex_);
  pieces_end_ = number;
  if (turn_ == pieces_end_) keyed_.Finish(blocks_);
}

void KeyStage::MakeKeys() {
  std::vector<std::byte> keyed;
  while (std::optional<Piece> piece = pieces_.Pop()) {
    keyed.clear();
    RecordSum sum;
    {
      const RecordSpan lines = piece->block.bytes.subspan(piece->begin, piece->block.end - piece->begin);
      const Busy busy(clock_, Resource::kCompute, piece->head.size() + lines.size());
      for (const RecordSpan part : {RecordSpan(piece->head), lines}) {
        sum += SumRecords(part, lines_);
        ForEachRecord(part, lines_, [&](RecordSpan line) { order_.AppendKeyed(line, keyed); });
      }
    }
    const std::uint64_t number = piece->number;
    piece.reset();  // its buffer is wanted by the reader
    HandOn(number, keyed, sum);
    if (keyed.capacity() > 2 * long_bytes_) keyed = {};
  }
}

void KeyStage::WaitForTurn(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  pipeline_.Wait(lock, turn_changed_, [&] { return turn_ == number; });
}

/// Blocks are taken and numbered in turn, so that nobody holds what the one whose turn it is waits for; those of a
/// piece that fills several are also handed on in turn, one before the next is taken.
void KeyStage::HandOn(std::uint64_t number, std::span<const std::byte> keyed, const RecordSum& sum) {
  WaitForTurn(number);
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
    block.Describe(layout_);
    keyed = keyed.subspan(block.range.bytes);
    keyed_.Push(place, std::move(block));
  };
  const std::uint64_t room = pool_.block_bytes();
  while (keyed.size() > room) {
    const std::uint64_t whole = WholeRecordBytes(keyed.first(room), layout_);
    hand_on(take(whole > 0 ? whole : room));
  }
  const std::uint64_t last = take(keyed.size());
  {
    const std::lock_guard lock(mutex_);
    sum_ += sum;
    ++turn_;
    turn_changed_.notify_all();
    if (turn_ == pieces_end_) keyed_.Finish(blocks_);
  }
  hand_on(last);
}

}  // namespace gpusort
