#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runs/part_borders.hpp"
#include "runs/sinks/chunk.hpp"
#include "runs/sinks/look.hpp"
#include "runs/sinks/strip_keys.hpp"
#include "runs/sinks/take_top.hpp"

namespace gpusort {
namespace {

/// Takes windows in their order, for streams, encoders, parts, -u, --top, keyed records and formatted records. One
/// thread cuts windows into chunks. Workers run the first list of stages on chunks side by side. Another thread runs
/// the second list on chunks in output order, and hands them to their place. No thread waits for one window before it
/// begins the next.
class StagedSink : public WindowSink {
 public:
  StagedSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof, std::uint64_t bytes,
             std::uint64_t written)
      : job_(job),
        pipeline_(pipeline),
        output_(output),
        proof_(proof),
        borders_(job, bytes),
        windows_(pipeline),
        cut_(pipeline, job.plan.windows),
        workers_(pipeline, job.plan.io_threads),
        begins_(written == 0) {
    place_ = MakePlace(job, output, workers_, written);  // here, where guard_ joins the workers if this throws
    OutputProof::Front front = written > 0 ? proof.front() : OutputProof::Front{};
    proved_ = front.bytes;
    const Order& order = job.spec.order;
    if (order.unique) beside_.push_back(MakeDropEquals(job.layout, proof, std::move(front.last)));
    beside_.push_back(std::make_unique<Look>(proof));
    if (order.top > 0) in_order_.push_back(std::make_unique<TakeTop>(order.top, job.layout, proof, enough_));
    // TakeTop counts records with their keys.
    if (job.layout.keyed()) (order.top > 0 ? in_order_ : beside_).push_back(std::make_unique<StripKeys>(job.layout));
    pipeline.Start([this] { CutWindows(); });
    pipeline.Start([this] { PutWindows(); });
  }

  void Accept(Window window) override {
    const std::uint64_t number = window.number;
    windows_.Push(number, std::move(window));
  }

  void Finish(std::uint64_t windows) override { windows_.Finish(windows); }
  bool enough() const override { return enough_; }
  std::uint64_t begin() const override { return output_.header().size(); }
  std::uint64_t bytes() const override { return place_->bytes(); }

 private:
  void CutWindows() {
    while (std::optional<Window> window = windows_.Pop()) {
      const auto chunks = std::make_shared<Chunks>();
      chunks->window = std::move(*window);
      pipeline_.Try([&] { Cut(chunks); });
    }
    cut_.Finish();
  }

  void PutWindows() {
    if (begins_) place_->Begin(output_.header());
    while (std::optional<std::shared_ptr<Chunks>> window = cut_.Pop()) {
      pipeline_.Try([&] { Put(*window); });
    }
    place_->End(output_.trailer());
    workers_.Finish();
  }

  void Cut(const std::shared_ptr<Chunks>& chunks) {
    const Window& window = chunks->window;
    for (std::uint64_t done = 0, count = 0; done < window.bytes; done += count) {
      count = ChunkBytes({window.data + done, window.bytes - done}, job_.layout);
      Chunk chunk;
      if (output_.parts() != nullptr) {
        count = borders_.Take({window.data + done, count});
        chunk.part = borders_.part();
      }
      chunk.records = {window.data + done, count};
      chunks->list.push_back(std::move(chunk));
    }
    chunks->unready = chunks->list.size();
    for (const std::unique_ptr<Stage>& stage : beside_) {
      for (Chunk& chunk : chunks->list) stage->LookInOrder(chunk);
    }
    for (Chunk& chunk : chunks->list) {
      workers_.Submit([this, chunks, &chunk] {
        for (const std::unique_ptr<Stage>& stage : beside_) stage->Change(chunk);
        const std::lock_guard lock(chunks->mutex);
        if (--chunks->unready == 0) chunks->ready.notify_one();
      });
    }
    cut_.Push(chunks);
  }

  void Put(const std::shared_ptr<Chunks>& chunks) {
    {
      std::unique_lock lock(chunks->mutex);
      pipeline_.Wait(lock, chunks->ready, [&] { return chunks->unready == 0; });
    }
    for (Chunk& chunk : chunks->list) {
      for (const std::unique_ptr<Stage>& stage : in_order_) stage->Change(chunk);
      proof_.Add(std::exchange(proved_, proved_ + chunk.seen.bytes), chunk.seen);
    }
    place_->Put(chunks);
    job_.progress.Advance(chunks->window.bytes);
  }

  Job& job_;
  Pipeline& pipeline_;
  Output& output_;
  OutputProof& proof_;
  PartBorders borders_;
  OrderedQueue<Window> windows_;
  std::atomic<bool> enough_{false};
  BoundedQueue<std::shared_ptr<Chunks>> cut_;
  WorkerPool workers_;
  std::vector<std::unique_ptr<Stage>> beside_;    ///< run on chunks side by side
  std::vector<std::unique_ptr<Stage>> in_order_;  ///< run on chunks in output order
  std::unique_ptr<Place> place_;
  const bool begins_;                       ///< the output has no header yet
  std::uint64_t proved_ = 0;                ///< bytes of records in the output, with their keys
  const Pipeline::Guard guard_{pipeline_};  ///< last: an exception must not drop what threads use
};

}  // namespace

std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written) {
  const bool in_place = !output.in_order() && output.parts() == nullptr && !job.spec.order.unique &&
                        job.spec.order.top == 0 && !job.layout.keyed() && !job.format;
  if (in_place) return MakeFileSink(job, pipeline, output, proof, written);
  return std::make_unique<StagedSink>(job, pipeline, output, proof, bytes, written);
}

}  // namespace gpusort
