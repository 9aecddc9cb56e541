#include "runs/form_runs.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

std::string PlaceText(const Run& run) {
  if (run.on_device()) return "on the device";
  if (run.records) return "in memory";
  return run.spilled() ? "in temp space" : "left in the input";
}

/// Decides where each sorted batch (a run) is stored: in GPU memory, host memory or temp files, whichever is the
/// fastest with room.
class RunPlacer {
 public:
  RunPlacer(Job& job, Pipeline& pipeline)
      : job_(job),
        pipeline_(pipeline),
        spill_blocks_(job.memory, job.plan.spills ? job.plan.block_bytes : 0, job.plan.spill_blocks),
        workers_(pipeline, job.plan.spills ? job.plan.io_threads : 0) {}

  /// Stores `sorted` as the run `run`. `only` is true if it is the whole of a stream, which cannot be read again.
  void Place(std::unique_ptr<SortedRecords> sorted, Run& run, bool only) {
    if (MayStay(sorted->device()) || (only && !sorted->on_device())) {
      run.records = std::move(sorted);
    } else if (only) {
      run.records = CopyToHost(job_.memory, *sorted);
    } else if (sorted->was_sorted() && job_.spec.dialect.strict && job_.rereadable() && !job_.store->keeps() &&
               !CheaperToSpill()) {
      run.blocks = InputBlocks(run.origin, *sorted, job_.input_payload(), job_.layout);
    } else if (sorted->on_device() && FitsHostTier(sorted->bytes())) {
      const Busy busy(job_.clock, Resource::kBus, sorted->bytes(), {"copy run", run.id});
      run.records = CopyToHost(job_.memory, *sorted);
    } else {
      Spill(*sorted, run);
    }
  }

  void Finish() { workers_.Finish(); }

 private:
  /// Returns true if one more run may stay in the slots of the device, and counts the run there.
  bool MayStay(int device) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& stay = resident_[device];
    if (stay == job_.plan.resident_each) return false;
    ++stay;
    return true;
  }
  bool FitsHostTier(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > job_.plan.host_tier_bytes - host_bytes_) return false;
    host_bytes_ += bytes;
    return true;
  }

  /// Returns true if it is faster to write a run to temp files in spare RAM than to read the input from the disk once
  /// more.
  bool CheaperToSpill() const { return job_.inputs.direct() && !job_.plan.direct_temp; }

  void Spill(const SortedRecords& sorted, Run& run) {
    if (!job_.plan.spills) throw Error(ErrorCode::kInternal, "a run is left over that was not planned for");
    // The buffers are pinned only now: runs of lines may always need temp files, but hardly ever do.
    if (job_.plan.gpu) std::call_once(pinned_, [&] { spill_blocks_.memory()->Pin(*job_.backend); });
    run.blocks = CutBlocks(sorted, job_.block_payload(), job_.layout);
    std::mutex mutex;
    const auto spill_block = [&](std::uint64_t i) {
      RunBlock block = run.blocks[i];
      const BlockPool::Block buffer = spill_blocks_.Acquire(pipeline_);
      const Busy busy(job_.clock, Resource::kDiskWrite, block.bytes, {"spill run", run.id, TraceTrack::kTemp});
      job_.store->Write(run.id, i, buffer.span(), block, job_.layout,
                        [&](std::uint64_t at, std::span<std::byte> out) { sorted.Read(block.begin + at, out); });
      const std::lock_guard lock(mutex);
      run.blocks.Set(i, block);
    };
    try {
      workers_.ForEach(run.blocks.size(), spill_block);
    } catch (...) {
      job_.store->Free(run);
      throw;
    }
    if (!job_.store->keeps() || !job_.rereadable()) return;
    const BlockPool::Block buffer = spill_blocks_.Acquire(pipeline_);
    job_.store->Keep(run, job_.layout, buffer.span());
  }

  Job& job_;
  Pipeline& pipeline_;
  BlockPool spill_blocks_;
  std::once_flag pinned_;
  WorkerPool workers_;
  std::mutex mutex_;
  std::map<int, std::uint64_t> resident_;  ///< the number of runs in the memory of each device
  std::uint64_t host_bytes_ = 0;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace

void FormRuns(Job& job, std::vector<std::unique_ptr<BatchFeeder>>& feeders, std::vector<Run>& runs) {
  for (const auto& feeder : feeders) {
    if (job.plan.ring.grows) feeder->TakeLinesUpTo(job.plan.gpu ? job.plan.ring.max_record : kMostLine);
  }
  std::mutex mutex;
  // The key is the place of the input (the index of the feeder) and the number of the batch there: the order of the
  // input.
  std::map<std::pair<std::size_t, std::uint64_t>, Run> formed;
  const auto collect = [&] {
    runs.reserve(runs.size() + formed.size());
    for (; !formed.empty(); formed.erase(formed.begin())) runs.push_back(std::move(formed.begin()->second));
    std::ranges::sort(runs, {}, [](const Run& run) { return run.origin.front(); });
  };
  try {
    Pipeline pipeline(job.cancel);
    RunPlacer placer(job, pipeline);
    const Recorder::Gauge read(job.recorder, "form runs: blocks read", [&] {
      std::uint64_t blocks = 0;
      for (const auto& feeder : feeders) blocks += feeder->ring().blocks() - feeder->ring().free_blocks();
      return blocks;
    });
    unsigned working = 0;
    const auto work = [&] {
      // Lanes are on the GPUs in turn, and read from the places of the input in turn, so each GPU has a place.
      std::unique_ptr<Lane> lane;
      std::size_t place = 0;
      {
        const std::lock_guard lock(mutex);
        place = working++ % feeders.size();
        lane = job.backend->OpenLane();
      }
      std::size_t ended = 0;
      const bool stream = !job.inputs.rereadable();
      // If a GPU sorts, or if inputs are expanded or get keys, progress counts bytes as they are read, because sorting
      // adds little time. Otherwise progress counts sorted bytes.
      const bool counts = job.inputs.stored_bytes() > 0, worked_on = job.plan.gpu || !job.rereadable();
      Progress* const as_loaded = counts && worked_on ? &job.progress : nullptr;
      // Only a GPU can be lost, and a stream cannot be read again.
      while (ended < feeders.size()) {
        BatchFeeder& feeder = *feeders[place];
        const std::unique_ptr<BatchFeeder::Batch> batch =
            feeder.Next(pipeline, job.plan.batch_bytes, job.plan.slot_bytes, job.plan.gpu && stream, as_loaded);
        if (!batch) {
          // The lane helps where the input is not read to its end.
          place = (place + 1) % feeders.size();
          ++ended;
          continue;
        }
        const std::uint64_t number = batch->number() * feeders.size() + place;
        try {
          std::unique_ptr<SortedRecords> sorted;
          {
            Busy busy(job.clock, Resource::kCompute, 0,
                      {"sort batch", number, job.plan.gpu ? TraceTrack::kGpu : TraceTrack::kNone});
            sorted = lane->Sort(*batch);
            busy.set_bytes(batch->bytes());
            busy.Add(lane->TakeTimes());
            if (const std::uint64_t top = job.spec.order.front(); top > 0) {
              sorted = TakeFront(std::move(sorted), top, job.spec.order.unique, job.layout);
            }
          }
          Run run;
          {
            const std::lock_guard lock(mutex);
            run.id = job.next_run_id++;
          }
          run.bytes = sorted->bytes();
          run.sum = batch->sum();
          run.origin = batch->ranges();
          run.stored = batch->stored();
          placer.Place(std::move(sorted), run, stream && batch->number() == 0 && feeder.Ended(pipeline));
          LogDebug("run " + std::to_string(run.id) + ": batch " + std::to_string(number) + ", " +
                   FormatBytes(run.bytes) + ", " + PlaceText(run));
          if (counts && !worked_on) job.progress.Advance(batch->stored());
          const std::lock_guard lock(mutex);
          formed.emplace(std::pair(place, batch->number()), std::move(run));
        } catch (...) {
          pipeline.Fail(std::current_exception());
          job.backend->Cancel();
          feeder.Return(*batch);
          return;
        }
      }
      // The last thread that gets here ends the placer.
      const std::lock_guard lock(mutex);
      if (--working == 0) placer.Finish();
    };
    const Pipeline::Guard guard(pipeline);
    pipeline.Start(work, job.plan.lanes, "sort lane");
    pipeline.Join();
  } catch (...) {
    collect();
    for (const auto& feeder : feeders) feeder->RethrowIfFailed();
    throw;
  }
  collect();
}

}  // namespace gpusort
