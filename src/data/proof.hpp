// Proves, while records are read and written, that a sort lost no record and that its output is in order. Start at
// OutputProof. A RecordSum is a fingerprint of records that does not depend on their order: their number, and the sum
// of their 128-bit hashes modulo 2^128. The sum of the input must equal the sum of the output plus the sum of the
// records that -u dropped. The order is proved by comparing all neighbouring records, even where two windows meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "data/page_buffer.hpp"
#include "formats/keyed_record.hpp"
#include "kernels/records/key.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

struct RecordSum {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  std::uint64_t records = 0;

  RecordSum& operator+=(const RecordSum& other);
  RecordSum& operator-=(const RecordSum& other);
  friend bool operator==(const RecordSum&, const RecordSum&) = default;
};

/// Returns the sum of the records in `bytes`, which must be whole records of `stride` bytes. Records of up to 16 bytes
/// are hashed by SumShortRecords, and longer records by XXH3 with 128 bits.
RecordSum SumRecords(std::span<const std::byte> bytes, std::uint64_t stride);
/// Returns the sum of whole records of any layout. A line is hashed by XXH3 with its delimiter and without its keys. If
/// `longest` is not null, sets *longest to the size of the longest record.
RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest = nullptr);

/// Returns the sum of one record without keys.
RecordSum SumRecord(RecordSpan record);

/// Computes the sum of a record that arrives in several parts.
class PartSum {
 public:
  explicit PartSum(const RecordLayout& layout);
  ~PartSum();
  void Add(RecordSpan part);
  /// Returns the number of bytes that were added since the last End.
  std::uint64_t bytes() const { return bytes_; }
  /// Returns the sum of the record, all parts of which must have been added. The next part begins another record.
  RecordSum End();

 private:
  struct State;
  const std::uint32_t keys_;
  std::uint32_t keys_left_;
  std::optional<BodyUnescaper> escaped_;
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
};

/// Returns the offset of the first record in `bytes` whose key is less than the key of the record before it. If
/// `strict` is true, equal keys are wrong, too. Returns kInOrder if all records are in order.
std::uint64_t FirstDisorder(std::span<const std::byte> bytes, const RecordLayout& layout, bool strict);

/// Finds the first record that is out of order in a sequence of records that arrives in pieces. Pieces may end inside a
/// line, but not inside a record of fixed size.
class OrderCheck {
 public:
  struct Disorder {
    std::uint64_t record = 0;      ///< the number of the record that is out of order, from 0
    std::uint64_t offset = 0;      ///< the offset in the sequence of the record that is out of order
    std::vector<std::byte> bytes;  ///< the bytes of the record that is out of order
  };

  /// If `strict` is true, a record must not equal the record before it. The order in `layout` must outlive this object.
  OrderCheck(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  /// Checks the next piece. Returns std::nullopt if all records so far are in order. Do not call this after a Disorder.
  std::optional<Disorder> Add(RecordSpan bytes);

 private:
  std::optional<Disorder> Check(RecordSpan seen) const;
  std::optional<Disorder> AddRecord(RecordSpan end);
  void Pass(RecordSpan seen);
  void Keep(RecordSpan bytes);

  const RecordLayout layout_;
  const bool strict_;
  PageBuffer<std::byte> last_;  ///< the last whole record, and the beginning of the next record
  std::uint64_t last_bytes_ = 0;
  std::uint64_t offset_ = 0, records_ = 0;  ///< number of bytes and records in the sequence before `last_`
};

/// Proves that the records of an output are complete and in order. Chunks may come in any order. Thread-safe.
class OutputProof {
 public:
  OutputProof(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  OutputProof(const OutputProof&) = delete;
  OutputProof& operator=(const OutputProof&) = delete;

  /// The facts about a chunk of the output. They do not depend on the offset of the chunk.
  struct Seen {
    std::uint64_t bytes = 0;
    std::vector<std::byte> first, last;  ///< the first and the last record of the chunk
    RecordSum sum;
    std::uint64_t disorder = kInOrder;  ///< the offset of the first record that is out of order
  };
  /// Computes the facts about a chunk of records.
  Seen Look(RecordSpan records) const;

  /// Adds a chunk that begins at byte `offset` of the output. Chunks must not overlap. Throws WrongResult with the
  /// place of a record that is out of order in the chunk or between neighbouring chunks.
  void Add(std::uint64_t offset, Seen seen);
  void Add(std::uint64_t offset, RecordSpan records) { Add(offset, Look(records)); }
  /// Adds the sum of records that were left out of the output on purpose.
  void AddDropped(const RecordSum& sum);
  /// Throws WrongResult if records were lost or changed, or if chunks are missing. `input` is the sum of all records
  /// that were read. Call this after all chunks are added.
  void Check(const RecordSum& input) const;
  /// Throws WrongResult if the output has not exactly `records` records, or if chunks are missing. Call this instead of
  /// Check if --top left out records, because their sum is unknown.
  void CheckCount(std::uint64_t records) const;
  RecordSum sum() const;
  /// Returns the first and the last record of an output without missing chunks, with their keys if `keys` is true.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> Ends(bool keys) const;

  /// The state of a proof about the beginning of an output, from which a later process can continue.
  struct Front {
    std::uint64_t bytes = 0;
    RecordSum sum, dropped;
    std::vector<std::byte> last;  ///< the last record of the beginning of the output
  };
  /// Returns the state of this proof. Throws WrongResult if chunks are missing.
  Front front() const;
  /// Continues the proof of an earlier process. Call this before chunks are added.
  void GoOnFrom(Front front);

 private:
  /// Returns true if the chunks cover the output without a gap. The caller must hold mutex_.
  bool Whole() const;

  struct Chunk {
    std::uint64_t end;
    std::vector<std::byte> first, last;
  };
  const RecordLayout layout_;
  const bool strict_;
  mutable std::mutex mutex_;
  RecordSum sum_;
  RecordSum dropped_;
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, Chunk> chunks_;  ///< chunks by their offset; neighbouring chunks are joined
};

}  // namespace gpusort
