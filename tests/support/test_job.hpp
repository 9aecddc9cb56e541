// The parts of a job, as SortContext makes them, for tests of a single stage. Blocks are small, and the spill is in its
// own folder. The test supplies the input of the stage.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "data/output.hpp"
#include "faulty_file_system.hpp"
#include "records.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"
#include "runs/sinks.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {

struct TestJob {
  static constexpr std::uint64_t kBlockBytes = 8192;

  explicit TestJob(const RecordLayout& layout, const std::vector<std::string>& input_paths = {},
                   std::uint64_t header_lines = 0)
      : format(layout, header_lines), inputs(files, input_paths, {format}, layout, cancel) {
    spec.order.layout = layout;
    spec.limits.temp_codec = Codec::kNone;
    job.store = &store;
    job.plan.spills = true;
    job.plan.block_bytes = kBlockBytes;
    job.plan.spill_blocks = 3;
    job.plan.merge_blocks = 16;
    job.plan.io_threads = 3;
    job.plan.windows = 3;
    job.plan.ring.max_record = 1 << 20;
    store.Open(job.plan, 1);
  }

  TempFolder folder;
  FaultyFileSystem files;
  JobSpec spec;
  CancelFlag cancel;
  HostMemory memory{std::uint64_t{1} << 28};
  PlainFormat format;
  Inputs inputs;
  StageClock clock{"test"};
  Progress progress{When::kNever, clock};
  RunStore store{spec, files, memory, cancel, {folder.path()}, {}};
  Job job{spec, spec.order.layout, cancel, memory, inputs, clock, progress};
};

/// Passes sorted records to a sink in windows (consecutive records) of up to `most` bytes or one record, from several
/// threads in any order. After `stop_after` windows, ends the attempt as a lost GPU would. Returns the number of bytes
/// that the sink wrote.
inline std::uint64_t PassThrough(TestJob& on, RecordSpan bytes, std::uint64_t most, std::uint32_t seed,
                                 const std::function<std::unique_ptr<WindowSink>(Pipeline&)>& make_sink,
                                 std::uint64_t stop_after = ~std::uint64_t{0}) {
  constexpr std::uint64_t kPage = 4096;
  std::mt19937 random(seed);
  std::vector<RecordSpan> parts;
  std::uint64_t largest = 0, size = 0;
  ForEachRecord(bytes, on.spec.order.layout, [&](RecordSpan record) {
    if (parts.empty() || parts.back().size() + record.size() > size) {
      parts.push_back(record);
      size = 1 + random() % most;
    } else {
      parts.back() = {parts.back().data(), parts.back().size() + record.size()};
    }
    largest = std::max<std::uint64_t>(largest, parts.back().size());
  });
  std::vector<std::size_t> order(parts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  if (stop_after < order.size()) std::sort(order.begin(), order.end());

  Pipeline pipeline(on.cancel);
  BlockPool buffers(on.memory, (largest + 2 * kPage - 1) / kPage * kPage, std::max<std::size_t>(parts.size(), 1));
  const std::unique_ptr<WindowSink> sink = make_sink(pipeline);
  const Pipeline::Guard guard(pipeline);
  std::atomic<std::size_t> next{0}, accepted{0};
  if (parts.empty()) sink->Finish(0);
  pipeline.Start(
      [&] {
        for (std::size_t i = next++; i < std::min<std::size_t>(order.size(), stop_after); i = next++) {
          const RecordSpan part = parts[order[i]];
          Window window;
          window.number = order[i];
          window.offset = sink->begin() + static_cast<std::uint64_t>(part.data() - bytes.data());
          window.bytes = part.size();
          window.buffer = buffers.Acquire(pipeline);
          window.data = window.buffer.data() + window.offset % kPage;
          std::memcpy(window.data, part.data(), part.size());
          sink->Accept(std::move(window));
          if (++accepted == parts.size()) sink->Finish(parts.size());
        }
      },
      3);
  pipeline.StartRest();
  if (stop_after < parts.size()) {
    // All accepted windows must be written before the pipeline ends.
    while (buffers.free_blocks() < buffers.blocks() || accepted < stop_after) pipeline.ThrowIfStopped();
    return 0;
  }
  pipeline.Join();
  sink->Settle();
  return sink->bytes();
}

/// Writes a run to the spill in the form that a merge of an earlier level leaves.
inline Run SpillRun(TestJob& on, RecordSpan sorted, std::uint64_t most = 3 * TestJob::kBlockBytes) {
  Run run;
  run.id = on.job.next_run_id++;
  if (sorted.empty()) return run;
  PassThrough(on, sorted, most, 1, [&](Pipeline& pipeline) { return MakeSpillSink(on.job, pipeline, run); });
  return run;
}

/// Reads the records of a run from the spill.
inline Bytes ReadRun(TestJob& on, const Run& run) {
  Bytes all;
  for (std::size_t i = 0; i < run.blocks.size(); ++i) {
    const RunBlock block = run.blocks[i];
    EXPECT_EQ(block.begin, all.size());
    const HostBuffer buffer(on.memory, (1 + block.more.size()) * TestJob::kBlockBytes);
    Append(all, on.store.Load(run.id, i, {buffer.data(), buffer.size()}, block));
  }
  EXPECT_EQ(all.size(), run.bytes);
  return all;
}

}  // namespace gpusort::testing
