// Makes keyed lines of the lines that a reader gives, on threads of its own, in the order of the input: one thread puts
// lines together that blocks cut, the others make keys of whole lines and hand on blocks of keyed lines. Start at
// KeyStage.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "data/inputs.hpp"
#include "data/keyed_lines.hpp"
#include "support/pipeline.hpp"

namespace gpusort {

/// What keys are made with, planned beside the ring: `threads` threads, which the reader gives blocks of `piece_bytes`.
struct KeyShape {
  unsigned threads = 0;  ///< 0: lines get no keys
  std::uint64_t piece_bytes = 0;

  std::uint64_t blocks() const { return threads + 3; }
  std::uint64_t block_bytes() const { return piece_bytes + kReadSlack; }
  std::uint64_t pool_bytes() const { return threads == 0 ? 0 : blocks() * block_bytes(); }
  /// Of everything. Keyed lines are taken to be at most four times as long as the lines.
  std::uint64_t bytes() const { return pool_bytes() + threads * 4 * piece_bytes; }
};
KeyShape MakeKeyShape(std::uint64_t memory, unsigned threads);

class KeyStage {
 public:
  /// Starts threads of `pipeline`, which read `ranges` of `inputs` (streams: all), and fill blocks of `pool`.
  KeyStage(Pipeline& pipeline, HostMemory& memory, Inputs& inputs, const KeyedOrder& order, const KeyShape& shape,
           BlockPool& pool, const std::vector<InputRange>& ranges, const RecordLayout& lines, std::uint64_t max_record,
           unsigned readers, StageClock& clock);

  /// The next block of keyed lines, which counts as one of a stream: its range is that of the keyed bytes. Nothing at
  /// the end. `waiter`: the pipeline of the calling thread.
  std::optional<InputReader::Block> Next(const Pipeline& waiter) { return keyed_.Pop(waiter); }
  /// The sum of the lines that were read, once Next gave nothing.
  const RecordSum& sum() const { return sum_; }

 private:
  /// Whole lines: `head`, put together out of several blocks, then those of `block` from `begin` up to its `end`.
  struct Piece {
    std::uint64_t number = 0;
    std::vector<std::byte> head;
    InputReader::Block block;
    std::uint64_t begin = 0;
  };
  void Cut();
  void MakeKeys();
  /// Until all pieces before `number` are handed on.
  void WaitForTurn(std::uint64_t number);
  void HandOn(std::uint64_t number, std::span<const std::byte> keyed, const RecordSum& sum);

  Pipeline& pipeline_;
  Inputs& inputs_;
  const KeyedOrder& order_;
  const RecordLayout lines_, layout_;
  const std::uint64_t max_record_;
  const std::uint64_t long_bytes_;  ///< lines over several blocks that are longer get their keys alone
  BlockPool& pool_;
  BlockPool raw_;
  InputReader reader_;
  StageClock& clock_;
  BoundedQueue<Piece> pieces_;
  OrderedQueue<InputReader::Block> keyed_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t turn_ = 0;    ///< the piece whose blocks are handed on now
  std::uint64_t blocks_ = 0;  ///< handed on
  std::uint64_t bytes_ = 0;   ///< in them
  std::uint64_t pieces_end_ = ~std::uint64_t{0};
  RecordSum sum_;
};

}  // namespace gpusort
