// Reads the input in advance, and divides it into batches that fit into the memory for sorting. Start at BatchFeeder.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "data/inputs.hpp"
#include "data/reader.hpp"
#include "formats/key_encoder.hpp"
#include "plan/memory_shares.hpp"
#include "plan/plan.hpp"
#include "runs/run.hpp"

namespace gpusort {

class KeyStage;

/// Reads the input in advance in blocks, and groups the blocks into batches, which are sorted one by one. If a GPU
/// fails, another GPU or the CPU can go on with the same feeder: Return() takes back the batches that were not sorted
/// completely, and Next() returns their records again.
class BatchFeeder {
 public:
  /// Starts to read `ranges` of the inputs into `ring`, a fixed set of buffers.
  /// - `layout`: the layout of the records in the inputs
  /// - `scheme`: makes a sort key before each record; null: records get no keys
  /// - `order`: the order in which the inputs must be sorted already; only with `scheme`
  /// - `ring_memory`: the memory of the buffers; null: the feeder allocates it
  /// - `first_block`: the index of the first buffer in `ring_memory` for this feeder
  BatchFeeder(CancelFlag& cancel, HostMemory& memory, Inputs& inputs, const Ring& ring,
              const std::vector<InputRange>& ranges, const RecordLayout& layout, StageClock& clock,
              KeyScheme* scheme = nullptr, const KeyShape& keys = {}, NeededOrder order = NeededOrder::kNone,
              std::shared_ptr<PinnedBuffer> ring_memory = nullptr, std::uint64_t first_block = 0);
  ~BatchFeeder();

  /// Consecutive records of the input that are sorted together. A lane (a worker of the GPU or the CPU) reads the batch
  /// block by block in one call of Lane::Sort. Only one batch can be read at a time. A block may end inside a line, but
  /// a batch ends with a whole line.
  class Batch : public BatchSource {
   public:
    std::unique_ptr<InputBlock> Next() override;
    /// The ranges of the input that were read for this batch. With sort keys: offsets also count the bytes of keys.
    const std::vector<InputRange>& ranges() const { return ranges_; }
    std::uint64_t bytes() const { return bytes_; }
    /// Returns the number of bytes that were read from the input files for this batch so far. bytes() also counts the
    /// sort keys before the records.
    std::uint64_t stored() const { return stored_; }
    const RecordSum& sum() const { return sum_; }
    std::uint64_t number() const { return number_; }

   private:
    friend class BatchFeeder;
    BatchFeeder* feeder_ = nullptr;
    const Pipeline* waiter_ = nullptr;
    Progress* progress_ = nullptr;
    std::unique_lock<std::mutex> turn_;
    std::uint64_t limit_ = 0, number_ = 0, bytes_ = 0, stored_ = 0;
    bool keep_ = false;
    std::uint64_t lines_left_ = 0;
    explicit Batch(const RecordLayout& layout) : open_(layout) {}
    PartSum open_;  ///< the checksum of the first part of a line that continues in the next block
    bool Continues(const InputRange& next) const;
    std::shared_ptr<InputReader::Block> TakeRecords();
    std::shared_ptr<InputReader::Block> TakeLines();
    std::vector<InputRange> ranges_;
    RecordSum sum_;
    std::vector<std::shared_ptr<InputReader::Block>> kept_;
  };

  /// Returns the next batch of records to sort, or null at the end of the input.
  /// - `waiter`: the pipeline of the calling thread; Next() throws if it is stopped
  /// - `limit`: the maximum size of the batch in bytes; a longer line is a batch by itself
  /// - `slot_bytes`: the memory for sorting the batch, in bytes
  /// - `keep`: true if the batch must keep its blocks in memory for Return()
  /// - `progress`: advances with each block; may be null
  std::unique_ptr<Batch> Next(const Pipeline& waiter, std::uint64_t limit, std::uint64_t slot_bytes, bool keep,
                              Progress* progress = nullptr);
  /// Returns true if no input is left after the first batch. May wait for the next block of the input.
  /// - Call this after all blocks of the first batch were read.
  bool Ended(const Pipeline& waiter);
  /// Sets the maximum size of a line in bytes, instead of the size in the plan. Call this before the first batch.
  void TakeLinesUpTo(std::uint64_t bytes) { max_record_ = bytes; }
  /// Takes back the blocks of a batch whose sorting has failed, so that Next() returns their records again. The batch
  /// must come from Next() with `keep` = true.
  void Return(Batch& batch);
  /// Throws the error of a thread that reads the input, if there is one. Call this after Next() has thrown.
  void RethrowIfFailed() { pipeline_.RethrowIfFailed(); }
  BlockPool& ring() { return ring_; }
  /// Returns the stage that puts a sort key before each record, or null if records get no keys. Call this after Next()
  /// has returned null.
  const KeyStage* keys() const { return keys_.get(); }

 private:
  /// Returns the next block that has bytes, or null at the end of the input.
  std::shared_ptr<InputReader::Block> Take(const Pipeline& waiter, Progress* progress = nullptr);

  Pipeline pipeline_;
  BlockPool ring_;
  const HostBuffer caches_;
  const Inputs& inputs_;
  const RecordLayout layout_;
  const bool rereadable_;
  std::uint64_t max_record_;
  std::mutex turn_;  ///< locked while a batch (the records that are sorted together) is read
  std::atomic<std::uint64_t> next_number_{0};
  std::deque<std::shared_ptr<InputReader::Block>> returned_;
  /// True after Return() has taken back blocks. Two neighbouring blocks in `returned_` may then have a gap between
  /// them, because the records in the gap are in a sorted run already.
  bool gaps_ = false;
  /// Keep the order of these members: the threads must end before their buffers are destroyed.
  std::unique_ptr<InputReader> reader_;
  /// Makes the sort keys and puts them before the records. Null: records get no keys, and blocks come from `reader_`.
  std::unique_ptr<KeyStage> keys_;
  const Pipeline::Guard guard_{pipeline_};
};

/// Divides `ranges` into at most `parts` lists of about equal size. No record is in two lists.
/// - `ranges` must not be empty, and the inputs must be regular files.
std::vector<std::vector<InputRange>> DivideRanges(const Inputs& inputs, const std::vector<InputRange>& ranges,
                                                  const RecordLayout& layout, unsigned parts, HostMemory& memory);

}  // namespace gpusort
