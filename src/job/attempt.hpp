// One attempt at a sort, on GPUs or on the CPU. If it fails, the next attempt continues with the data in `Sorting`.
// Start at Attempt.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "formats/key_tally.hpp"
#include "job/gpu_source.hpp"
#include "job/open_job.hpp"
#include "kernels/backend.hpp"
#include "plan/make_plan.hpp"
#include "runs/form_runs.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// The data of a sort. They are kept for another attempt if an attempt fails, for example because a GPU is lost.
struct Sorting {
  Job& job;
  const Ordered& ordered;
  const GpuSource& gpus;
  PlanFacts& facts;
  MemoryShares shares{};
  std::vector<Run> runs{};
  KeyTally tally{};                  ///< counts of unusual values in key columns; with -m, set by Attempt::MergeRuns()
  std::vector<std::byte> trailer{};  ///< the bytes after the last record of the output
  /// The checksum that the records of the input must have. No value: it is not known.
  std::optional<RecordSum> expected{};
  SortStats stats{};
  std::mutex notes_mutex{};

  /// Returns true if the inputs are merged without being sorted first (-m). If an attempt had too little memory to
  /// merge them, this becomes false, and the inputs are sorted instead.
  bool merging() const { return facts.merges(); }
  /// Logs a warning and stores it for --stats. Any thread may call this.
  void Note(const std::string& text);
  /// Returns the ranges of the input that must still be read, because no sorted run (sorted part of the data) contains
  /// their records. Returns the whole input if it is not known which records the runs contain.
  std::vector<InputRange> RangesToRead() const;
};

/// The objects that read the input, and the buffers into which they read.
struct Reading {
  Ring ring;
  std::shared_ptr<PinnedBuffer> memory{};  ///< the buffers of all readers of the input
  /// A feeder for each part of the input. With several GPUs, several parts are read at the same time. Empty: reading
  /// has not begun, or has ended.
  std::vector<std::unique_ptr<BatchFeeder>> feeders{};
};

/// One attempt at a sort. If it fails, another attempt may follow. Call the functions in the order of their
/// declarations, except for StartReading(). The attempt sets Job::backend, Job::plan and Job::ring_memory; its
/// destructor resets them.
class Attempt {
 public:
  /// Begins an attempt. If an earlier attempt has begun to read a stream, which can be read only once, the caller must
  /// pass the reader of that attempt as `reading`.
  explicit Attempt(Sorting& sorting, Reading reading = {});
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Drops the sorted runs that are in GPU memory.
  ~Attempt();

  /// Opens the GPUs. If there is no GPU and the options do not require one, opens the CPU backend.
  void OpenBackend();
  /// Starts to read `ranges` of the input into `ring`, a set of buffers. Call this before OpenBackend(), or on another
  /// thread at the same time as OpenBackend().
  void StartReading(const std::vector<InputRange>& ranges, const Ring& ring);
  void MakePlan(const Ring& ring);
  /// Makes the plan (memory and batch sizes) again, because only now the opened GPUs and the free memory are known.
  /// Then allocates the memory of the plan.
  void Prepare();
  /// Sorts all records that are not in a sorted run yet, and adds the new runs to Sorting::runs.
  void FormRuns();
  /// Merges all sorted runs into `output`, and checks that the output contains all their records in order. Returns the
  /// size of the output in bytes.
  std::uint64_t MergeRuns(Output& output);

  const Backend& backend() const { return *backend_; }
  /// Returns the checksum of the records that MergeRuns() has merged.
  const RecordSum& read() const { return read_; }
  const OutputProof& proof() const { return *proof_; }
  /// Moves the reader of the input out of this attempt, so that the next attempt can go on with it.
  Reading TakeReading();

 private:
  void MakeArena(bool merging);
  void MakeInputRuns();

  Sorting& sorting_;
  Job& job_;
  PlanFacts& facts_;
  std::unique_ptr<Backend> backend_;
  Reading reading_;
  std::unique_ptr<OutputProof> proof_;
  RecordSum read_;
};

}  // namespace gpusort
