// Sort keys for lines whose order must be computed: the order of a locale, of floats in text, of versions. The key is
// written before the line. The result is called a keyed line, and is a keyed record (formats/keyed_record.hpp). A key
// has one field for each -k option. A field is compared by its bytes, and is cut off at a limit. The first byte of a
// keyed line says which fields are exact: equal bytes in an exact field mean equal values. If two lines have equal
// bytes in a field that is not exact, the order KeyMaker::ties compares the lines themselves. Start at KeyedOrder.
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

/// Computes the sort keys of lines, field by field. A KeyMaker is also an order of lines: its function Compare(), which
/// HostOrder declares, compares two lines without computed keys.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// Returns the number of key fields, at least 1.
  virtual std::size_t fields() const = 0;
  /// Writes the key field with the index `field` of `line` to `out`. The bytes must be consistent with ties(field): if
  /// they differ between two lines, they order the lines as ties(field) does. Any thread may call this.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// Returns an order that compares two lines by the key field with the index `field` alone. It is used if the computed
  /// bytes of that field are equal, but the values may differ.
  virtual const HostOrder& ties(std::size_t field) const = 0;
};

/// Writes a computed sort key before each line, and provides the order of the lines with such keys. A KeyMaker computes
/// the fields of the keys.
class KeyedOrder : public KeyScheme {
 public:
  /// The lines end with the byte `delimiter`, and `maker` computes their keys. `maker` must outlive this object.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// Returns the order of lines that have no computed keys. This order compares two lines by KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Sets the maximum number of bytes of the first key field, according to `lines`, a sample of the input.
  void Tune(RecordSpan lines) override;
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  /// The number of key fields for which the first byte of a keyed line has a bit. The bit is set if the field is exact,
  /// which means that equal bytes are equal values. FieldBit() returns the bit of the field with the index `field`, or
  /// 0 if the field has no bit.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// The order of two lines whose computed keys have equal bytes in one field. If the field is exact (equal bytes mean
  /// equal values), Settled() returns true, and the lines are not compared. Otherwise `maker` compares the lines.
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

  /// The limits on the sizes of key fields, in bytes:
  /// * The first field ends kBehindCommon bytes after the prefix that all sampled lines have in common, so that it
  ///   differs between nearly all lines. It has at most kMostFirst bytes, and at most kUsualFirst bytes if there is no
  ///   sample.
  /// * Each other field has at most kNextLimit bytes, because it is used only if the fields before it are equal.
  /// * Larger limits would take more memory. With smaller limits, more lines would have equal keys and would have to be
  ///   compared in full.
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
