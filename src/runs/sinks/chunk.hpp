// A window in chunks, the unit in which workers check, change and write records, and the stages that chunks go through.
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

/// Large enough for the disk, and small enough that all workers share a window.
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

/// Throws WrongResult unless `rest`, the end of a window, ends with a whole record.
inline void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Returns the size of the next chunk: whole records at the front of `rest`, the end of a window that is not empty.
inline std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

struct Chunk {
  std::span<std::byte> records;  ///< the bytes that the stages have left so far
  bool goes_on = false;          ///< the first record has the key of the record before the chunk
  OutputProof::Seen seen;        ///< of `records`, with their keys
  unsigned part = 0;             ///< the part of the output that the chunk belongs to
};

/// A window on its way through the stages. The window stays in memory until the last reference is gone.
struct Chunks {
  Window window;
  std::vector<Chunk> list;
  std::mutex mutex;
  std::condition_variable ready;
  std::size_t unready = 0;  ///< number of chunks that workers still change; guarded by `mutex`
};

/// Changes chunks, one after the other or side by side.
class Stage {
 public:
  virtual ~Stage() = default;
  /// Looks at every chunk in output order, before any stage changes records of its window.
  virtual void LookInOrder(Chunk&) {}
  virtual void Change(Chunk& chunk) = 0;
};

/// The last stage: writes the chunks of windows, which come in output order. `Put` may return before a window is
/// written.
class Place {
 public:
  virtual ~Place() = default;
  virtual void Begin(std::span<const std::byte> header) = 0;
  virtual void Put(const std::shared_ptr<Chunks>& chunks) = 0;
  virtual void End(std::span<const std::byte>) {}
  /// The size of the output so far.
  virtual std::uint64_t bytes() const = 0;
};

/// Writes windows to the output file, each to its place, as soon as they come.
std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written);

/// -u. `last`: the record before the first chunk; may be empty.
std::unique_ptr<Stage> MakeDropEquals(const RecordLayout& layout, OutputProof& proof, std::vector<std::byte> last);

/// Makes the place for `output`: its parts, an encoder, a stream, formatted text, or the file itself. Files are written
/// on `workers`. `written`: size of the output so far.
std::unique_ptr<Place> MakePlace(Job& job, Output& output, WorkerPool& workers, std::uint64_t written);

}  // namespace gpusort
