// Reads the inputs ahead on threads of a pipeline and hands out blocks of records, in the order of the inputs.
// Start at InputReader.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "formats/record_format.hpp"
#include "kernels/records/record.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// Reads ranges ahead, in order, into blocks of a pool. Blocks of fixed records hold whole records. Blocks of lines are
/// cut anywhere, so that a line of any length needs no other buffer. The code that copies the blocks one after the
/// other puts such a line together.
class InputReader {
 public:
  struct Block {
    InputRange range;
    std::shared_ptr<BlockPool::Block> buffer;
    std::span<const std::byte> bytes;
    std::uint64_t stored = 0;  ///< the bytes of the inputs' files that were read for this block
    RecordSum sum;             ///< the sum of the records in [head, end)
    // For lines. For fixed records `head` is 0 and `end` is the size of the block.
    std::uint64_t head = 0;     ///< the size of the first line, which may begin before the block; without a delimiter,
                                ///< the size of the block
    std::uint64_t end = 0;      ///< the byte after the last delimiter; 0 if there is none
    std::uint64_t longest = 0;  ///< no line in [head, end) is longer; in a block that was not split, one is as long
    RecordFormat::Guess guess;  ///< of Looks::kAhead; all members above are then not set

    /// Sets the members after `bytes`, except `stored`.
    void Describe(const RecordLayout& layout);
    /// Sets `head` and `end`.
    void FindEnds(const RecordLayout& layout);
    /// The number of lines that end in the block.
    std::uint64_t line_ends() const { return sum.records + (end > 0 ? 1 : 0); }
    /// True if a line is longer than `most`. `open` bytes of the first line come before the block.
    bool has_longer(std::uint64_t most, std::uint64_t open) const { return longest > most || open + head > most; }
    /// Throws LineTooLong about that line.
    [[noreturn]] void ThrowTooLong(std::uint64_t most, std::uint64_t open, const Inputs& inputs,
                                   const RecordLayout& layout) const;
    /// Cuts the block after the first `count` bytes, which end with a record, and returns the rest. Both parts share
    /// the buffer.
    Block Split(std::uint64_t count, const RecordLayout& layout);
  };

  /// How the readers' threads look at a block: by Block::Describe, or by RecordFormat::LookAhead.
  enum class Looks { kDescribe, kAhead };

  /// Starts reading on threads of `pipeline`, in pieces of at most `piece_bytes` (that many and kReadSlack fit a block
  /// of the pool); `ranges` is ignored for streams. Fixed records pass through
  /// `caches`, if there are any: each thread has an equal part.
  InputReader(Pipeline& pipeline, Inputs& inputs, BlockPool& pool, const std::vector<InputRange>& ranges,
              const RecordLayout& layout, std::uint64_t piece_bytes, unsigned threads, StageClock& clock,
              Looks looks = Looks::kDescribe, std::span<std::byte> caches = {});

  /// Returns the next block in the order of the inputs, or std::nullopt after the last one. `waiter` is the pipeline of
  /// the calling thread.
  std::optional<Block> Next(const Pipeline& waiter) { return blocks_.Pop(waiter); }

 private:
  void ReadFiles();
  void ReadThroughCache(Block& block, std::span<std::byte> cache) const;
  void ReadStreams();
  void Look(Block& block) const;

  Pipeline& pipeline_;
  Inputs& inputs_;
  BlockPool& pool_;
  const RecordLayout layout_;
  const std::uint64_t piece_bytes_;
  const Looks looks_;
  StageClock& clock_;
  OrderedQueue<Block> blocks_;
  const std::span<std::byte> caches_;
  const std::uint64_t cache_bytes_;
  std::atomic<unsigned> caches_taken_{0};
  std::mutex mutex_;  ///< for number and buffer, so that the block that Next waits for has a buffer
  const std::vector<InputRange> ranges_;
  std::size_t range_ = 0;  ///< the range that is being read
  std::uint64_t range_done_ = 0;  ///< the bytes of that range that threads have taken
  std::uint64_t next_piece_ = 0;  ///< the pieces of all ranges that threads have taken
};

}  // namespace gpusort
