// Job holds the objects that all stages of one sort use together. The function that runs the sort owns the objects, and
// passes the Job by reference.
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
  /// The layout of records between reading and writing: their size or their delimiter, and whether a sort key is before
  /// each record.
  const RecordLayout& layout;
  CancelFlag& cancel;
  HostMemory& memory;
  Inputs& inputs;
  StageClock& clock;
  Progress& progress;
  /// A function for --debug, otherwise null. It appends to the string the text that is written instead of the record.
  /// Any thread may call the function.
  std::function<void(RecordSpan, std::string&)> format{};
  /// A layout for --split, otherwise not set. Two neighbouring records compare as equal in this layout if and only if
  /// their keys are equal (see Ordered::groups).
  RecordLayout groups{};
  /// Receives the events that --trace and --report show. Null: neither option is given.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// The journal (log of the finished work) that stores checkpoints of the output. If the job is killed, a later
  /// process continues the output at the last checkpoint. Null: no checkpoints are made, and a later process writes the
  /// output from its beginning.
  Journal* checkpoints = nullptr;
  /// The memory into which the input was read, if the merge uses this memory again; otherwise null.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;

  /// Returns true if a sorted part of the input may stay in the input file instead of being stored elsewhere. This
  /// requires that the inputs can be read again and that records get no sort keys.
  bool rereadable() const { return inputs.rereadable() && !layout.keyed(); }
  /// Returns how many bytes of the input are read into one block. If all records have the same size, this is a multiple
  /// of that size.
  std::uint64_t input_payload() const { return Payload(kReadSlack); }
  /// Returns how many bytes of records fit into a block of a temp file, after the header of the block.
  std::uint64_t block_payload() const { return Payload(kSpillHeaderBytes); }

 private:
  std::uint64_t Payload(std::uint64_t beside) const {
    const std::uint64_t unit = LeastRecordBytes(layout);
    return (plan.block_bytes - beside) / unit * unit;
  }
};

}  // namespace gpusort
