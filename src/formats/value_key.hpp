// Normalized keys of typed values: bytes whose memcmp order is that of the values, one behind the other for several
// columns. No key of a rule is a proper prefix of another one of the same rule, equal values have equal bytes, and the
// first byte tells null from value. Which texts are values of a type, and their order, is said at Put; numbers and
// times use bytes that a FieldWriter need not escape. Start at ValueKey.
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

/// What all of `text` would be a value of if it were typed, so that a message can name the type: kInt, kDecimal,
/// kTimestamp, kDate, kUuid or kIp. Nothing in doubt, as for numbers with leading zeros.
std::optional<ValueType> LooksLike(std::string_view text);

/// Keys of the values of one column. Any thread may put. Each function puts one whole key and leaves `out` not
/// reversed.
class ValueKey {
 public:
  /// Error(kUsage) for a time format that is none, one for another type, or bytes for numbers that digits need.
  explicit ValueKey(const ValueRule& rule);

  /// Puts the key of the value that `text` is; false, and puts nothing, if it is none of the rule's type. Sets
  /// *lacks_zone, and never clears it, if the text is a time of no zone, which is taken as UTC.
  /// White space around counts for nothing but in text, nocase, natural and locale, which take any bytes:
  /// * text: unsigned bytes. nocase: the same, ASCII capitals as small letters. natural: as GNU sort -V. locale: by strxfrm;
  ///   NULs divide it, and what they divide is compared one by one.
  /// * int: an optional sign and digits. decimal: also a fraction and an exponent; exact at any length. -0 is 0. As in
  ///   PostgreSQL, decimal knows inf and infinity with a sign or none, and NaN, which is above all. `thousands` may
  ///   stand between digits in front of the decimal point.
  /// * amount: a decimal that is finite, perhaps with a currency sign in front or behind, or % behind, which count for
  ///   nothing. In brackets it is negative.
  /// * float: what decimal takes, rounded to binary64; IEEE 754's totalOrder: -nan, -inf, ..., -0, 0, ..., inf, nan.
  /// * bool: t, true, yes, y, on, 1 above f, false, no, n, off, 0. Letters of any case.
  /// * date, timestamp: see ParseDay and ParseInstant, or ParseInstantBy for timestamp(FORMAT).
  /// * ip: as PostgreSQL's inet: v4 before v6 (so ::ffff:1.2.3.4 comes after all v4), then the bits of the network, the
  ///   length of the prefix, and the bits of the host. A prefix that is not given has full length.
  /// * uuid: 32 hexadecimal digits, a hyphen or none between each four of them, braces or none around.
  /// * bytes-hex: an even count of hexadecimal digits, \x, 0x or nothing in front.
  bool Put(std::string_view text, FieldWriter& out, bool* lacks_zone = nullptr) const;
  void PutNull(FieldWriter& out) const;

  // What need not be parsed. Each puts what the same value as text gives under a rule of its own type and this one's
  // direction, whatever the rule's type is; a column's values must all be put as one type.
  void PutInt(std::int64_t value, FieldWriter& out) const;          ///< as int and decimal
  void PutUnsigned64(std::uint64_t value, FieldWriter& out) const;  ///< as int and decimal
  /// As decimal, and as int if it is whole: PostgreSQL's binary numeric, digits of base 10000 of which the first counts
  /// 10000^weight, its sign word, in the host's order. Digits behind its scale are zeros. False if it is none.
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
