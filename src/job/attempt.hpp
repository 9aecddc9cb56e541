// One attempt at a sort: a backend, a plan for the backend, the memory of the plan, and the proof. An attempt that
// fails is dropped as a whole; Sorting holds what the next attempt continues with. Start at Attempt.
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
#include "job/order.hpp"
#include "kernels/backend.hpp"
#include "plan/make_plan.hpp"
#include "runs/form_runs.hpp"
#include "runs/job.hpp"
#include "runs/key_stage.hpp"
#include "runs/run.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// The things that an attempt takes from the sort, and what it leaves to the next attempt.
struct Sorting {
  Job& job;
  const Ordered& ordered;
  const GpuSource& gpus;
  PlanFacts& facts;
  MemoryShares shares{};
  std::vector<Run> runs{};
  KeyTally tally{};                  ///< of records with columns
  std::vector<std::byte> trailer{};  ///< of the output
  SortStats stats{};
  std::mutex notes_mutex{};

  /// Returns whether the inputs are merged as they are (-m). Streams are sorted instead.
  bool merging() const { return facts.merges(); }
  /// Logs a warning, and keeps it for --stats. Any thread may call this.
  void Note(const std::string& text);
  /// Returns the parts of the input that are still to be read: no run holds them. Returns the whole input if runs do
  /// not know their places in it.
  std::vector<InputRange> RangesToRead() const;
};

/// The reader of the input, and the plan of its blocks.
struct Reading {
  Ring ring;
  std::unique_ptr<BatchFeeder> feeder;  ///< null: everything is read
};

/// Calls must come in the order in which they stand here. The attempt sets `backend`, `plan` and `ring_memory` of the
/// job, and removes them at its end.
class Attempt {
 public:
  /// `reading`: the reader of a stream that an earlier attempt has begun.
  explicit Attempt(Sorting& sorting, Reading reading = {});
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Drops the runs that are on the device.
  ~Attempt();

  /// Opens the GPUs. Opens the CPU backend if there is no GPU and none is required.
  void OpenBackend();
  /// Starts to read `ranges` ahead. Call this before the backend is open, or while another thread opens it.
  void StartReading(const std::vector<InputRange>& ranges, const Ring& ring);
  /// Makes the plan for this backend.
  void MakePlan(const Ring& ring);
  /// Makes the plan within the memory that is left, and takes the memory of the plan.
  void Prepare();
  /// Sorts every record that no run holds yet into a run.
  void FormRuns();
  /// Merges all runs into `output`, and proves that the output has their records. Returns the bytes of the output.
  std::uint64_t MergeRuns(Output& output);

  const Backend& backend() const { return *backend_; }
  /// The sum of the records that MergeRuns has merged.
  const RecordSum& read() const { return read_; }
  const OutputProof& proof() const { return *proof_; }
  /// Hands the reader over to the next attempt.
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
