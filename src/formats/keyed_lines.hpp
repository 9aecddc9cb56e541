// Sort keys for lines whose order must be computed (a locale's collation, floats in text, versions). A keyed line is a
// keyed record (formats/keyed_record.hpp). The key fields are compared as bytes, and are cut off at a limit. The first
// byte of the line says which fields are exact (LineOrderView::keyed). If two lines have equal bytes in a field that is
// not exact, KeyMaker::ties compares the lines before the next field is compared. Start at KeyedOrder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "formats/key_encoder.hpp"
#include "formats/keyed_record.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// An order of lines for which keys are computed, field by field. Compare() compares two whole lines without keys.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// Returns the number of key fields: 1 to kMaxFields.
  virtual std::size_t fields() const = 0;
  /// Writes key field number `field` of `line` to `out`. If the bytes written for two lines differ, the order of the
  /// bytes must be the order in which ties(field) puts the two lines. Any thread may call this.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// Returns an order that compares lines by key field number `field` alone. Compare() compares by all fields, one
  /// after the other.
  virtual const HostOrder& ties(std::size_t field) const = 0;

  static constexpr std::size_t kMaxFields = 65;
};

/// Puts a computed sort key before each line, and provides the order of the resulting keyed lines. A KeyMaker computes
/// the fields of the key.
class KeyedOrder : public KeyScheme {
 public:
  /// The lines end with `delimiter`, and `maker` computes their keys. `maker` must outlive this object.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// Returns the order of lines without keys, which is KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Chooses how many bytes the first key field may have, from a sample of the lines.
  void Tune(RecordSpan lines) override;
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  /// A key field is exact if equal bytes mean equal values. FieldBit() returns the bit in the first byte of a keyed
  /// line that tells that key field number `field` is exact, or 0 if the field has no bit.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// Compares two lines that have equal bytes in one key field, by KeyMaker::ties of that field. Settled() returns true
  /// if the field is exact, so that the values are equal and need no comparison.
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

  /// The greatest sizes of key fields in bytes. The first field ends kBehindCommon bytes after the prefix that all
  /// sampled lines have in common, so that the field differs between nearly all lines. Longer keys take more memory;
  /// with shorter keys, more lines must be compared in full.
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
