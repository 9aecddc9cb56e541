// ValueKey makes sort keys of values that have a type, such as numbers and times. Comparing keys by memcmp gives the
// order of the values. Equal values have equal keys. Start at ValueKey.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/keyed_record.hpp"
#include "formats/time_text.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// Convert between a type and its name in the options, for example "text", "int" or "bytes-hex". FindValueType() also
/// knows other names, such as "int4". It returns std::nullopt for an unknown name.
std::string_view ValueTypeName(ValueType type);
std::optional<ValueType> FindValueType(std::string_view name);
/// Returns the names of all types as one string for messages: "text, nocase, ...".
std::string ValueTypeNames();

/// Guesses the type of the value `text`, for hints in messages: kInt, kDecimal, kTimestamp, kDate, kUuid or kIp.
/// Returns std::nullopt if the type is uncertain, for example for a number with leading zeros.
std::optional<ValueType> LooksLike(std::string_view text);

class ZoneWords;

/// The reasons why the time zone of a value is uncertain.
struct ZoneDoubt {
  bool lacks_zone = false;  ///< true: a timestamp names no zone
  ZoneWord word = 0;        ///< the abbreviation that names the zone of a timestamp or a time of day
};

/// Writes the sort keys of the values of one column.
/// - Any thread may call the functions.
/// - Each function that begins with Put writes one whole key to `out`.
/// - The caller must not reverse `out` (set_reverse). The functions do this themselves for descending keys.
class ValueKey {
 public:
  /// `zones` says how timestamps that name no zone are read, and what abbreviations of zones mean. Null: timestamps
  /// that name no zone are in UTC, and an abbreviation has the meaning that FactsOf() returns.
  ///
  /// Throws Error(kUsage) if `rule` is invalid:
  /// * the time format is invalid or not allowed for the type,
  /// * an enum has no words,
  /// * the bytes for the decimal point and for thousands are equal, or can be part of a number.
  explicit ValueKey(const ValueRule& rule, std::shared_ptr<const ZoneWords> zones = nullptr);

  /// Writes the key of the value in `text`. Returns false and writes nothing if `text` is no value of the rule's type.
  /// - If a timestamp without a zone is a local time that occurs twice, it is read as the second one, as in PostgreSQL.
  /// - Sets *doubt if it is not null and `text` is a timestamp or a time of day.
  /// - The types text, nocase, natural and locale accept any bytes.
  /// - All other types ignore white space around the value.
  ///
  /// The types:
  /// - text: by unsigned bytes
  /// - nocase: as text, but ASCII capitals count as small letters
  /// - natural: as GNU sort -V
  /// - locale: by strxfrm; NULs divide the string into parts, which are compared one after the other
  /// - int: digits, optionally after a sign
  /// - decimal: as int, optionally with a fraction and an exponent, exact at any length
  /// - decimal: also inf and infinity with an optional sign, and NaN, which is greater than all numbers, as in
  ///   PostgreSQL
  /// - int, decimal: -0 equals 0; the byte `thousands` may stand between digits before the decimal point
  /// - number: a decimal number with currency signs, separators or suffixes, such as $1,234.50 or 2K (see
  ///   PutLooseNumber)
  /// - float: the strings of decimal, rounded to binary64, in the order of IEEE 754: -nan, -inf, ..., -0, 0, ..., inf,
  ///   nan
  /// - bool: f, false, no, n, off, 0 are less than t, true, yes, y, on, 1, in upper or lower case
  /// - date, timestamp: see ParseDay and ParseInstant
  /// - date(FORMAT), timestamp(FORMAT): see ParseInstantBy
  /// - time: see ParseClock; by the time in UTC, then by the zone, from east to west, as PostgreSQL's timetz
  /// - interval: see ParseInterval; a month has 30 days and a day has 24 hours, as in PostgreSQL
  /// - ip: as PostgreSQL's inet: first version 4, then version 6; by the network, the length of the prefix, and the
  ///   host
  /// - ip: an address without a prefix has the full length
  /// - macaddr: six or eight bytes in hexadecimal digits, by the bytes; all addresses of six bytes come first
  /// - uuid: 32 hexadecimal digits, with optional hyphens after every four digits and optional braces
  /// - bytes-hex: an even number of hexadecimal digits, optionally after \x or 0x
  /// - bit: digits 0 and 1, optionally as b'0101'; a value comes before longer values that begin with it
  /// - severity: the levels of logs (see PutSeverity)
  /// - enum: one of the words of the rule, in their order
  /// - set: words of the rule with commas between them (see ValueType::kSet)
  /// - order: the words of the rule in their order, then all other strings by unsigned bytes (see Lists)
  bool Put(std::string_view text, FieldWriter& out, ZoneDoubt* doubt = nullptr) const;
  /// Returns true if `text`, without white space around it, is one of the words of the rule.
  bool Lists(std::string_view text) const;
  void PutNull(FieldWriter& out) const;

  // The following functions write the same keys as Put(), for values that are not text. All values of a column must be
  // written as the same type.
  void PutInt(std::int64_t value, FieldWriter& out) const;  ///< for the types int and decimal
  /// Writes the key of a `numeric` value of PostgreSQL, for the type decimal. The value is the sum of all digits[i] *
  /// 10000^(weight - i). `sign` is the sign code of PostgreSQL, which also stands for NaN and infinity. Returns false
  /// if `digits` or `sign` is invalid.
  bool PutDecimal(std::span<const std::uint16_t> digits, int weight, unsigned sign, FieldWriter& out) const;
  /// Writes the key of a value of type float. Every NaN counts as a positive NaN, as in PostgreSQL.
  void PutFloat(double value, FieldWriter& out) const;
  void PutBool(bool value, FieldWriter& out) const;
  /// Writes the key of a value of type timestamp: the time `micros` microseconds after `epoch`. `epoch` is in seconds
  /// since 1970: 946684800 for PostgreSQL, which counts from 2000-01-01. The smallest value of `micros` stands for
  /// -infinity, and the largest one for infinity.
  void PutMicros(std::int64_t micros, FieldWriter& out, std::int64_t epoch = 0) const;
  /// Writes the key of a value of type timestamp.
  void PutInstant(const Instant& instant, FieldWriter& out) const;
  /// Writes the key of a value of type date: the day that is `days` days after 1970-01-01. The smallest value of `days`
  /// stands for -infinity, and the largest one for infinity.
  void PutDays(std::int32_t days, FieldWriter& out) const;
  /// Writes the key of the string `bytes`. The order is that of unsigned bytes, unless the type of the column is
  /// nocase, natural or locale. These types keep their own orders.
  void PutBytes(std::string_view bytes, FieldWriter& out) const;
  /// Writes the key of a value of any type whose `bytes` memcmp compares. All values of the column must have the same
  /// number of bytes.
  void PutFixed(std::string_view bytes, FieldWriter& out) const;

  const ValueRule& rule() const { return rule_; }

 private:
  /// Only for columns of the types kEnum, kSet and kOrder: returns the number by which `text` is ordered. Returns
  /// std::nullopt if it is no value of the type.
  std::optional<std::uint64_t> NumberOfLabels(std::string_view text) const;

  const ValueRule rule_;
  const std::shared_ptr<const ZoneWords> zones_;
  std::string time_format_;  ///< the time format, in the form that ParseInstantBy takes
  /// For the types kEnum, kSet and kOrder: the words of the type in alphabetical order, each with its position in the
  /// list of the type. Values sort by these positions.
  std::vector<std::pair<std::string, std::size_t>> labels_;
  bool collates_;  ///< true: the locale does not order strings by their bytes, so strxfrm is needed
};

}  // namespace gpusort
