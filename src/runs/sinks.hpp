// Sinks write merged windows: to the output file, its parts, a stream, or a new run in the spill.
// A WindowSink takes windows from any lane in any order. The proof is made of the same bytes that are written. Plain
// output files are written in parallel (sinks/file_sink.cpp). Every other output depends on the order of windows and
// goes through a list of stages (sinks/staged_sink.cpp), and so do new runs (sinks/spill_sink.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Sorted records for bytes [offset, offset + bytes) of the sequence that the sink makes.
struct Window {
  std::uint64_t number = 0;  ///< counts from 0 in output order
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockPool::Block buffer;
  HostBuffer own;             ///< the memory of a window that consists of one line longer than planned
  std::byte* data = nullptr;  ///< inside `buffer` or `own`, at an address that suits a direct write to `offset`
  std::shared_ptr<void> written;  ///< destroyed after the window is written, which Checkpoints waits for
};

class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Any thread, any order. May return before the window is written.
  virtual void Accept(Window window) = 0;
  /// Ends the sink's threads. Call it after the last Accept, with the number of all windows.
  virtual void Finish(std::uint64_t windows) = 0;
  /// Writes the bytes that wait for a later window. Call this when all accepted windows are written. No thread may
  /// accept a window meanwhile.
  virtual void Settle() {}
  /// Writes the rest. Call it after the pipeline was joined.
  virtual void Complete() {}
  /// True if the sink would drop all windows that follow. Any thread.
  virtual bool enough() const { return false; }
  /// The offset of the first window.
  virtual std::uint64_t begin() const { return 0; }
  /// The size of the sequence from offset 0 on: with -u and --top, less than was accepted. Call it after Complete, or
  /// when Settle may be called.
  virtual std::uint64_t bytes() const = 0;
};

/// Makes the sink of the last merge, for windows of `bytes` together. `proof` and `output` must outlive it. `written`:
/// size of the output that an earlier process wrote, header included; `proof` knows its records. 0: none.
std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written = 0);

/// Makes the sink of the merges before the last one: it fills the blocks of `run` in the spill.
std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run);

}  // namespace gpusort
