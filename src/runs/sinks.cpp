#include "runs/sinks.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "formats/keyed_record.hpp"
#include "io/output_file.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/part_borders.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kPage = 4096;
/// The unit of checking and writing: large enough for the disk, small enough for all workers to share a window.
constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
/// Formatted at once.
constexpr std::size_t kFormatBytes = std::size_t{1} << 16;

/// The pages that windows share at their borders. Each is written once both sides are there.
class BorderPages {
 public:
  explicit BorderPages(OutputFile& file) : file_(file) {}

  void Add(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::uint64_t page = offset / kPage * kPage;
      const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), page + kPage - offset);
      std::unique_ptr<Page> full;
      {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Page>& entry = pages_[page];
        if (!entry) entry = std::make_unique<Page>();
        std::memcpy(entry->bytes + (offset - page), bytes.data(), count);
        entry->filled += count;
        if (entry->filled == kPage) {
          full = std::move(entry);
          pages_.erase(page);
        }
      }
      if (full) file_.WriteAt(page, full->bytes);
      offset += count;
      bytes = bytes.subspan(count);
    }
  }

  /// The file's last page goes out padded, and once more when it is full; Publish cuts the file to its length.
  void Flush() {
    const std::lock_guard lock(mutex_);
    for (const auto& [offset, page] : pages_) file_.WriteAt(offset, page->bytes);
  }

 private:
  struct Page {
    alignas(kPage) std::byte bytes[kPage] = {};
    std::uint64_t filled = 0;
  };
  OutputFile& file_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

/// Of a window, or its rest.
void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Bytes of whole records that one task takes of the rest of a window, which is not empty.
std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

class FileSink : public WindowSink {
 public:
  FileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof, std::uint64_t written)
      : job_(job),
        pipeline_(pipeline),
        file_(*output.file()),
        proof_(proof),
        unit_(file_.direct() ? kPage : 1),
        begin_(output.header().size()),
        borders_(file_),
        at_(written > 0 ? written : PutHeader(output.header())),
        bytes_(at_),
        workers_(pipeline, job.plan.io_threads) {
    if (written > 0 && written % unit_ != 0) PutFrontOfPage();
  }

  void Accept(Window window) override {
    const auto shared = std::make_shared<Window>(std::move(window));
    pipeline_.Try([&] { Take(shared); });
  }

  void Finish(std::uint64_t) override { workers_.Finish(); }
  void Settle() override { borders_.Flush(); }
  void Complete() override { borders_.Flush(); }
  std::uint64_t begin() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  void Take(const std::shared_ptr<Window>& shared) {
    const std::uint64_t begin = RoundUp(shared->offset);
    const std::uint64_t end = shared->offset + shared->bytes;
    const std::uint64_t aligned_end = end / unit_ * unit_;
    for (std::uint64_t done = 0, count = 0; done < shared->bytes; done += count) {
      count = ChunkBytes({shared->data + done, shared->bytes - done}, job_.layout);
      workers_.Submit([this, shared, done, count, begin, aligned_end] {
        const std::span<const std::byte> all(shared->data, shared->bytes);
        proof_.Add(shared->offset - begin_ + done, all.subspan(done, count));
        const std::uint64_t from = std::max(begin, RoundUp(shared->offset + done));
        const std::uint64_t to = std::min(aligned_end, RoundUp(shared->offset + done + count));
        if (from < to) {
          const Busy busy(job_.clock, Resource::kDiskWrite, to - from, {"write output", shared->number});
          file_.WriteAt(from, all.subspan(from - shared->offset, to - from));
        }
        job_.progress.Advance(count);
      });
    }
    if (begin < aligned_end) {
      AddBorder(*shared, shared->offset, begin);
      AddBorder(*shared, aligned_end, end);
    } else if (begin > shared->offset || end > aligned_end) {
      AddBorder(*shared, shared->offset, end);
    }
    const std::lock_guard lock(mutex_);
    bytes_ += shared->bytes;
  }

  /// Of the one that the sink before has begun.
  void PutFrontOfPage() {
    alignas(kPage) std::byte page[kPage];
    const std::uint64_t offset = at_ / kPage * kPage;
    if (file_.ReadAt(offset, page) < at_ - offset) throw Error(ErrorCode::kIntegrity, "the output was cut");
    borders_.Add(offset, std::span(page).first(at_ - offset));
  }
  std::uint64_t PutHeader(std::span<const std::byte> header) {
    if (unit_ == 1) {
      file_.WriteAt(0, header);
    } else {
      borders_.Add(0, header);
    }
    return header.size();
  }
  std::uint64_t RoundUp(std::uint64_t offset) const { return (offset + unit_ - 1) / unit_ * unit_; }
  void AddBorder(const Window& window, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) borders_.Add(begin, {window.data + (begin - window.offset), end - begin});
  }

  Job& job_;
  Pipeline& pipeline_;
  OutputFile& file_;
  OutputProof& proof_;
  const std::uint64_t unit_;   ///< writes begin and end at multiples of it
  const std::uint64_t begin_;  ///< of the records
  BorderPages borders_;
  const std::uint64_t at_;  ///< of the first window
  std::mutex mutex_;
  std::uint64_t bytes_;
  WorkerPool workers_;
  const Pipeline::Guard guard_{pipeline_};  ///< last: what fails beside the threads must not drop what they use
};

/// Takes windows in their order.
class InOrderSink : public WindowSink {
 public:
  explicit InOrderSink(Pipeline& pipeline) : windows_(pipeline) {}
  void Accept(Window window) override {
    const std::uint64_t number = window.number;
    windows_.Push(number, std::move(window));
  }
  void Finish(std::uint64_t windows) override { windows_.Finish(windows); }
  bool enough() const override { return enough_; }

 protected:
  OrderedQueue<Window> windows_;
  std::atomic<bool> enough_{false};
};

/// Windows in order, for a stream, an encoder, parts, -u or --top. Three stages, so that nobody waits for one window
/// before the next is begun: each window is cut into chunks, which are in one part each; workers drop what -u drops of
/// each, and look at the rest; then its place is known, and it goes out in order, to files by the workers.
class OrderedSink : public InOrderSink {
 public:
  OrderedSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof, std::uint64_t bytes,
              std::uint64_t written)
      : InOrderSink(pipeline),
        job_(job),
        pipeline_(pipeline),
        output_(output),
        parts_(output.parts()),
        borders_(job, bytes),
        proof_(proof),
        cut_(pipeline, job.plan.windows),
        workers_(pipeline, job.plan.io_threads),
        front_(job.spec.order.top > 0 ? job.spec.order.top : kMaxSize, false, job.layout),
        bytes_(written) {
    if (written > 0) {
      OutputProof::Front front = proof.front();
      last_ = std::move(front.last);
      proved_ = front.bytes;
    }
    pipeline.Start([this] {
      while (std::optional<Window> window = windows_.Pop()) {
        const auto chunks = std::make_shared<Chunks>();
        chunks->window = std::move(*window);
        pipeline_.Try([&] { Cut(chunks); });
      }
      cut_.Finish();
    });
    pipeline.Start([this] {
      if (bytes_ == 0) parts_ ? parts_->Begin(output_.header()) : Put(output_.header());
      while (std::optional<std::shared_ptr<Chunks>> window = cut_.Pop()) {
        pipeline_.Try([&] { PutChunks(*window); });
      }
      if (parts_) parts_->End(output_.trailer());
      workers_.Finish();
    });
  }

  std::uint64_t begin() const override { return output_.header().size(); }
  std::uint64_t bytes() const override { return parts_ ? parts_->bytes() : bytes_; }

 private:
  /// A window on its way out, in chunks.
  struct Chunks {
    Window window;
    std::vector<std::span<std::byte>> spans;  ///< what is left of each
    std::vector<OutputProof::Seen> seen;      ///< of that, with keys
    std::vector<unsigned> parts;              ///< that they are in, if there are parts
    std::mutex mutex;
    std::condition_variable ready;
    std::size_t unready = 0;
  };

  void Cut(const std::shared_ptr<Chunks>& chunks) {
    const Window& window = chunks->window;
    for (std::uint64_t done = 0, count = 0; done < window.bytes; done += count) {
      count = ChunkBytes({window.data + done, window.bytes - done}, job_.layout);
      if (parts_) {
        count = borders_.Take({window.data + done, count});
        chunks->parts.push_back(borders_.part());
      }
      chunks->spans.emplace_back(window.data + done, count);
    }
    chunks->unready = chunks->spans.size();
    chunks->seen.resize(chunks->spans.size());
    // What stands in front of each chunk, before any record moves.
    std::vector<char> goes_on(chunks->spans.size());
    for (std::size_t i = 0; job_.spec.order.unique && i < chunks->spans.size(); ++i) {
      const RecordSpan chunk = chunks->spans[i];
      goes_on[i] = !last_.empty() && CompareRecords(last_, FirstRecord(chunk, job_.layout), job_.layout) == 0;
      const RecordSpan last = LastRecord(chunk, job_.layout);
      last_.assign(last.begin(), last.end());
    }
    for (std::size_t i = 0; i < chunks->spans.size(); ++i) {
      workers_.Submit([this, chunks, i, goes_on = goes_on[i] != 0] {
        std::span<std::byte>& chunk = chunks->spans[i];
        if (job_.spec.order.unique) DropEqual(chunk, goes_on);
        chunks->seen[i] = proof_.Look(chunk);
        if (job_.layout.keyed() && job_.spec.order.top == 0) chunk = DropKeys(chunk, job_.layout);
        const std::lock_guard lock(chunks->mutex);
        if (--chunks->unready == 0) chunks->ready.notify_one();
      });
    }
    cut_.Push(chunks);
  }

  void PutChunks(const std::shared_ptr<Chunks>& chunks) {
    {
      std::unique_lock lock(chunks->mutex);
      pipeline_.Wait(lock, chunks->ready, [&] { return chunks->unready == 0; });
    }
    std::uint64_t kept = 0;
    for (std::size_t i = 0; i < chunks->spans.size(); ++i) {
      std::span<std::byte>& chunk = chunks->spans[i];
      if (job_.spec.order.top > 0) {
        const std::uint64_t front = front_.Take(chunk);
        enough_ = front_.done();
        if (front < chunk.size()) {
          chunk = chunk.first(front);
          chunks->seen[i] = proof_.Look(chunk);
        }
        if (job_.layout.keyed()) chunk = DropKeys(chunk, job_.layout);
      }
      if (parts_) PutIntoPart(chunks, i);
      proof_.Add(std::exchange(proved_, proved_ + chunks->seen[i].bytes), std::move(chunks->seen[i]));
      kept += chunk.size();
    }
    if (!parts_) PutBehind(chunks, kept);
    job_.progress.Advance(chunks->window.bytes);
  }

  void PutIntoPart(const std::shared_ptr<Chunks>& chunks, std::size_t i) {
    const OutputProof::Seen& seen = chunks->seen[i];
    if (seen.sum.records == 0) return;
    std::vector<std::byte> first, last;
    const std::uint64_t at =
        parts_->Add(chunks->parts[i], chunks->spans[i].size(), seen.sum, OwnBytes(seen.first, job_.layout, first),
                    OwnBytes(seen.last, job_.layout, last));
    workers_.Submit([this, chunks, i, at] {  // the window stays until it is written
      const Busy busy(job_.clock, Resource::kDiskWrite, chunks->spans[i].size(), {"write part", chunks->parts[i]});
      parts_->Write(chunks->parts[i], at, chunks->spans[i]);
    });
  }

  /// `bytes` in all, behind what went out before.
  void PutBehind(const std::shared_ptr<Chunks>& chunks, std::uint64_t bytes) {
    if (job_.format) {
      std::string text;
      for (const std::span<std::byte> chunk : chunks->spans) {
        ForEachRecord(chunk, job_.layout, [&](RecordSpan line) {
          job_.format(line, text);
          if (text.size() < kFormatBytes) return;
          Put(std::as_bytes(std::span(text)));
          text.clear();
        });
      }
      Put(std::as_bytes(std::span(text)));
    } else if (!output_.in_order()) {
      output_.file()->AllocateToWrite(bytes_ + bytes);
      for (const std::span<std::byte> chunk : chunks->spans) {
        if (chunk.empty()) continue;
        workers_.Submit([this, chunks, chunk, offset = bytes_] {  // the window stays until it is written
          const Busy busy(job_.clock, Resource::kDiskWrite, chunk.size(), {"write output", chunks->window.number});
          output_.Write(offset, chunk);
        });
        bytes_ += chunk.size();
      }
    } else {
      const bool codec = output_.compressed();
      const Busy busy(job_.clock, codec ? Resource::kCodec : Resource::kDiskWrite, bytes,
                      {codec ? "compress output" : "write output", chunks->window.number});
      for (const auto& chunk : chunks->spans) Put(chunk);
    }
  }

  void Put(std::span<const std::byte> bytes) {
    output_.Write(bytes_, bytes);
    bytes_ += bytes.size();
  }

  /// Keeps the first of each group of equal keys; `goes_on`: the first group begins in front of the chunk.
  void DropEqual(std::span<std::byte>& chunk, bool goes_on) {
    std::byte *to = chunk.data(), *from = to;  // kept records in front of `to` have their place, those from `from` not
    const auto move_up_to = [&](std::byte* end) {
      if (to != from) std::memmove(to, from, static_cast<std::size_t>(end - from));
      to += end - from;
    };
    RecordSum dropped;
    // The record before stays where it is, kept or not: what is moved ends in front of the one that was dropped last.
    RecordSpan before;
    std::optional<NeighbourLines> lines;
    if (!job_.layout.fixed()) lines.emplace(*job_.layout.lines);
    std::byte* at = chunk.data();
    ForEachRecord(chunk, job_.layout, [&](RecordSpan record) {
      const int compared = lines            ? lines->Next(AsBytes(record.data()), record.size() - 1)
                           : before.empty() ? -1
                                            : CompareRecords(before, record, job_.layout);
      const bool drop = before.empty() ? goes_on : compared == 0;
      before = record;
      if (drop) {
        dropped += SumRecords(record, job_.layout);
        move_up_to(at);
        from = at + record.size();
      }
      at += record.size();
    });
    move_up_to(at);
    chunk = chunk.first(static_cast<std::size_t>(to - chunk.data()));
    proof_.AddDropped(dropped);
  }

  Job& job_;
  Pipeline& pipeline_;
  Output& output_;
  OutputParts* const parts_;
  PartBorders borders_;
  OutputProof& proof_;
  BoundedQueue<std::shared_ptr<Chunks>> cut_;
  WorkerPool workers_;
  FrontCounter front_;
  std::vector<std::byte> last_;  ///< record that was cut
  std::uint64_t proved_ = 0;     ///< bytes of records that went out, with their keys
  std::uint64_t bytes_;          ///< that went out, with the header
  const Pipeline::Guard guard_{pipeline_};
};

class SpillSink : public InOrderSink {
 public:
  SpillSink(Job& job, Pipeline& pipeline, Run& run)
      : InOrderSink(pipeline),
        job_(job),
        pipeline_(pipeline),
        run_(run),
        front_(job.spec.order.top > 0 ? job.spec.order.top : kMaxSize, job.spec.order.unique, job.layout),
        buffers_(job.memory, job.plan.block_bytes, job.plan.spill_blocks),
        workers_(pipeline, job.plan.io_threads) {
    pipeline.Start([this] {
      while (std::optional<Window> window = windows_.Pop()) Take(*window);
      if (filled_ > 0) Emit();
      workers_.Finish();
    });
  }

  std::uint64_t bytes() const override { return run_.bytes; }

 private:
  void Take(const Window& window) {
    std::uint64_t kept = window.bytes;
    RequireWholeRecords({window.data, kept}, job_.layout);
    if (job_.spec.order.top > 0) {
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

  void Emit() {
    const auto buffer = std::make_shared<BlockPool::Block>(std::exchange(buffer_, {}));
    RunBlock block = NextBlock(std::exchange(filled_, 0));
    workers_.Submit([this, buffer, block, number = number_++]() mutable {
      Write(number, *buffer, block, [](std::uint64_t, std::span<std::byte>) {});  // it is in the buffer
    });
  }

  /// A line that is longer than a block goes out at once, in parts.
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
  FrontCounter front_;
  BlockPool buffers_;
  WorkerPool workers_;
  std::mutex mutex_;
  BlockPool::Block buffer_;  // being filled
  std::uint64_t filled_ = 0, number_ = 0;
  const Pipeline::Guard guard_{pipeline_};
};

}  // namespace

std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written) {
  const bool in_place = !output.in_order() && output.parts() == nullptr && !job.spec.order.unique &&
                        job.spec.order.top == 0 && !job.layout.keyed() && !job.format;
  if (in_place) return std::make_unique<FileSink>(job, pipeline, output, proof, written);
  return std::make_unique<OrderedSink>(job, pipeline, output, proof, bytes, written);
}

std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run) {
  return std::make_unique<SpillSink>(job, pipeline, run);
}

}  // namespace gpusort
