// Typed values of columns, and their order, as gpusort's manual page tells it: for gpusort_check, the independent
// witness. Values are read into numbers, instants and bytes and compared as such; nothing is encoded, and no code is
// gpusort's. Start at ReadValue and CompareValues.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace check {

enum class Type {
  kText,
  kNoCase,
  kNatural,
  kLocale,
  kInt,
  kDecimal,
  kFloat,
  kBool,
  kDate,
  kTimestamp,
  kIp,
  kUuid,
  kBytesHex,
  kAmount
};

struct Rule {
  Type type = Type::kText;
  bool descending = false;
  std::optional<bool> nulls_first;  ///< not said: last, with descending first
  std::string time_format;          ///< of timestamp(FORMAT)
  char point = '.';
  int thousands = -1;  ///< -1: nothing stands between digits
};

/// 0.DIGITS * 10^exponent, without zeros at the ends of DIGITS; none: 0.
struct Number {
  enum Kind { kMinusInfinity, kFinite, kInfinity, kNan } kind = kFinite;
  bool negative = false;
  std::string digits;
  __int128 exponent = 0;
};

/// Seconds since 1970, or days, and a fraction to add, as digits without zeros at the end.
struct Instant {
  int infinite = 0;
  std::int64_t count = 0;
  std::string fraction;
};

struct Null {};
using Value = std::variant<Null, std::string, Number, double, Instant>;

/// A usage error of a key's type or time format.
struct BadRule : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file that is not of its format, or has what cannot be checked.
struct BadTable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// By its name or one of PostgreSQL's. Throws BadRule.
Type TypeOf(std::string_view name);
/// Throws BadRule for a letter that is unknown.
void CheckTimeFormat(std::string_view format);

/// Returns the value of a text, or Null if the text is no value of the type.
Value ReadValue(const Rule& rule, std::string_view text);
/// Returns the value of bytes in PostgreSQL's binary form.
Value ReadBinaryValue(const Rule& rule, std::string_view bytes);

std::strong_ordering CompareValues(const Rule& rule, const Value& a, const Value& b);

/// Appends bytes that are the same for two values if, and only if, CompareValues calls them equal. No such bytes are
/// the beginning of others.
void AppendIdentity(const Rule& rule, const Value& value, std::string& to);

}  // namespace check
