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
  /// The layout of records in memory and in temp files, with or without a sort key before each record.
  const RecordLayout& layout;
  CancelFlag& cancel;
  HostMemory& memory;
  Inputs& inputs;
  StageClock& clock;
  Progress& progress;
  /// Appends the text that --debug writes for a record. Null without --debug. Any thread may call this.
  std::function<void(RecordSpan, std::string&)> format{};
  /// Used only for --split: a layout for comparing only the sort keys of two records.
  RecordLayout groups{};
  /// Receives the events that --trace and --report show. Null: neither option is given.
  Recorder* recorder = nullptr;
  Backend* backend = nullptr;
  Plan plan{};
  RunStore* store = nullptr;
  /// The journal in which checkpoints of the output are stored, so that a later process can continue the output. Null:
  /// no checkpoints are stored.
  Journal* checkpoints = nullptr;
  /// The memory into which the input was read, if the merge uses this memory again; otherwise null.
  std::shared_ptr<PinnedBuffer> ring_memory{};
  std::uint64_t next_run_id = 0;
  /// Used only for --sum with --minus or --intersect. For each column of --sum: how many records of the output have no
  /// value in this column. Set at the end of the merge.
  std::vector<std::uint64_t> missing_values{};

  /// Returns true if a sorted part of the input may stay in the input file instead of being written to a temp file.
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
