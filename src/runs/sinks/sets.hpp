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

/// Removes the records of the files of --minus and --intersect, and the records that these options leave out. Several
/// threads can work on different chunks. Records at the front of a chunk may belong to a group of equal records that
/// begins in an earlier chunk. One thread decides about these records later, in the order of the output.
class Sets {
 public:
  /// Each record must be stored with its place in the input (formats/input_place.hpp). `kept` is called for each record
  /// that stays, from any thread; it may be null. All other arguments must outlive this object.
  Sets(const RecordLayout& layout, const Order& order, OutputProof& proof,
       std::function<void(RecordSpan)> kept = nullptr)
      : layout_(layout), order_(order), proof_(proof), kept_(std::move(kept)) {}

  /// Sets chunk.goes_on: whether the first record of the chunk is equal to the last record of the previous chunk. Call
  /// this in output order, and before the records of the chunk are changed.
  void LookInOrder(Chunk& chunk);
  /// Removes the records that the output does not get. Moves the first records to chunk.leading if they are equal to
  /// the last record of the previous chunk. Any thread may call this.
  void Change(Chunk& chunk) const;
  /// Decides about the records in chunk.leading. Returns those that the output gets as a separate chunk, or
  /// std::nullopt if there are none. Call this in output order, after Change().
  std::optional<Chunk> Join(Chunk& chunk);

 private:
  /// Returns true if the output gets `record`, the next record of `group`. Otherwise adds its checksum to `dropped`.
  bool Takes(RecordSpan record, SetGroup& group, RecordSum& dropped) const;
  /// Adds `dropped`, the checksum of records that the output leaves out, to the proof, which compares the checksums of
  /// the input and the output at the end.
  void Drop(const RecordSum& dropped) const;

  const RecordLayout& layout_;
  const Order& order_;
  OutputProof& proof_;
  const std::function<void(RecordSpan)> kept_;
  std::vector<std::byte> last_;  ///< the last record of the chunk of the last LookInOrder()
  SetGroup group_;               ///< the last group of equal records in the chunks that Join() got so far
};

}  // namespace gpusort
