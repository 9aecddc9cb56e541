// Keys of records with columns, as typed: -k NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. Plain data:
// cli/column_key.hpp parses a key, and formats/ makes the keys of records by it. Start at ColumnKey.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpusort {

/// The type by which the text of a column is ordered.
enum class ValueType : std::uint8_t {
  kText,       ///< unsigned bytes
  kNoCase,     ///< unsigned bytes, with ASCII capitals as small letters
  kNatural,    ///< as -V
  kLocale,     ///< by the weights of the environment's locale (strxfrm)
  kInt,        ///< whole numbers of any length, exact
  kDecimal,    ///< decimal numbers of any length, exact
  kFloat,      ///< binary64, totalOrder
  kBool,       ///< false before true
  kDate,       ///< a day
  kTimestamp,  ///< an instant
  kIp,         ///< v4 before v6
  kUuid,
  kBytesHex,  ///< bytes written as hexadecimal digits
  kAmount,    ///< decimal numbers with a currency sign or %
};

/// How the values of a column are read and ordered.
struct ValueRule {
  ValueType type = ValueType::kText;
  bool typed = false;  ///< a type was given
  bool descending = false;
  std::optional<bool> nulls_first;  ///< if not given: last if ascending, first if descending
  std::string time_format;          ///< of timestamp(FORMAT), in strptime's letters; empty for the known formats
  char decimal_point = '.';
  int thousands = -1;  ///< a byte between digits to skip; -1 if there is none

  bool puts_nulls_first() const { return nulls_first.value_or(descending); }
  friend bool operator==(const ValueRule&, const ValueRule&) = default;
};

struct ColumnKey {
  std::string text;          ///< the whole operand, for messages
  std::string column;        ///< name, path, or what follows '#', unquoted
  std::uint64_t number = 0;  ///< of #N, from 1; 0 for a name or path
  ValueRule rule;

  friend bool operator==(const ColumnKey&, const ColumnKey&) = default;
};

}  // namespace gpusort
