// Sinks write the merged records of a merge: to the output file, its parts, a stream, or a new run in a temp file. The
// records arrive in pieces, called windows, from any thread and in any order. Sinks of the output add the written
// records to the proof. Plain output files are written in parallel (sinks/file_sink.cpp). Other outputs need the order
// of windows, and pass through stages (sinks/staged_sink.cpp). sinks/spill_sink.cpp writes new runs.
#pragma once

#include <cstdint>
#include <memory>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// A piece of the merged records: the bytes [offset, offset + bytes) of all that the sink writes.
struct Window {
  std::uint64_t number = 0;  ///< the number of the window: 0, 1, ... in the order of the output
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockPool::Block buffer;
  HostBuffer own;             ///< the memory of the window if it is a single line that is too long for `buffer`
  std::byte* data = nullptr;  ///< the records, in `buffer` or `own`; aligned for a direct write (O_DIRECT) to `offset`
  std::shared_ptr<void> written;  ///< released when the window is written; Checkpoints uses this
};

/// Writes the result of one merge, which arrives in windows (pieces of merged records).
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Takes a window to write. Any thread may call this, with windows in any order. May return before the window is
  /// written.
  virtual void Accept(Window window) = 0;
  /// Tells the sink that no window will follow the last Accept(). Its threads end when all windows are written.
  /// `windows` is the number of all windows.
  virtual void Finish(std::uint64_t windows) = 0;
  /// Writes the bytes that the sink has kept in memory to write them together with bytes of a later window. The caller
  /// must make sure that all other bytes of the accepted windows are written, and that no thread calls Accept()
  /// meanwhile. Also call this at the end, after the pipeline's threads have ended.
  virtual void Settle() {}
  /// Returns true if the sink needs no more windows, because the output is complete (--top). Any thread may call this.
  virtual bool enough() const { return false; }
  /// Returns the offset in bytes at which the first window begins. It is not 0 if an earlier process wrote the bytes
  /// before it.
  virtual std::uint64_t begin() const { return 0; }
  /// Returns the offset of the end of all bytes that were written. It can be less than the size of all windows, because
  /// -u and --top drop records. The rules for calling Settle() also apply here.
  virtual std::uint64_t bytes() const = 0;
};

/// Returns the sink for the output of the job. All windows together have `bytes` bytes. An earlier process may have
/// written the first `written` bytes of the output; `proof` must then contain the records of these bytes. `proof` and
/// `output` must outlive the sink.
std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written = 0);

/// Returns a sink that writes each window to its place in the output file as soon as the window arrives. The parameters
/// are as for MakeOutputSink().
std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written);

/// Returns the sink for a merge whose result is not the output but a new run. It writes the blocks of `run` to temp
/// files.
std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run);

/// Throws WrongResult unless `rest` ends with a complete record. `rest` is the last bytes of a window.
inline void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Returns the size in bytes of the next chunk of a window: as many whole records as workers check, change and write at
/// once. `rest` is the part of the window that has not been divided yet, and must not be empty.
inline std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  // This is large enough for a fast disk, and small enough that all workers get a part of a window.
  constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

}  // namespace gpusort
