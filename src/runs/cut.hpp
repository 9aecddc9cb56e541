// The cut: which bytes of each run make the next window of a merge.
// Runs lie in memory whole or as blocks that are read ahead; a Cursor says how far each has been merged and loaded.
// What a Cutter gives orders before all that it keeps, equal keys in the order of the runs. Start at Cutter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flow/pipeline.hpp"
#include "kernels/backend.hpp"
#include "kernels/records/records.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// A block of a run in memory. Windows that use it share it; the buffer goes back when the last one is merged.
struct LoadedBlock {
  std::uint64_t begin = 0;  ///< byte of the run
  BlockPool::Block buffer;
  HostBuffer own;  ///< for lines that no block of the pool holds
  std::span<const std::byte> bytes;
};

/// A run's place in the merge.
struct Cursor {
  Run* run = nullptr;
  std::uint64_t taken = 0;   ///< bytes that earlier windows have
  std::uint64_t loaded = 0;  ///< bytes that can be merged now; all of a run that lies in memory
  // Runs in blocks only:
  std::deque<std::shared_ptr<LoadedBlock>> blocks;            ///< loaded, not all taken, without gaps
  std::map<std::size_t, std::shared_ptr<LoadedBlock>> early;  ///< loaded, but a block before is not
  std::size_t next_to_schedule = 0, next_to_arrive = 0;
  ForecastKey last_scheduled{};
  bool forecast = false;  ///< last_scheduled is known
  // For this window:
  std::uint64_t take = 0;
  std::uint64_t weight = 1;
  std::vector<std::byte> sample, head;  ///< records fetched from the device

  /// Another merge has taken so many bytes, up to the end of a record: of a run in blocks, before any is scheduled.
  void BeginAt(std::uint64_t bytes);
  std::uint64_t remaining() const { return run->bytes - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// The sources of a window.
struct WindowPieces {
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< what keeps the pieces alive
};

/// Makes the cut. Each run offers its loaded records, at most its share of the window. Some runs have records after their
/// offer. Run j is the first of these whose last offered key is the least. Runs before j give their keys <= that key,
/// runs after j their keys < that key, and j gives its whole offer. All given records order before all other records,
/// and equal keys keep the order of the runs. This is repeated until the window is full, with larger shares for the runs
/// that set the cut. In this way disjoint, sorted and all-equal runs stream in full windows as well. A run whose next
/// line is longer than its share offers nothing, and that line stands for its last offered key.
class Cutter {
 public:
  /// `backend` looks at runs on its device; unused if there is none.
  Cutter(const RecordLayout& layout, Backend& backend, std::vector<Cursor>& cursors)
      : layout_(layout), backend_(backend), cursors_(cursors) {}

  /// Sets Cursor::take of every cursor for a window of at most `limit` bytes; returns their sum, at least one record.
  /// Every run that goes on must have something loaded.
  std::uint64_t Cut(std::uint64_t limit);

  /// The pieces of the window that Cut chose; advances the cursors.
  WindowPieces Take();

 private:
  struct Offer {
    std::size_t cursor;
    std::uint64_t bytes;
    RecordSpan last;  ///< the last offered record, if the run has records after it
  };

  std::uint64_t TakeOne();
  std::uint64_t Give(std::size_t least);
  void LookAtEnds();
  void SetLast(Offer& offer) const;
  std::uint64_t Before(Cursor& cursor, std::uint64_t bytes, RecordSpan cut, bool inclusive) const;
  RecordSpan Head(Cursor& cursor) const;

  const RecordLayout& layout_;
  Backend& backend_;
  std::vector<Cursor>& cursors_;
  std::vector<Offer> offers_;
  std::vector<SlotRead> reads_;
  std::vector<std::pair<std::size_t, std::uint64_t>> counts_;
};

}  // namespace gpusort
