// Job: the objects that all stages of one sort share. The sort owns the objects, and passes the Job by reference.
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
  const RecordLayout& layout;  ///< the layout of records in runs
  CancelFlag& cancel;
  HostMemory& memory;
  Inputs& inputs;
  StageClock& clock;
  Progress& progress;
  /// Null, or with --debug: appends the text that replaces the record in the output. Any thread may call it.
  std::function<void(RecordSpan, std::string&)> format{};
  /// The layout in which records with equal keys compare equal, for --split (see Ordered::groups).
  RecordLayout groups{};
  /// Receives the events for --trace and --report; may be null.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// The journal that stores checkpoints of the output. If null, a later process writes the output again.
  Journal* checkpoints = nullptr;
  /// The memory of the reader's ring, if the merge uses it again for windows; otherwise null.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;

  /// Returns true if runs may stay in the input: the inputs are files, and records get no keys.
  bool rereadable() const { return inputs.rereadable() && !layout.keyed(); }
  /// Returns the number of input bytes that are read into one block. For fixed records, these are whole records.
  std::uint64_t input_payload() const { return Payload(kReadSlack); }
  /// Returns the largest number of record bytes in a block of the spill.
  std::uint64_t block_payload() const { return Payload(kSpillHeaderBytes); }

 private:
  std::uint64_t Payload(std::uint64_t beside) const {
    const std::uint64_t unit = LeastRecordBytes(layout);
    return (plan.block_bytes - beside) / unit * unit;
  }
};

}  // namespace gpusort
