// Removes records from the middle of a span. Start at Compaction.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "kernels/records/records.hpp"

namespace gpusort {

/// Moves the records that are kept to the front of a span. Neighbours that are kept are moved together.
class Compaction {
 public:
  explicit Compaction(std::span<std::byte> records)
      : begin_(records.data()), to_(begin_), from_(begin_), end_(begin_) {}
  /// Keeps `record`, which must come after all records that were kept so far. Does not overwrite later records.
  void Keep(RecordSpan record) {
    std::byte* const at = begin_ + (record.data() - begin_);
    if (at != end_) {
      Move();
      from_ = at;
    }
    end_ = at + record.size();
  }
  /// Returns the records that were kept. Call this once, at the end.
  std::span<std::byte> Kept() {
    Move();
    return {begin_, to_};
  }

 private:
  void Move() {
    if (to_ != from_) std::memmove(to_, from_, static_cast<std::size_t>(end_ - from_));
    to_ += end_ - from_;
  }

  std::byte* const begin_;
  /// The moved records end at `to_`. The bytes [from_, end_) are kept records that are still to be moved.
  std::byte *to_, *from_, *end_;
};

}  // namespace gpusort
