#include "runs/merge_runs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "plan/merge_levels.hpp"
#include "runs/checkpoints.hpp"
#include "runs/cut.hpp"
#include "runs/read_ahead.hpp"
#include "runs/sinks.hpp"

namespace gpusort {
namespace {

/// A window on its way to a lane.
struct MergeTask {
  WindowPieces from;
  Window window;
  int device = kOnHost;  ///< the GPU that has most of it
};

/// kOnHost if no GPU has any.
int DeviceOfMost(const std::vector<Piece>& pieces) {
  std::map<int, std::uint64_t> bytes;
  for (const Piece& piece : pieces) {
    if (piece.on_device()) bytes[piece.device] += piece.bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? kOnHost : most->first;
}

/// Returns the number of runs that are merged at once. A run with a line that is longer than a block needs larger
/// buffers.
std::uint64_t FanIn(const Job& job, const std::vector<Run>& runs) {
  // A line that is longer than planned takes memory of its own.
  if (job.layout.fixed() || job.plan.ring.grows) return job.plan.fan_in;
  std::uint64_t buffer = 0;
  for (const Run& run : runs) buffer = std::max(buffer, RunBufferBytes(run, job.plan));
  return job.plan.FanIn(buffer);
}

/// Of as many bytes.
using MakeSink = std::function<std::unique_ptr<WindowSink>(Pipeline&, std::uint64_t)>;

/// A merge with checkpoints.
struct Kept {
  Output& output;
  OutputProof& proof;
  std::vector<std::uint64_t> taken;  ///< bytes of each run, by a process before
};

/// One merge of `count` neighbouring runs from `first` on, or the rest of it. Returns the sink's bytes.
std::uint64_t MergeInto(Job& job, Run* first, std::size_t count, bool verify_order, bool free_as_read,
                        const MakeSink& make_sink, const Kept* kept = nullptr) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t total = 0;
  std::vector<Cursor> cursors(count);
  for (std::size_t i = 0; i < count; ++i) {
    cursors[i].run = first + i;
    cursors[i].loaded = first[i].records ? first[i].bytes : 0;
    total += first[i].bytes;
    if (kept == nullptr) continue;
    cursors[i].BeginAt(kept->taken[i]);
    total -= kept->taken[i];
  }
  Pipeline pipeline(job.cancel);
  const std::uint64_t window_bytes = std::min(job.plan.window_bytes, std::max(total, LeastRecordBytes(job.layout)));
  const std::uint64_t buffer_bytes = (window_bytes + 2 * kPage - 1) / kPage * kPage;
  const std::uint64_t windows = std::min<std::uint64_t>(job.plan.windows, total / window_bytes + 1);
  LogDebug("merge of " + std::to_string(count) + " runs: " + FormatBytes(total) + ", in windows of " +
           FormatBytes(window_bytes));
  BlockPool buffers(
      job.ring_memory ? job.ring_memory : std::make_shared<PinnedBuffer>(job.memory, windows * buffer_bytes),
      buffer_bytes, windows);
  if (job.plan.gpu) buffers.memory()->Pin(*job.backend);
  ReadAhead read_ahead(job, pipeline, cursors, verify_order, free_as_read);
  // So many that the lanes of each GPU find their own. No lane is idle while there is any: over a link between GPUs
  // comes more than over the bus, which each has to the host.
  BoundedQueue<std::shared_ptr<MergeTask>> tasks(pipeline, job.plan.gpus > 1 ? job.plan.merge_lanes : 1);
  const std::unique_ptr<WindowSink> sink = make_sink(pipeline, total);
  std::mutex mutex;
  std::uint64_t cut = 0, passed = 0;
  bool all_cut = false;
  const auto pass = [&](Window window) {
    sink->Accept(std::move(window));
    const std::lock_guard lock(mutex);
    if (++passed == cut && all_cut) sink->Finish(cut);
  };
  std::optional<Checkpoints> checkpoints;
  const Recorder::Gauge full(job.recorder, "merge: blocks read ahead", [&] { return read_ahead.full_blocks(); });
  const Recorder::Gauge lent(job.recorder, "merge: windows under way",
                             [&] { return buffers.blocks() - buffers.free_blocks(); });
  const Recorder::Gauge cut_ones(job.recorder, "merge: windows waiting for a lane", [&] { return tasks.size(); });
  const Pipeline::Guard guard(pipeline);
  if (kept != nullptr) checkpoints.emplace(job, pipeline, *sink, kept->output, kept->proof, pass);

  pipeline.Start(
      [&] {
        Cutter cutter(job.layout, *job.backend, cursors);
        const std::uint64_t end = sink->begin() + total;
        std::uint64_t offset = sink->begin(), number = 0;
        while (offset < end && !sink->enough()) {
          if (checkpoints) checkpoints->BeforeCut(number, offset, cursors);
          // The buffer first: later windows must never hold what an earlier one waits for.
          auto task = std::make_shared<MergeTask>();
          task->window.buffer = buffers.Acquire(pipeline);
          {
            std::unique_lock lock(read_ahead.mutex());
            read_ahead.WaitForWindow(lock);
            task->window.bytes = cutter.Cut(window_bytes);
            // Runs that lie in the input are read again.
            if (task->window.bytes == 0) throw WrongResult("a run has fewer records than it had");
            task->from = cutter.Take();
          }
          if (job.plan.gpus > 1) task->device = DeviceOfMost(task->from.pieces);
          std::byte* data = task->window.buffer.data();
          if (task->window.bytes > window_bytes) {
            // A line that nobody planned for.
            task->window.own = HostBuffer(job.memory, task->window.bytes + kPage);
            data = task->window.own.data();
          }
          task->window.number = number++;
          task->window.offset = offset;
          task->window.data = data + offset % kPage;
          if (checkpoints) checkpoints->Register(task->window);
          offset += task->window.bytes;
          tasks.Push(std::move(task));
        }
        tasks.Finish();
        if (offset < end) read_ahead.Stop();
        if (checkpoints) checkpoints->End();
        const std::lock_guard lock(mutex);
        cut = number;
        all_cut = true;
        if (passed == cut) sink->Finish(cut);
      },
      1, "cutter");
  const auto merge = [&] {
    const std::unique_ptr<Lane> lane = job.backend->OpenLane();
    const auto is_own = [device = lane->device()](const auto& task) { return task->device == device; };
    while (std::optional<std::shared_ptr<MergeTask>> task = tasks.Pop(is_own)) {
      pipeline.Try([&] {
        Busy busy(job.clock, Resource::kCompute, (*task)->window.bytes,
                  {"merge window", (*task)->window.number, job.plan.gpu ? TraceTrack::kGpu : TraceTrack::kNone});
        if ((*task)->window.own.data() != nullptr) {
          std::byte* to = (*task)->window.data;
          for (const Piece& piece : (*task)->from.pieces) {
            // Slots on a device do not grow.
            if (piece.on_device()) throw WrongResult("a run on the GPU has a longer line than was read");
            to = std::copy_n(piece.data, piece.bytes, to);
          }
        } else {
          lane->Merge((*task)->from.pieces, (*task)->window.data);
        }
        busy.Add(lane->TakeTimes());
      });
      (*task)->from.blocks.clear();
      checkpoints ? checkpoints->Accept(std::move((*task)->window)) : pass(std::move((*task)->window));
    }
  };
  pipeline.Start(merge, job.plan.merge_lanes, "merge lane");
  pipeline.Join();
  sink->Complete();
  read_ahead.FreeUnread();
  return sink->bytes();
}

/// Makes one run of `count` neighbours in place.
void MergeNeighbours(Job& job, std::vector<Run>& runs, std::size_t first, std::size_t count, bool verify_order) {
  Run merged;
  merged.id = job.next_run_id++;
  merged.blocks = RunBlocks(job.layout);
  std::size_t blocks = 0;
  for (std::size_t i = first; i < first + count; ++i) blocks += runs[i].blocks.size();
  merged.blocks.reserve(blocks);
  // Only a lost GPU asks for them again, and a job that goes on after a kill.
  const bool free_as_read = !job.plan.gpu && !job.store->keeps();
  try {
    MergeInto(job, &runs[first], count, verify_order, free_as_read,
              [&](Pipeline& pipeline, std::uint64_t) { return MakeSpillSink(job, pipeline, merged); });
  } catch (...) {
    job.store->Free(merged);
    throw;
  }
  for (std::size_t i = first; i < first + count; ++i) {
    merged.sum += runs[i].sum;
    merged.level = std::max(merged.level, runs[i].level + 1);
    merged.origin.insert(merged.origin.end(), runs[i].origin.begin(), runs[i].origin.end());
    merged.stored += runs[i].stored;
  }
  if (job.store->keeps()) {
    const HostBuffer buffer(job.memory, job.plan.block_bytes);
    job.store->Keep(merged, job.layout, {buffer.data(), buffer.size()}, std::span(runs).subspan(first, count));
  }
  for (std::size_t i = first; i < first + count && !free_as_read; ++i) job.store->Free(runs[i]);
  runs[first] = std::move(merged);
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(first) + 1,
             runs.begin() + static_cast<std::ptrdiff_t>(first + count));
}

/// The last merge of a job with a journal, from where another process was.
std::uint64_t MergeWithCheckpoints(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof) {
  std::uint64_t written = 0;
  Kept place{output, proof, std::vector<std::uint64_t>(runs.size())};
  if (const std::optional<KeptMerge>& kept = job.checkpoints->manifest().merge) {
    written = kept->output_bytes;
    proof.GoOnFrom(kept->front);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      place.taken[i] = kept->taken.at(runs[i].id);
      job.progress.Skip(place.taken[i]);
    }
    LogInfo("the output goes on at " + FormatBytes(written));
  }
  return MergeInto(
      job, runs.data(), runs.size(), false, false,
      [&](Pipeline& pipeline, std::uint64_t rest) {
        return MakeOutputSink(job, pipeline, output, proof, rest, written);
      },
      &place);
}

}  // namespace

std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, bool verify_order) {
  const auto run_bytes = [&] {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(runs.size());
    for (const Run& run : runs) sizes.push_back(run.records ? kResident : run.bytes);
    return sizes;
  };
  const MergeOutlook outlook = LookAhead(run_bytes(), std::vector<std::uint64_t>(runs.size()), FanIn(job, runs), true,
                                         [](std::uint64_t) { return 0; });
  std::uint64_t total = outlook.bytes;
  for (const Run& run : runs) total += run.bytes;
  job.progress.SetPhase("merge runs", total);
  for (;;) {
    const std::optional<MergeGroup> group = NextMerge(run_bytes(), FanIn(job, runs));
    if (!group) break;
    MergeNeighbours(job, runs, group->first, group->count, verify_order);
  }
  std::uint64_t bytes = 0;
  if (job.checkpoints != nullptr) {
    bytes = MergeWithCheckpoints(job, runs, output, proof);
  } else {
    bytes = MergeInto(job, runs.data(), runs.size(), verify_order, false, [&](Pipeline& pipeline, std::uint64_t all) {
      return MakeOutputSink(job, pipeline, output, proof, all);
    });
  }
  if (output.parts() != nullptr || output.trailer().empty()) return bytes;
  output.Write(bytes, output.trailer());
  return bytes + output.trailer().size();
}

}  // namespace gpusort
