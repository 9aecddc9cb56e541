// Normalized keys of typed values: bytes whose memcmp order is the order of the values. The keys of several columns
// stand one after the other. No key of a rule is a proper prefix of another key of the rule, equal values have equal
// bytes, and the first byte tells null from value. ValueKey::Put says which texts are values of a type, and in which
// order. Numbers and times use bytes that a FieldWriter need not escape. Start at ValueKey.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/keyed_lines.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// As users write them: "text", "int", "bytes-hex".
std::string_view ValueTypeName(ValueType type);
std::optional<ValueType> FindValueType(std::string_view name);
/// "text, nocase, ...", for messages.
std::string ValueTypeNames();

/// Returns the type that all of `text` looks like, so that a message can name the type: kInt, kDecimal, kTimestamp,
/// kDate, kUuid or kIp. Returns std::nullopt in doubt, as for numbers with leading zeros.
std::optional<ValueType> LooksLike(std::string_view text);

/// Keys of the values of one column. Any thread may put. Each function puts one whole key and leaves `out` not
/// reversed.
class ValueKey {
 public:
  /// Error(kUsage) for a time format that is none, one for another type, or bytes for numbers that digits need.
  explicit ValueKey(const ValueRule& rule);

  /// Puts the key of the value in `text`. Returns false and puts nothing if the text is no value of the rule's type.
  /// Sets *lacks_zone, and never clears it, if the text is a time without a zone, which is taken as UTC. text, nocase,
  /// natural and locale take any bytes; all other types ignore white space around the value:
  /// * text: unsigned bytes. nocase: ASCII capitals count as small letters. natural: as GNU sort -V.
  /// * locale: by strxfrm. NULs divide the text into parts, which are compared one after the other.
  /// * int: an optional sign and digits. decimal: also a fraction and an exponent; exact at any length. -0 is 0. As in
  ///   PostgreSQL, decimal knows inf and infinity with a sign or none, and NaN, which is above all. `thousands` may
  ///   stand between digits before the decimal point.
  /// * amount: a decimal that is finite. A currency sign before or after the number and a % after the number do not
  ///   count. A number in brackets is negative.
  /// * float: what decimal takes, rounded to binary64; IEEE 754's totalOrder: -nan, -inf, ..., -0, 0, ..., inf, nan.
  /// * bool: t, true, yes, y, on, 1 above f, false, no, n, off, 0. Letters of any case.
  /// * date, timestamp: see ParseDay and ParseInstant, or ParseInstantBy for timestamp(FORMAT).
  /// * ip: as PostgreSQL's inet: v4 before v6 (so ::ffff:1.2.3.4 comes after all v4), then the bits of the network, the
  ///   length of the prefix, and the bits of the host. A prefix that is not given has full length.
  /// * uuid: 32 hexadecimal digits, a hyphen or none between each four of them, braces or none around.
  /// * bytes-hex: an even count of hexadecimal digits, \x, 0x or nothing in front.
  bool Put(std::string_view text, FieldWriter& out, bool* lacks_zone = nullptr) const;
  void PutNull(FieldWriter& out) const;

  // These functions take values that need no parsing. Each puts the key that Put() puts for the same value as text,
  // under the type that the function names and the direction of the rule. All values of a column must be put as one
  // type.
  void PutInt(std::int64_t value, FieldWriter& out) const;          ///< as int and decimal
  void PutUnsigned64(std::uint64_t value, FieldWriter& out) const;  ///< as int and decimal
  /// As decimal, and as int if it is whole: PostgreSQL's binary numeric, digits of base 10000 of which the first counts
  /// 10000^weight, its sign word, in the host's order. Digits after its scale are zeros. Returns false if it is no
  /// number.
  bool PutDecimal(std::span<const std::uint16_t> digits, int weight, unsigned sign, FieldWriter& out) const;
  void PutFloat(double value,
                FieldWriter& out) const;  ///< as float; NaNs are nan whatever their sign, as they are written
  void PutBool(bool value, FieldWriter& out) const;
  /// As timestamp: microseconds since `epoch`, which counts seconds since 1970 (PostgreSQL's: 946684800). The least and
  /// the greatest number are -infinity and infinity.
  void PutMicros(std::int64_t micros, FieldWriter& out, std::int64_t epoch = 0) const;
  /// As date: days since 1970-01-01; least and greatest as above.
  void PutDays(std::int32_t days, FieldWriter& out) const;
  /// The bytes as nocase, natural or locale if the rule says so, otherwise as text and bytes-hex.
  void PutBytes(std::string_view bytes, FieldWriter& out) const;

  const ValueRule& rule() const { return rule_; }

 private:
  const ValueRule rule_;
  std::string time_format_;  ///< as ParseInstantBy takes it
  bool collates_;            ///< strxfrm makes a difference
};

}  // namespace gpusort
