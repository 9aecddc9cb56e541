// Phase 1 of a sort: makes sorted runs. A BatchFeeder reads the input in advance and divides it into batches that fit
// into GPU memory. Threads sort batches, and store each sorted run in the fastest place that has room: GPU memory, host
// memory or temp files. Start at FormRuns.
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

/// Reads the input in advance in blocks, and groups the blocks into batches. If a GPU fails, the same feeder can go on
/// with another backend: Return() takes back the batches that did not become runs, and Next() returns them again.
class BatchFeeder {
 public:
  /// Starts to read `ranges` of the inputs, whose records have the layout `layout`. If `scheme` is not null, it puts a
  /// sort key before each record, and offsets count the resulting bytes as if all inputs were one stream. `order` is
  /// the order that every input must have already; without `scheme` it must be kNone. The blocks of the ring lie in
  /// `ring_memory` from block number `first_block` on; null: the feeder allocates them.
  BatchFeeder(CancelFlag& cancel, HostMemory& memory, Inputs& inputs, const Ring& ring,
              const std::vector<InputRange>& ranges, const RecordLayout& layout, StageClock& clock,
              KeyScheme* scheme = nullptr, const KeyShape& keys = {}, NeededOrder order = NeededOrder::kNone,
              std::shared_ptr<PinnedBuffer> ring_memory = nullptr, std::uint64_t first_block = 0);
  ~BatchFeeder();

  /// A batch: consecutive records of the input, which one call of Lane::Sort reads block by block. Only one batch can
  /// be read at a time. A block of lines may end inside a line, but a batch ends with a whole line.
  class Batch : public BatchSource {
   public:
    std::unique_ptr<InputBlock> Next() override;
    const std::vector<InputRange>& ranges() const { return ranges_; }
    std::uint64_t bytes() const { return bytes_; }
    /// Returns the number of bytes of the input files that were read for this batch so far. It differs from bytes() if
    /// records get keys.
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

  /// Returns the next batch, or null at the end of the input. The batch has at most `limit` bytes and fits a memory
  /// slot of `slot_bytes`. A line longer than `limit` is a batch by itself. If `keep` is true, the batch keeps its
  /// blocks until it is destroyed, so that Return() can take them back. `progress` advances with each block.
  std::unique_ptr<Batch> Next(const Pipeline& waiter, std::uint64_t limit, std::uint64_t slot_bytes, bool keep,
                              Progress* progress = nullptr);
  /// Returns true if the first batch is the whole input. Call this after that batch was read. This may wait until the
  /// reader knows whether more input follows.
  bool Ended(const Pipeline& waiter);
  /// Sets the largest allowed size of a line in bytes, instead of the plan's. Call it before the first batch.
  void TakeLinesUpTo(std::uint64_t bytes) { max_record_ = bytes; }
  /// Takes back the blocks of a batch that did not become a run. The batch must have been made with `keep`.
  void Return(Batch& batch);
  /// Throws the error of the reading thread, if there is one. Call it after Next() has thrown.
  void RethrowIfFailed() { pipeline_.RethrowIfFailed(); }
  BlockPool& ring() { return ring_; }
  /// Returns the stage that puts a sort key before each record, or null if records get no keys. Call it after Next()
  /// has returned null.
  const KeyStage* keys() const { return keys_.get(); }

 private:
  /// Returns the next block of the input, or null at the end. `progress` also counts records that the job leaves out.
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
  /// True after Return() was called. Two neighbouring blocks in `returned_` may then not be neighbours in the input,
  /// because a run already has the records between them.
  bool gaps_ = false;
  /// This order of members is needed: the reader is destroyed before the pool and after the pipeline's threads, even if
  /// the constructor throws.
  std::unique_ptr<InputReader> reader_;
  std::unique_ptr<KeyStage> keys_;  ///< makes keyed records; null: records get no keys, and `reader_` is used
  const Pipeline::Guard guard_{pipeline_};
};

/// Divides the ranges of the input into at most `parts` lists of ranges of about equal size, which end with whole
/// records. `ranges` must not be empty, and the inputs must be regular files.
std::vector<std::vector<InputRange>> DivideRanges(const Inputs& inputs, const std::vector<InputRange>& ranges,
                                                  const RecordLayout& layout, unsigned parts, HostMemory& memory);

/// Sorts all batches of `feeders` on the job's backend and adds the runs to `runs`, in input order. Each feeder reads
/// another part of the input. After an exception, `runs` holds the runs that are complete. The caller must then drop
/// the runs that are in the memory of a lost GPU.
void FormRuns(Job& job, std::vector<std::unique_ptr<BatchFeeder>>& feeders, std::vector<Run>& runs);

}  // namespace gpusort
