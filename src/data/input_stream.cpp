#include "data/input_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

void ThrowPartialRecord(const std::string& path, std::uint64_t bytes, std::uint64_t stride) {
  throw Error(ErrorCode::kBadInput, EscapeName(path) + ": " + std::to_string(bytes) +
                                        " bytes are not a multiple of the record of " + std::to_string(stride) +
                                        " bytes: the last record, at offset " + std::to_string(bytes - bytes % stride) +
                                        ", is incomplete");
}

InputStream::InputStream(const Job& job, Source source)
    : job_(job),
      source_(std::move(source)),
      stored_(source_.pipe == nullptr ? source_.file->Open() : nullptr),
      ahead_(std::move(source_.front)),
      decoder_(
          source_.codec, EscapeName(source_.path), [this](std::span<std::byte> to) { return ReadStored(to); },
          job.limits) {}

std::uint64_t InputStream::ReadStored(std::span<std::byte> out) {
  const std::uint64_t got =
      source_.pipe != nullptr ? source_.pipe->ReadSome(out) : source_.file->ReadSome(*stored_, stored_offset_, out);
  stored_offset_ += got;
  job_.stored_read.fetch_add(got, std::memory_order_relaxed);
  return got;
}

/// Returns how many bytes of the input it puts into `out`, 0 only at the end.
std::uint64_t InputStream::Next(std::span<std::byte> out) {
  const std::uint64_t count = std::min<std::uint64_t>(ahead_.size() - ahead_taken_, out.size());
  if (count == 0) return decoder_.Read(out);
  std::memcpy(out.data(), ahead_.data() + ahead_taken_, count);
  ahead_taken_ += count;
  if (ahead_taken_ == ahead_.size()) {
    ahead_ = {};
    ahead_taken_ = 0;
  }
  return count;
}

void InputStream::TakeHeader() {
  InputHeader::Taken taken = job_.header.Take(
      {source_.path, source_.expanded_path, true, [this](std::span<std::byte> out) { return Next(out); }});
  header_bytes_ = taken.bytes;
  taken.rest.insert(taken.rest.end(), ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_taken_), ahead_.end());
  ahead_ = std::move(taken.rest);
  ahead_taken_ = 0;
}

void InputStream::KeepTail(std::span<const std::byte> bytes) {
  const std::span last = bytes.last(std::min(bytes.size(), RecordFormat::kTailBytes));
  tail_.insert(tail_.end(), last.begin(), last.end());
  if (tail_.size() > RecordFormat::kTailBytes) tail_.erase(tail_.begin(), tail_.end() - RecordFormat::kTailBytes);
}

std::uint64_t InputStream::Read(std::span<std::byte> buffer, std::uint64_t limit) {
  const bool first = !std::exchange(begun_, true);
  if (first && job_.format.has_header()) TakeHeader();
  std::uint64_t got = 0;
  bool ended = false;
  while (got < limit && !ended) {
    const std::uint64_t more = Next(buffer.subspan(got, limit - got));
    got += more;
    ended = more == 0;
  }
  if (first && !job_.format.has_header()) {
    job_.kinds.Look(source_.path, source_.expanded_path, buffer.first(got), ended);
  }
  const std::uint64_t unit = LeastRecordBytes(job_.layout);
  if (got % unit != 0) ThrowPartialRecord(source_.path, offset_ + got, unit);
  KeepTail(buffer.first(got));
  if (ended && offset_ + got > 0) {
    const std::uint64_t given = got;
    for (const char c : job_.format.Ending(job_.header.bytes(), tail_)) buffer[got++] = static_cast<std::byte>(c);
    KeepTail(buffer.subspan(given, got - given));
  }
  offset_ += got;
  return got;
}

}  // namespace gpusort
