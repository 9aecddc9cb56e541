// Checks that a sort loses no record and that its output is in order. Start at OutputProof.
// - A RecordSum is a checksum of records in any order: their number, and the sum of their 128-bit hashes modulo 2^128.
// - The checksum of the input must equal the checksum of the output plus the checksum of the dropped records.
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
#include "formats/decimal_sum.hpp"
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
/// bytes are hashed by SumShortRecords, and longer records by XXH3 (128 bits).
RecordSum SumRecords(std::span<const std::byte> bytes, std::uint64_t stride);
/// Returns the checksum of whole records of any layout. A line is hashed by XXH3, with its delimiter, but without the
/// sort keys before it. If `longest` is not null, sets *longest to the size of the longest record.
RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest = nullptr);

/// Returns the checksum of one record that has no sort key before it.
RecordSum SumRecord(RecordSpan record);

/// Computes the checksum of a record whose bytes arrive in several pieces.
class PartSum {
 public:
  explicit PartSum(const RecordLayout& layout);
  ~PartSum();
  void Add(RecordSpan part);
  /// Returns how many bytes of the current record were added so far.
  std::uint64_t bytes() const { return bytes_; }
  /// Ends the current record and returns its checksum. Call this after all pieces of the record were added. The next
  /// Add() begins a new record.
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
    std::uint64_t record = 0;      ///< the index of the wrong record in the sequence, from 0
    std::uint64_t offset = 0;      ///< the offset of the wrong record in the sequence, in bytes
    std::vector<std::byte> bytes;  ///< the bytes of the wrong record
  };

  /// If `strict` is true, a record that equals the record before it is out of order, too. `layout` points to the order
  /// of the records; the order must outlive this object.
  OrderCheck(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  /// Checks the next piece of the sequence of records. Returns the first record that is out of order, or std::nullopt
  /// if all records so far are in order. Do not call this again after it has returned a record.
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
  std::uint64_t offset_ = 0, records_ = 0;  ///< the numbers of bytes and records in the sequence before `last_`
};

/// Checks that the records of an output are complete and in order. The caller passes all records, in chunks that may
/// come in any order. Any thread may call any member.
class OutputProof {
 public:
  OutputProof(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  OutputProof(const OutputProof&) = delete;
  OutputProof& operator=(const OutputProof&) = delete;

  /// The result of Look(): what Add() must know about a chunk of the output. A chunk is some whole records.
  struct Seen {
    std::uint64_t bytes = 0;
    std::vector<std::byte> first, last;  ///< the first and the last record of the chunk
    RecordSum sum;
    std::uint64_t disorder = kInOrder;  ///< the offset in the chunk of the first record out of order; kInOrder: none
  };
  /// Computes what Add() must know about `records`, a chunk of the output.
  Seen Look(RecordSpan records) const;

  /// Adds a chunk of the output (some whole records), which begins at byte `offset` of the output. Chunks must not
  /// overlap. Throws WrongResult with the place of the first record that is out of order, if there is one.
  void Add(std::uint64_t offset, Seen seen);
  void Add(std::uint64_t offset, RecordSpan records) { Add(offset, Look(records)); }
  /// Adds the checksum of records that were left out of the output on purpose, for example because -u drops equal
  /// records.
  void AddDropped(const RecordSum& sum);
  /// For --count: adds the number of records in some groups of equal records. The caller must also add the groups that
  /// the output leaves out, because the sum must be the number of records that were read.
  void AddCounted(std::uint64_t records);
  /// With --sum: adds the sums of values that were read, and of values that were written or left out on purpose. Both
  /// must be equal in the end. A vector may be empty.
  void AddSummed(const ColumnSums& read, const ColumnSums& written);
  /// Adds the checksum of records as they were written, with the counts and sums of their groups. Needed only if
  /// another sort reads the output. Call this for all records of the output or for none.
  void AddWritten(const RecordSum& sum);
  /// Corrects the checksums if the output leaves out records that were added. sum() is then `kept`.
  /// - kept: the checksum of the records that stay in the output
  /// - left_out: the checksum of the other added records
  /// - Throws WrongResult if `kept` plus `left_out` is not the old sum().
  void LeaveOut(const RecordSum& left_out, const RecordSum& kept);
  /// Throws WrongResult if a record was lost, changed or doubled. Call this after all chunks are added. `input` is the
  /// checksum of all records that were read.
  void Check(const RecordSum& input) const;
  /// Throws WrongResult unless the output has exactly `records` records. Call this instead of Check() if --top left out
  /// records.
  void CheckCount(std::uint64_t records) const;
  RecordSum sum() const;
  /// Returns the checksum of the written records. If AddWritten() was called, it covers the counts and sums that were
  /// written with the records.
  RecordSum written() const;
  /// Returns the first and the last record of the output. Call this after all records were added. If `keys` is true,
  /// each of the two records is returned with its sort key before it.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> Ends(bool keys) const;

  /// The state of a check after the first `bytes` bytes of the output. A process stores this state, so that a later
  /// process can continue the check.
  struct Front {
    std::uint64_t bytes = 0;
    RecordSum sum, dropped;       ///< the checksums of the records in these bytes, and of the records dropped so far
    std::vector<std::byte> last;  ///< the last record in the first `bytes` bytes of the output
  };
  /// Returns the state of the check after all records that were added so far. A later process can continue with this
  /// state. Throws WrongResult if a chunk of the output is missing before or between these records.
  Front front() const;
  /// Continues a check that an earlier process began. `front` is the state that the earlier process has stored. Call
  /// this before the first chunk is added.
  void GoOnFrom(Front front);

 private:
  /// Returns true if no chunk is missing before or between the chunks that were added. A chunk is some whole records of
  /// the output. The caller must hold mutex_.
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
  std::optional<std::uint64_t> counted_;
  std::optional<RecordSum> written_;         ///< the total of AddWritten()
  ColumnSums values_read_, values_written_;  ///< the totals of the arguments of AddSummed()
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, Chunk> chunks_;  ///< the chunks of the output, by offset; neighbouring chunks are joined
};

}  // namespace gpusort
