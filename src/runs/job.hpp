// Job: the objects that every stage of one sort shares. The sort makes them and passes them by reference.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/inputs.hpp"
#include "flow/pipeline.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "kernels/records/records.hpp"
#include "plan/plan.hpp"
#include "runs/run_store.hpp"
#include "spec/job_spec.hpp"
#include "watch/progress.hpp"
#include "watch/recorder.hpp"

namespace gpusort {

struct Job {
  const JobSpec& spec;
  const RecordLayout& layout;  ///< of runs
  CancelFlag& cancel;
  HostMemory& memory;
  Inputs& inputs;
  StageClock& clock;
  Progress& progress;
  /// Appends the text that is written instead of a record. Any thread may call it. Empty: records are written.
  std::function<void(RecordSpan, std::string&)> format{};
  /// The layout that compares keys for --split, as Ordered::groups.
  RecordLayout groups{};
  /// Records for --trace and --report; may be null.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// The journal that keeps checkpoints of the output; null: a later process writes the output anew.
  Journal* checkpoints = nullptr;
  /// The memory of the reader's ring, if windows of the merge use it.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;

  /// Whether runs may stay in the input: the inputs are files, and records get no keys.
  bool rereadable() const { return inputs.rereadable() && !layout.keyed(); }
  /// Bytes of an input that are read into a block of the plan's size; whole records if records are fixed.
  std::uint64_t input_payload() const { return Payload(kReadSlack); }
  /// Bytes of records in a spilled block.
  std::uint64_t block_payload() const { return Payload(kSpillHeaderBytes); }

 private:
  std::uint64_t Payload(std::uint64_t beside) const {
    const std::uint64_t unit = LeastRecordBytes(layout);
    return (plan.block_bytes - beside) / unit * unit;
  }
};

}  // namespace gpusort
