// Keys of lines whose order must be computed (a locale's collation, floats in text, versions). A keyed line is a keyed
// record (formats/keyed_record.hpp) whose first byte also tells which fields are exact (LineOrderView::keyed). A field
// holds the part of the order that bytes can tell, cut to a limit. Lines with equal fields that are not exact are
// compared by KeyMaker before the next field is looked at. Start at KeyedOrder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "formats/key_encoder.hpp"
#include "formats/keyed_record.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// An order of lines that their bytes do not tell. Compare is the order of whole lines.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// At least 1, at most kMaxFields.
  virtual std::size_t fields() const = 0;
  /// Puts bytes that order lines which are equal in all fields before this one. Two lines with different bytes have the
  /// same order by ties(field). Any thread may call this.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// The order of lines by this field alone. The orders of all fields, one after the other, are Compare.
  virtual const HostOrder& ties(std::size_t field) const = 0;

  static constexpr std::size_t kMaxFields = 65;
};

/// The order of lines by a KeyMaker, and of keyed lines.
class KeyedOrder : public KeyScheme {
 public:
  /// Orders lines that end with `delimiter`. `maker` must outlive this object.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// The order of lines without keys: KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Chooses the limit of first fields.
  void Tune(RecordSpan lines) override;
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  /// The bit of a keyed line's first byte that is set if the field is exact; fields after the sixth have no bit.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// The order by a field of lines whose bytes in that field are equal.
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

  /// Limits of fields in bytes. The first field reaches kBehindCommon bytes beyond the prefix that sampled lines share,
  /// so that it tells nearly all lines apart. A tie costs microseconds, and each byte of a key costs memory and time to
  /// copy.
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
