#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/keyed_record.hpp"
#include "io/output_file.hpp"
#include "kernels/records/records.hpp"
#include "runs/sinks/chunk.hpp"

namespace gpusort {
namespace {

/// Writes chunks to the parts of the output, on workers.
class PlaceInParts : public Place {
 public:
  PlaceInParts(Job& job, OutputParts& parts, WorkerPool& workers) : job_(job), parts_(parts), workers_(workers) {}
  void Begin(std::span<const std::byte> header) override { parts_.Begin(header); }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    for (const Chunk& chunk : chunks->list) {
      if (chunk.seen.sum.records == 0) continue;
      std::vector<std::byte> first, last;
      const std::uint64_t at =
          parts_.Add(chunk.part, chunk.records.size(), chunk.seen.sum, OwnBytes(chunk.seen.first, job_.layout, first),
                     OwnBytes(chunk.seen.last, job_.layout, last));
      workers_.Submit([this, chunks, &chunk, at] {
        const Busy busy(job_.clock, Resource::kDiskWrite, chunk.records.size(), {"write part", chunk.part});
        parts_.Write(chunk.part, at, chunk.records);
      });
    }
  }
  void End(std::span<const std::byte> trailer) override { parts_.End(trailer); }
  std::uint64_t bytes() const override { return parts_.bytes(); }

 private:
  Job& job_;
  OutputParts& parts_;
  WorkerPool& workers_;
};

/// Writes chunks to a stream or into an encoder, one after the other.
class PlaceInStream : public Place {
 public:
  PlaceInStream(Job& job, Output& output, std::uint64_t written) : job_(job), output_(output), bytes_(written) {}
  void Begin(std::span<const std::byte> header) override { Write(header); }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    std::uint64_t bytes = 0;
    for (const Chunk& chunk : chunks->list) bytes += chunk.records.size();
    const bool codec = output_.compressed();
    const Busy busy(job_.clock, codec ? Resource::kCodec : Resource::kDiskWrite, bytes,
                    {codec ? "compress output" : "write output", chunks->window.number});
    for (const Chunk& chunk : chunks->list) Write(chunk.records);
  }
  std::uint64_t bytes() const override { return bytes_; }

 protected:
  void Write(std::span<const std::byte> bytes) {
    output_.Write(bytes_, bytes);
    bytes_ += bytes.size();
  }

  Job& job_;
  Output& output_;
  std::uint64_t bytes_;
};

/// Writes the text that Job::format makes of records.
class PlaceFormatted : public PlaceInStream {
 public:
  using PlaceInStream::PlaceInStream;
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 16;
    std::string text;
    for (const Chunk& chunk : chunks->list) {
      ForEachRecord(chunk.records, job_.layout, [&](RecordSpan record) {
        job_.format(record, text);
        if (text.size() < kWrittenAtOnce) return;
        Write(std::as_bytes(std::span(text)));
        text.clear();
      });
    }
    Write(std::as_bytes(std::span(text)));
  }
};

/// Writes chunks to the output file, on workers.
class PlaceInFile : public PlaceInStream {
 public:
  PlaceInFile(Job& job, Output& output, WorkerPool& workers, std::uint64_t written)
      : PlaceInStream(job, output, written), workers_(workers) {}
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    std::uint64_t end = bytes_;
    for (const Chunk& chunk : chunks->list) end += chunk.records.size();
    output_.file()->AllocateToWrite(end);
    for (const Chunk& chunk : chunks->list) {
      if (chunk.records.empty()) continue;
      workers_.Submit([this, chunks, &chunk, offset = bytes_] {
        const Busy busy(job_.clock, Resource::kDiskWrite, chunk.records.size(),
                        {"write output", chunks->window.number});
        output_.Write(offset, chunk.records);
      });
      bytes_ += chunk.records.size();
    }
  }

 private:
  WorkerPool& workers_;
};

}  // namespace

std::unique_ptr<Place> MakePlace(Job& job, Output& output, WorkerPool& workers, std::uint64_t written) {
  if (output.parts() != nullptr) return std::make_unique<PlaceInParts>(job, *output.parts(), workers);
  if (job.format) return std::make_unique<PlaceFormatted>(job, output, written);
  if (output.in_order()) return std::make_unique<PlaceInStream>(job, output, written);
  return std::make_unique<PlaceInFile>(job, output, workers, written);
}

}  // namespace gpusort
