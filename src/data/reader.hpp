// Reads blocks of the inputs ahead on threads, and returns the blocks in the order of the inputs. Start at InputReader.
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

/// Reads ranges of the inputs into blocks of a pool before the blocks are needed. Blocks of fixed records hold whole
/// records. Blocks of lines may end inside a line, so that a line of any length needs no other buffer. The caller
/// copies the blocks one after the other, and so joins the parts of such a line.
class InputReader {
 public:
  struct Block {
    InputRange range;
    std::shared_ptr<BlockPool::Block> buffer;
    std::span<const std::byte> bytes;
    std::uint64_t stored = 0;  ///< number of bytes, before expansion, that were read for this block
    RecordSum sum;             ///< the sum of the records in [head, end)
    // For fixed records, `head` is 0 and `end` is the size of the block.
    std::uint64_t head = 0;     ///< size of the block's first line, or of the block if no line ends in the block
    std::uint64_t end = 0;      ///< offset after the last delimiter; 0 if the block has no delimiter
    std::uint64_t longest = 0;  ///< upper bound of the sizes of lines in [head, end); exact if the block was not split
    RecordFormat::Guess guess;  ///< set instead of `sum`, `head`, `end` and `longest` if Looks is kAhead

    /// Sets `sum`, `head`, `end` and `longest` from `bytes`.
    void Describe(const RecordLayout& layout);
    /// Sets `head` and `end` from `bytes`.
    void FindEnds(const RecordLayout& layout);
    /// Returns the number of lines that end in the block.
    std::uint64_t line_ends() const { return sum.records + (end > 0 ? 1 : 0); }
    /// Returns true if a line is longer than `most` bytes. The first line has `open` bytes before this block.
    bool has_longer(std::uint64_t most, std::uint64_t open) const { return longest > most || open + head > most; }
    /// Throws LineTooLong about the line for which has_longer returns true.
    [[noreturn]] void ThrowTooLong(std::uint64_t most, std::uint64_t open, const Inputs& inputs,
                                   const RecordLayout& layout) const;
    /// Cuts the block after `count` bytes, where a record must end. Returns a block with the rest, in the same buffer.
    Block Split(std::uint64_t count, const RecordLayout& layout);
  };

  /// The function that threads call for each block: Block::Describe or RecordFormat::LookAhead.
  enum class Looks { kDescribe, kAhead };

  /// Starts reading `ranges`, or all bytes of streams, on threads of `pipeline`, in pieces of at most `piece_bytes`. A
  /// block of `pool` must have kReadSlack bytes more than a piece. If `caches` is not empty, each thread copies records
  /// through an equal part of `caches`, which should fit the cache of a core.
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
  std::mutex mutex_;  ///< held while a thread takes a piece and then a buffer, so that the earliest piece is read first
  const std::vector<InputRange> ranges_;
  std::size_t range_ = 0;         ///< index of the range that is being read
  std::uint64_t range_done_ = 0;  ///< number of bytes of the current range that threads have taken
  std::uint64_t next_piece_ = 0;  ///< number of pieces of all ranges that threads have taken
};

}  // namespace gpusort
