// A sort key of records with columns, as typed (ColumnKey), and the syntax of such records (TableOptions). Plain data:
// cli/column_key.hpp parses the text of a key, and formats/ compares records by the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpusort {

/// How the texts in a column are compared.
enum class ValueType : std::uint8_t {
  kText,       ///< texts, as unsigned bytes
  kNoCase,     ///< texts, as unsigned bytes; ASCII capitals count as small letters
  kNatural,    ///< version numbers, as sort -V compares them
  kLocale,     ///< texts, by the collation of the environment's locale (strxfrm)
  kInt,        ///< whole numbers of any length, exact
  kDecimal,    ///< decimal numbers of any length, exact
  kFloat,      ///< 64-bit floating-point numbers, by the totalOrder of IEEE 754
  kBool,       ///< false before true
  kDate,       ///< calendar days
  kTimestamp,  ///< points in time
  kIp,         ///< IP addresses, version 4 before version 6
  kUuid,
  kBytesHex,  ///< bytes written as hexadecimal digits
  kAmount,    ///< decimal numbers with a currency sign or %
};

/// How the values of a column are read and ordered.
struct ValueRule {
  ValueType type = ValueType::kText;
  bool typed = false;  ///< the user gave `type`
  bool descending = false;
  std::optional<bool> nulls_first;  ///< no value: nulls are last in ascending order, and first in descending order
  std::string time_format;          ///< FORMAT of timestamp(FORMAT), as for strptime; empty: all known formats
  char decimal_point = '.';
  int thousands = -1;  ///< the byte that separates groups of digits; -1: no such byte

  bool puts_nulls_first() const { return nulls_first.value_or(descending); }
  friend bool operator==(const ValueRule&, const ValueRule&) = default;
};

/// A key is a column, or a part of the text of a line: a range of fields, or the match of a regular expression.
struct ColumnKey {
  std::string text;          ///< the whole operand of -k, for messages
  std::string column;        ///< the column's name without quotes, or its path, or the digits after '#'; ~RE, N or N,M
  std::uint64_t number = 0;  ///< the number of the column, from 1, if the user gave #N; otherwise 0
  std::string pattern;       ///< the regular expression, if the user gave ~RE; otherwise empty
  std::uint64_t first_field = 0;  ///< the number of the first field, from 1, if the user gave N or N,M; otherwise 0
  std::uint64_t last_field = 0;   ///< the number of the last field, if there is a first field
  ValueRule rule;

  bool of_text() const { return !pattern.empty() || first_field > 0; }

  friend bool operator==(const ColumnKey&, const ColumnKey&) = default;
};

/// The lines of a log that begin records.
enum class Multiline : std::uint8_t {
  kAuto,    ///< lines with a time
  kIndent,  ///< lines that do not begin with a blank
  kNone,    ///< all lines
};

struct TableOptions {
  std::string name = "csv";  ///< the name of the format, which selects a row of formats/registry.hpp
  unsigned char delimiter = ',';
  int quote = '"';                   ///< the byte around quoted fields; -1: fields are never quoted
  int escape = -1;                   ///< the byte before a literal byte in a quoted field; -1: quotes are doubled
  int comment = -1;                  ///< the first byte of lines that are skipped; -1: no line is skipped
  std::uint64_t header = 1;          ///< number of unsorted records at the top; the last one has the column names
  std::vector<std::string> nulls{};  ///< unquoted texts that mean null, in addition to the empty text
  bool strict = false;               ///< doubtful values and records are errors instead of warnings
  std::vector<ColumnKey> keys{};     ///< the sort keys, with --reverse applied; empty: all columns as text
  std::vector<std::string> times{};  ///< the forms of the times of a log, for TakeTime(); empty: all known forms
  std::vector<std::string> time_patterns{};  ///< regular expressions that find the times of a log, for TimePattern
  std::string zone{};                ///< the zone of the times of a log that name none; empty: TZ or the machine's
  unsigned year = 0;                 ///< the year of the first time of each log; 0: the age of the file tells
  std::optional<std::int64_t> date{};  ///< the day of the first time of each log, days since 1970
  Multiline multiline = Multiline::kAuto;
  std::string since{}, until{};      ///< the window of a log's times, for TimeWindow; empty: no bound
  bool prefix_name = false;          ///< the output has the name of its input before each record
  /// The state of RecordFormat::Alone(), as SaveState() returns it. Each record must have the same key in that state.
  /// Empty: records need not be read alone.
  std::string alone{};
  bool reverse = false;              ///< if there are no keys, the order is descending
  int separator = -1;                ///< the byte between the fields of a line; -1: runs of blanks

  /// Returns true if records outside of a window of time are left out.
  bool has_window() const { return !since.empty() || !until.empty(); }
};

}  // namespace gpusort
