// The proof that a sort lost nothing and is in order, made while the bytes pass.
// RecordSum is an order-independent fingerprint of a multiset of records: their number and the sum modulo 2^128 of a
// 128-bit hash of each. What was read, minus what -u dropped, must equal what was handed to write. Order is proved by
// comparing neighbours, across window borders too. Start at OutputProof.
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

/// Returns the sum over `bytes`, which must hold whole records of `stride` bytes. Records of up to 16 bytes are hashed
/// by SumShortRecords, and longer records by XXH3 with 128 bits.
RecordSum SumRecords(std::span<const std::byte> bytes, std::uint64_t stride);
/// Returns the sum over whole records of any layout. A line is hashed by XXH3 with its delimiter and without its keys.
/// Sets *longest, if given, to the size of the longest record.
RecordSum SumRecords(RecordSpan bytes, const RecordLayout& layout, std::uint64_t* longest = nullptr);

/// Returns the sum of one record without keys.
RecordSum SumRecord(RecordSpan record);

/// The sum of one record that comes in parts.
class PartSum {
 public:
  explicit PartSum(const RecordLayout& layout);
  ~PartSum();
  void Add(RecordSpan part);
  /// Bytes since the last End.
  std::uint64_t bytes() const { return bytes_; }
  /// The record is whole: gives its sum and begins anew.
  RecordSum End();

 private:
  struct State;
  const std::uint32_t keys_;
  std::uint32_t keys_left_;
  std::optional<BodyUnescaper> escaped_;
  std::unique_ptr<State> state_;
  std::uint64_t bytes_ = 0;
};

/// The byte at which the first record of `bytes` begins that orders before its predecessor (with `strict`: or equals
/// it); kInOrder if there is none.
std::uint64_t FirstDisorder(std::span<const std::byte> bytes, const RecordLayout& layout, bool strict);

/// Looks for the first record that is out of order in a sequence that comes in pieces: of lines cut anywhere, of fixed
/// records whole.
class OrderCheck {
 public:
  struct Disorder {
    std::uint64_t record = 0;      ///< counted from 0
    std::uint64_t offset = 0;      ///< the byte of the sequence at which it begins
    std::vector<std::byte> bytes;  ///< of the record
  };

  /// `strict`: records that equal their predecessor are out of order, too. `layout`'s order must outlive this.
  OrderCheck(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  /// The next piece. Not to be called again once something was found.
  std::optional<Disorder> Add(RecordSpan bytes);

 private:
  std::optional<Disorder> Check(RecordSpan seen) const;
  std::optional<Disorder> AddRecord(RecordSpan end);
  void Pass(RecordSpan seen);
  void Keep(RecordSpan bytes);

  const RecordLayout layout_;
  const bool strict_;
  PageBuffer<std::byte> last_;  ///< the last whole record, and what has come of the next
  std::uint64_t last_bytes_ = 0;
  std::uint64_t offset_ = 0, records_ = 0;  ///< of the sequence before the next record
};

/// The proof about the records that were handed over to be written, in chunks in any order.
class OutputProof {
 public:
  OutputProof(const RecordLayout& layout, bool strict) : layout_(layout), strict_(strict) {}
  OutputProof(const OutputProof&) = delete;
  OutputProof& operator=(const OutputProof&) = delete;

  /// The facts about neighbouring records of the output, whose place in the output is not known yet.
  struct Seen {
    std::uint64_t bytes = 0;
    std::vector<std::byte> first, last;  ///< record
    RecordSum sum;
    std::uint64_t disorder = kInOrder;  ///< as FirstDisorder
  };
  Seen Look(RecordSpan records) const;

  /// Records of the output that begin at byte `offset`. Chunks must not overlap; any thread.
  /// WrongResult with the record's number if they are out of order.
  void Add(std::uint64_t offset, Seen seen);
  void Add(std::uint64_t offset, RecordSpan records) { Add(offset, Look(records)); }
  /// Records that were left out on purpose.
  void AddDropped(const RecordSum& sum);
  /// Compares with what was read. WrongResult if records were lost, changed or are out of order at a border of
  /// chunks, or if a part of the output was never handed over.
  void Check(const RecordSum& input) const;
  /// Checks that the output has `records`, whole and in order. For --top, whose other records are not read again.
  void CheckCount(std::uint64_t records) const;
  RecordSum sum() const;
  /// Returns the first and the last record of an output that is in one piece. `keys`: with the keys that they had.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> Ends(bool keys) const;

  /// The facts about the front of an output, in one piece, from which another proof can go on.
  struct Front {
    std::uint64_t bytes = 0;
    RecordSum sum, dropped;
    std::vector<std::byte> last;  ///< record
  };
  /// WrongResult if it is not in one piece.
  Front front() const;
  /// Continues the proof of an earlier process. Call this before anything is added.
  void GoOnFrom(Front front);

 private:
  /// True if chunks cover the output without a gap. Under the lock.
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
  std::map<std::uint64_t, Chunk> chunks_;  ///< by offset; neighbours that were compared are joined
};

}  // namespace gpusort
