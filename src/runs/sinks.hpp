// Where merged windows go: the safe output file, parts of it, a stream, or a new run in the spill.
// A WindowSink takes windows from any lane in any order; the proof is made over the same bytes that are written. Files
// are written in parallel, in place; what depends on order (pipes, -u, new runs) is taken in the order of windows.
#pragma once

#include <cstdint>
#include <memory>

#include "data/output.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "runs/job.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Sorted records for bytes [offset, offset + bytes) of the sequence being made.
struct Window {
  std::uint64_t number = 0;  ///< counts from 0 in output order
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockPool::Block buffer;
  HostBuffer own;             ///< of a window that is one line longer than was planned for
  std::byte* data = nullptr;  ///< inside buffer or own, at an address that suits a direct write to `offset`
  std::shared_ptr<void> written;  ///< dropped with the window, once it is written, by who waits for that
};

class WindowSink {
 public:
  virtual ~WindowSink() = default;
  /// Any thread, any order. May return before the window is written.
  virtual void Accept(Window window) = 0;
  /// After the last Accept (there were `windows`): no more will come. The sink's threads then end.
  virtual void Finish(std::uint64_t windows) = 0;
  /// All windows so far are written, as their owners were told, and no other comes meanwhile: the end of what is there
  /// is written, too.
  virtual void Settle() {}
  /// After the pipeline was joined: what is left to write.
  virtual void Complete() {}
  /// True if all windows that follow would be dropped. Any thread.
  virtual bool enough() const { return false; }
  /// The offset of the first window.
  virtual std::uint64_t begin() const { return 0; }
  /// Bytes that the sequence really has (less than offered with -u and --top), from offset 0 on. After Complete, or
  /// when Settle may be called.
  virtual std::uint64_t bytes() const = 0;
};

/// The sink of the last level, of windows that have `bytes` in all. `proof` and `output` must outlive it. `written`:
/// the output has so many bytes, header included, of an earlier sink, whose records `proof` knows; 0: it has none.
std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written = 0);

/// The sink of the levels before: fills `run`'s blocks in the spill.
std::unique_ptr<WindowSink> MakeSpillSink(Job& job, Pipeline& pipeline, Run& run);

}  // namespace gpusort
