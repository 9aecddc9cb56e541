// Typed values of columns and their order, as gpusort's manual page defines them. gpusort_check uses them to check
// gpusort independently. Values become numbers, instants and bytes, and are compared as such. This code shares nothing
// with gpusort. Start at ReadValue and CompareValues.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
  kNumber,
  kTime,
  kInterval,
  kMacAddress,
  kBits,
  kSeverity,
  kEnum,
  kSet,
  kOrder
};

struct Rule {
  Type type = Type::kText;
  bool descending = false;
  std::optional<bool> nulls_first;  ///< whether nulls come first; not set: only in descending order
  std::string time_format;          ///< the FORMAT of the types timestamp(FORMAT) and date(FORMAT)
  std::vector<std::string> labels;  ///< the words of the types enum(WORDS) and set(WORDS), the least first
  /// Only for the type order(FILE): each value with its position in FILE, from 0.
  std::map<std::string, std::size_t, std::less<>> listed;
  char point = '.';
  int thousands = -1;       ///< the character between groups of digits; -1: none
  int padding = -1;         ///< with kText: the character that does not count at the end; -1: none
  bool zero_dates = false;  ///< with kTimestamp: the month and the day can be 0, as in MySQL
  friend bool operator==(const Rule&, const Rule&) = default;
};

/// The number 0.DIGITS * 10^exponent. DIGITS neither begin nor end with a zero, and are empty for 0.
struct Number {
  enum Kind { kMinusInfinity, kFinite, kInfinity, kNan } kind = kFinite;
  bool negative = false;
  std::string digits;
  __int128 exponent = 0;
};

/// A point in time: seconds or days since 1970, plus a fraction whose digits do not end with a zero.
struct Instant {
  int infinite = 0;
  std::int64_t count = 0;
  std::string fraction;
};

struct Null {};
using Value = std::variant<Null, std::string, Number, double, Instant>;

/// An error: a key's type or time format is wrong.
struct BadRule : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An error: the file does not have its format, or contains something that gpusort_check cannot check.
struct BadTable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the type that has this name in gpusort or PostgreSQL. Throws BadRule if there is no such type.
Type TypeOf(std::string_view name);
/// Throws BadRule if the time format contains an unknown letter.
void CheckTimeFormat(std::string_view format);

/// Returns the value of a text, or Null if the text is no value of the type.
Value ReadValue(const Rule& rule, std::string_view text);
/// Reads an instant at the front of `text`, in a format of CheckTimeFormat(), and removes it from `text`. Sets `zoned`
/// to true if the text has a zone or counts seconds since 1970; otherwise the instant is computed for UTC. If there is
/// no instant, returns std::nullopt, and `text` is undefined.
std::optional<Instant> TakeInstantBy(std::string_view format, std::string_view& text, bool& zoned);
/// Reads the name of a time zone, in any case, and removes it from `text`. The name is all letters at the front of
/// `text`. Sets `east` to the offset of the zone from UTC in seconds. Returns false if there is no such name.
bool TakeZoneName(std::string_view& text, std::int64_t& east);
/// From now on, TakeZoneName() reads the abbreviations that the zone of TZ has used since 2000 as this zone does: IST
/// is +05:30 if TZ is Asia/Kolkata. No other thread may run.
void UseNamesOfLocalZone();
/// From now on, ReadValue() reads timestamps without a zone as local times of the zone of TZ. No other thread may run.
void ReadTimesAsLocal();
/// Returns the value of bytes in PostgreSQL's binary format.
Value ReadBinaryValue(const Rule& rule, std::string_view bytes);

/// Returns the text with the capital letters of ASCII in lower case.
std::string Lowered(std::string_view text);

std::strong_ordering CompareValues(const Rule& rule, const Value& a, const Value& b);

/// Appends bytes that identify the value. Two values have the same bytes if, and only if, CompareValues calls them
/// equal. The bytes of one value are never a prefix of the bytes of another value.
void AppendIdentity(const Rule& rule, const Value& value, std::string& to);

}  // namespace check
