#include "runs/merge_runs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "plan/merge_levels.hpp"
#include "runs/checkpoints.hpp"
#include "runs/read_ahead.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kWindowPage = 4096;

/// Returns the GPU that holds most bytes of `pieces`, or kOnHost if no GPU holds any.
int DeviceOfMost(const std::vector<RunPiece>& pieces) {
  std::map<int, std::uint64_t> bytes;
  for (const RunPiece& piece : pieces) {
    if (piece.on_device()) bytes[piece.device] += piece.bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? kOnHost : most->first;
}

/// Returns the number of bytes to merge. It is an estimate if keys are made while runs are read.
std::uint64_t BytesLeft(const std::vector<Cursor>& cursors) {
  std::uint64_t bytes = 0;
  for (const Cursor& cursor : cursors) bytes += cursor.run->bytes - cursor.taken;
  return bytes;
}

/// The output of a merge with checkpoints, and how far an earlier process got.
struct KeptOutputSoFar {
  Output& output;
  OutputProof& proof;
  std::vector<std::uint64_t> taken;  ///< for each run: how many of its bytes an earlier process has merged
};

/// Merges sorted runs in steps. In each step, one thread takes the smallest records from the fronts of all runs; these
/// are a window (cut.hpp). Several lanes merge the records of windows at the same time, and a sink writes the merged
/// windows. Blocks of runs are read meanwhile. Start at Run.
class WindowMerge {
 public:
  /// A function that makes the sink for all windows. `bytes` is the size of all windows together.
  using MakeSink = std::function<std::unique_ptr<WindowSink>(Pipeline&, std::uint64_t bytes)>;

  /// `runs` must be neighbours, in input order. If `kept` is not null, the merge makes checkpoints. All arguments
  /// except `make_sink` must outlive the merge.
  WindowMerge(Job& job, std::span<gpusort::Run> runs, RunOrder order, SpillSpace space, const MakeSink& make_sink,
              const KeptOutputSoFar* kept = nullptr)
      : job_(job),
        cursors_(CursorsOf(runs, kept)),
        pipeline_(job.cancel),
        total_(BytesLeft(cursors_)),
        window_bytes_(std::min(job.plan.window_bytes, std::max(total_, LeastRecordBytes(job.layout)))),
        buffer_bytes_((window_bytes_ + 2 * kWindowPage - 1) / kWindowPage * kWindowPage),
        windows_(std::min<std::uint64_t>(job.plan.windows, total_ / window_bytes_ + 1)),
        buffers_(WindowMemory(), buffer_bytes_, windows_),
        read_ahead_(job, pipeline_, cursors_, order, space),
        // With several GPUs, each lane first looks for windows whose records are on its GPU. It also takes other
        // windows instead of waiting: the link between GPUs is faster than the bus to the host.
        tasks_(pipeline_, job.plan.gpus > 1 ? job.plan.merge_lanes : 1),
        sink_(make_sink(pipeline_, total_)),
        full_(job.recorder, "merge: blocks read ahead", [this] { return read_ahead_.full_blocks(); }),
        lent_(job.recorder, "merge: windows under way", [this] { return buffers_.blocks() - buffers_.free_blocks(); }),
        waiting_(job.recorder, "merge: windows waiting for a lane", [this] { return tasks_.size(); }) {
    LogDebug("merge of " + std::to_string(runs.size()) + " runs: " + FormatBytes(total_) + ", in windows of " +
             FormatBytes(window_bytes_));
    if (job.plan.gpu) buffers_.memory()->Pin(*job.backend);
    if (kept != nullptr) {
      checkpoints_.emplace(job, pipeline_, *sink_, kept->output, kept->proof,
                           [this](Window window) { Pass(std::move(window)); });
    }
  }

  /// Merges all runs and returns the number of bytes that the sink has written. Call it only once.
  std::uint64_t Run() {
    pipeline_.Start([this] { Cut(); }, 1, "cutter");
    pipeline_.Start([this] { MergeWindows(); }, job_.plan.merge_lanes, "merge lane");
    pipeline_.Join();
    sink_->Settle();
    read_ahead_.FreeUnread();
    return sink_->bytes();
  }

 private:
  /// A window that waits to be merged by a lane.
  struct Task {
    WindowPieces from;
    Window window;
    int device = kOnHost;  ///< the GPU that holds most of the pieces
  };

  static std::vector<Cursor> CursorsOf(std::span<gpusort::Run> runs, const KeptOutputSoFar* kept) {
    std::vector<Cursor> cursors(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      cursors[i].run = &runs[i];
      cursors[i].grows = runs[i].keyed != nullptr;
      cursors[i].loaded = runs[i].records ? runs[i].bytes : 0;
      if (kept != nullptr) cursors[i].BeginAt(kept->taken[i]);
    }
    return cursors;
  }

  /// Returns the memory of all windows: the memory of the reader's ring if the plan says so, otherwise new memory.
  std::shared_ptr<PinnedBuffer> WindowMemory() const {
    if (job_.ring_memory) return job_.ring_memory;
    return std::make_shared<PinnedBuffer>(job_.memory, windows_ * buffer_bytes_);
  }

  /// Divides the merge into windows. Runs on a separate thread.
  void Cut() {
    Cutter cutter(job_.layout, *job_.backend, cursors_);
    std::uint64_t offset = sink_->begin(), number = 0;
    const auto merged = [this] {
      const std::lock_guard lock(read_ahead_.mutex());
      return all_merged();
    };
    while (!sink_->enough() && !merged()) {
      if (checkpoints_) checkpoints_->BeforeCut(number, offset, cursors_);
      std::shared_ptr<Task> task = CutWindow(cutter, number, offset);
      if (task == nullptr) break;
      ++number;
      offset += task->window.bytes;
      tasks_.Push(std::move(task));
    }
    tasks_.Finish();
    read_ahead_.Stop();
    if (checkpoints_) checkpoints_->End();
    const std::lock_guard lock(mutex_);
    cut_ = number;
    FinishSink();
  }

  /// Returns true if all records are merged. The caller must hold the mutex of `read_ahead_`.
  bool all_merged() const {
    return std::ranges::all_of(cursors_, [](const Cursor& cursor) { return cursor.remaining() == 0; });
  }

  /// Returns the next window, or null if all records are merged.
  std::shared_ptr<Task> CutWindow(Cutter& cutter, std::uint64_t number, std::uint64_t offset) {
    auto task = std::make_shared<Task>();
    Window& window = task->window;
    // The buffer comes first: a later window must never hold blocks that an earlier window waits for.
    window.buffer = buffers_.Acquire(pipeline_);
    {
      std::unique_lock lock(read_ahead_.mutex());
      read_ahead_.WaitForWindow(lock);
      if (all_merged()) return nullptr;  // the last blocks had no records
      window.bytes = cutter.Cut(window_bytes_);
      // A run that lies in the input may have changed since it was read first.
      if (window.bytes == 0) throw WrongResult("a run has fewer records than it had");
      task->from = cutter.Take();
    }
    if (job_.plan.gpus > 1) task->device = DeviceOfMost(task->from.pieces);
    std::byte* data = window.buffer.data();
    if (window.bytes > window_bytes_) {
      // The window is a single line that is longer than planned.
      window.own = HostBuffer(job_.memory, window.bytes + kWindowPage);
      data = window.own.data();
    }
    window.number = number;
    window.offset = offset;
    window.data = data + offset % kWindowPage;
    if (checkpoints_) checkpoints_->Register(window);
    return task;
  }

  /// Merges windows on a lane until there are no more. Runs on a separate thread.
  void MergeWindows() {
    const std::unique_ptr<Lane> lane = job_.backend->OpenLane();
    const auto is_own = [device = lane->device()](const auto& task) { return task->device == device; };
    while (std::optional<std::shared_ptr<Task>> next = tasks_.Pop(is_own)) {
      Task& task = **next;
      pipeline_.Try([&] { Merge(*lane, task); });
      task.from.blocks.clear();
      checkpoints_ ? checkpoints_->Accept(std::move(task.window)) : Pass(std::move(task.window));
    }
  }

  void Merge(Lane& lane, Task& task) {
    const Window& window = task.window;
    Busy busy(job_.clock, Resource::kCompute, window.bytes,
              {"merge window", window.number, job_.plan.gpu ? TraceTrack::kGpu : TraceTrack::kNone});
    if (window.own.data() != nullptr) {
      std::byte* to = window.data;
      for (const RunPiece& piece : task.from.pieces) {
        // Memory on a GPU does not grow.
        if (piece.on_device()) throw WrongResult("a run on the GPU has a longer line than was read");
        to = std::copy_n(piece.data, piece.bytes, to);
      }
    } else {
      lane.Merge(task.from.pieces, window.data);
    }
    busy.Add(lane.TakeTimes());
  }

  /// Passes a merged window to the sink. Any thread may call this.
  void Pass(Window window) {
    sink_->Accept(std::move(window));
    const std::lock_guard lock(mutex_);
    ++passed_;
    FinishSink();
  }

  /// If all windows have been passed, tells the sink that no window follows. The caller must hold `mutex_`.
  void FinishSink() {
    if (passed_ == cut_) sink_->Finish(passed_);
  }

  Job& job_;
  std::vector<Cursor> cursors_;
  Pipeline pipeline_;
  const std::uint64_t total_;         ///< number of bytes to merge
  const std::uint64_t window_bytes_;  ///< size of a window, unless it is one longer line
  const std::uint64_t buffer_bytes_;
  const std::uint64_t windows_;  ///< number of window buffers
  BlockPool buffers_;
  ReadAhead read_ahead_;
  const Pipeline::Guard reading_{pipeline_};  ///< ends the reading threads if the sink cannot be made
  BoundedQueue<std::shared_ptr<Task>> tasks_;
  const std::unique_ptr<WindowSink> sink_;
  std::mutex mutex_;  ///< guards passed_ and cut_
  std::uint64_t passed_ = 0;
  std::optional<std::uint64_t> cut_;  ///< the number of windows; set when all of them are known
  std::optional<Checkpoints> checkpoints_;
  const Recorder::Gauge full_, lent_, waiting_;
  const Pipeline::Guard guard_{pipeline_};  ///< last member, so that the threads end before the data that they use
};

/// Returns how many runs one merge can read. Runs with a line that is longer than a block need larger buffers.
std::uint64_t FanIn(const Job& job, const std::vector<Run>& runs) {
  // A line that is longer than planned gets separate memory.
  if (job.layout.fixed() || job.plan.ring.grows) return job.plan.fan_in;
  std::uint64_t buffer = 0;
  for (const Run& run : runs) buffer = std::max(buffer, RunBufferBytes(run, job.plan));
  return job.plan.FanIn(buffer);
}

/// Says if a merge frees the blocks of its runs as it reads them. They stay if they may be read again: after a GPU was
/// lost, or by a process that resumes the job.
SpillSpace SpaceOfSources(const Job& job) {
  return job.plan.gpu || job.store->keeps() ? SpillSpace::kKept : SpillSpace::kFreedAsRead;
}

/// Merges the neighbouring runs `sources` into one run in temp files.
Run MergeNeighbours(Job& job, std::span<Run> sources, RunOrder order) {
  Run merged;
  merged.id = job.next_run_id++;
  merged.blocks = RunBlocks(job.layout);
  std::size_t blocks = 0;
  for (const Run& run : sources) blocks += run.blocks.size();
  merged.blocks.reserve(blocks);
  const SpillSpace space = SpaceOfSources(job);
  try {
    WindowMerge(job, sources, order, space, [&](Pipeline& pipeline, std::uint64_t) {
      return MakeSpillSink(job, pipeline, merged);
    }).Run();
  } catch (...) {
    job.store->Free(merged);
    throw;
  }
  for (const Run& run : sources) {
    merged.sum += run.sum;
    merged.level = std::max(merged.level, run.level + 1);
    merged.origin.insert(merged.origin.end(), run.origin.begin(), run.origin.end());
    merged.stored += run.stored;
  }
  if (job.store->keeps()) {
    const HostBuffer buffer(job.memory, job.plan.block_bytes);
    job.store->Keep(merged, job.layout, {buffer.data(), buffer.size()}, sources);
  }
  if (space == SpillSpace::kKept) {
    for (Run& run : sources) job.store->Free(run);
  }
  return merged;
}

/// Merges all runs into the output. If the job can be resumed, continues where an earlier process was, and makes
/// checkpoints.
std::uint64_t MergeIntoOutput(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order) {
  std::uint64_t written = 0;
  std::optional<KeptOutputSoFar> kept;
  if (job.checkpoints != nullptr) {
    kept.emplace(KeptOutputSoFar{output, proof, std::vector<std::uint64_t>(runs.size())});
    if (const std::optional<KeptMerge>& merge = job.checkpoints->manifest().merge) {
      written = merge->output_bytes;
      proof.GoOnFrom(merge->front);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        kept->taken[i] = merge->taken.at(runs[i].id);
        job.progress.Skip(kept->taken[i]);
      }
      LogInfo("the output continues at " + FormatBytes(written));
    }
  }
  const auto make_sink = [&](Pipeline& pipeline, std::uint64_t bytes) {
    return MakeOutputSink(job, pipeline, output, proof, bytes, written);
  };
  return WindowMerge(job, runs, order, SpaceOfSources(job), make_sink, kept ? &*kept : nullptr).Run();
}

std::vector<std::uint64_t> SizesOf(const std::vector<Run>& runs) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(runs.size());
  for (const Run& run : runs) sizes.push_back(run.records ? kResident : run.bytes);
  return sizes;
}

}  // namespace

std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order) {
  std::uint64_t total =
      LookAhead(SizesOf(runs), std::vector<std::uint64_t>(runs.size()), FanIn(job, runs), true, [](std::uint64_t) {
        return 0;
      }).bytes;
  for (const Run& run : runs) total += run.bytes;
  job.progress.SetPhase("merge runs", total);
  while (const std::optional<MergeGroup> group = NextMerge(SizesOf(runs), FanIn(job, runs))) {
    const auto first = runs.begin() + static_cast<std::ptrdiff_t>(group->first);
    const auto end = first + static_cast<std::ptrdiff_t>(group->count);
    *first = MergeNeighbours(job, {first, end}, order);
    runs.erase(first + 1, end);
  }
  const std::uint64_t bytes = MergeIntoOutput(job, runs, output, proof, order);
  if (output.parts() != nullptr || output.trailer().empty()) return bytes;
  output.Write(bytes, output.trailer());
  return bytes + output.trailer().size();
}

}  // namespace gpusort
