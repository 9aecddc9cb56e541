#include "runs/window_merge.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kWindowPage = 4096;

/// Returns the GPU that holds most bytes of `pieces`, or kOnHost if no GPU holds any.
int DeviceOfMost(const std::vector<Piece>& pieces) {
  std::map<int, std::uint64_t> bytes;
  for (const Piece& piece : pieces) {
    if (piece.on_device()) bytes[piece.device] += piece.bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? kOnHost : most->first;
}

std::uint64_t BytesLeft(const std::vector<Cursor>& cursors) {
  std::uint64_t bytes = 0;
  for (const Cursor& cursor : cursors) bytes += cursor.remaining();
  return bytes;
}

}  // namespace

WindowMerge::WindowMerge(Job& job, std::span<gpusort::Run> runs, RunOrder order, SpillSpace space,
                         const MakeSink& make_sink, const KeptOutputSoFar* kept)
    : job_(job),
      cursors_(CursorsOf(runs, kept)),
      pipeline_(job.cancel),
      total_(BytesLeft(cursors_)),
      window_bytes_(std::min(job.plan.window_bytes, std::max(total_, LeastRecordBytes(job.layout)))),
      buffer_bytes_((window_bytes_ + 2 * kWindowPage - 1) / kWindowPage * kWindowPage),
      windows_(std::min<std::uint64_t>(job.plan.windows, total_ / window_bytes_ + 1)),
      buffers_(WindowMemory(), buffer_bytes_, windows_),
      read_ahead_(job, pipeline_, cursors_, order, space),
      // With several GPUs, each lane looks in the queue for windows on its GPU. A lane also takes other windows rather
      // than be idle: the link between GPUs is faster than the bus to the host.
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

std::uint64_t WindowMerge::Run() {
  pipeline_.Start([this] { Cut(); }, 1, "cutter");
  pipeline_.Start([this] { MergeWindows(); }, job_.plan.merge_lanes, "merge lane");
  pipeline_.Join();
  sink_->Complete();
  read_ahead_.FreeUnread();
  return sink_->bytes();
}

std::vector<Cursor> WindowMerge::CursorsOf(std::span<gpusort::Run> runs, const KeptOutputSoFar* kept) {
  std::vector<Cursor> cursors(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    cursors[i].run = &runs[i];
    cursors[i].loaded = runs[i].records ? runs[i].bytes : 0;
    if (kept != nullptr) cursors[i].BeginAt(kept->taken[i]);
  }
  return cursors;
}

std::shared_ptr<PinnedBuffer> WindowMerge::WindowMemory() const {
  if (job_.ring_memory) return job_.ring_memory;
  return std::make_shared<PinnedBuffer>(job_.memory, windows_ * buffer_bytes_);
}

void WindowMerge::Cut() {
  Cutter cutter(job_.layout, *job_.backend, cursors_);
  const std::uint64_t end = sink_->begin() + total_;
  std::uint64_t offset = sink_->begin(), number = 0;
  while (offset < end && !sink_->enough()) {
    if (checkpoints_) checkpoints_->BeforeCut(number, offset, cursors_);
    std::shared_ptr<Task> task = CutWindow(cutter, number++, offset);
    offset += task->window.bytes;
    tasks_.Push(std::move(task));
  }
  tasks_.Finish();
  if (offset < end) read_ahead_.Stop();
  if (checkpoints_) checkpoints_->End();
  const std::lock_guard lock(mutex_);
  cut_ = number;
  FinishSink();
}

std::shared_ptr<WindowMerge::Task> WindowMerge::CutWindow(Cutter& cutter, std::uint64_t number, std::uint64_t offset) {
  auto task = std::make_shared<Task>();
  Window& window = task->window;
  // The buffer comes first: a later window must never hold blocks that an earlier window waits for.
  window.buffer = buffers_.Acquire(pipeline_);
  {
    std::unique_lock lock(read_ahead_.mutex());
    read_ahead_.WaitForWindow(lock);
    window.bytes = cutter.Cut(window_bytes_);
    // A run that lies in the input may have changed since it was read first.
    if (window.bytes == 0) throw WrongResult("a run has fewer records than it had");
    task->from = cutter.Take();
  }
  if (job_.plan.gpus > 1) task->device = DeviceOfMost(task->from.pieces);
  std::byte* data = window.buffer.data();
  if (window.bytes > window_bytes_) {
    // The window is one line that is longer than planned.
    window.own = HostBuffer(job_.memory, window.bytes + kWindowPage);
    data = window.own.data();
  }
  window.number = number;
  window.offset = offset;
  window.data = data + offset % kWindowPage;
  if (checkpoints_) checkpoints_->Register(window);
  return task;
}

void WindowMerge::MergeWindows() {
  const std::unique_ptr<Lane> lane = job_.backend->OpenLane();
  const auto is_own = [device = lane->device()](const auto& task) { return task->device == device; };
  while (std::optional<std::shared_ptr<Task>> next = tasks_.Pop(is_own)) {
    Task& task = **next;
    pipeline_.Try([&] { Merge(*lane, task); });
    task.from.blocks.clear();
    checkpoints_ ? checkpoints_->Accept(std::move(task.window)) : Pass(std::move(task.window));
  }
}

void WindowMerge::Merge(Lane& lane, Task& task) {
  const Window& window = task.window;
  Busy busy(job_.clock, Resource::kCompute, window.bytes,
            {"merge window", window.number, job_.plan.gpu ? TraceTrack::kGpu : TraceTrack::kNone});
  if (window.own.data() != nullptr) {
    std::byte* to = window.data;
    for (const Piece& piece : task.from.pieces) {
      // Slots on a device do not grow.
      if (piece.on_device()) throw WrongResult("a run on the GPU has a longer line than was read");
      to = std::copy_n(piece.data, piece.bytes, to);
    }
  } else {
    lane.Merge(task.from.pieces, window.data);
  }
  busy.Add(lane.TakeTimes());
}

void WindowMerge::Pass(Window window) {
  sink_->Accept(std::move(window));
  const std::lock_guard lock(mutex_);
  ++passed_;
  FinishSink();
}

void WindowMerge::FinishSink() {
  if (passed_ == cut_) sink_->Finish(passed_);
}

}  // namespace gpusort
