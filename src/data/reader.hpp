// Reads blocks of the inputs on threads before the caller needs them. The caller gets the blocks in the order of the
// inputs. Start at InputReader.
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

/// Reads ranges of the inputs into blocks of a pool, before the caller needs the blocks. If records have a fixed size,
/// a block holds whole records. A block of lines may end inside a line, so the caller must join the pieces.
class InputReader {
 public:
  struct Block {
    InputRange range;
    std::shared_ptr<BlockPool::Block> buffer;
    std::span<const std::byte> bytes;
    /// The number of bytes of the input file that were read for this block. If the file is compressed, counts
    /// compressed bytes.
    std::uint64_t stored = 0;
    RecordSum sum;  ///< the checksum of the records in the bytes [head, end) of the block
    /// The number of bytes in this block that belong to its first line, which may begin in an earlier block. If no line
    /// ends in this block, the size of the block. For records of fixed size, 0.
    std::uint64_t head = 0;
    /// The offset after the last delimiter or the last fixed-size record; 0: no record ends in the block.
    std::uint64_t end = 0;
    /// The size in bytes of the longest line that begins and ends in this block. After Split(): an upper limit.
    std::uint64_t longest = 0;
    /// A guess where the records in the block end, for formats such as CSV.
    RecordFormat::Guess guess;

    /// Sets the members `sum`, `head`, `end` and `longest` from the bytes of the block.
    void Describe(const RecordLayout& layout);
    /// Sets the members `head` and `end` from the bytes of the block.
    void FindEnds(const RecordLayout& layout);
    /// Returns the number of lines that end in the block. A line may begin in an earlier block.
    std::uint64_t line_ends() const { return sum.records + (end > 0 ? 1 : 0); }
    /// Returns true if a line of the block is longer than `most` bytes. `open` is the number of bytes of the block's
    /// first line that are in earlier blocks.
    bool has_longer(std::uint64_t most, std::uint64_t open) const { return longest > most || open + head > most; }
    /// Throws LineTooLong for the line of the block that is longer than `most` bytes. Call this if has_longer() returns
    /// true. `open` is the number of bytes of the block's first line that are in earlier blocks.
    [[noreturn]] void ThrowTooLong(std::uint64_t most, std::uint64_t open, const Inputs& inputs,
                                   const RecordLayout& layout) const;
    /// Divides the block after `count` bytes, where a record must end. This object keeps the first part. Returns a new
    /// block with the second part, which shares the buffer.
    Block Split(std::uint64_t count, const RecordLayout& layout);
  };

  /// The members of Block that the reading threads set.
  /// - kDescribe: `sum`, `head`, `end` and `longest`.
  /// - kAhead: only `guess`.
  enum class Looks { kDescribe, kAhead };

  /// Starts threads of `pipeline` that read the inputs into blocks.
  /// - ranges: the parts of the input files to read. Streams are read from beginning to end.
  /// - piece_bytes: the maximum number of bytes in a block. The buffers of `pool` must have kReadSlack bytes more.
  /// - caches: working memory for all threads, or empty. The part of each thread should fit the cache of a core.
  InputReader(Pipeline& pipeline, Inputs& inputs, BlockPool& pool, const std::vector<InputRange>& ranges,
              const RecordLayout& layout, std::uint64_t piece_bytes, unsigned threads, StageClock& clock,
              Looks looks = Looks::kDescribe, std::span<std::byte> caches = {});

  /// Returns the next block of the inputs, or std::nullopt after the last block. `waiter` is the pipeline of the
  /// calling thread. If `waiter` is stopped during the wait, throws.
  std::optional<Block> Next(const Pipeline& waiter) { return blocks_.Pop(waiter); }

 private:
  void ReadFiles();
  void ReadThroughCache(Block& block, std::span<std::byte> cache) const;
  /// Reads all bytes of streams. One thread runs this.
  void ReadStreams();
  /// Calls Look() for each block that ReadStreams() has read, and then makes the block available to Next(). Several
  /// threads run this.
  void LookAtStreams();
  void Look(Block& block) const;

  Pipeline& pipeline_;
  Inputs& inputs_;
  BlockPool& pool_;
  const RecordLayout layout_;
  const std::uint64_t piece_bytes_;
  const Looks looks_;
  StageClock& clock_;
  /// The blocks from streams that wait for LookAtStreams(), with their indices.
  BoundedQueue<std::pair<std::uint64_t, Block>> stream_blocks_;
  OrderedQueue<Block> blocks_;
  const std::span<std::byte> caches_;
  const std::uint64_t cache_bytes_;
  std::atomic<unsigned> caches_taken_{0};
  /// Locked while a thread chooses the next piece of the input to read and takes a buffer for it. Pieces therefore get
  /// buffers in the order of the input.
  std::mutex mutex_;
  const std::vector<InputRange> ranges_;
  std::size_t range_ = 0;         ///< the index of the range that is being read
  std::uint64_t range_done_ = 0;  ///< the number of bytes of the current range that threads have taken
  std::uint64_t next_piece_ = 0;  ///< the number of pieces that threads have taken, of all ranges
};

}  // namespace gpusort
