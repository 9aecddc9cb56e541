// Phase 1: makes sorted runs. A BatchFeeder reads the input ahead and divides it into batches. Lanes sort batches, and
// leave each run in the fastest place with room: device, host memory or spill. Start at FormRuns.
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
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

class KeyStage;

/// Reads ranges of the input ahead in blocks, and groups the blocks into batches. A feeder can be used again after the
/// backend fails: Return() takes back batches of a stream that did not become runs. Next() returns them again.
class BatchFeeder {
 public:
  /// Starts to read records of `layout`. With `scheme`, batches contain keyed records, whose offsets count as if all
  /// inputs were one stream. `order` is the order that every input must have. It must be kNone without `scheme`.
  BatchFeeder(CancelFlag& cancel, HostMemory& memory, Inputs& inputs, const Ring& ring,
              const std::vector<InputRange>& ranges, const RecordLayout& layout, StageClock& clock,
              KeyScheme* scheme = nullptr, const KeyShape& keys = {}, NeededOrder order = NeededOrder::kNone);
  ~BatchFeeder();

  /// Neighbouring records of the input, which one Lane::Sort reads block by block. While a batch is being read, no
  /// other batch can be read. A block of lines may end inside a line, but a batch never does.
  class Batch : public BatchSource {
   public:
    std::unique_ptr<InputBlock> Next() override;
    const std::vector<InputRange>& ranges() const { return ranges_; }
    std::uint64_t bytes() const { return bytes_; }
    /// Returns the number of bytes of the input files that the batch has read so far.
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
    PartSum open_;  ///< the sum of the first part of a line that continues in the next block
    bool Continues(const InputRange& next) const;
    std::shared_ptr<InputReader::Block> TakeRecords();
    std::shared_ptr<InputReader::Block> TakeLines();
    std::vector<InputRange> ranges_;
    RecordSum sum_;
    std::vector<std::shared_ptr<InputReader::Block>> kept_;
  };

  /// Returns the next batch, or null at the end of the input. The batch has at most `limit` bytes and fits a slot of
  /// `slot_bytes`, but a line longer than `limit` is a batch by itself. With `keep`, the batch keeps its blocks until
  /// it is destroyed, so that Return() can take it back. `progress` advances with each block.
  std::unique_ptr<Batch> Next(const Pipeline& waiter, std::uint64_t limit, std::uint64_t slot_bytes, bool keep,
                              Progress* progress = nullptr);
  /// Returns true if the first batch is the whole input. Call it after that batch was read. Waits if necessary.
  bool Ended(const Pipeline& waiter);
  /// Replaces the plan's limit for the size of a line. Call it before the first batch.
  void TakeLinesUpTo(std::uint64_t bytes) { max_record_ = bytes; }
  /// Takes back the blocks of a batch that did not become a run. Next() must have been called with `keep`.
  void Return(Batch& batch);
  /// Throws the reader's error, if there is one. Call it after Next() has thrown.
  void RethrowIfFailed() { pipeline_.RethrowIfFailed(); }
  BlockPool& ring() { return ring_; }
  /// Returns the stage that makes keys, or null if records get no keys. Call it after Next() has returned null.
  const KeyStage* keys() const { return keys_.get(); }

 private:
  /// Returns the next block, or null at the end. `progress` advances by what was read of records that are left out.
  std::shared_ptr<InputReader::Block> Take(const Pipeline& waiter, Progress* progress = nullptr);

  Pipeline pipeline_;
  BlockPool ring_;
  const HostBuffer caches_;
  const Inputs& inputs_;
  const RecordLayout layout_;
  const bool rereadable_;
  std::uint64_t max_record_;
  std::mutex turn_;  ///< locked by the batch that is being read
  std::atomic<std::uint64_t> next_number_{0};
  std::deque<std::shared_ptr<InputReader::Block>> returned_;
  /// True if batches were returned. Records between two consecutive blocks may then be in a run already.
  bool gaps_ = false;
  /// The reader must be destroyed before the pool and after the pipeline's threads, even if the constructor throws.
  std::unique_ptr<InputReader> reader_;
  std::unique_ptr<KeyStage> keys_;  ///< used instead of the reader if records get keys
  const Pipeline::Guard guard_{pipeline_};
};

/// Sorts all batches of `feeder` on the job's backend and adds the runs to `runs`, in input order. If this throws,
/// `runs` holds the complete runs. The caller must drop runs on a lost device.
void FormRuns(Job& job, BatchFeeder& feeder, std::vector<Run>& runs);

}  // namespace gpusort
