#include "data/proof.hpp"

// Compiled inline, because a call would take a tenth of the time for a line. Without the second line, some compilers
// call a function for each eight bytes that are loaded.
#define XXH_INLINE_ALL
#define XXH_FORCE_MEMORY_ACCESS 1
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "data/short_sum.hpp"
#include "kernels/error.hpp"

// Builds with sanitizers use the plain code, because sanitizers cannot run in ifunc resolvers.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define GPUSORT_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#else
#define GPUSORT_VECTORISED
#endif

namespace gpusort {
namespace {

/// How many bytes of fixed records are processed at a time, first for their checksum and then for their order. They fit
/// into half of the cache of one core.
constexpr std::uint64_t kProofBytes = std::uint64_t{64} << 10;

RecordSum SumOf(XXH128_hash_t hash, std::uint64_t records) { return {hash.low64, hash.high64, records}; }

template <typename U>
GPUSORT_VECTORISED bool NumbersInOrder(const std::byte* bytes, std::uint64_t records, NumberMap<U> map) {
  // The search can end after each block, so that no branch for each record is needed.
  constexpr std::uint64_t kBlock = 4096;
  for (std::uint64_t begin = 1; begin < records; begin += kBlock) {
    const std::uint64_t end = begin + kBlock < records ? begin + kBlock : records;
    unsigned bad = 0;
    if (map.identity()) {
      for (std::uint64_t i = begin; i < end; ++i) {
        U a, b;
        std::memcpy(&a, bytes + (i - 1) * sizeof(U), sizeof(U));
        std::memcpy(&b, bytes + i * sizeof(U), sizeof(U));
        bad |= b < a;
      }
    } else {
      for (std::uint64_t i = begin; i < end; ++i) {
        U a, b;
        std::memcpy(&a, bytes + (i - 1) * sizeof(U), sizeof(U));
        std::memcpy(&b, bytes + i * sizeof(U), sizeof(U));
        bad |= map.Map(b) < map.Map(a);
      }
    }
    if (bad != 0) return false;
  }
  return true;
}

/// Returns the checksum of whole lines, and calls each(line) for each of them.
template <typename F>
RecordSum SumLines(RecordSpan bytes, const RecordLayout& layout, F each) {
  RecordSum sum;
  std::uint64_t empty = 0;
  std::vector<std::byte> scratch;
  ForEachRecord(bytes, layout, [&](RecordSpan record) {
    each(record);
    const RecordSpan line = layout.keyed() ? OwnBytes(record, layout, scratch) : record;
    if (line.size() == 1 && line.data() != scratch.data()) {
      ++empty;
      return;
    }
    // The hardware does not prefetch well across the ends of lines, so a core would wait for each line that is not in
    // its cache.
    constexpr std::ptrdiff_t kAhead = 1024, kCacheLine = 64;
    __builtin_prefetch(line.data() + kAhead);
    __builtin_prefetch(line.data() + kAhead + kCacheLine);
    sum += SumOf(XXH3_128bits(line.data(), line.size()), 1);
  });
  if (empty > 0) {
    const XXH128_hash_t hash = XXH3_128bits(&layout.delimiter, 1);
    const unsigned __int128 one = static_cast<unsigned __int128>(hash.high64) << 64 | hash.low64;
    const unsigned __int128 all = one * empty;
    sum += RecordSum{static_cast<std::uint64_t>(all), static_cast<std::uint64_t>(all >> 64), empty};
  }
  return sum;
}

}  // namespace

RecordSum& RecordSum::operator+=(const RecordSum& other) {
  lo += other.lo;
  hi += other.hi + (lo < other.lo ? 1 : 0);
  records += other.records;
  return *this;
}

RecordSum& RecordSum::operator-=(const RecordSum& other) {
  hi -= other.hi + (lo < other.lo ? 1 : 0);
  lo -= other.lo;
  records -= other.records;
  return *this;
}

RecordSum SumRecord(RecordSpan record) { return SumOf(XXH3_128bits(record.data(), record.size()), 1); }

RecordSum SumRecords(std::span<const std::byte> bytes, std::uint64_t stride) {
  RecordSum sum;
  const std::uint64_t records = bytes.size() / stride;
  if (stride > kMostShortRecord) {
    for (std::uint64_t i = 0; i < records; ++i) sum += SumOf(XXH3_128bits(bytes.data() + i * stride, stride), 0);
  } else {
    constexpr std::uint64_t kCall = std::uint64_t{1} << 31;
    for (std::uint64_t done = 0; done < records; done += kCall) {
      sum += SumShortRecords(bytes.data() + done * stride, std::min(records - done, kCall), stride);
    }
  }
  sum.records = records;
  return sum;
}

RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest) {
  std::uint64_t most = layout.stride;
  const RecordSum sum =
      layout.fixed()
          ? SumRecords(bytes, layout.stride)
          : SumLines(bytes, layout, [&](RecordSpan line) { most = std::max<std::uint64_t>(most, line.size()); });
  if (longest != nullptr) *longest = most;
  return sum;
}

struct PartSum::State {
  XXH3_state_t* hash = XXH3_createState();
  State() {
    if (hash == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(hash);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(hash); }
};

PartSum::PartSum(const RecordLayout& layout) : keys_(layout.keys), keys_left_(layout.keys) {}
PartSum::~PartSum() = default;

void PartSum::Add(RecordSpan part) {
  if (!state_) state_ = std::make_unique<State>();
  if (bytes_ == 0 && keys_ > 0 && !part.empty() && HasEscapedBody(part)) escaped_.emplace();
  bytes_ += part.size();
  for (; keys_left_ > 0; --keys_left_) {
    const auto end = std::find(part.begin(), part.end(), static_cast<std::byte>(kKeyEnd));
    if (end == part.end()) return;
    part = part.subspan(static_cast<std::size_t>(end - part.begin()) + 1);
  }
  const auto update = [&](RecordSpan bytes) { XXH3_128bits_update(state_->hash, bytes.data(), bytes.size()); };
  escaped_ ? escaped_->Add(part, update) : update(part);
}

RecordSum PartSum::End() {
  const RecordSum sum = SumOf(XXH3_128bits_digest(state_->hash), 1);
  XXH3_128bits_reset(state_->hash);
  bytes_ = 0;
  keys_left_ = keys_;
  escaped_.reset();
  return sum;
}

std::uint64_t FirstDisorder(std::span<const std::byte> bytes, const RecordLayout& layout, bool strict) {
  if (!layout.fixed()) return FirstLineDisorder(bytes, layout, strict);
  const std::uint64_t stride = layout.stride;
  const std::uint64_t records = bytes.size() / stride;
  if (layout.direct() && !strict) {
    const bool in_order = stride == 8
                              ? NumbersInOrder(bytes.data(), records, MakeNumberMap<std::uint64_t>(layout.fields[0]))
                              : NumbersInOrder(bytes.data(), records, MakeNumberMap<std::uint32_t>(layout.fields[0]));
    if (in_order) return kInOrder;
  }
  for (std::uint64_t i = 1; i < records; ++i) {
    const std::byte* record = bytes.data() + i * stride;
    const int order = CompareKeys(AsBytes(record - stride), AsBytes(record), layout);
    if (order > 0 || (strict && order == 0)) return i * stride;
  }
  return kInOrder;
}

std::optional<OrderCheck::Disorder> OrderCheck::Check(RecordSpan seen) const {
  const std::uint64_t bad = FirstDisorder(seen, layout_, strict_);
  if (bad == kInOrder) return std::nullopt;
  const RecordSpan record = FirstRecord(seen.subspan(bad), layout_);
  return Disorder{records_ + CountRecords(seen.first(bad), layout_), offset_ + bad, {record.begin(), record.end()}};
}

void OrderCheck::Pass(RecordSpan seen) {
  offset_ += seen.size();
  records_ += CountRecords(seen, layout_);
}

/// Checks the order of the record that `end` completes. The beginning of this record, if it came before, is at the end
/// of `last_`.
std::optional<OrderCheck::Disorder> OrderCheck::AddRecord(RecordSpan end) {
  Keep(end);
  const RecordSpan kept{last_.data(), last_bytes_};
  if (const std::optional<Disorder> disorder = Check(kept)) return disorder;
  const std::uint64_t keep = RecordBegin(kept, kept.size() - 1, layout_);
  Pass(kept.first(keep));
  last_bytes_ -= keep;
  std::memmove(last_.data(), last_.data() + keep, last_bytes_);
  return std::nullopt;
}

void OrderCheck::Keep(RecordSpan bytes) {
  if (bytes.empty()) return;
  if (!last_.Reserve(last_bytes_ + bytes.size())) throw std::bad_alloc();
  std::memcpy(last_.data() + last_bytes_, bytes.data(), bytes.size());
  last_bytes_ += bytes.size();
}

std::optional<OrderCheck::Disorder> OrderCheck::Add(RecordSpan bytes) {
  std::optional<Disorder> disorder;
  if (bytes.empty()) return disorder;
  if (const std::uint64_t head = FirstRecordBytes(bytes, layout_); head > 0) {
    disorder = AddRecord(bytes.first(head));
    bytes = bytes.subspan(head);
  }
  if (const std::uint64_t whole = disorder ? 0 : WholeRecordBytes(bytes, layout_); whole > 0) {
    disorder = AddRecord(FirstRecord(bytes, layout_));
    if (!disorder) disorder = Check(bytes.first(whole));
    const RecordSpan record = LastRecord(bytes.first(whole), layout_);
    last_bytes_ = 0;
    Keep(record);
    Pass(bytes.first(whole - record.size()));
    bytes = bytes.subspan(whole);
  }
  Keep(bytes);
  return disorder;
}

OutputProof::Seen OutputProof::Look(RecordSpan records) const {
  Seen seen;
  if (records.empty()) return seen;
  seen.bytes = records.size();
  const RecordSpan first = FirstRecord(records, layout_), last = LastRecord(records, layout_);
  seen.first.assign(first.begin(), first.end());
  seen.last.assign(last.begin(), last.end());
  if (layout_.fixed()) {
    // The records are checked in parts. Each part begins with the last record of the part before. The second look at a
    // part finds it in the cache.
    const std::uint64_t stride = layout_.stride, step = std::max(kProofBytes / stride, std::uint64_t{1}) * stride;
    for (std::uint64_t at = 0; at < records.size(); at += step) {
      const RecordSpan part = records.subspan(at, std::min(step, records.size() - at));
      seen.sum += SumRecords(part, layout_);
      if (seen.disorder != kInOrder) continue;
      const std::uint64_t from = at - std::min(at, stride);
      const std::uint64_t bad = FirstDisorder(records.subspan(from, at + part.size() - from), layout_, strict_);
      if (bad != kInOrder) seen.disorder = from + bad;
    }
  } else {
    // One pass over the bytes checks the order and computes the checksum, so that the ends of lines are found only
    // once.
    NeighbourLines neighbours(*layout_.lines);
    seen.sum = SumLines(records, layout_, [&](RecordSpan line) {
      const int compared = neighbours.Next(AsBytes(line.data()), line.size() - 1);
      if (seen.disorder == kInOrder && (compared > 0 || (strict_ && compared == 0))) {
        seen.disorder = static_cast<std::uint64_t>(line.data() - records.data());
      }
    });
  }
  return seen;
}

void OutputProof::Add(std::uint64_t offset, Seen seen) {
  if (seen.bytes == 0) return;
  const auto fail = [&](std::uint64_t at) {
    // Chunks come in any order, so lines are not counted.
    const std::string place =
        layout_.fixed() ? "record " + std::to_string(at / layout_.stride) + " (byte " + std::to_string(at) + ")"
                        : "the line at byte " + std::to_string(at);
    throw WrongResult("the output is out of order at " + place + "; nothing was published");
  };
  if (seen.disorder != kInOrder) fail(offset + seen.disorder);

  Chunk chunk{offset + seen.bytes, std::move(seen.first), std::move(seen.last)};
  const auto check = [&](const Chunk& left, const Chunk& right) {
    const int order = CompareRecords(left.last, right.first, layout_);
    if (order > 0 || (strict_ && order == 0)) fail(left.end);
  };
  const std::lock_guard lock(mutex_);
  sum_ += seen.sum;
  bytes_ += seen.bytes;
  auto next = chunks_.lower_bound(offset);
  if (next != chunks_.end() && next->first == chunk.end) {
    check(chunk, next->second);
    chunk.end = next->second.end;
    chunk.last = std::move(next->second.last);
    next = chunks_.erase(next);
  }
  if (next != chunks_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end == offset) {
      check(before->second, chunk);
      before->second.end = chunk.end;
      before->second.last = std::move(chunk.last);
      return;
    }
  }
  chunks_.emplace(offset, std::move(chunk));
}

void OutputProof::AddDropped(const RecordSum& sum) {
  const std::lock_guard lock(mutex_);
  dropped_ += sum;
}

void OutputProof::AddCounted(std::uint64_t records) {
  const std::lock_guard lock(mutex_);
  counted_ = counted_.value_or(0) + records;
}

void OutputProof::AddSummed(const ColumnSums& read, const ColumnSums& written) {
  const std::lock_guard lock(mutex_);
  values_read_.resize(std::max(values_read_.size(), read.size()));
  values_written_.resize(std::max(values_written_.size(), written.size()));
  AddSums(read, values_read_);
  AddSums(written, values_written_);
}

void OutputProof::AddWritten(const RecordSum& sum) {
  const std::lock_guard lock(mutex_);
  if (!written_) written_.emplace();
  *written_ += sum;
}

void OutputProof::LeaveOut(const RecordSum& left_out, const RecordSum& kept) {
  const std::lock_guard lock(mutex_);
  RecordSum all = left_out;
  all += kept;
  if (!(all == sum_)) throw WrongResult("records were lost or changed while the most frequent ones were chosen");
  dropped_ += left_out;
  sum_ = kept;
}

RecordSum OutputProof::sum() const {
  const std::lock_guard lock(mutex_);
  return sum_;
}

RecordSum OutputProof::written() const {
  const std::lock_guard lock(mutex_);
  return written_.value_or(sum_);
}

bool OutputProof::Whole() const {
  if (chunks_.empty()) return bytes_ == 0;
  return chunks_.size() == 1 && chunks_.begin()->first == 0 && chunks_.begin()->second.end == bytes_;
}

std::pair<std::vector<std::byte>, std::vector<std::byte>> OutputProof::Ends(bool keys) const {
  const std::lock_guard lock(mutex_);
  if (chunks_.empty()) return {};
  const auto own = [&](const std::vector<std::byte>& record) {
    // An empty record: the front was checked by the proof of an earlier process.
    if (keys || record.empty()) return record;
    std::vector<std::byte> scratch;
    const RecordSpan bytes = OwnBytes(record, layout_, scratch);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  return {own(chunks_.begin()->second.first), own(chunks_.rbegin()->second.last)};
}

OutputProof::Front OutputProof::front() const {
  const std::lock_guard lock(mutex_);
  if (!Whole()) throw WrongResult("records were lost: the front of the output has gaps");
  return {bytes_, sum_, dropped_, chunks_.empty() ? std::vector<std::byte>{} : chunks_.begin()->second.last};
}

void OutputProof::GoOnFrom(Front front) {
  const std::lock_guard lock(mutex_);
  bytes_ = front.bytes;
  sum_ = front.sum;
  dropped_ = front.dropped;
  // The first record of the front has no record before it.
  if (bytes_ > 0) chunks_.emplace(0, Chunk{bytes_, {}, std::move(front.last)});
}

void OutputProof::CheckCount(std::uint64_t records) const {
  const std::lock_guard lock(mutex_);
  // The checksum of the records that --top left out is unknown, so only the number is checked.
  if (sum_.records == records && Whole()) return;
  throw WrongResult("records were lost or doubled: the output must have " + std::to_string(records) + ", and " +
                    std::to_string(sum_.records) + " would be written");
}

void OutputProof::Check(const RecordSum& input) const {
  const std::lock_guard lock(mutex_);
  RecordSum total = sum_;
  total += dropped_;
  if (total.records != input.records || !Whole()) {
    throw WrongResult("records were lost or doubled: " + std::to_string(input.records) + " were read, " +
                      std::to_string(total.records) + " would be written");
  }
  if (!(total == input)) {
    throw WrongResult("records were changed: the multiset of what was read differs from what would be written");
  }
  if (written_ && written_->records != sum_.records) {
    throw WrongResult("records were lost or doubled while their counts and sums were written");
  }
  if (counted_ && *counted_ != input.records) {
    throw WrongResult("records were counted wrongly: " + std::to_string(input.records) +
                      " were read, and the counts add up to " + std::to_string(*counted_));
  }
  if (!std::ranges::equal(values_read_, values_written_, &DecimalSum::Equals)) {
    throw WrongResult("values were added wrongly: the sums that would be written do not add up to the values");
  }
}

}  // namespace gpusort
