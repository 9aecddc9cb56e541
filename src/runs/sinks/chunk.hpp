// The chunks of a window, and the stages that check, change and write the records of a chunk on any worker.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "data/proof.hpp"
#include "kernels/records/records.hpp"
#include "runs/sinks.hpp"

namespace gpusort {

/// The size of a chunk: large enough for the disk, and small enough that all workers get a part of a window.
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

/// Throws WrongResult unless `rest`, the end of a window, ends with a complete record.
inline void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Returns the size of the next chunk: complete records at the front of `rest`, the non-empty end of a window.
inline std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

/// Some complete records of a window.
struct Chunk {
  std::span<std::byte> records;  ///< the bytes that the stages have left so far
  bool goes_on = false;          ///< the first record has the same key as the record before the chunk
  OutputProof::Seen seen;        ///< sum, first and last record, and order of `records`
  unsigned part = 0;             ///< index of the part of the output that the chunk belongs to
};

/// The chunks of one window. The window stays in memory until the last reference is gone.
struct Chunks {
  Window window;
  std::vector<Chunk> list;
  std::mutex mutex;
  std::condition_variable ready;
  std::size_t unready = 0;  ///< number of chunks that workers still change; guarded by `mutex`
};

/// A step that changes the records of chunks. Some stages need the chunks in output order, others run on any worker.
class Stage {
 public:
  virtual ~Stage() = default;
  /// Looks at every chunk in output order, before any stage changes the records of its window.
  virtual void LookInOrder(Chunk&) {}
  virtual void Change(Chunk& chunk) = 0;
};

/// The last stage, which writes windows. The caller passes windows in output order. Put() may return before it has
/// written.
class Place {
 public:
  virtual ~Place() = default;
  virtual void Begin(std::span<const std::byte> header) = 0;
  virtual void Put(const std::shared_ptr<Chunks>& chunks) = 0;
  virtual void End(std::span<const std::byte>) {}
  /// Returns the size of the output so far.
  virtual std::uint64_t bytes() const = 0;
};

/// Makes a sink that writes each window to its place in the output file as soon as the window arrives.
std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written);

/// Makes the stage for -u. `last` is the record before the first chunk, or empty.
std::unique_ptr<Stage> MakeDropEquals(const RecordLayout& layout, OutputProof& proof, std::vector<std::byte> last);

/// Makes the last stage for `output`: parts, an encoder, a stream, formatted text, or a file, which is written on
/// `workers`. `written` is the size of the output so far.
std::unique_ptr<Place> MakePlace(Job& job, Output& output, WorkerPool& workers, std::uint64_t written);

}  // namespace gpusort
