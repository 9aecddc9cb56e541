// The stage for groups of records with equal keys: -u, --count, --sum, --only-unique and --only-duplicates. A group may
// begin and end in different chunks. Start at Groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/proof.hpp"
#include "runs/sinks/chunk.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Replaces each group of equal records by its first record. Counts the records of the group, and adds up their values.
/// The options can remove whole groups. The records come in chunks, and a group may extend over several chunks.
class Groups {
 public:
  /// `last` is the record before the first chunk; empty if there is none. `form` says how the results of groups are
  /// written; null: only records are written. All other arguments must outlive this object.
  Groups(const RecordLayout& layout, const Order& order, OutputProof& proof, const GroupForm* form,
         std::vector<std::byte> last)
      : layout_(layout), order_(order), proof_(proof), form_(form), last_(std::move(last)) {}

  /// Sets chunk.goes_on: whether the first record of the chunk is equal to the last record of the previous chunk. Call
  /// this in output order, before Change() of the same chunk, and not for a chunk without records.
  void LookInOrder(Chunk& chunk);
  /// Removes the records that are not written to the output. Any thread may call this.
  void Change(Chunk& chunk) const;
  /// Ends the group that was open before `chunk`, if it does not continue in `chunk`. Returns its record as a chunk
  /// that must be written before `chunk`, or std::nullopt. Call this in output order, after Change().
  std::optional<Chunk> Join(Chunk& chunk);
  /// Ends the last group. Returns its record as a chunk that must be written last, or std::nullopt. Call this after the
  /// last Join().
  std::optional<Chunk> End();
  /// Adds the sums that `chunk` writes to the proof, which compares them with the values that were read. The sort keys
  /// in `chunk` must have been removed. Any thread may call this.
  void ProveSums(const Chunk& chunk) const;

 private:
  /// Adds the values of --sum in `record` to the sums of its group, `sums`, and to the sums over all records, `totals`.
  /// The record must have its sort key. `scratch` is working memory.
  void AddValues(RecordSpan record, ColumnSums& sums, ColumnSums& totals, std::vector<std::byte>& scratch) const;
  bool sums() const { return form_ != nullptr && form_->sums(); }
  /// Returns the texts of the sums of a group with `count` records.
  std::string TextsOf(std::uint64_t count, const ColumnSums& sums) const {
    return count > 1 ? form_->TextsOf(sums) : form_->NoTexts();
  }
  bool Keeps(std::uint64_t count) const {
    return order_.groups == KeptGroups::kAll || (count > 1) == (order_.groups == KeptGroups::kRepeated);
  }

  const RecordLayout& layout_;
  const Order& order_;
  OutputProof& proof_;
  const GroupForm* const form_;
  std::vector<std::byte> last_;  ///< the last record of the last chunk that was passed to LookInOrder()
  /// The first record of the last group in the chunks that Join() got so far; empty: no group.
  std::vector<std::byte> open_;
  std::uint64_t open_count_ = 0;
  ColumnSums open_sums_;  ///< with --sum: the sums of this group; not set while open_count_ is 1
};

/// Keeps the records with the largest counts (--top with --by count). If counts are equal, keeps the record that comes
/// first in the sorted order.
class LargestGroups {
 public:
  /// `top` is the number of records to keep. `most_bytes` is the limit on their memory, in bytes.
  LargestGroups(std::uint64_t top, std::uint64_t most_bytes) : top_(top), most_bytes_(most_bytes) {}

  /// Removes all records from `chunk`, and keeps those with the `top` largest counts so far. Call this in output order.
  /// Throws Error(kUsage) if the kept records take too much memory.
  void Take(Chunk& chunk);
  /// Returns the kept records with their results (--count, --sum), the record with the largest count first. Tells
  /// `proof` that the output has no other records.
  Chunk End(const GroupForm& form, OutputProof& proof);

 private:
  struct Row {
    /// The number of records in the group, and the position of the group in the order of the keys.
    std::uint64_t count, number;
    std::vector<std::byte> record;
    std::string sum_texts;  ///< GroupResult::sum_texts

    std::uint64_t bytes() const { return sizeof(Row) + record.size() + sum_texts.size(); }
  };
  static bool IsBefore(const Row& a, const Row& b) {
    return a.count != b.count ? a.count > b.count : a.number < b.number;
  }

  const std::uint64_t top_, most_bytes_;
  std::vector<Row> rows_;  ///< a heap: the first row is the one that the output would have last
  std::uint64_t bytes_ = 0, taken_ = 0;
  RecordSum left_out_;  ///< the checksum of the records that were taken and not kept
};

}  // namespace gpusort
