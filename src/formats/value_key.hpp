// ValueKey makes sort keys of values that have a type, such as numbers and times. A key is bytes whose memcmp order is
// the order of the values. A record has one key for each column that the job sorts by, one after the other. Equal
// values have equal keys, and no key of a column is a proper prefix of another one. The first byte tells null from a
// value. Keys of numbers and times contain no byte that FieldWriter would have to escape. Start at ValueKey.
#pragma once

#include <cstdint>
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

/// Converts between a type and its name in the options, for example "text", "int" or "bytes-hex".
std::string_view ValueTypeName(ValueType type);
std::optional<ValueType> FindValueType(std::string_view name);
/// Returns the names of all types, "text, nocase, ...", for messages.
std::string ValueTypeNames();

/// Returns the type that `text` probably has, for hints in messages: kInt, kDecimal, kTimestamp, kDate, kUuid or kIp.
/// Returns std::nullopt if that is uncertain, for example for a number with leading zeros.
std::optional<ValueType> LooksLike(std::string_view text);

/// Writes sort keys for the values of one column. Any thread may call the functions. Each function writes one whole key
/// to `out`. It sets the direction of `out` back: out.reverse() is false after each call.
class ValueKey {
 public:
  /// Throws Error(kUsage) if the time format of `rule` is invalid or not allowed for the type. Also throws it if an
  /// enum has no words, or if the characters for the decimal point and thousands are ambiguous.
  explicit ValueKey(const ValueRule& rule);

  /// Writes the key of the value in `text`. Returns false and writes nothing if `text` is no value of the rule's type.
  /// Sets *lacks_zone if `text` is a time without a zone, which is read as UTC; never clears it. text, nocase, natural
  /// and locale accept any bytes. All other types ignore white space around the value:
  /// * text: by unsigned bytes. nocase: ASCII capitals count as small letters. natural: as GNU sort -V.
  /// * locale: by strxfrm. NULs divide the text into parts, which are compared one after the other.
  /// * int: an optional sign and digits. decimal: also a fraction and an exponent, exact at any length. -0 equals 0. As
  ///   in PostgreSQL, decimal accepts inf and infinity with or without a sign, and NaN, which is greater than all
  ///   numbers. `thousands` may stand between digits before the decimal point.
  /// * number: a finite decimal. See PutLooseNumber for what may stand around and inside the number.
  /// * float: the texts of decimal, rounded to binary64, in IEEE 754's totalOrder: -nan, -inf, ..., -0, 0, ..., inf,
  ///   nan.
  /// * bool: f, false, no, n, off, 0 are less than t, true, yes, y, on, 1. Letters of any case.
  /// * date, timestamp: see ParseDay and ParseInstant, or ParseInstantBy for date(FORMAT) and timestamp(FORMAT).
  /// * time: see ParseClock; by the time in UTC, then the zones from east to west, as PostgreSQL's timetz.
  /// * interval: see ParseInterval; a month has 30 days and a day has 24 hours, as in PostgreSQL's order.
  /// * ip: as PostgreSQL's inet: v4 before v6 (also before ::ffff:1.2.3.4), then by the bits of the network, the length
  ///   of the prefix, and the bits of the host. An address without a prefix has the full length.
  /// * macaddr: six or eight bytes in hexadecimal digits, by the bytes; all addresses of six bytes are less.
  /// * uuid: 32 hexadecimal digits, with optional hyphens after every four digits and optional braces.
  /// * bytes-hex: an even number of hexadecimal digits, optionally after \x or 0x.
  /// * bit: digits 0 and 1, optionally as b'0101'; a shorter value comes before the values that begin with it.
  /// * severity: the levels of logs, see PutSeverity. enum: one of the labels, by their order.
  bool Put(std::string_view text, FieldWriter& out, bool* lacks_zone = nullptr) const;
  void PutNull(FieldWriter& out) const;

  // The following functions take values that need no parsing. Each writes the key that Put() would write if the value
  // were text of the named type. All values of a column must be written with the same type.
  void PutInt(std::int64_t value, FieldWriter& out) const;  ///< writes the key of a value of type int or decimal
  /// Writes the key of a decimal, which for a whole value is also the key of an int. The arguments are the parts of a
  /// numeric as PostgreSQL stores it, in the byte order of this machine: `digits` are in base 10000, and the first one
  /// is multiplied by 10000^weight. Returns false if the numeric is invalid.
  bool PutDecimal(std::span<const std::uint16_t> digits, int weight, unsigned sign, FieldWriter& out) const;
  /// Writes the key of a value of type float. Every NaN counts as a positive NaN, as in PostgreSQL.
  void PutFloat(double value, FieldWriter& out) const;
  void PutBool(bool value, FieldWriter& out) const;
  /// Writes the key of a value of type timestamp. `micros` is a count of microseconds from `epoch`, and `epoch` is
  /// given in seconds since 1970 (946684800 for PostgreSQL, which counts from 2000-01-01). The smallest number stands
  /// for -infinity, and the largest one for infinity.
  void PutMicros(std::int64_t micros, FieldWriter& out, std::int64_t epoch = 0) const;
  /// Writes the key of a value of type timestamp.
  void PutInstant(const Instant& instant, FieldWriter& out) const;
  /// Writes the key of a value of type date: the day `days` days after 1970-01-01. The smallest number stands for
  /// -infinity, and the largest one for infinity.
  void PutDays(std::int32_t days, FieldWriter& out) const;
  /// Writes the key of the text `bytes`. If the user chose the type nocase, natural or locale for the column, the key
  /// follows that type's rules. For any other type, the order is that of unsigned bytes.
  void PutBytes(std::string_view bytes, FieldWriter& out) const;

  const ValueRule& rule() const { return rule_; }

 private:
  const ValueRule rule_;
  std::string time_format_;  ///< the time format in the form that ParseInstantBy takes
  /// The words of the type enum, sorted. Each has its position in the list that the user or CREATE TYPE gives, which is
  /// the order of the values.
  std::vector<std::pair<std::string, std::size_t>> labels_;
  bool collates_;  ///< true: in this locale, texts are not ordered by their bytes, so that strxfrm is needed
};

}  // namespace gpusort
