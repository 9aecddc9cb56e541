// Sinks write merged records to the output, or to a new sorted run. The records arrive in windows (pieces of merged
// records), from any thread and in any order. Start at WindowSink.
#pragma once

#include <cstdint>
#include <memory>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// A piece of merged records: the bytes [offset, offset + bytes) of the result of a merge.
struct Window {
  std::uint64_t number = 0;  ///< the index of the window in the output, from 0
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockPool::Block buffer;
  HostBuffer own;  ///< the memory of the window if the window is one line that is too long for `buffer`
  /// The records, in `buffer` or `own`. The address is aligned for a direct write (O_DIRECT) to `offset`.
  std::byte* data = nullptr;
  std::shared_ptr<void> written;  ///< released when the window is written; used by Checkpoints
};

/// Writes the result of one merge, which arrives in windows (pieces of merged records).
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Takes a window (a piece of merged records) to write it. Any thread may call this, with windows in any order. May
  /// return before the window is written.
  virtual void Accept(Window window) = 0;
  /// Tells the sink that no more windows (pieces of merged records) come. `windows` is the number of all windows. The
  /// threads of the sink end when all windows are written.
  virtual void Finish(std::uint64_t windows) = 0;
  /// Writes all bytes that are still in memory. Call this before a checkpoint, and after the last window.
  /// - Before the call, the threads of the sink must have written all accepted windows.
  /// - During the call, no thread may call Accept().
  virtual void Settle() {}
  /// Returns true if the output has as many records as --top=N asks for, so that the sink needs no more. Any thread may
  /// call this.
  virtual bool enough() const { return false; }
  /// Returns the offset in the output, in bytes, at which the first window (piece of merged records) begins. The offset
  /// is greater than 0 if an earlier process has written the bytes before it.
  virtual std::uint64_t begin() const { return 0; }
  /// Returns the offset in the output, in bytes, after the last written byte. All accepted windows must be written
  /// before the call.
  virtual std::uint64_t bytes() const = 0;
};

/// Returns the sink that writes the output of the job. `proof` and `output` must outlive the sink.
/// - `bytes`: the total size of all windows (pieces of merged records).
/// - `written`: how many bytes an earlier process has written. If not 0, call OutputProof::GoOnFrom() first.
std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written = 0);

/// Returns a sink that writes each window (a piece of merged records) to its place in the output file as soon as it
/// gets the window. The parameters are as for MakeOutputSink().
std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written);

/// Returns the sink for a merge whose result is not the output but a new sorted run. It writes the blocks of `run` to
/// temp files.
std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run);

/// Checks that `rest`, the last bytes of a window (a piece of merged records), ends with a complete record. Throws
/// WrongResult if not, because a GPU may have returned wrong bytes.
inline void RequireWholeRecords(RecordSpan rest, const RecordLayout& layout) {
  if (layout.fixed() || rest.empty() || static_cast<unsigned char>(rest.back()) == layout.delimiter) return;
  throw WrongResult("a window of the output ends inside a line; nothing was published");
}

/// Returns the size in bytes of the next chunk of a window (a piece of merged records). A chunk is some whole records
/// that one thread checks, changes and writes. `rest` is the part of the window that is not divided yet, and must not
/// be empty.
inline std::uint64_t ChunkBytes(RecordSpan rest, const RecordLayout& layout) {
  // Large enough for a fast disk, and small enough that every thread gets a part of a window (a piece of merged
  // records).
  constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
  RequireWholeRecords(rest, layout);
  if (rest.size() <= kChunkBytes) return rest.size();
  const std::uint64_t whole = WholeRecordBytes(rest.first(kChunkBytes), layout);
  return whole > 0 ? whole : FirstRecordBytes(rest, layout);
}

}  // namespace gpusort
