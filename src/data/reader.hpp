// Reads blocks of the inputs on threads before they are needed, and returns the blocks in the order of the inputs.
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

/// Reads ranges of the inputs into blocks of a pool before the blocks are needed. A block of fixed records holds whole
/// records. A block of lines may end inside a line. A line of any length therefore needs no larger buffer. The caller
/// joins the line, because it copies the blocks one after the other.
class InputReader {
 public:
  struct Block {
    InputRange range;
    std::shared_ptr<BlockPool::Block> buffer;
    std::span<const std::byte> bytes;
    /// How many bytes of the input file were read for this block, counted before they are expanded.
    std::uint64_t stored = 0;
    RecordSum sum;  ///< the checksum of the records in [head, end) of the block
    /// The size of the block's first line; if no line ends in the block, the size of the block. 0 for fixed records.
    std::uint64_t head = 0;
    std::uint64_t end = 0;  ///< the offset after the last delimiter or fixed record; 0: no record ends here
    /// No line in [head, end) is longer than this; the exact size of the longest one if the block was not split.
    std::uint64_t longest = 0;
    RecordFormat::Guess guess;  ///< used if Looks is kAhead, instead of `sum`, `head`, `end` and `longest`

    /// Sets `sum`, `head`, `end` and `longest` from `bytes`.
    void Describe(const RecordLayout& layout);
    /// Sets `head` and `end` from `bytes`.
    void FindEnds(const RecordLayout& layout);
    /// Returns the number of lines that end in the block.
    std::uint64_t line_ends() const { return sum.records + (end > 0 ? 1 : 0); }
    /// Returns true if a line of the block is longer than `most` bytes. `open` is the number of bytes before this block
    /// that belong to its first line.
    bool has_longer(std::uint64_t most, std::uint64_t open) const { return longest > most || open + head > most; }
    /// Throws LineTooLong for the line that is longer than `most` bytes. Call this if has_longer() returns true. `open`
    /// has the meaning that it has there.
    [[noreturn]] void ThrowTooLong(std::uint64_t most, std::uint64_t open, const Inputs& inputs,
                                   const RecordLayout& layout) const;
    /// Divides the block after `count` bytes, where a record must end. This block keeps the first part. Returns a block
    /// with the second part, which shares the buffer.
    Block Split(std::uint64_t count, const RecordLayout& layout);
  };

  /// The work of the reading threads on each block: kDescribe calls Block::Describe, and kAhead calls
  /// RecordFormat::LookAhead.
  enum class Looks { kDescribe, kAhead };

  /// Starts to read `ranges`, or all bytes of streams, on threads of `pipeline`, in pieces of at most `piece_bytes`. A
  /// block of `pool` must have kReadSlack bytes more than a piece. If `caches` is not empty, each thread first reads
  /// into its share of `caches`, which should fit the cache of a core, and copies the records from there.
  InputReader(Pipeline& pipeline, Inputs& inputs, BlockPool& pool, const std::vector<InputRange>& ranges,
              const RecordLayout& layout, std::uint64_t piece_bytes, unsigned threads, StageClock& clock,
              Looks looks = Looks::kDescribe, std::span<std::byte> caches = {});

  /// Returns the next block, or std::nullopt after the last block. `waiter` is the pipeline of the calling thread.
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
  /// Locked while a thread chooses the next piece of the input to read and takes a buffer for it. Pieces therefore get
  /// buffers in the order of the input.
  std::mutex mutex_;
  const std::vector<InputRange> ranges_;
  std::size_t range_ = 0;         ///< the index of the range that is being read
  std::uint64_t range_done_ = 0;  ///< the number of bytes of the current range that were taken
  std::uint64_t next_piece_ = 0;  ///< the number of pieces of all ranges that were taken
};

}  // namespace gpusort
