// Sort keys for lines whose order must be computed, such as the order of a locale or of version numbers. The key is
// written before the line, with one field for each -k option. Start at KeyedOrder.
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

/// Computes the sort keys of lines, field by field. Compare() compares two lines directly, without their sort keys.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// Returns the number of key fields, at least 1.
  virtual std::size_t fields() const = 0;
  /// Writes key field number `field` of `line` to `out`. The written bytes must sort in the order of the comparator
  /// ties(field). Any thread may call this.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// Returns the comparator that compares two lines if key field number `field` has the same bytes in both.
  virtual const HostOrder& ties(std::size_t field) const = 0;
};

/// Writes the sort keys of a KeyMaker before each line. layout() returns the order of lines with keys.
class KeyedOrder : public KeyScheme {
 public:
  /// The lines end with the byte `delimiter`, and `maker` computes their keys. `maker` must outlive this object.
  KeyedOrder(const KeyMaker& maker, unsigned char delimiter);

  /// Returns the order of lines before their sort keys are written.
  const LineOrderView& plain() const { return plain_; }

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t) const override {
    return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields();
  }
  /// Chooses the limit on the size of the first key field. `lines` must be a sample of the input that contains whole
  /// lines.
  void Tune(RecordSpan lines) override;
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  /// The first byte of a keyed line has one bit for each of the first kFieldBits key fields. The bit is set if equal
  /// bytes in the field mean equal values. FieldBit() returns the bit of a field, or 0 if the field has none.
  static constexpr unsigned kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// Compares two lines by a key field whose bytes are equal in both sort keys. The values can differ all the same,
  /// because sort keys cut off long values. `bit` is the FieldBit() of this field.
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

  /// Size limits of key fields in bytes: kUsualFirst for the first field, and kNextLimit for each other field. Tune()
  /// chooses another limit for the first field: the common prefix plus kBehindCommon, but at most kMostFirst.
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
