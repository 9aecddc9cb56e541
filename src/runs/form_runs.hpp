// Phase 1: the input becomes sorted runs.
// A BatchFeeder reads ahead and deals blocks out as batches; each lane takes a batch, sorts it, and puts the run on the
// best tier that has room. Reading, sorting and spilling overlap. Start at FormRuns.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "data/inputs.hpp"
#include "data/reader.hpp"
#include "runs/job.hpp"
#include "runs/key_stage.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Reads ranges of the input ahead and groups the blocks into batches. Outlives a failed backend: the blocks of a
/// stream that were dealt out but not yet made safe are taken back and dealt out again.
class BatchFeeder {
 public:
  /// Starts reading records of `layout`. With `scheme` they get keys: batches are of keyed records, and count as
  /// those of one stream; `order`: what an input must be, with `scheme`.
  BatchFeeder(CancelFlag& cancel, HostMemory& memory, Inputs& inputs, const Ring& ring,
              const std::vector<InputRange>& ranges, const RecordLayout& layout, StageClock& clock,
              KeyScheme* scheme = nullptr, const KeyShape& keys = {},
              NeededOrder order = NeededOrder::kNone);

  /// Blocks of neighbouring records, for one Lane::Sort. While it is being read no other batch can be. Blocks of lines
  /// may end inside a line; the batch never does.
  class Batch : public BatchSource {
   public:
    std::unique_ptr<InputBlock> Next() override;
    const std::vector<InputRange>& ranges() const { return ranges_; }
    std::uint64_t bytes() const { return bytes_; }
    /// The bytes of the inputs' files that the batch has taken so far.
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
    // Lines:
    std::uint64_t lines_left_ = 0;
    explicit Batch(const RecordLayout& layout) : open_(layout) {}
    PartSum open_;  ///< of the line that goes on in the next block
    bool Continues(const InputRange& next) const;
    std::shared_ptr<InputReader::Block> TakeRecords();
    std::shared_ptr<InputReader::Block> TakeLines();
    std::vector<InputRange> ranges_;
    RecordSum sum_;
    std::vector<std::shared_ptr<InputReader::Block>> kept_;
  };

  /// Returns the next batch of at most `limit` bytes, or null at the end of the input. The batch fits a slot of
  /// `slot_bytes`. A line longer than `limit` is a batch by itself. With `keep` the blocks of the batch stay until the
  /// batch is destroyed, so that the batch can be given back to the feeder. `progress` advances with each block.
  std::unique_ptr<Batch> Next(const Pipeline& waiter, std::uint64_t limit, std::uint64_t slot_bytes, bool keep,
                              Progress* progress = nullptr);
  /// True if the first batch, which has been read, is the whole input. Waits until that is known.
  bool Ended(const Pipeline& waiter);
  /// Lines of up to so many bytes are taken: those planned for, if nothing else is said. Before the first batch.
  void TakeLinesUpTo(std::uint64_t bytes) { max_record_ = bytes; }
  /// Takes a batch that was kept back: it did not become a run.
  void Return(Batch& batch);
  /// Throws the error of the reader, if there is one. Call it after Next() has thrown.
  void RethrowIfFailed() { pipeline_.RethrowIfFailed(); }
  BlockPool& ring() { return ring_; }
  /// The stage that gave records their keys. Call it after Next() has returned null. Null: records got no keys.
  const KeyStage* keys() const { return keys_.get(); }

 private:
  std::shared_ptr<InputReader::Block> Take(const Pipeline& waiter);

  Pipeline pipeline_;
  BlockPool ring_;
  const HostBuffer caches_;
  const Inputs& inputs_;
  const RecordLayout layout_;
  const bool rereadable_;
  std::uint64_t max_record_;
  std::mutex turn_;  ///< held by the batch that is being read
  std::atomic<std::uint64_t> next_number_{0};
  std::deque<std::shared_ptr<InputReader::Block>> returned_;
  bool gaps_ = false;  ///< batches were taken back: between blocks there may be records that a run holds
  std::unique_ptr<InputReader> reader_;  ///< dropped before the pool, after its threads, also by the constructor
  std::unique_ptr<KeyStage> keys_;       ///< in place of the reader
  const Pipeline::Guard guard_{pipeline_};
};

/// Sorts all that `feeder` gives on the job's backend and adds the runs, in input order, to `runs`. If it throws,
/// `runs` holds the runs that are whole; runs on a lost device are for the caller to drop.
void FormRuns(Job& job, BatchFeeder& feeder, std::vector<Run>& runs);

}  // namespace gpusort
