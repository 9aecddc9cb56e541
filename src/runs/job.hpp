// What one sort works with: the things that every stage shares, made by ExternalSort and passed by reference.
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
  /// Appends what is written in place of a record, on any thread; none: the record.
  std::function<void(RecordSpan, std::string&)> format{};
  /// With --split, as Ordered::groups.
  RecordLayout groups{};
  /// Of --trace and --report; null: none.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// Of the output, if it stays as far as it is written when the process ends.
  Journal* checkpoints = nullptr;
  /// What the reader's ring was, if windows of the merge shall use it.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;

  /// Bytes of a run may still be those of an input: files whose records get no keys.
  bool rereadable() const { return inputs.rereadable() && !layout.keyed(); }
  /// Bytes of an input that are read into such a block; whole if records are fixed.
  std::uint64_t input_payload() const { return Payload(kReadSlack); }
  /// Bytes of records that a spilled block holds.
  std::uint64_t block_payload() const { return Payload(kSpillHeaderBytes); }

 private:
  std::uint64_t Payload(std::uint64_t beside) const {
    const std::uint64_t unit = LeastRecordBytes(layout);
    return (plan.block_bytes - beside) / unit * unit;
  }
};

}  // namespace gpusort
