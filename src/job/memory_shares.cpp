#include "job/memory_shares.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "job/job_record.hpp"
#include "kernels/records/records.hpp"
#include "runs/temp_codec.hpp"

namespace gpusort {
namespace {

/// With less memory lines are compared as they lie: what makes keys would take too much of it.
constexpr std::uint64_t kLeastForKeys = std::uint64_t{8} << 20;
/// Unasked, a plan's blocks are no smaller and no larger.
constexpr std::uint64_t kLeastTempBlock = std::uint64_t{64} << 10, kUsualTempBlock = std::uint64_t{4} << 20;

}  // namespace

RecordLayout MemoryShares::LayoutAt(std::uint64_t limit) const {
  const bool keyed = ordered_.table || (ordered_.keyed && !merging_ && (kept_ ? kept_->keyed : MakesKeys(limit)));
  return keyed ? ordered_.keyed->layout() : ordered_.plain;
}

/// Those that only save time are made for what stays in memory with them, be its lines ever so short, and where the
/// longest line is not their matter.
bool MemoryShares::MakesKeys(std::uint64_t limit) const {
  constexpr std::uint64_t kLeastForOptional = std::uint64_t{1280} << 20, kMostTimes = 8;
  if (!ordered_.optional) return limit >= kLeastForKeys;
  return limit >= kLeastForOptional && inputs_.rereadable() && inputs_.bytes() <= limit / kMostTimes;
}

EncoderOptions MemoryShares::EncoderAt(std::uint64_t limit, unsigned threads) const {
  EncoderOptions options;
  options.threads = threads;
  while (options.threads > 1 && EncoderMemoryBytes(spec_.target.codec, options) > limit / 4) --options.threads;
  return options;
}

std::uint64_t MemoryShares::LeastExpected() const {
  constexpr std::uint64_t kUsualRatio = 4;
  if (inputs_.rereadable()) return inputs_.bytes();
  return inputs_.stored_bytes() > 0 ? kUsualRatio * inputs_.stored_bytes() : kMaxSize;
}

/// Without a codec asked for: only what will not fit in spare RAM anyway, with memory to spare.
bool MemoryShares::CompressesTemp(std::uint64_t limit, std::uint64_t free_ram) const {
  constexpr std::uint64_t kLeastMemory = std::uint64_t{64} << 20;
  if (const std::optional<Codec> asked = TempCodecAsked(spec_)) return *asked != Codec::kNone;
  return limit >= kLeastMemory && 2 * LeastExpected() > free_ram;
}

ThreadShares MemoryShares::Share(PlanFacts& facts, std::uint64_t limit) const {
  unsigned threads = most_threads_;
  ThreadShares shares = ShareAmong(threads, facts, limit);
  while (threads > 1 && !IsEnough(facts)) shares = ShareAmong(threads = FewerThreads(threads), facts, limit);
  return shares;
}

ThreadShares MemoryShares::ShareAmong(unsigned threads, PlanFacts& facts, std::uint64_t limit) const {
  ThreadShares shares;
  shares.encoder = EncoderAt(limit, threads);
  facts.temp_place_bytes = 0;
  const bool expands = kept_ && kept_->compressed;
  if (expands || CompressesTemp(limit, facts.free_ram)) {
    // The largest that the plan may make: of what was asked for, of a record, of the memory.
    const std::uint64_t least = std::max(spec_.limits.block_bytes, LeastRecordBytes(ordered_.plain) + kReadSlack);
    const std::uint64_t block_bytes = std::max((least + kSpillAlignment - 1) / kSpillAlignment * kSpillAlignment,
                                               std::clamp(limit / 32, kLeastTempBlock, kUsualTempBlock));
    const std::optional<Codec> asked = TempCodecAsked(spec_);
    facts.temp_place_bytes =
        TempCodec::PlaceBytes(expands && asked == Codec::kNone ? std::nullopt : asked, block_bytes);
  }
  // Inputs are expanded before the output is compressed.
  facts.codec_memory = std::max<std::uint64_t>(HeaderMemory(spec_, limit), inputs_.header().size()) +
                       JobRecord::MemoryBytes(spec_, limit) +
                       std::max(inputs_.DecoderBytes(limit), EncoderMemoryBytes(spec_.target.codec, shares.encoder));
  facts.limit = limit;
  facts.memory = limit - std::min(limit, facts.codec_memory);
  facts.threads = threads;
  // Each takes memory for lines of its own: with less than this for each, lines of --max-record do not fit.
  constexpr std::uint64_t kLeastForThread = std::uint64_t{6} << 20;
  if (!ordered_.plain.fixed()) {
    const std::uint64_t most = std::max<std::uint64_t>(1, facts.memory / kLeastForThread);
    facts.threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, most));
  }
  facts.layout = LayoutAt(limit);
  if (facts.layout.keyed()) shares.keys = MakeKeyShape(facts.memory, facts.threads, facts.gpu);
  facts.memory -= std::min(facts.memory, shares.keys.bytes());
  facts.codec_memory += shares.keys.bytes();
  if (!facts.gpu) {
    facts.lane_bytes = [layout = facts.layout, threads = facts.threads](std::uint64_t slot) {
      return CpuLaneBytes(layout, slot, threads);
    };
  }
  return shares;
}

void PlanKeys(PlanFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory) {
  facts.key_bytes = [&keys](std::uint64_t bytes) { return keys.most_added(bytes); };
  if (!facts.input_known) return;
  constexpr std::uint64_t kSample = std::uint64_t{64} << 10;
  std::uint64_t plain = 0, keyed = 0;
  std::vector<std::byte> out;
  HostBuffer buffer(memory, kSample + kReadSlack);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(inputs.count(), 4); ++i) {
    if (inputs.size(i) == 0) continue;
    const std::span<const std::byte> bytes =
        inputs.Read({i, 0, std::min(kSample, inputs.size(i))}, {buffer.data(), buffer.size()});
    ScanState end = inputs.format().LoadState(inputs.state(i)), state = end;
    KeyTally tally;
    const std::unique_ptr<KeyEncoder> encoder = keys.MakeEncoder();
    try {
      RecordSpan whole = bytes.first(inputs.format().Scan(bytes, end).last);
      if (plain == 0) keys.Tune(whole);
      const std::uint64_t bytes_whole = whole.size();
      out.clear();
      while (!whole.empty()) whole = whole.subspan(encoder->Append(whole, state, out, tally));
      plain += bytes_whole;
      keyed += out.size();
    } catch (const BadRecord&) {
      // Who reads it in its turn says where it is.
    }
  }
  if (plain > 0) facts.input_bytes = inputs.bytes() / plain * keyed + inputs.bytes() % plain * keyed / plain;
}

}  // namespace gpusort
