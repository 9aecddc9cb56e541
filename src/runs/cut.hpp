// Decides which bytes of each run make the next window of a merge. A run is in memory as a whole, or as blocks that are
// read ahead. A Cursor knows which part of a run is merged and which part is loaded. All records of a window sort
// before all records after it. Equal keys keep the order of the runs. Start at Cutter.
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

/// A block of a run in memory. The windows that contain its bytes share it, and the last one returns the buffer.
struct LoadedBlock {
  std::uint64_t begin = 0;  ///< offset of the block in the run
  BlockPool::Block buffer;
  HostBuffer own;  ///< memory for lines that are too long for a block of the pool
  std::span<const std::byte> bytes;
};

/// The position of the merge in a run.
struct Cursor {
  Run* run = nullptr;
  std::uint64_t taken = 0;   ///< number of bytes that earlier windows contain
  std::uint64_t loaded = 0;  ///< end of the bytes that can be merged now; for a run in memory, the end of the run
  // The members up to `forecast` are only for runs in blocks.
  std::deque<std::shared_ptr<LoadedBlock>> blocks;  ///< loaded blocks that are not merged completely, without gaps
  std::map<std::size_t, std::shared_ptr<LoadedBlock>> early;  ///< loaded blocks after a block that is not loaded yet
  std::size_t next_to_schedule = 0, next_to_arrive = 0;
  ForecastKey last_scheduled{};
  bool forecast = false;  ///< true if last_scheduled is set
  // The following members are for the window that is cut now.
  std::uint64_t take = 0;
  std::uint64_t weight = 1;
  std::vector<std::byte> sample, head;  ///< records that were copied from the device

  /// Skips the first `bytes` bytes of the run, which an earlier merge has merged. A record must end there. For a run in
  /// blocks, call this before a block is scheduled.
  void BeginAt(std::uint64_t bytes);
  std::uint64_t remaining() const { return run->bytes - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// The pieces of runs that are merged into one window.
struct WindowPieces {
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< the blocks that contain the pieces
};

/// Cuts windows off the front of sorted runs. Each run offers its loaded records, at most its share of the window.
/// Among the runs with more records after their offer, run j is the first whose last offered key is smallest. Runs
/// before j give their keys <= that key, runs after j give their keys < that key, and j gives its whole offer. So all
/// given records sort before all other records, and equal keys keep the order of the runs. This is repeated until the
/// window is full, with larger shares for runs like j. Therefore disjoint, sorted and all-equal runs also fill windows.
/// A run whose next line is longer than its share offers nothing, and that line counts as its last offered key.
class Cutter {
 public:
  /// `backend` reads runs that are on a device. It is not used if there are no such runs.
  Cutter(const RecordLayout& layout, Backend& backend, std::vector<Cursor>& cursors)
      : layout_(layout), backend_(backend), cursors_(cursors) {}

  /// Sets Cursor::take of every cursor for a window of at most `limit` bytes, or of one record if that is longer.
  /// Returns the size of the window. Every run that is not merged completely must have loaded records.
  std::uint64_t Cut(std::uint64_t limit);

  /// Returns the pieces of the window that Cut() chose, and advances the cursors.
  WindowPieces Take();

 private:
  struct Offer {
    std::size_t cursor;
    std::uint64_t bytes;
    RecordSpan last;  ///< the last offered record; empty if the run ends with the offer
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
