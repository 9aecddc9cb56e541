#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "runs/sinks.hpp"

namespace gpusort {
namespace {

/// Writes windows, in their order, as the blocks of a new run in temp files.
class SpillSink : public WindowSink {
 public:
  SpillSink(Job& job, Pipeline& pipeline, Run& run)
      : job_(job),
        pipeline_(pipeline),
        run_(run),
        windows_(pipeline),
        front_(job.spec.order.front() > 0 ? job.spec.order.front() : kMaxSize, job.spec.order.unique, job.layout),
        buffers_(job.memory, job.plan.block_bytes, job.plan.spill_blocks),
        workers_(pipeline, job.plan.io_threads) {
    pipeline.Start([this] {
      while (std::optional<Window> window = windows_.Pop()) Take(*window);
      if (filled_ > 0) Emit();
      workers_.Finish();
    });
  }

  void Accept(Window window) override {
    const std::uint64_t number = window.number;
    windows_.Push(number, std::move(window));
  }

  void Finish(std::uint64_t windows) override { windows_.Finish(windows); }
  bool enough() const override { return enough_; }
  std::uint64_t bytes() const override { return run_.bytes; }

 private:
  void Take(const Window& window) {
    std::uint64_t kept = window.bytes;
    RequireWholeRecords({window.data, kept}, job_.layout);
    if (job_.spec.order.front() > 0) {
      kept = front_.Take({window.data, kept});
      enough_ = front_.done();
    }
    for (std::uint64_t done = 0; done < kept;) {
      if (buffer_.data() == nullptr) buffer_ = buffers_.Acquire(pipeline_);
      const std::span<const std::byte> rest{window.data + done, kept - done};
      const std::uint64_t room = job_.block_payload() - filled_;
      std::uint64_t count = rest.size() <= room ? rest.size() : WholeRecordBytes(rest.first(room), job_.layout);
      if (count == 0 && filled_ > 0) {
        Emit();
        continue;
      }
      if (count == 0) {
        count = FirstRecordBytes(rest, job_.layout);
        EmitLong(rest.first(count));
      } else {
        std::memcpy(buffer_.data() + kSpillHeaderBytes + filled_, rest.data(), count);
        filled_ += count;
        if (filled_ == job_.block_payload()) Emit();
      }
      done += count;
    }
    job_.progress.Advance(window.bytes);
  }

  /// Writes the filled buffer on a worker thread.
  void Emit() {
    const auto buffer = std::make_shared<BlockPool::Block>(std::exchange(buffer_, {}));
    RunBlock block = NextBlock(std::exchange(filled_, 0));
    workers_.Submit([this, buffer, block, number = number_++]() mutable {
      Write(number, *buffer, block, [](std::uint64_t, std::span<std::byte>) {});  // the bytes are in the buffer already
    });
  }

  /// Writes a line that is longer than a block, in parts, before it returns.
  void EmitLong(std::span<const std::byte> line) {
    RunBlock block = NextBlock(line.size());
    Write(number_++, buffer_, block,
          [&](std::uint64_t at, std::span<std::byte> out) { std::memcpy(out.data(), line.data() + at, out.size()); });
  }

  RunBlock NextBlock(std::uint64_t bytes) {
    RunBlock block;
    block.begin = run_.bytes;
    block.bytes = bytes;
    run_.bytes += bytes;
    return block;
  }

  /// `read(offset, out)` copies bytes of the block into `out`, as RunStore::Write needs them.
  template <typename Read>
  void Write(std::uint64_t number, const BlockPool::Block& buffer, RunBlock& block, Read read) {
    const Busy busy(job_.clock, Resource::kDiskWrite, block.bytes, {"spill merged run", run_.id, TraceTrack::kTemp});
    job_.store->Write(run_.id, number, buffer.span(), block, job_.layout, read);
    const std::lock_guard lock(mutex_);
    run_.blocks.Set(number, block);
  }

  Job& job_;
  Pipeline& pipeline_;
  Run& run_;
  OrderedQueue<Window> windows_;
  std::atomic<bool> enough_{false};
  FrontCounter front_;
  BlockPool buffers_;
  WorkerPool workers_;
  std::mutex mutex_;                        ///< guards the blocks of the run
  BlockPool::Block buffer_;                 ///< the block that is being filled
  std::uint64_t filled_ = 0, number_ = 0;   ///< bytes in `buffer_`; number of the next block
  const Pipeline::Guard guard_{pipeline_};  ///< last member, so that an exception does not destroy what threads use
};

}  // namespace

std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run) {
  return std::make_unique<SpillSink>(job, pipeline, run);
}

}  // namespace gpusort
