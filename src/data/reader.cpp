#include "data/reader.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

/// Copies bytes without filling the caches, to memory that no core will read soon.
void StreamCopy(std::byte* to, std::span<const std::byte> from) {
  std::uint64_t done = 0;
#if defined(__SSE2__)
  const std::uint64_t head = std::min<std::uint64_t>(-reinterpret_cast<std::uintptr_t>(to) % 64, from.size());
  std::memcpy(to, from.data(), head);
  for (done = head; done + 64 <= from.size(); done += 64) {
    for (std::uint64_t at = done; at < done + 64; at += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + at)));
    }
  }
  _mm_sfence();
#endif
  std::memcpy(to + done, from.data() + done, from.size() - done);
}

}  // namespace

InputReader::InputReader(Pipeline& pipeline, Inputs& inputs, BlockPool& pool, const std::vector<InputRange>& ranges,
                         const RecordLayout& layout, std::uint64_t piece_bytes, unsigned threads, StageClock& clock,
                         Looks looks, std::span<std::byte> caches)
    : pipeline_(pipeline),
      inputs_(inputs),
      pool_(pool),
      layout_(layout),
      piece_bytes_(piece_bytes / LeastRecordBytes(layout) * LeastRecordBytes(layout)),
      looks_(looks),
      clock_(clock),
      stream_blocks_(pipeline, std::max<std::uint64_t>(1, pool.blocks())),
      blocks_(pipeline),
      caches_(caches),
      cache_bytes_(caches.size() / threads),
      ranges_(ranges) {
  if (!inputs.rereadable()) {
    // A pipe delivers 2 GB/s at most, and two to four threads prepare as much.
    constexpr unsigned kMostLook = 4;
    pipeline.Start([this] { ReadStreams(); }, 1, "reader");
    pipeline.Start([this] { LookAtStreams(); }, std::min(threads, kMostLook), "block preparer");
    return;
  }
  std::uint64_t pieces = 0;
  for (const InputRange& range : ranges_) pieces += (range.bytes + piece_bytes_ - 1) / piece_bytes_;
  blocks_.Finish(pieces);
  pipeline.Start([this] { ReadFiles(); }, static_cast<unsigned>(std::min<std::uint64_t>(threads, pieces)), "reader");
}

void InputReader::Block::FindEnds(const RecordLayout& layout) {
  end = WholeRecordBytes(bytes, layout);
  head = layout.fixed() ? 0 : end == 0 ? bytes.size() : FirstRecordBytes(bytes, layout);
}

void InputReader::Block::Describe(const RecordLayout& layout) {
  FindEnds(layout);
  longest = 0;
  sum = end == 0 ? RecordSum{} : SumRecords(bytes.subspan(head, end - head), layout, &longest);
}

void InputReader::Block::ThrowTooLong(std::uint64_t most, std::uint64_t open, const Inputs& inputs,
                                      const RecordLayout& layout) const {
  std::uint64_t at = range.offset - open;
  if (open + head <= most) {
    std::uint64_t begin = head;
    ForEachRecord(bytes.first(end), layout, [&](RecordSpan line) {
      if (line.size() > most) begin = static_cast<std::uint64_t>(line.data() - bytes.data());
    });
    at = range.offset + begin;
  }
  throw LineTooLong(inputs.path(range.input), at + inputs.begin(range.input), most);
}

InputReader::Block InputReader::Block::Split(std::uint64_t count, const RecordLayout& layout) {
  Block rest;
  rest.range = {range.input, range.offset + count, range.bytes - count};
  rest.buffer = buffer;
  rest.bytes = bytes.subspan(count);
  rest.stored = stored * rest.bytes.size() / bytes.size();
  stored -= rest.stored;
  rest.longest = longest;
  range.bytes = count;
  bytes = bytes.first(count);
  rest.FindEnds(layout);
  if (!layout.fixed() && count == end) return rest;  // all records are in the first part, so its checksum stays
  end = count;
  // Only the checksum of the smaller part is computed, because all lanes wait for the split. That of the larger part is
  // the difference. The line with which the rest begins is in neither.
  sum -= SumRecords(rest.bytes.first(rest.head), layout);
  InputReader::Block& small = end - head <= rest.end - rest.head ? *this : rest;
  InputReader::Block& large = &small == this ? rest : *this;
  const RecordSum all = sum;
  small.sum = SumRecords(small.bytes.subspan(small.head, small.end - small.head), layout);
  large.sum = all;
  large.sum -= small.sum;
  return rest;
}

void InputReader::Look(Block& block) const {
  if (looks_ == Looks::kDescribe) return block.Describe(layout_);
  block.guess = inputs_.format().LookAhead(block.bytes);
}

/// Reads fixed records that are in the page cache. Each piece is read into `cache`, which stays in the cache of the
/// core. Its checksum is computed there, and then it is written to memory once, without filling the caches.
/// data/bench/NOTES.md has the rates.
void InputReader::ReadThroughCache(Block& block, std::span<std::byte> cache) const {
  const std::uint64_t step = (cache.size() - kReadSlack) / layout_.stride * layout_.stride;
  const InputRange range = block.range;
  block.bytes = block.buffer->span().first(range.bytes);
  for (std::uint64_t done = 0, count = 0; done < range.bytes; done += count) {
    count = std::min(step, range.bytes - done);
    const std::span<const std::byte> records = inputs_.Read({range.input, range.offset + done, count}, cache);
    block.sum += SumRecords(records, layout_, &block.longest);
    StreamCopy(block.buffer->data() + done, records);
  }
  block.end = range.bytes;
}

void InputReader::ReadFiles() {
  const std::span<std::byte> cache = caches_.subspan(caches_taken_++ * cache_bytes_, cache_bytes_);
  for (;;) {
    std::uint64_t number;
    InputRange piece;
    auto buffer = std::make_shared<BlockPool::Block>();
    {
      const std::lock_guard lock(mutex_);
      if (range_ == ranges_.size()) return;
      *buffer = pool_.Acquire(pipeline_);
      const InputRange& range = ranges_[range_];
      piece = {range.input, range.offset + range_done_, std::min(piece_bytes_, range.bytes - range_done_)};
      range_done_ += piece.bytes;
      if (range_done_ == range.bytes) {
        ++range_;
        range_done_ = 0;
      }
      number = next_piece_++;
    }
    Block block;
    block.range = piece;
    block.buffer = std::move(buffer);
    block.stored = piece.bytes;
    {
      const Busy busy(clock_, Resource::kDiskRead, block.range.bytes, {"read input", number});
      if (!cache.empty()) {
        ReadThroughCache(block, cache);
      } else {
        block.bytes = inputs_.Read(block.range, block.buffer->span());
      }
    }
    if (cache.empty()) Look(block);
    blocks_.Push(number, std::move(block));
  }
}

void InputReader::ReadStreams() {
  for (std::uint64_t number = 0;; ++number) {
    Block block;
    block.buffer = std::make_shared<BlockPool::Block>(pool_.Acquire(pipeline_));
    std::optional<InputRange> range;
    const std::uint64_t before = inputs_.stored_bytes_read();
    {
      const bool expands = inputs_.expanding();
      const Resource source = inputs_.piped() ? Resource::kPipeRead : Resource::kDiskRead;
      Busy busy(clock_, expands ? Resource::kCodec : source, 0, {expands ? "expand input" : "read input", number});
      range = inputs_.ReadStream(block.buffer->span(), piece_bytes_);
      if (range) busy.set_bytes(range->bytes);
    }
    if (!range) {
      blocks_.Finish(number);
      stream_blocks_.Finish();
      return;
    }
    block.range = *range;
    block.stored = inputs_.stored_bytes_read() - before;
    block.bytes = block.buffer->span().first(range->bytes);
    stream_blocks_.Push({number, std::move(block)});
  }
}

void InputReader::LookAtStreams() {
  while (std::optional<std::pair<std::uint64_t, Block>> next = stream_blocks_.Pop()) {
    Look(next->second);
    blocks_.Push(next->first, std::move(next->second));
  }
}

}  // namespace gpusort
