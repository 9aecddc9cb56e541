// One attempt at a sort: a backend, a plan for it, what the plan takes, and the proof. One that fails is dropped as a
// whole; what goes on is in Sorting. Start at Attempt.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "job/order.hpp"
#include "kernels/backend.hpp"
#include "plan/make_plan.hpp"
#include "runs/form_runs.hpp"
#include "runs/job.hpp"
#include "runs/key_stage.hpp"
#include "runs/run.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// Where GPU backends come from: the seam through which tests put those that fail.
struct GpuSource {
  /// With --device auto, smaller inputs go to the CPU: they are sorted before a CUDA context is up.
  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::function<bool()> likely = GpuLikely;
  std::function<std::unique_ptr<Backend>(int, std::chrono::seconds)> open = OpenCudaBackend;
  bool lines = true;  ///< whether those backends take delimited records
  std::function<int(std::chrono::seconds)> count = CountGpus;
  /// With --device auto, smaller inputs go to one of several: the context of another takes a third of a second, in
  /// which one takes in 4 GB.
  std::uint64_t many_bytes = std::uint64_t{8} << 30;
};

/// What attempts share, and what one leaves to the next.
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

  /// -m of inputs that are runs as they are; streams are sorted.
  bool merging() const { return facts.merges(); }
  /// Logs it, and keeps it for --stats. From any thread.
  void Note(const std::string& text);
};

/// What reads the input ahead, and how it was planned.
struct Reading {
  Ring ring;
  std::unique_ptr<BatchFeeder> feeder;  ///< null: all is read
};

/// Sets the parts of `sorting.job` that are of one attempt.
class Attempt {
 public:
  /// `reading`: of a stream, which another attempt has begun.
  explicit Attempt(Sorting& sorting, Reading reading = {});
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Drops runs on the device, too.
  ~Attempt();

  /// A GPU, or where there is none, and there need not be, the CPU.
  void OpenBackend();
  /// Before the backend is open, or while it is being opened.
  void StartReading(const std::vector<InputRange>& ranges, const Ring& ring);
  /// Plans for the backend, which must be open.
  void MakePlan(const Ring& ring);
  /// Plans within the memory that is left, and takes the plan's memory.
  void Prepare();
  /// Puts every record that is not in a run yet into one.
  void FormRuns();
  /// Merges all runs into `output`, and proves that it has them. Returns the bytes written there.
  std::uint64_t MergeRuns(Output& output);

  const Backend& backend() const { return *backend_; }
  /// What MergeRuns merged.
  const RecordSum& read() const { return read_; }
  const OutputProof& proof() const { return *proof_; }
  /// Ends this attempt's part in it.
  Reading TakeReading();

 private:
  /// Those that are wanted and were not lost, side by side. What was not named, or is left of what was, is left out
  /// where it is of no use; else, and if none is left, the first one's error. No GPU is opened beside one that hangs.
  std::unique_ptr<Backend> OpenGpus();
  void MakeArena(bool merging);
  /// What the job will take of cores and disks, from forming runs on.
  std::vector<JobPart> ExpectedParts() const;

  Sorting& sorting_;
  Job& job_;
  PlanFacts& facts_;
  std::unique_ptr<Backend> backend_;
  Reading reading_;
  std::unique_ptr<OutputProof> proof_;
  RecordSum read_;
};

/// The parts of `whole` that none of `runs` holds.
std::vector<InputRange> MissingRanges(const std::vector<InputRange>& whole, const std::vector<Run>& runs);

}  // namespace gpusort
