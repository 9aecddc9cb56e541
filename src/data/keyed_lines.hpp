// Lines whose order must be computed (a locale's collation, floats in text, versions) get their keys once, when they
// are read: a keyed line is a byte that tells which fields say all, one or more fields, each ended by kKeyEnd, and the
// line as it was. Behind phase 1's reader it is a line like any other, so that sorting, the cut, merging and the check
// of order serve it (LineOrderView::keyed); the sum of a record and the output leave its keys out (Body). A field is
// what of the order bytes can tell, cut to a limit: lines with equal fields that do not say all are compared by
// KeyMaker itself, before the next field is looked at. Start at KeyedOrder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "data/record_keyer.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// What lines are ordered by where their bytes do not tell. Compare is the order of whole lines.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// At least 1, at most kMaxFields.
  virtual std::size_t fields() const = 0;
  /// Puts bytes whose order is that of lines that agree in all fields before: where two differ, ties(field) says the
  /// same. Any thread.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// The order of lines by what this field is made of. With those of all fields, one after the other, it is Compare.
  virtual const HostOrder& ties(std::size_t field) const = 0;

  static constexpr std::size_t kMaxFields = 65;
};

/// The order of lines by a KeyMaker, and of keyed lines.
class KeyedOrder : public RecordKeyer {
 public:
  /// Of lines that end with `delimiter`. `maker` must outlive this.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// Of lines as they are: KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Chooses how long first fields may be.
  void Tune(RecordSpan lines) override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  std::uint64_t Append(RecordSpan lines, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) const override;

 private:
  /// The bit of a keyed line's first byte that is set if the field is exact; fields behind the sixth have none.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// What says how lines with equal bytes in a field differ by it.
  struct Ties : HostOrder {
    Ties(const HostOrder& maker, unsigned bit) : maker_(maker), bit_(bit) {}
    int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
      return maker_.Compare(a, a_size, b, b_size);
    }
    bool Settled(const Byte* line) const override { return (line[0] & bit_) != 0; }

   private:
    const HostOrder& maker_;
    const unsigned bit_;
  };

  /// Bytes of a first field: where the first that differs in lines from everywhere lies, and as many behind it as tell
  /// nearly all lines apart; a line's tie costs microseconds, a byte of all keys memory and time to copy.
  static constexpr std::uint64_t kMostFirst = 256, kBehindCommon = 40, kUsualFirst = 96, kNextLimit = 24;

  const KeyMaker& maker_;
  const unsigned char delimiter_;
  std::uint64_t first_limit_ = kUsualFirst;
  LineKey plain_key_;
  std::deque<Ties> ties_;
  std::vector<LineKey> keyed_keys_;
  LineOrderView plain_, keyed_;
};

}  // namespace gpusort
