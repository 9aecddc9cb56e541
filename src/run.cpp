#include "run.hpp"

#include "gpusort/error.hpp"

namespace gpusort {
namespace {

/// How much is looked at to find a border of lines; four times as much if it is not there.
constexpr std::uint64_t kLookBytes = 4096;
constexpr std::uint64_t kPage = 4096;
/// How much is looked at to find the front of a run.
constexpr std::uint64_t kFrontBytes = std::uint64_t{1} << 20;

/// Parts of one block are told apart by their number in the spill's headers.
std::uint64_t PartNumber(std::uint64_t number, std::uint64_t part) { return number | part << 48; }

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
  throw Error(ErrorCode::kInternal, "a run that ends inside a record");
}

std::uint64_t RunView::BlockEnd(std::uint64_t begin, std::uint64_t room) const {
  if (records_.bytes() - begin <= room) return records_.bytes();
  const std::uint64_t end = WholeEnd(begin, begin + room);
  return end > begin ? end : RecordEnd(begin);
}

RecordSpan RunView::RecordAt(std::uint64_t begin, std::vector<std::byte>& copy) const {
  return Bytes(begin, RecordEnd(begin), copy);
}

RunView::Last RunView::LastBefore(std::uint64_t begin, std::uint64_t end, std::vector<std::byte>& copy) const {
  if (layout_.fixed()) {
    end = WholeEnd(begin, end);
    return {end == begin ? RecordSpan{} : Bytes(end - layout_.stride, end, copy), end};
  }
  // As a rule both ends of the record are in sight at the first look.
  for (std::uint64_t look = kLookBytes;; look *= 4) {
    const std::uint64_t from = end - std::min(look, end - begin);
    const RecordSpan bytes = Bytes(from, end, copy);
    const std::uint64_t whole = WholeRecordBytes(bytes, layout_);
    const std::uint64_t first = whole == 0 ? 0 : RecordBegin(bytes, whole - 1, layout_);
    if (whole > 0 && (first > 0 || from == begin)) {
      if (bytes.data() != copy.data()) return {bytes.subspan(first, whole - first), from + whole};
      // A cursor keeps it: no more than the record.
      const auto at = [&copy](std::uint64_t byte) { return copy.begin() + static_cast<std::ptrdiff_t>(byte); };
      copy = std::vector<std::byte>(at(first), at(whole));
      return {copy, from + whole};
    }
    if (from == begin) return {{}, begin};
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
    done_ = counts && left_ == 0;  // only keys: equal ones may follow the last
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

std::vector<RunBlock> CutBlocks(const SortedRecords& sorted, std::uint64_t payload, const RecordLayout& layout) {
  const RunView view(sorted, layout);
  std::vector<RunBlock> blocks;
  for (std::uint64_t begin = 0; begin < sorted.bytes(); begin += blocks.back().bytes) {
    blocks.emplace_back();
    blocks.back().begin = begin;
    blocks.back().bytes = view.BlockEnd(begin, payload) - begin;
  }
  return blocks;
}

void SpillBlock(SpillStore& store, TempCodec& codec, std::uint64_t run, std::uint64_t number,
                std::span<std::byte> buffer, RunBlock& block, const RecordLayout& layout,
                const std::function<void(std::uint64_t, std::span<std::byte>)>& read) {
  for (std::uint64_t done = 0, part = 0; done < block.bytes; ++part) {
    const std::uint64_t count = std::min(block.bytes - done, store.payload_capacity());
    const std::span<std::byte> payload = buffer.subspan(kSpillHeaderBytes, count);
    read(done, payload);
    if (part == 0) {
      // Of a line in parts its front must do.
      block.last = MakeForecast(count == block.bytes ? LastRecord(payload, layout) : payload, layout);
      block.forecast = true;
    }
    const SpillExtent extent = codec.Write(store, run, PartNumber(number, part), buffer, count);
    if (part == 0) {
      block.place = extent;
    } else {
      block.more.push_back(extent);
    }
    done += count;
  }
}

std::span<const std::byte> LoadSpilled(SpillStore& store, TempCodec& codec, std::uint64_t run, std::uint64_t number,
                                       std::span<std::byte> buffer, const RunBlock& block) {
  const std::uint64_t slot_bytes = store.payload_capacity() + kSpillHeaderBytes;
  std::uint64_t bytes = 0;
  for (std::uint64_t part = 0; part <= block.more.size(); ++part) {
    const SpillExtent& extent = part == 0 ? std::get<SpillExtent>(block.place) : block.more[part - 1];
    const std::span<std::byte> rest = buffer.subspan(part * slot_bytes).first(slot_bytes);
    const std::uint64_t count = std::min(block.bytes - bytes, store.payload_capacity());
    codec.Read(store, extent, run, PartNumber(number, part), rest, count);
    if (part > 0) std::memmove(buffer.data() + kSpillHeaderBytes + bytes, rest.data() + kSpillHeaderBytes, count);
    bytes += count;
  }
  return buffer.subspan(kSpillHeaderBytes, bytes);
}

std::uint64_t LoadBytes(const RunBlock& block, std::uint64_t block_bytes) {
  if (std::holds_alternative<SpillExtent>(block.place)) return (1 + block.more.size()) * block_bytes;
  return (block.bytes + kReadSlack + kPage - 1) / kPage * kPage;
}

void FreeBlock(const RunBlock& block, SpillStore& store) {
  const SpillExtent* const first = std::get_if<SpillExtent>(&block.place);
  if (first != nullptr && first->payload_bytes > 0) store.Free(*first);
  for (const SpillExtent& extent : block.more) store.Free(extent);
}

void FreeBlocks(const Run& run, SpillStore& store) {
  for (const RunBlock& block : run.blocks) FreeBlock(block, store);
}

std::vector<RunBlock> InputBlocks(const std::vector<InputRange>& ranges, const SortedRecords& sorted,
                                  std::uint64_t payload, const RecordLayout& layout) {
  const RunView view(sorted, layout);
  std::vector<RunBlock> blocks;
  std::vector<std::byte> copy;
  std::uint64_t begin = 0;
  for (const InputRange& range : ranges) {
    const std::uint64_t base = begin, range_end = begin + range.bytes;
    while (begin < range_end) {
      const std::uint64_t end = std::min(range_end, view.BlockEnd(begin, payload));
      RunBlock& block = blocks.emplace_back();
      block.begin = begin;
      block.bytes = end - begin;
      block.place = InputRange{range.input, range.offset + (begin - base), end - begin};
      block.last = MakeForecast(view.LastBefore(begin, end, copy).record, layout);
      block.forecast = true;
      begin = end;
    }
  }
  return blocks;
}

std::vector<RunBlock> InputBlocks(const InputRange& range, std::uint64_t block_bytes) {
  std::vector<RunBlock> blocks;
  for (std::uint64_t done = 0; done < range.bytes; done += block_bytes) {
    RunBlock& block = blocks.emplace_back();
    block.begin = done;
    block.bytes = std::min(block_bytes, range.bytes - done);
    block.place = InputRange{range.input, range.offset + done, block.bytes};
  }
  return blocks;
}

}  // namespace gpusort
