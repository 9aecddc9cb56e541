// Proves, while records are read and written, that a sort lost no record and that its output is in order. Start at
// OutputProof. A RecordSum is a checksum of records that does not depend on their order: their number, and the sum of
// their 128-bit hashes modulo 2^128. The checksum of the input must equal that of the output plus that of the records
// that -u dropped. The order is proved by comparing all neighbouring records.
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

/// Returns the checksum of the records in `bytes`, which must be whole records of `stride` bytes. Records of up to 16
/// bytes are hashed by SumShortRecords, and longer records by XXH3 with 128 bits.
RecordSum SumRecords(std::span<const std::byte> bytes, std::uint64_t stride);
/// Returns the checksum of whole records of any layout. A line is hashed by XXH3, with its delimiter and without sort
/// keys before it. If `longest` is not null, sets *longest to the size of the longest record.
RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest = nullptr);

/// Returns the checksum of one record that has no sort key before it.
RecordSum SumRecord(RecordSpan record);

/// Computes the checksum of a record that arrives in several parts.
class PartSum {
 public:
  explicit PartSum(const RecordLayout& layout);
  ~PartSum();
  void Add(RecordSpan part);
  /// Returns how many bytes of the current record were added.
  std::uint64_t bytes() const { return bytes_; }
  /// Returns the checksum of the record. All of its parts must have been added. The next call of Add() begins another
  /// record.
  RecordSum End();

 private:
  struct State;
  const std::uint32_t keys_;
  std::uint32_t keys_left_;
  std::optional<BodyUnescaper> escaped_;
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
};

/// Returns the offset of the first record in `bytes` that is out of order, or kInOrder. A record is out of order if its
/// key is less than the key of the record before it. If `strict` is true, an equal key is out of order, too.
std::uint64_t FirstDisorder(std::span<const std::byte> bytes, const RecordLayout& layout, bool strict);

/// Finds the first record that is out of order, in a sequence of records that arrives in pieces. A piece may end inside
/// a line, but not inside a record of fixed size.
class OrderCheck {
 public:
  struct Disorder {
    std::uint64_t record = 0;      ///< the number of the record that is out of order, counted from 0
    std::uint64_t offset = 0;      ///< the offset in the sequence of the record that is out of order
    std::vector<std::byte> bytes;  ///< the bytes of the record that is out of order
  };

  /// If `strict` is true, two equal neighbouring records are out of order. The order in `layout` must outlive this
  /// object.
  OrderCheck(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  /// Checks the next piece of the sequence. Returns std::nullopt if all records so far are in order. Do not call this
  /// again after it has returned a Disorder.
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
  std::uint64_t offset_ = 0, records_ = 0;  ///< the number of bytes and of records before `last_` in the sequence
};

/// Proves that the records of an output are complete and in order. The caller passes all records, in chunks that may
/// come in any order. Any thread may call any member.
class OutputProof {
 public:
  OutputProof(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  OutputProof(const OutputProof&) = delete;
  OutputProof& operator=(const OutputProof&) = delete;

  /// The facts about a chunk of the output that Add() needs. They do not depend on the offset of the chunk.
  struct Seen {
    std::uint64_t bytes = 0;
    std::vector<std::byte> first, last;  ///< the first and the last record of the chunk
    RecordSum sum;
    std::uint64_t disorder = kInOrder;  ///< the offset in the chunk of the first record that is out of order
  };
  /// Computes what Add() must know about a chunk of whole records.
  Seen Look(RecordSpan records) const;

  /// Adds the chunk that begins at byte `offset` of the output. Chunks must not overlap. Throws WrongResult with the
  /// place of a record that is out of order, in the chunk or between neighbouring chunks.
  void Add(std::uint64_t offset, Seen seen);
  void Add(std::uint64_t offset, RecordSpan records) { Add(offset, Look(records)); }
  /// Adds the checksum of records that were left out of the output on purpose.
  void AddDropped(const RecordSum& sum);
  /// Throws WrongResult if records were lost or changed, or if chunks are missing. `input` is the checksum of all
  /// records that were read. Call this after all chunks are added.
  void Check(const RecordSum& input) const;
  /// Throws WrongResult if the output does not have exactly `records` records, or if chunks are missing. Call this
  /// instead of Check() if --top left out records, because their checksum is unknown.
  void CheckCount(std::uint64_t records) const;
  RecordSum sum() const;
  /// Returns the first and the last record of the output. No chunk may be missing. If `keys` is true, the records have
  /// their sort keys before them.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> Ends(bool keys) const;

  /// The state of a proof that has seen only the beginning of an output. A later process can continue from it.
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
  /// Returns true if no chunk of the output is missing. The caller must hold mutex_.
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
