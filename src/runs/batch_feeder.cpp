#include "runs/batch_feeder.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/key_stage.hpp"

namespace gpusort {
namespace {

class LentBlock : public InputBlock {
 public:
  explicit LentBlock(std::shared_ptr<InputReader::Block> block) : block_(std::move(block)) {}
  std::span<const std::byte> bytes() const override { return block_->bytes; }

 private:
  std::shared_ptr<InputReader::Block> block_;
};

/// Returns how many bytes of `range` are whole lines, up to and including the line that contains byte number `at`.
std::uint64_t LineEndAfter(const Inputs& inputs, const InputRange& range, std::uint64_t at, const RecordLayout& layout,
                           HostMemory& memory) {
  constexpr std::uint64_t kStep = std::uint64_t{64} << 10;
  const HostBuffer buffer(memory, kStep + kReadSlack);
  for (; at < range.bytes; at += kStep) {
    const InputRange step{range.input, range.offset + at, std::min(kStep, range.bytes - at)};
    const RecordSpan bytes = inputs.Read(step, {buffer.data(), buffer.size()});
    if (const std::uint64_t size = FirstRecordBytes(bytes, layout); size > 0) return at + size;
  }
  return range.bytes;
}

}  // namespace

BatchFeeder::BatchFeeder(CancelFlag& cancel, HostMemory& memory, Inputs& inputs, const Ring& ring,
                         const std::vector<InputRange>& ranges, const RecordLayout& layout, StageClock& clock,
                         KeyScheme* scheme, const KeyShape& keys, NeededOrder order,
                         std::shared_ptr<PinnedBuffer> ring_memory, std::uint64_t first_block)
    : pipeline_(cancel),
      ring_(ring_memory ? std::move(ring_memory) : std::make_shared<PinnedBuffer>(memory, ring.bytes()),
            ring.block_bytes, ring.blocks, first_block),
      caches_(memory, ring.caches_bytes()),
      inputs_(inputs),
      layout_(scheme != nullptr ? scheme->layout() : layout),
      rereadable_(scheme == nullptr && inputs.rereadable()),
      max_record_(ring.max_record + (scheme != nullptr ? scheme->most_added(ring.max_record) : 0)) {
  if (scheme != nullptr) {
    keys_ = std::make_unique<KeyStage>(pipeline_, memory, inputs, *scheme, keys, ring_, ranges, layout,
                                       ring.grows ? kMostLine : ring.max_record, order, ring.threads, clock);
  } else {
    reader_ = std::make_unique<InputReader>(pipeline_, inputs, ring_, ranges, layout, ring.piece_bytes, ring.threads,
                                            clock, InputReader::Looks::kDescribe,
                                            std::span(caches_.data(), inputs.direct() ? 0 : caches_.size()));
  }
  pipeline_.StartRest();
}

BatchFeeder::~BatchFeeder() = default;

std::shared_ptr<InputReader::Block> BatchFeeder::Take(const Pipeline& waiter, Progress* progress) {
  if (!returned_.empty()) {
    std::shared_ptr<InputReader::Block> block = std::move(returned_.front());
    returned_.pop_front();
    return block;
  }
  for (;;) {
    std::optional<InputReader::Block> block = keys_ ? keys_->Next(waiter) : reader_->Next(waiter);
    if (!block) return nullptr;
    if (!block->bytes.empty()) return std::make_shared<InputReader::Block>(std::move(*block));
    // A batch advances `progress` only for blocks with bytes.
    if (progress != nullptr) progress->Advance(block->stored);
  }
}

std::unique_ptr<BatchFeeder::Batch> BatchFeeder::Next(const Pipeline& waiter, std::uint64_t limit,
                                                      std::uint64_t slot_bytes, bool keep, Progress* progress) {
  std::unique_ptr<Batch> batch(new Batch(layout_));
  batch->turn_ = std::unique_lock(turn_);
  // If the batch before this one failed, the next block may begin inside a line.
  waiter.ThrowIfStopped();
  std::shared_ptr<InputReader::Block> first = Take(waiter, progress);
  if (!first) return nullptr;
  returned_.push_front(std::move(first));
  batch->feeder_ = this;
  batch->waiter_ = &waiter;
  batch->progress_ = progress;
  batch->limit_ = limit;
  batch->lines_left_ = SlotRecords(layout_, slot_bytes);
  batch->keep_ = keep;
  batch->number_ = next_number_++;
  return batch;
}

/// Returns true if `next` follows the records of this batch in the input without a gap. A run must be one interval of
/// the input. A batch that skipped the records of another run would put equal keys into the wrong order.
bool BatchFeeder::Batch::Continues(const InputRange& next) const {
  const InputRange& last = ranges_.back();
  if (next.input == last.input) return next.offset == last.offset + last.bytes;
  if (!feeder_->rereadable_) return !feeder_->gaps_ && next.offset == 0;
  std::uint64_t between = feeder_->inputs_.size(last.input) - (last.offset + last.bytes) + next.offset;
  for (std::uint32_t i = last.input + 1; i < next.input; ++i) between += feeder_->inputs_.size(i);
  return between == 0;
}

bool BatchFeeder::Ended(const Pipeline& waiter) {
  // lock() could wait for a long time: until the next batch is read.
  std::unique_lock turn(turn_, std::try_to_lock);
  while (!turn.owns_lock()) {
    waiter.ThrowIfStopped();
    if (next_number_ > 1) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (turn.try_lock()) break;
  }
  // Other batches may have been read completely before this one asks.
  if (next_number_ > 1) return false;
  std::shared_ptr<InputReader::Block> block = Take(waiter);
  if (!block) return true;
  returned_.push_front(std::move(block));
  return false;
}

std::unique_ptr<InputBlock> BatchFeeder::Batch::Next() {
  if (!turn_.owns_lock()) return nullptr;
  std::shared_ptr<InputReader::Block> block = feeder_->layout_.fixed() ? TakeRecords() : TakeLines();
  if (!block) {
    turn_.unlock();
    return nullptr;
  }
  bytes_ += block->range.bytes;
  stored_ += block->stored;
  if (progress_ != nullptr) progress_->Advance(block->stored);
  sum_ += block->sum;
  if (!ranges_.empty() && ranges_.back().input == block->range.input &&
      ranges_.back().offset + ranges_.back().bytes == block->range.offset) {
    ranges_.back().bytes += block->range.bytes;
  } else {
    ranges_.push_back(block->range);
  }
  if (keep_) kept_.push_back(block);
  return std::make_unique<LentBlock>(std::move(block));
}

/// Returns the next block of fixed records, or null if the batch is full. A batch is filled to its last record, so that
/// there are as many batches as planned. Blocks that are kept leave room in the ring for the batches of the other
/// lanes.
std::shared_ptr<InputReader::Block> BatchFeeder::Batch::TakeRecords() {
  const bool full = bytes_ == limit_ || (keep_ && kept_.size() >= (feeder_->ring_.blocks() - 1) / 3);
  if (full) return nullptr;
  std::shared_ptr<InputReader::Block> block = feeder_->Take(*waiter_, progress_);
  if (block && !ranges_.empty() && !Continues(block->range)) {
    feeder_->returned_.push_front(std::move(block));
    return nullptr;
  }
  const std::uint64_t room = limit_ - bytes_;
  if (block && block->range.bytes > room) {
    feeder_->returned_.push_front(std::make_shared<InputReader::Block>(block->Split(room, feeder_->layout_)));
  }
  return block;
}

/// Returns the next block of lines, or the part of it that ends with the last line that fits into the batch. The bytes
/// after the last delimiter of a block become a separate block. It is taken only if the rest of its line fits, too.
std::shared_ptr<InputReader::Block> BatchFeeder::Batch::TakeLines() {
  std::deque<std::shared_ptr<InputReader::Block>>& returned = feeder_->returned_;
  const RecordLayout& layout = feeder_->layout_;
  const bool inside = open_.bytes() > 0;
  const bool full = lines_left_ == 0 || (keep_ && kept_.size() >= (feeder_->ring_.blocks() - 1) / 3);
  if (full && !inside) return nullptr;
  std::shared_ptr<InputReader::Block> block = feeder_->Take(*waiter_, progress_);
  if (!block) {
    if (inside) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return nullptr;
  }
  const auto give_back = [&] {
    returned.push_front(std::move(block));
    return nullptr;
  };
  if (!ranges_.empty() && !Continues(block->range)) return give_back();
  if (block->end > 0 && block->end < block->bytes.size()) {
    returned.push_front(std::make_shared<InputReader::Block>(block->Split(block->end, layout)));
  }
  if (block->has_longer(feeder_->max_record_, open_.bytes())) {
    returned.push_front(block);  // a later attempt that accepts longer lines may continue with this block
    block->ThrowTooLong(feeder_->max_record_, open_.bytes(), feeder_->inputs_, layout);
  }

  if (block->end == 0) {
    if (!inside && bytes_ > 0) {
      // The next block shows where the line ends. If it does not, the line may be as long as the longest allowed line.
      std::shared_ptr<InputReader::Block> next = feeder_->Take(*waiter_, progress_);
      if (!next) throw Error(ErrorCode::kInternal, "the input ends inside a line");
      const std::uint64_t line = next->end > 0 ? block->head + next->head : feeder_->max_record_;
      returned.push_front(std::move(next));
      if (bytes_ + line > limit_) return give_back();
    }
    open_.Add(block->bytes);
    return block;
  }

  const std::uint64_t left = limit_ > bytes_ ? limit_ - bytes_ : 0;
  if (block->bytes.size() > left || block->line_ends() > lines_left_) {
    // There is always room for the rest of a line that was begun, and for the first line of a batch.
    std::uint64_t fits = inside || bytes_ == 0 ? block->head : 0;
    const std::uint64_t room = std::max(fits, std::min<std::uint64_t>(left, block->bytes.size()));
    if (block->line_ends() <= lines_left_) {
      fits = std::max(fits, WholeRecordBytes(block->bytes.first(room), layout));
    } else {
      for (std::uint64_t lines = lines_left_ - (fits > 0 ? 1 : 0); lines > 0; --lines) {
        const std::uint64_t size = FirstRecordBytes(block->bytes.subspan(fits), layout);
        if (size == 0 || fits + size > room) break;
        fits += size;
      }
    }
    if (fits == 0) return give_back();
    if (fits < block->bytes.size()) {
      returned.push_front(std::make_shared<InputReader::Block>(block->Split(fits, layout)));
    }
  }
  lines_left_ -= block->line_ends();
  open_.Add(block->bytes.first(block->head));
  sum_ += open_.End();
  return block;
}

void BatchFeeder::Return(Batch& batch) {
  if (batch.turn_.owns_lock()) batch.turn_.unlock();
  const std::lock_guard lock(turn_);
  gaps_ = true;
  for (std::shared_ptr<InputReader::Block>& block : batch.kept_) returned_.push_back(std::move(block));
  batch.kept_.clear();
  std::ranges::sort(returned_, {}, [](const auto& block) { return block->range; });
}

std::vector<std::vector<InputRange>> DivideRanges(const Inputs& inputs, const std::vector<InputRange>& ranges,
                                                  const RecordLayout& layout, unsigned parts, HostMemory& memory) {
  const std::uint64_t unit = LeastRecordBytes(layout);
  const std::uint64_t share = (TotalBytes(ranges) + parts - 1) / parts;
  const std::uint64_t part_bytes = (share + unit - 1) / unit * unit;
  std::vector<std::vector<InputRange>> divided(1);
  std::uint64_t room = part_bytes;
  for (InputRange range : ranges) {
    while (range.bytes > room && divided.size() < parts) {
      const std::uint64_t bytes =
          layout.fixed() ? room / unit * unit : LineEndAfter(inputs, range, room, layout, memory);
      if (bytes > 0) divided.back().push_back({range.input, range.offset, bytes});
      range.offset += bytes;
      range.bytes -= bytes;
      divided.emplace_back();
      room = part_bytes;
    }
    if (range.bytes == 0) continue;
    divided.back().push_back(range);
    room -= std::min(room, range.bytes);
  }
  if (divided.size() > 1) std::erase_if(divided, [](const std::vector<InputRange>& part) { return part.empty(); });
  return divided;
}

}  // namespace gpusort
