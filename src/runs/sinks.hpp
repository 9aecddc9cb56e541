// Sinks write the windows that a merge produces: to the output file, its parts, a stream, or a new run in the spill. A
// WindowSink takes windows from any lane in any order. Sinks of the output add the written records to the proof. Plain
// output files are written in parallel (sinks/file_sink.cpp). Other outputs need the order of windows, and pass through
// stages (sinks/staged_sink.cpp). sinks/spill_sink.cpp writes new runs.
#pragma once

#include <cstdint>
#include <memory>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Merged records: the bytes [offset, offset + bytes) of the sequence that the sink writes.
struct Window {
  std::uint64_t number = 0;  ///< counts from 0 in output order
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockPool::Block buffer;
  HostBuffer own;                 ///< the memory of a window that consists of one line longer than planned
  std::byte* data = nullptr;      ///< the records in `buffer` or `own`, aligned for a direct write to `offset`
  std::shared_ptr<void> written;  ///< released after the window is written; used by Checkpoints
};

/// Writes the windows of one merge.
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Takes a window. Any thread may call this, with windows in any order. May return before the window is written.
  virtual void Accept(Window window) = 0;
  /// Ends the sink's threads. Call it after the last Accept(). `windows` is the number of all windows.
  virtual void Finish(std::uint64_t windows) = 0;
  /// Writes the bytes that the sink has held back for a later window. All accepted windows must be written, and no
  /// thread may call Accept() meanwhile. Call this also after the pipeline was joined.
  virtual void Settle() {}
  /// Returns true if the sink drops all further windows. Any thread may call this.
  virtual bool enough() const { return false; }
  /// Returns the offset of the first window. An earlier process wrote the bytes before this offset.
  virtual std::uint64_t begin() const { return 0; }
  /// Returns the offset of the end of the written sequence. -u and --top drop records, so the windows may have more
  /// bytes in total. Call this only when Settle() may be called.
  virtual std::uint64_t bytes() const = 0;
};

/// Makes the sink of the last merge, whose windows have `bytes` bytes in total. `proof` and `output` must outlive it.
/// An earlier process may have written the first `written` bytes of the output. `proof` must contain their records.
std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written = 0);

/// Makes a sink that writes each window to its place in the output file as soon as the window arrives.
std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written);

/// Makes the sink of a merge before the last one. It writes the blocks of `run` to the spill.
std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run);

/// Throws WrongResult unless `rest`, the end of a window, ends with a complete record.
inline void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Returns the size of the next chunk: whole records at the front of `rest`, which is the non-empty end of a window.
/// Workers check, change and write records in chunks.
inline std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  // Large enough for the disk, and small enough that all workers get a part of a window.
  constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

}  // namespace gpusort
