#include "runs/run.hpp"

#include <algorithm>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// How many bytes are read to find the border between two lines. If there is none, four times as many are read.
constexpr std::uint64_t kLookBytes = 4096;
/// How many bytes are read at a time to find the first records of a run.
constexpr std::uint64_t kFrontBytes = std::uint64_t{1} << 20;

/// Returns the size of a buffer for reading `bytes` of an input.
std::uint64_t InputBufferBytes(std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  return (bytes + kReadSlack + kPage - 1) / kPage * kPage;
}

}  // namespace

ForecastKey MakeForecast(RecordSpan record, const RecordLayout& layout) {
  ForecastKey key;
  const Byte* const bytes = AsBytes(record.data());
  if (layout.fixed()) {
    for (std::uint64_t i = 0; i < 2 && 8 * i < layout.key_bytes; ++i) {
      const std::uint64_t word = KeyWord(bytes, layout, 8 * i);
      key.words[2 * i] = static_cast<std::uint32_t>(word >> 32);
      key.words[2 * i + 1] = static_cast<std::uint32_t>(word);
    }
    return key;
  }
  for (std::size_t i = 0; i < key.words.size(); i += 3) {
    const LineChunk chunk = EncodeChunk(bytes, record.size() - 1, *layout.lines, 4 * i);
    key.words[i] = static_cast<std::uint32_t>(chunk.hi >> 32);
    key.words[i + 1] = static_cast<std::uint32_t>(chunk.hi);
    key.words[i + 2] = chunk.lo;
  }
  return key;
}

std::shared_ptr<SortedRecords> CopyToHost(HostMemory& memory, const SortedRecords& source) {
  HostBuffer buffer(memory, source.bytes());
  source.Read(0, {buffer.data(), buffer.size()});
  return std::make_shared<HostRecords>(std::move(buffer), source.bytes(), source.records(), source.was_sorted());
}

RunBlock RunBlocks::operator[](std::size_t number) const {
  RunBlock block;
  if (range_block_ > 0) {
    block.begin = number * range_block_;
    block.bytes = std::min(range_block_, range_.bytes - block.begin);
    block.place = InputRange{range_.input, range_.offset + block.begin, block.bytes};
    return block;
  }
  const Packed& packed = packed_[number];
  block.begin = packed.begin;
  block.bytes = packed.bytes;
  block.forecast = packed.forecast;
  std::copy_n(forecasts_.begin() + static_cast<std::ptrdiff_t>(number * words_), words_, block.last.words.begin());
  if (packed.in_input) {
    block.place = InputRange{packed.owner, packed.offset, packed.bytes};
  } else {
    block.place = SpillExtent{packed.owner, packed.stored, packed.offset, static_cast<Codec>(packed.codec)};
  }
  if (packed.has_more) block.more = more_->at(number);
  return block;
}

void RunBlocks::reserve(std::size_t count) {
  packed_.reserve(count);
  forecasts_.reserve(count * words_);
}

void RunBlocks::Set(std::size_t number, const RunBlock& block) {
  if (number >= packed_.size()) {
    packed_.resize(number + 1);
    forecasts_.resize((number + 1) * words_);
  }
  Packed& packed = packed_[number];
  packed.begin = block.begin;
  packed.bytes = static_cast<std::uint32_t>(block.bytes);
  packed.forecast = block.forecast;
  std::copy_n(block.last.words.begin(), words_, forecasts_.begin() + static_cast<std::ptrdiff_t>(number * words_));
  if (const auto* const range = std::get_if<InputRange>(&block.place)) {
    packed.in_input = true;
    packed.owner = range->input;
    packed.offset = range->offset;
    most_input_bytes_ = std::max(most_input_bytes_, block.bytes);
    return;
  }
  const auto& extent = std::get<SpillExtent>(block.place);
  packed.owner = extent.file;
  packed.offset = extent.offset;
  packed.stored = static_cast<std::uint32_t>(extent.payload_bytes);
  packed.codec = static_cast<std::uint8_t>(extent.codec);
  packed.has_more = !block.more.empty();
  if (packed.has_more) {
    if (!more_) more_ = std::make_unique<std::map<std::uint64_t, std::vector<SpillExtent>>>();
    (*more_)[number] = block.more;
  }
  most_parts_ = std::max<std::uint64_t>(most_parts_, 1 + block.more.size());
}

std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes) {
  const auto* const range = std::get_if<InputRange>(&block.place);
  return range == nullptr ? (1 + block.more.size()) * block_bytes : InputBufferBytes(range->bytes);
}

std::uint64_t RunBlocks::MostLoadBytes(std::uint64_t block_bytes) const {
  const std::uint64_t input = range_block_ > 0 ? std::min(range_block_, range_.bytes) : most_input_bytes_;
  return std::max(input == 0 ? 0 : InputBufferBytes(input), most_parts_ * block_bytes);
}

RecordSpan RunView::Bytes(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const {
  if (!records_.on_device()) return {records_.data() + begin, end - begin};
  copy.resize(end - begin);
  records_.Read(begin, copy);
  return copy;
}

std::uint64_t RunView::WholeEnd(std::uint64_t begin, std::uint64_t end) const {
  if (layout_.fixed()) return begin + (end - begin) / layout_.stride * layout_.stride;
  std::vector<std::byte> copy;
  for (std::uint64_t look = kLookBytes; end > begin; look *= 4) {
    const std::uint64_t from = end - std::min(look, end - begin);
    const std::uint64_t whole = WholeRecordBytes(Bytes(from, end, copy), layout_);
    if (whole > 0) return from + whole;
    end = from;
  }
  return begin;
}

std::uint64_t RunView::RecordEnd(std::uint64_t begin) const {
  if (layout_.fixed()) return begin + layout_.stride;
  std::vector<std::byte> copy;
  for (std::uint64_t look = kLookBytes, at = begin; at < records_.bytes(); look *= 4) {
    const std::uint64_t to = at + std::min(look, records_.bytes() - at);
    const std::uint64_t size = FirstRecordBytes(Bytes(at, to, copy), layout_);
    if (size > 0) return at + size;
    at = to;
  }
  throw WrongResult("a run that ends inside a record");
}

std::uint64_t RunView::BlockEnd(std::uint64_t begin, std::uint64_t room) const {
  if (records_.bytes() - begin <= room) return records_.bytes();
  const std::uint64_t end = WholeEnd(begin, begin + room);
  return end > begin ? end : RecordEnd(begin);
}

RecordSpan RunView::RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const {
  return Bytes(begin, RecordEnd(begin), copy);
}

// Returns the offset of the first byte that LastBefore() reads first. Sets `end` to the offset after the last of these
// bytes.
std::uint64_t RunView::LookFrom(std::uint64_t begin, std::uint64_t& end) const {
  if (!layout_.fixed()) return end - std::min(kLookBytes, end - begin);
  end = WholeEnd(begin, end);
  return end == begin ? begin : end - layout_.stride;
}

SlotRead RunView::FirstLook(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const {
  const std::uint64_t from = LookFrom(begin, end);
  copy.resize(end - from);
  return {records_.data() + from, copy, records_.device()};
}

RunView::Last RunView::LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy,
                                  bool seen) const {
  std::uint64_t from = LookFrom(begin, end);
  if (layout_.fixed() && from == end) return {{}, end};
  // Usually the first look already shows both ends of the record.
  for (std::uint64_t look = kLookBytes;; seen = false) {
    const RecordSpan bytes = seen ? RecordSpan(copy) : Bytes(from, end, copy);
    if (layout_.fixed()) return {bytes, end};
    const std::uint64_t whole = WholeRecordBytes(bytes, layout_);
    const std::uint64_t first = whole == 0 ? 0 : RecordBegin(bytes, whole - 1, layout_);
    if (whole > 0 && (first > 0 || from == begin)) {
      if (bytes.data() != copy.data()) return {bytes.subspan(first, whole - first), from + whole};
      // The caller keeps this copy, so it contains only the record.
      const auto at = [&copy](std::uint64_t byte) { return copy.begin() + static_cast<std::ptrdiff_t>(byte); };
      copy = std::vector<std::byte>(at(first), at(whole));
      return {copy, from + whole};
    }
    if (from == begin) return {{}, begin};
    look *= 4;
    from = end - std::min(look, end - begin);
  }
}

std::uint64_t FrontCounter::Take(RecordSpan bytes) {
  if (done_) return 0;
  if (layout_.fixed() && !unique_) {
    const std::uint64_t count = std::min(left_, bytes.size() / layout_.stride);
    left_ -= count;
    records_ += count;
    done_ = left_ == 0;
    return count * layout_.stride;
  }
  std::uint64_t at = 0;
  RecordSpan last = last_;
  while (at < bytes.size() && !done_) {
    const RecordSpan record = FirstRecord(bytes.subspan(at), layout_);
    const bool counts = !unique_ || last.empty() || CompareRecords(last, record, layout_) != 0;
    done_ = counts && left_ == 0;  // with -u, records equal to the last one may follow
    if (done_) break;
    left_ -= counts ? 1 : 0;
    ++records_;
    at += record.size();
    last = record;
    done_ = !unique_ && left_ == 0;
  }
  if (unique_ && last.data() != last_.data()) last_ = std::vector<std::byte>(last.begin(), last.end());
  return at;
}

std::unique_ptr<SortedRecords> TakeFront(std::unique_ptr<SortedRecords> sorted, std::uint64_t count, bool unique,
                                         const RecordLayout& layout) {
  if (sorted->records() <= count) return sorted;
  const RunView view(*sorted, layout);
  FrontCounter front(count, unique, layout);
  std::uint64_t bytes = 0;
  std::vector<std::byte> copy;
  while (bytes < sorted->bytes() && !front.done()) {
    const std::uint64_t end = view.BlockEnd(bytes, kFrontBytes);
    bytes += front.Take(view.Bytes(bytes, end, copy));
  }
  if (bytes == sorted->bytes()) return sorted;
  return std::make_unique<FrontRecords>(std::move(sorted), bytes, front.records());
}

RunBlocks CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout) {
  const RunView view(sorted, layout);
  RunBlocks blocks(layout);
  blocks.reserve(sorted.bytes() / payload + 1);
  for (RunBlock block; block.begin < sorted.bytes(); block.begin += block.bytes) {
    block.bytes = view.BlockEnd(block.begin, payload) - block.begin;
    blocks.Set(blocks.size(), block);
  }
  return blocks;
}

RunBlocks InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted, std::uint64_t payload,
                      const RecordLayout& layout) {
  const RunView view(sorted, layout);
  RunBlocks blocks(layout);
  std::vector<std::byte> copy;
  std::uint64_t begin = 0;
  for (const InputRange& range : ranges) {
    const std::uint64_t base = begin, range_end = begin + range.bytes;
    while (begin < range_end) {
      const std::uint64_t end = std::min(range_end, view.BlockEnd(begin, payload));
      RunBlock block;
      block.begin = begin;
      block.bytes = end - begin;
      block.place = InputRange{range.input, range.offset + (begin - base), end - begin};
      const RecordSpan last = view.LastBefore(begin, end, copy).record;
      if (last.empty()) throw WrongResult("a run that is left in the input lost a record");
      block.last = MakeForecast(last, layout);
      block.forecast = true;
      blocks.Set(blocks.size(), block);
      begin = end;
    }
  }
  return blocks;
}

}  // namespace gpusort
