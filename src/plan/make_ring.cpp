#include <algorithm>

#include "base/text.hpp"
#include "plan/planner.hpp"

namespace gpusort::planning {
namespace {

/// Room for a piece of 8 MiB. A batch is a whole number of such pieces: a piece that ends in another batch has to be
/// summed up in two parts.
constexpr std::uint64_t kMaxReadBlock = 8 * kMiB + kReadSlack;
/// This much stays in a core's own cache. Sizes from half to twice of it are equally fast.
constexpr std::uint64_t kReadCache = 256 * kKiB;

std::uint64_t UsualMaxRecord(std::uint64_t memory) { return std::clamp(memory / 16, kMinBlock, 64 * kMiB); }

/// Returns the size of the longest record that is taken.
std::uint64_t LargestRecord(const PlanFacts& facts, const MemoryShares& shares) {
  const InputFacts& input = facts.input;
  if (shares.layout.fixed()) return shares.layout.stride;
  // If keys may be as long as their records, a record gets half of the usual maximum.
  const std::uint64_t usual = UsualMaxRecord(shares.memory);
  const bool halves = input.key_cost.Most(usual) > usual;
  const std::uint64_t asked = std::max(facts.earlier.longest, facts.asked.max_record != 0 ? facts.asked.max_record
                                                              : halves                    ? usual / 2
                                                                                          : usual);
  // A short input may consist of one record, and its keys may be several times as long as the record.
  const bool keys_tell = halves && facts.asked.max_record != 0;
  const std::uint64_t most = std::max<std::uint64_t>(input.bytes, 1) * (halves ? 4 : 1);
  return input.known && !keys_tell ? std::min(asked, most) : asked;
}

/// Returns the number of ring blocks of `block` bytes.
std::uint64_t RingBlocks(const PlanFacts& facts, std::uint64_t memory, std::uint64_t block, unsigned threads) {
  if (!facts.machine.gpu) return 2 * threads + 2;
  if (!facts.input.rereadable) return std::clamp<std::uint64_t>(memory / 2 / block, 8, 128);
  // The ring should have room for what the disk delivers while the CUDA context comes up: 0.4 s at 3 GB/s.
  const std::uint64_t blocks = std::clamp<std::uint64_t>(memory / 8 / block, 4, 160);
  return std::min(blocks, std::max<std::uint64_t>(4, facts.input.bytes / (block / 2)));
}

}  // namespace

void TooLittleForRecords(const PlanFacts& facts, const MemoryShares& shares) {
  throw TooLittleMemory{(shares.layout.fixed() ? "records of " : "lines of ") +
                        std::to_string(LargestRecord(facts, shares)) + " bytes"};
}

Ring RingFor(const PlanFacts& facts, const MemoryShares& shares) {
  // Codecs must not take more than three quarters of the memory.
  if (shares.beside / 3 > shares.memory) throw TooLittleMemory{"codecs, headers and reports"};
  const bool gpu = facts.machine.gpu, fixed = shares.layout.fixed(), rereadable = facts.input.rereadable;
  const std::uint64_t memory = shares.memory;
  const std::uint64_t stride = LeastRecordBytes(shares.layout);
  Ring ring;
  ring.block_bytes = std::max(RoundUp(stride + kReadSlack, kPage),
                              std::clamp(memory / 64 / kPage * kPage, kMinBlock, gpu ? kMaxReadBlock : 2 * kMiB));
  ring.max_record = LargestRecord(facts, shares);
  ring.grows = facts.asked.grows && !fixed;
  // Threads sum up what they read, which takes longer than reading from memory. The lanes of a GPU need few cores, but
  // without delay. The lanes of the CPU need the other half of the cores.
  ring.threads =
      gpu ? std::clamp(shares.threads - shares.threads / 16, 1u, 32u) : std::clamp(shares.threads / 2, 1u, 8u);
  ring.blocks = RingBlocks(facts, memory, ring.block_bytes, ring.threads);
  ring.piece_bytes = (ring.block_bytes - kReadSlack) / stride * stride;
  if (ring.bytes() > memory / 2) {
    ring.blocks = std::max<std::uint64_t>(4, memory / 2 / ring.block_bytes);
    if (ring.bytes() > memory / 2) TooLittleForRecords(facts, shares);
  }
  if (gpu && rereadable && fixed) {
    const std::uint64_t cache = std::min(kReadCache, memory / 64 / ring.threads / kPage * kPage);
    if (cache >= kReadCache / 4 && stride <= cache / 16) ring.cache_bytes = cache;
  }
  // --check keeps the line before the line that is read.
  if (facts.asked.checks && !fixed && ring.bytes() + 2 * ring.max_record > memory) TooLittleForRecords(facts, shares);
  const std::uint64_t piece_bytes = ring.piece_bytes;
  if (const std::uint64_t batch = facts.asked.batch_bytes; batch != 0) {
    ring.piece_bytes = std::min(ring.piece_bytes, std::max(stride, batch / stride * stride));
  }
  if (gpu && !rereadable && !fixed) {
    // The blocks of a batch stay until its run is safe. The blocks of a few long lines must not be the whole ring.
    const std::uint64_t least = DivideUp(ring.max_record, std::max<std::uint64_t>(1, (ring.blocks - 4) / 3));
    if (least > piece_bytes) {
      throw TooLittleMemory{"a stream of lines of " + FormatBytes(ring.max_record) +
                            " (--max-record) through a GPU (or give --device cpu)"};
    }
    ring.piece_bytes = std::max(ring.piece_bytes, least);
  }
  return ring;
}

}  // namespace gpusort::planning
