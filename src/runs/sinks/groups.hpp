// The stage for groups of records with equal keys: -u, --count, --only-unique and --only-duplicates. A group may begin
// and end in different chunks. Start at Groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/proof.hpp"
#include "runs/sinks/chunk.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Replaces each group of equal records by its first record, and counts the records of the group. The options may leave
/// whole groups out of the output. Any thread may remove records from a chunk. One thread then joins the groups that
/// reach over several chunks, in the order of the output. Equal records are dropped only here, in the last merge: the
/// runs in temp files still contain all records.
class Groups {
 public:
  /// `last` is the record before the first chunk; empty if there is none. `form` says how counts are written; null: no
  /// counts are written. All other arguments must outlive this object.
  Groups(const RecordLayout& layout, const Order& order, OutputProof& proof, const CountForm* form,
         std::vector<std::byte> last)
      : layout_(layout), order_(order), proof_(proof), form_(form), last_(std::move(last)) {}

  /// Notes the first and the last record of a chunk. Call this before any stage changes the records of its window.
  /// Chunks must come in output order.
  void LookInOrder(Chunk& chunk);
  /// Removes the records that the output does not get. Any thread may call this.
  void Change(Chunk& chunk) const;
  /// Ends the group that was open before `chunk` (the last group of the earlier chunks) if another group begins in
  /// `chunk`. Then returns the first record of the ended group as a chunk of its own, unless the options leave the
  /// group out of the output. In all other cases returns std::nullopt. Call this in output order, after Change().
  std::optional<Chunk> Join(Chunk& chunk);
  /// Returns the last group as Join() does. Call this after the last chunk.
  std::optional<Chunk> End();

 private:
  bool Keeps(std::uint64_t count) const {
    return order_.groups == KeptGroups::kAll || (count > 1) == (order_.groups == KeptGroups::kRepeated);
  }

  const RecordLayout& layout_;
  const Order& order_;
  OutputProof& proof_;
  const CountForm* const form_;
  std::vector<std::byte> last_;  ///< the last record of the chunk that LookInOrder() saw last
  std::vector<std::byte> open_;  ///< the first record of the last group of all joined chunks; empty: there is none
  std::uint64_t open_count_ = 0;
};

/// Keeps the records with the largest counts (--top with --by count). Of equal counts, the record that comes first in
/// the order wins.
class LargestGroups {
 public:
  /// `most_bytes` is the limit on the memory of the records.
  LargestGroups(std::uint64_t top, std::uint64_t most_bytes) : top_(top), most_bytes_(most_bytes) {}

  /// Takes all records out of `chunk`. Chunks must come in output order. Throws Error(kUsage) if the records take too
  /// much memory.
  void Take(Chunk& chunk);
  /// Returns the kept records, the largest count first. Tells `proof` that the output has only these records.
  Chunk End(const CountForm& form, OutputProof& proof);

 private:
  struct Row {
    std::uint64_t count, number;  ///< the size of the group, and its number in the order of keys
    std::vector<std::byte> record;
  };
  static bool IsBefore(const Row& a, const Row& b) {
    return a.count != b.count ? a.count > b.count : a.number < b.number;
  }

  const std::uint64_t top_, most_bytes_;
  std::vector<Row> rows_;  ///< a heap: the first row is the one that comes last
  std::uint64_t bytes_ = 0, taken_ = 0;
  RecordSum left_out_;  ///< the checksum of the records that were taken and not kept
};

}  // namespace gpusort
