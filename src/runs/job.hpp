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
  /// How records are stored in runs: their size or delimiter, and whether keys precede them.
  const RecordLayout& layout;
  CancelFlag& cancel;
  HostMemory& memory;
  Inputs& inputs;
  StageClock& clock;
  Progress& progress;
  /// Used by --debug, otherwise null: appends the text that the output shows instead of a record. Any thread may call
  /// it.
  std::function<void(RecordSpan, std::string&)> format{};
  /// For --split: a layout in which two records with equal keys compare as equal (see Ordered::groups).
  RecordLayout groups{};
  /// Receives events for --trace and --report; null: nobody wants them.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// The journal that stores checkpoints of the output. Null: no checkpoints are made, and a process that resumes the
  /// job writes the output from its beginning.
  Journal* checkpoints = nullptr;
  /// The memory into which the input was read, if the merge uses it again; otherwise null.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;

  /// Returns true if a run may stay in the input files instead of being stored: the inputs can be read again, and
  /// records get no keys.
  bool rereadable() const { return inputs.rereadable() && !layout.keyed(); }
  /// Returns how many bytes of the input are read into one block. Fixed records are read whole.
  std::uint64_t input_payload() const { return Payload(kReadSlack); }
  /// Returns how many bytes of records fit into a block of a temp file.
  std::uint64_t block_payload() const { return Payload(kSpillHeaderBytes); }

 private:
  std::uint64_t Payload(std::uint64_t beside) const {
    const std::uint64_t unit = LeastRecordBytes(layout);
    return (plan.block_bytes - beside) / unit * unit;
  }
};

}  // namespace gpusort
