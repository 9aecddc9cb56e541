// Checks, while records are read and written, that a sort lost no record and that its output is in order. A RecordSum
// is a checksum of records that does not depend on their order: their number, and the sum of their 128-bit hashes
// modulo 2^128. The checksum of the input must equal that of the output plus that of the records that -u dropped. The
// order is checked by comparing all neighbouring records. Start at OutputProof.
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
/// Returns the checksum of whole records of any layout. A line is hashed by XXH3, with its delimiter, but without the
/// sort keys before it. If `longest` is not null, sets *longest to the size of the longest record.
RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest = nullptr);

/// Returns the checksum of one record that has no sort key before it.
RecordSum SumRecord(RecordSpan record);

/// Computes the checksum of a record whose bytes arrive in several parts.
class PartSum {
 public:
  explicit PartSum(const RecordLayout& layout);
  ~PartSum();
  void Add(RecordSpan part);
  /// Returns how many bytes of the current record were added so far.
  std::uint64_t bytes() const { return bytes_; }
  /// Ends a record, all parts of which were added, and returns its checksum. The next call of Add() begins another
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

  /// If `strict` is true, two equal neighbouring records are out of order, too. The order in `layout` must outlive this
  /// object.
  OrderCheck(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  /// Checks the next piece of the sequence of records. Returns the first record that is out of order, or std::nullopt
  /// if all records so far are in order. After it has returned a record, do not call this again.
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

/// Checks that the records of an output are complete and in order. The caller passes all records, in chunks that may
/// come in any order. Any thread may call any member.
class OutputProof {
 public:
  OutputProof(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  OutputProof(const OutputProof&) = delete;
  OutputProof& operator=(const OutputProof&) = delete;

  /// The facts about a chunk of the output (some whole records) that Add() needs. They do not depend on the offset of
  /// the chunk.
  struct Seen {
    std::uint64_t bytes = 0;
    std::vector<std::byte> first, last;  ///< the first and the last record of the chunk
    RecordSum sum;
    std::uint64_t disorder = kInOrder;  ///< the offset in the chunk of the first record that is out of order
  };
  /// Computes the facts that Add() needs about some whole records of the output.
  Seen Look(RecordSpan records) const;

  /// Adds a chunk of the output (some whole records), which begins at byte `offset`. Chunks must not overlap. Throws
  /// WrongResult if a record is out of order, in the chunk or between neighbouring chunks. The message tells its place.
  void Add(std::uint64_t offset, Seen seen);
  void Add(std::uint64_t offset, RecordSpan records) { Add(offset, Look(records)); }
  /// Adds the checksum of records that were left out of the output on purpose, for example because -u drops equal
  /// records.
  void AddDropped(const RecordSum& sum);
  /// Compares the checksum of the output with `input`, the checksum of all records that were read. Throws WrongResult
  /// if they differ, which shows that records were lost or changed, or if chunks are missing. Call this after all
  /// chunks are added.
  void Check(const RecordSum& input) const;
  /// Checks that the output has exactly `records` records and no chunk is missing. Throws WrongResult if not. Call this
  /// instead of Check() if --top left out records, because the checksum of these records is unknown.
  void CheckCount(std::uint64_t records) const;
  RecordSum sum() const;
  /// Returns the first and the last record of the output. All records must have been added. If `keys` is true, the
  /// records are returned with the sort keys before them.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> Ends(bool keys) const;

  /// The knowledge of a check about the first bytes of an output: how many bytes it has checked, their checksums, and
  /// the last record in them. A process stores this, so that a later process can continue the check after these bytes.
  struct Front {
    std::uint64_t bytes = 0;
    RecordSum sum, dropped;
    std::vector<std::byte> last;  ///< the last record of the beginning of the output
  };
  /// Returns what this object knows about the records added so far, so that a later process can continue. Throws
  /// WrongResult if some of the output is missing between these records.
  Front front() const;
  /// Continues a check that an earlier process began. `front` is what that process found in the beginning of the
  /// output. Call this before the first piece of output is added.
  void GoOnFrom(Front front);

 private:
  /// Returns true if the chunks (some whole records each) that were added are the whole beginning of the output,
  /// without a missing chunk between them. The caller must hold mutex_.
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
  std::map<std::uint64_t, Chunk> chunks_;  ///< chunks of the output by their offset; neighbouring chunks are joined
};

}  // namespace gpusort
