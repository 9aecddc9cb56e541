// One attempt at a sort: a backend, a plan for this backend, the memory of the plan, and the proof. A failed attempt is
// dropped as a whole. `Sorting` holds the data with which the next attempt continues. Start at Attempt.
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
  KeyTally tally{};                  ///< counts of the values in key columns
  std::vector<std::byte> trailer{};  ///< the trailer of the output
  SortStats stats{};
  std::mutex notes_mutex{};

  /// Returns true if the inputs are merged without sorting (-m). Inputs that are streams are always sorted.
  bool merging() const { return facts.merges(); }
  /// Logs a warning and stores it for --stats. Any thread may call this.
  void Note(const std::string& text);
  /// Returns the ranges of the input that are not in a run and must be read. Returns the whole input if runs do not
  /// know their places in the input.
  std::vector<InputRange> RangesToRead() const;
};

/// The reader of the input, and the plan of the memory that it reads into.
struct Reading {
  Ring ring;
  std::unique_ptr<BatchFeeder> feeder;  ///< null: the whole input has been read
};

/// One attempt at a sort. The caller must call the functions in the order in which they are declared. The attempt sets
/// Job::backend, Job::plan and Job::ring_memory. The destructor resets the pointers.
class Attempt {
 public:
  /// `reading` is the reader of a stream that an earlier attempt has begun to read.
  explicit Attempt(Sorting& sorting, Reading reading = {});
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Drops the runs that are on a device.
  ~Attempt();

  /// Opens the GPUs. Opens the CPU backend if there is no GPU and the options do not require one.
  void OpenBackend();
  /// Starts to read `ranges` ahead. Call this before OpenBackend(), or while another thread calls OpenBackend().
  void StartReading(const std::vector<InputRange>& ranges, const Ring& ring);
  void MakePlan(const Ring& ring);
  /// Makes the plan again for the memory that is left, and allocates the memory of the plan.
  void Prepare();
  /// Sorts all records that no run holds yet, and adds the new runs to Sorting::runs.
  void FormRuns();
  /// Merges all runs into `output`, and proves that the output contains their records. Returns the size of the output.
  std::uint64_t MergeRuns(Output& output);

  const Backend& backend() const { return *backend_; }
  /// Returns the sum of the records that MergeRuns has merged.
  const RecordSum& read() const { return read_; }
  const OutputProof& proof() const { return *proof_; }
  /// Moves the reader out of this attempt, so that the next attempt can use it.
  Reading TakeReading();

 private:
  void MakeArena(bool merging);

  Sorting& sorting_;
  Job& job_;
  PlanFacts& facts_;
  std::unique_ptr<Backend> backend_;
  Reading reading_;
  std::unique_ptr<OutputProof> proof_;
  RecordSum read_;
};

}  // namespace gpusort
