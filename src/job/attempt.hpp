// One attempt at a sort: a backend (GPUs or the CPU), a plan for this backend, the memory of the plan, and the proof
// that the output is right. If an attempt fails, all of these are dropped. `Sorting` holds the data with which the next
// attempt continues. Start at Attempt.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
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

/// The data of a sort that all its attempts share.
struct Sorting {
  Job& job;
  const Ordered& ordered;
  const GpuSource& gpus;
  PlanFacts& facts;
  MemoryShares shares{};
  std::vector<Run> runs{};
  KeyTally tally{};  ///< counts of the values in key columns; if merging() is true, set by Attempt::MergeRuns()
  std::vector<std::byte> trailer{};  ///< the bytes after the last record of the output
  SortStats stats{};
  std::mutex notes_mutex{};

  /// Returns the result of MergesInputs(), unless an earlier attempt had too little memory to merge the inputs.
  bool merging() const { return facts.merges(); }
  /// Logs a warning and stores it for --stats. Any thread may call this.
  void Note(const std::string& text);
  /// Returns the ranges of the input that must still be read, because no sorted run contains their records. Returns the
  /// whole input if runs do not know their places in the input.
  std::vector<InputRange> RangesToRead() const;
};

/// The readers of the input, and the buffers into which they read.
struct Reading {
  Ring ring;
  std::shared_ptr<PinnedBuffer> memory{};               ///< the buffers of all readers
  std::vector<std::unique_ptr<BatchFeeder>> feeders{};  ///< one for each place of the input; empty: all has been read
};

/// One attempt at a sort. The caller must call the functions in the order in which they are declared. The attempt sets
/// Job::backend, Job::plan and Job::ring_memory; its destructor resets them.
class Attempt {
 public:
  /// If an earlier attempt has begun to read a stream, `reading` is its reader.
  explicit Attempt(Sorting& sorting, Reading reading = {});
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Drops the runs that are in GPU memory.
  ~Attempt();

  /// Opens the GPUs. If there is none and the options do not require one, opens the CPU backend.
  void OpenBackend();
  /// Starts to read `ranges` of the input. Call this before OpenBackend(), or while another thread calls OpenBackend().
  void StartReading(const std::vector<InputRange>& ranges, const Ring& ring);
  void MakePlan(const Ring& ring);
  /// Makes the plan once more, now that the free memory is known, and allocates the memory of the plan.
  void Prepare();
  /// Sorts all records that no run contains yet, and adds the new runs to Sorting::runs.
  void FormRuns();
  /// Merges all runs into `output`, and checks that the output contains all their records in order. Returns the size of
  /// the output.
  std::uint64_t MergeRuns(Output& output);

  const Backend& backend() const { return *backend_; }
  /// Returns the checksum of the records that MergeRuns() has merged.
  const RecordSum& read() const { return read_; }
  const OutputProof& proof() const { return *proof_; }
  /// Moves the reader out of this attempt, so that the next attempt can use it.
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
