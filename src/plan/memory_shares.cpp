#include "plan/memory_shares.hpp"

#include <algorithm>

#include "data/header.hpp"
#include "data/inputs.hpp"
#include "io/spill.hpp"
#include "kernels/records/records.hpp"
#include "plan/make_plan.hpp"

namespace gpusort::planning {
namespace {

/// Returns how many threads compress the output: so many that their memory is at most a quarter of the limit.
unsigned EncoderThreads(const Asked& asked, unsigned most) {
  EncoderOptions options;
  options.group_bytes = asked.group_bytes;
  options.threads = most;
  while (options.threads > 1 && EncoderMemoryBytes(asked.output_codec, options) > asked.limit / 4) --options.threads;
  return options.threads;
}

std::uint64_t EncoderBytes(const Asked& asked, unsigned threads) {
  EncoderOptions options;
  options.group_bytes = asked.group_bytes;
  options.threads = threads;
  return EncoderMemoryBytes(asked.output_codec, options);
}

/// Returns true if temp files may be compressed. If no codec is asked for, this is so in jobs that have memory to spare
/// and whose temp files must reach the disk: all runs are kept, or they need more than the spare RAM.
bool CompressesTemp(const PlanFacts& facts) {
  if (facts.asked.temp_codec) return *facts.asked.temp_codec != Codec::kNone;
  if (facts.asked.keeps && facts.asked.limit >= 256 * kMiB) return true;
  return facts.asked.limit >= 64 * kMiB && 2 * facts.input.expected > facts.machine.free_ram;
}

std::uint64_t TempWorkspace(const PlanFacts& facts) {
  const bool expands = facts.earlier.compressed;
  if (!expands && !CompressesTemp(facts)) return 0;
  // The largest block that the plan may choose: by the option, by the size of a record, or by the memory.
  const std::uint64_t least = std::max(facts.asked.block_bytes, LeastRecordBytes(facts.input.plain) + kReadSlack);
  const std::uint64_t block = std::max((least + kSpillAlignment - 1) / kSpillAlignment * kSpillAlignment,
                                       std::clamp(facts.asked.limit / 32, 64 * kKiB, 4 * kMiB));
  const std::optional<Codec> codec = facts.asked.temp_codec;
  const bool takes_little = codec == Codec::kNone || codec == Codec::kNumbers;
  return TempWorkspaceBytes(expands && takes_little ? std::nullopt : codec, block);
}

MemoryShares ShareAmong(const PlanFacts& facts, unsigned threads) {
  const Asked& asked = facts.asked;
  MemoryShares shares;
  shares.encoder_threads = EncoderThreads(asked, threads);
  shares.temp_workspace_bytes = TempWorkspace(facts);
  // Inputs are expanded before the output is compressed.
  shares.beside = std::max(HeaderMemory(asked.header, asked.limit), facts.input.header_bytes) +
                  ReportMemory(asked.traces, asked.page, asked.limit) + asked.kept_bytes +
                  std::max(DecoderBytes(facts.input.codecs, asked.limit, facts.input.decoder_threads),
                           EncoderBytes(asked, shares.encoder_threads));
  shares.memory = asked.limit - std::min(asked.limit, shares.beside);
  shares.threads = threads;
  // Each thread has memory for lines. If that were less, lines of --max-record bytes would not fit.
  constexpr std::uint64_t kLeastForThread = 6 * kMiB;
  if (!facts.input.plain.fixed() && !asked.checks) {
    const std::uint64_t most = std::max<std::uint64_t>(1, shares.memory / kLeastForThread);
    shares.threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, most));
  }
  const bool keyed = MakesKeys(facts.input, asked.limit);
  shares.layout = keyed ? facts.input.keyed : facts.input.plain;
  if (keyed) {
    shares.keys = MakeKeyShape(shares.memory, std::min(shares.threads, facts.machine.cores), facts.machine.gpu);
  }
  shares.memory -= std::min(shares.memory, shares.keys.bytes());
  shares.beside += shares.keys.bytes();
  return shares;
}

}  // namespace
}  // namespace gpusort::planning

namespace gpusort {

KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads, bool gpu) {
  using planning::kPage;
  constexpr std::uint64_t kLeast = KeyShape::kLeastPiece;
  // The keyed records of a piece go into one block of the ring. With a GPU, a block has up to 8 MiB of registered
  // memory.
  const std::uint64_t most = (gpu ? 3 : 1) * planning::kMiB;
  KeyShape shape;
  shape.threads = threads;
  // The stage takes about an eighth of the memory.
  shape.piece_bytes = std::clamp(memory / 8 / (10 * threads + 3) / kPage * kPage, kLeast, most);
  return shape;
}

MemoryShares ShareMemory(const PlanFacts& facts) {
  unsigned threads = facts.machine.threads;
  MemoryShares shares = planning::ShareAmong(facts, threads);
  while (threads > 1 && !IsEnough(facts, shares)) {
    threads -= std::max(1u, threads / 8);
    shares = planning::ShareAmong(facts, threads);
  }
  return shares;
}

bool MakesKeys(const InputFacts& input, std::uint64_t limit) {
  switch (input.keys) {
    case KeysWhen::kNever:
      return false;
    case KeysWhen::kInSmallJobs:
      // Lines with keys must fit into memory even if the lines are short, and the longest line must not matter.
      return limit >= 1280 * planning::kMiB && input.rereadable && input.expected <= limit / 8;
    case KeysWhen::kUnlessTight:
      return limit >= 8 * planning::kMiB;
    case KeysWhen::kAlways:
      return true;
  }
  return false;
}

std::uint64_t ReportMemory(bool traces, bool page, std::uint64_t limit) {
  if (traces) return std::clamp(limit / 32, planning::kMiB / 4, 4 * planning::kMiB);
  return page ? planning::kMiB / 16 : 0;
}

std::uint64_t TempWorkspaceBytes(std::optional<Codec> codec, std::uint64_t block_bytes) {
  // At its fastest level, zst takes 1.3 MiB to compress and 0.2 MiB to expand. lz4 takes 16 KiB.
  switch (codec.value_or(Codec::kZst)) {
    case Codec::kNone:
      return 0;
    case Codec::kNumbers:
      return 4 * planning::kKiB;
    case Codec::kLz4:
      return 32 * planning::kKiB;
    case Codec::kProgram:
      return 64 * planning::kKiB;  // the stack that starts the program; the program's own memory is not counted
    case Codec::kZst:
      return 2 * planning::kMiB;
    default:
      EncoderOptions options;
      options.member_bytes = block_bytes;
      // To expand a block, the dictionary takes at most 8 MiB.
      return EncoderMemoryBytes(*codec, options) + DecoderMemoryBytes(*codec, 16 * planning::kMiB);
  }
}

}  // namespace gpusort
