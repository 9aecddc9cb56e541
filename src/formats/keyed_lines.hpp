// Sort keys for lines whose order must be computed: a locale's collation, floats in text, versions. The key is written
// before the line. The result is called a keyed line, and is a keyed record (formats/keyed_record.hpp). A key has one
// field for each -k option. The fields are compared as bytes, and are cut off at a limit. The first byte of a keyed
// line says which fields are exact: equal bytes in such a field mean equal values. If two lines have equal bytes in a
// field that is not exact, KeyMaker::ties compares the lines themselves. Start at KeyedOrder.
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

/// Computes the sort keys of lines, field by field. It is also an order of lines: Compare(), which HostOrder declares,
/// compares two lines that have no computed key.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// Returns the number of key fields, at least 1.
  virtual std::size_t fields() const = 0;
  /// Writes key field number `field` of `line` to `out`. If the bytes written for two lines differ, the order of the
  /// bytes must be the order in which ties(field) puts the two lines. Any thread may call this.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// Returns an order that compares two lines by key field number `field` alone. It is needed if the computed bytes of
  /// that field are equal, but the values may differ.
  virtual const HostOrder& ties(std::size_t field) const = 0;
};

/// Puts a computed sort key before each line, and provides the order of lines with such keys. A KeyMaker computes the
/// fields of the key.
class KeyedOrder : public KeyScheme {
 public:
  /// The lines end with `delimiter`, and `maker` computes their keys. `maker` must outlive this object.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// Returns the order of lines that have no computed key before them, which is KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Chooses how many bytes the first key field may have. `lines` is a sample of the input.
  void Tune(RecordSpan lines) override;
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  /// A key field is exact if equal bytes mean equal values. The first byte of a line with a key has room for a bit for
  /// each of the first kFieldBits fields. The bit is set if the field is exact. FieldBit() returns the bit of field
  /// number `field`, or 0 if the field has none.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// The order that decides between two lines whose computed keys have equal bytes in one field. If the field is exact
  /// (equal bytes mean equal values), Settled() returns true, and the lines are not compared. Otherwise `maker`
  /// compares them.
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

  /// The limits on the sizes of key fields, in bytes. The first field ends kBehindCommon bytes after the prefix that
  /// all sampled lines have in common, so that it differs between nearly all lines. It has at most kMostFirst bytes,
  /// and kUsualFirst bytes if no sample was taken. Each other field has at most kNextLimit bytes, because it is needed
  /// only if the fields before it are equal. Longer keys would take more memory. With shorter keys, more lines would
  /// have equal keys and would have to be compared in full.
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
