// Keys of records with columns, as they were typed: -k NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. Plain
// data; cli/column_key.hpp parses it, and formats make keys by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpusort {

/// What the text of a column is ordered as.
enum class ValueType : std::uint8_t {
  kText,       ///< unsigned bytes
  kNoCase,     ///< the same, ASCII capitals as small letters
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
  std::optional<bool> nulls_first;  ///< not said: last if ascending, first if descending
  std::string time_format;          ///< of timestamp(FORMAT): strptime's letters; empty: those that are known
  char decimal_point = '.';
  int thousands = -1;  ///< a byte between digits that counts for nothing; -1: none

  bool puts_nulls_first() const { return nulls_first.value_or(descending); }
  friend bool operator==(const ValueRule&, const ValueRule&) = default;
};

struct ColumnKey {
  std::string text;          ///< the whole operand, for messages
  std::string column;        ///< name, path, or what follows '#', unquoted
  std::uint64_t number = 0;  ///< of #N, from 1; 0: named
  ValueRule rule;

  friend bool operator==(const ColumnKey&, const ColumnKey&) = default;
};

}  // namespace gpusort
