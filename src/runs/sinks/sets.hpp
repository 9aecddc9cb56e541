// The stage for --minus and --intersect, which keep records of some inputs by the keys of other inputs. A group of
// equal records may begin and end in different chunks. The stage for groups (groups.hpp) may follow. Start at Sets.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "data/proof.hpp"
#include "runs/sinks/chunk.hpp"
#include "runs/sinks/set_group.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Removes the records of the files of --minus and --intersect, and those that these files leave out. Any thread may
/// remove records from a chunk. One thread then decides about the records at the front of a chunk that belong to the
/// last group of the chunk before, in the order of the output.
class Sets {
 public:
  /// Each record must have its place (formats/input_place.hpp). `kept` may be null. Otherwise any thread calls it with
  /// each record that the sets keep. All other arguments must outlive this object.
  Sets(const RecordLayout& layout, const Order& order, OutputProof& proof,
       std::function<void(RecordSpan)> kept = nullptr)
      : layout_(layout), order_(order), proof_(proof), kept_(std::move(kept)) {}

  /// Notes the first and the last record of a chunk. Call this before any stage changes the records of its window.
  /// Chunks must come in output order.
  void LookInOrder(Chunk& chunk);
  /// Removes the records that the output does not get. The records at the front that belong to the last group of the
  /// chunk before become Chunk::leading. Any thread may call this.
  void Change(Chunk& chunk) const;
  /// Returns those of the leading records of `chunk` that the output gets, as a chunk of its own, or std::nullopt if
  /// there are none. Call this in output order, after Change().
  std::optional<Chunk> Join(Chunk& chunk);

 private:
  /// Keeps those records that `group` takes. Adds the others to `dropped`.
  bool Takes(RecordSpan record, SetGroup& group, RecordSum& dropped) const;
  /// Tells the proof that the output has no record of `dropped`, and that no group counts one.
  void Drop(const RecordSum& dropped) const;

  const RecordLayout& layout_;
  const Order& order_;
  OutputProof& proof_;
  const std::function<void(RecordSpan)> kept_;
  std::vector<std::byte> last_;  ///< the last record of the chunk that LookInOrder() saw last
  SetGroup group_;               ///< the last group of all joined chunks
};

}  // namespace gpusort
