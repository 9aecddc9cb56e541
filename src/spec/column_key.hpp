// A sort key of records with columns, as the user typed it (ColumnKey), and the syntax of such records (TableOptions).
// Plain data: cli/column_key.hpp parses such keys, and the classes in formats/ sort by it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/records/record.hpp"

namespace gpusort {

/// The types of values in a column. The type decides how the strings in the column are read and compared.
enum class ValueType : std::uint8_t {
  kText,       ///< strings, as unsigned bytes
  kNoCase,     ///< strings, as unsigned bytes; ASCII capitals count as small letters
  kNatural,    ///< version numbers, as sort -V compares them
  kLocale,     ///< strings, by the collation of the environment's locale (strxfrm)
  kInt,        ///< whole numbers of any length, exact
  kDecimal,    ///< decimal numbers of any length, exact
  kFloat,      ///< 64-bit floating-point numbers, by the totalOrder of IEEE 754
  kBool,       ///< false before true
  kDate,       ///< calendar days
  kTimestamp,  ///< points in time
  kIp,         ///< IP addresses, version 4 before version 6
  kUuid,
  kBytesHex,  ///< bytes written as hexadecimal digits
  kNumber,    ///< decimal numbers with separators of thousands, a currency sign, %, or a suffix such as K
  kTime,      ///< times of day, or hours of any number
  kInterval,  ///< lengths of time
  kMacAddress,
  kBits,      ///< strings of the digits 0 and 1
  kSeverity,  ///< levels of logs, from trace to emerg
  kEnum,      ///< the words of a list, in the order of the list
  kSet,       ///< words of a list with commas between them, as MySQL orders a set: by the sum of 2^(place in the list)
  kOrder,     ///< the values of a file in the order of the file, and then all others by unsigned bytes
};
/// Returns true if values of the type are words of ValueRule::labels.
inline bool HasLabels(ValueType type) { return type == ValueType::kEnum || type == ValueType::kSet; }
inline constexpr std::size_t kMostInSet = 64;  ///< the largest number of words of a set

/// How the values of a column are read and ordered.
struct ValueRule {
  ValueType type = ValueType::kText;
  bool typed = false;  ///< true: the user gave `type`; false: it is the default
  bool descending = false;
  /// True: null values come first. False: null values come last. No value: null values come last in ascending order,
  /// and first in descending order, as in PostgreSQL.
  std::optional<bool> nulls_first;
  /// The FORMAT of the types timestamp(FORMAT) and date(FORMAT), in the letters of strptime, such as %d/%m/%Y. Empty:
  /// all known formats.
  std::string time_format;
  /// The words of the types enum(WORDS) and set(WORDS) or the values in the file of the type order(FILE), the least
  /// first.
  std::vector<std::string> labels;
  std::string order_file;  ///< the file of the type order(FILE); ReadNamedFiles() reads it
  char decimal_point = '.';
  int thousands = -1;  ///< the byte between groups of digits, as in 1,000; -1: there is none

  bool puts_nulls_first() const { return nulls_first.value_or(descending); }
  friend bool operator==(const ValueRule&, const ValueRule&) = default;
};

/// The curves through several columns that a key may follow, so that rows with similar values come near to each other.
enum class Curve : std::uint8_t { kNone, kZorder, kHilbert };

/// A column of a curve: its name, or its number from 1 if the user gave #N.
struct CurveColumn {
  std::string column;
  std::uint64_t number = 0;

  friend bool operator==(const CurveColumn&, const CurveColumn&) = default;
};

/// A sort key, which is the operand of -k. It names a column. For lines and logs, it can also be a range of fields or
/// the match of a regular expression.
struct ColumnKey {
  std::string text;  ///< the whole operand of -k, for messages
  /// The column, as the user names it: its name without quotes, its JSON path, or the digits after '#'. For parts of a
  /// line: a regular expression (~RE), a field (3), or a range of fields (3,4).
  std::string column;
  std::uint64_t number = 0;  ///< the number of the column, from 1, if the user gave #N; otherwise 0
  std::string pattern;       ///< the regular expression, if the user gave ~RE; otherwise empty
  /// The number of the first field, from 1, if the user gave a field (3) or a range of fields (3,4). Otherwise 0.
  std::uint64_t first_field = 0;
  std::uint64_t last_field = 0;  ///< the number of the last field, if there is a first field
  ValueRule rule;
  bool summed = false;         ///< true: no sort key but a column of --sum; such columns come after the keys
  Curve curve = Curve::kNone;  ///< not kNone: the key is a curve through `curve_columns`, and `column` is its text
  std::vector<CurveColumn> curve_columns;

  bool of_text() const { return !pattern.empty() || first_field > 0; }
  /// Returns true if values of the type can name a time zone.
  bool has_zone() const { return rule.type == ValueType::kTimestamp || rule.type == ValueType::kTime; }

  friend bool operator==(const ColumnKey&, const ColumnKey&) = default;
};

/// The rule by which lines of a log begin a record (--multiline). The other lines belong to the record before them.
enum class Multiline : std::uint8_t {
  kAuto,    ///< a line with a time begins a record
  kIndent,  ///< a line that does not begin with a blank begins a record
  kNone,    ///< every line is a record
};

/// Options for records with columns. Their values are stored as the user typed them.
struct TableWishes {
  /// The fields that mean null if they are not in quotes. An empty field always means null, except in the formats
  /// pgcopy and mysql.
  std::vector<std::string> nulls{};
  bool strict = false;  ///< true: wrong values and records are errors instead of warnings
  /// The formats of the timestamps in a log (--time), such as "%d/%m/%Y %H:%M". Empty: all known formats.
  std::vector<std::string> times{};
  /// Regular expressions that find the timestamps in a log (--time-regex). Empty: gpusort finds their place.
  std::vector<std::string> time_patterns{};
  /// The zone of timestamps that name no zone, and of abbreviations such as CST. Empty: for logs and for abbreviations,
  /// the zone of TZ or of the machine; otherwise UTC.
  std::string zone{};
  unsigned year = 0;  ///< the year of the first timestamp of each log; 0: it follows from the age of the file
  std::optional<std::int64_t> date{};  ///< the day of the first timestamp of each log, in days since 1970-01-01
  Multiline multiline = Multiline::kAuto;
  bool multiline_given = false;  ///< true: the user gave `multiline`
  /// Only records of a log with timestamps in [since, until) are written. Empty: no limit.
  std::string since{}, until{};
  /// True: leaves out the lines of a dump that differ between two dumps of the same data, such as the time of the dump.
  bool strip_volatile = false;
  bool prefix_name = false;  ///< true: the output has the name of the input before each record
};

struct TableOptions : TableWishes {
  std::string name = "csv";  ///< the name of the format, which selects a row of formats/registry.hpp
  unsigned char delimiter = ',';
  int quote = '"';   ///< the byte around quoted fields; -1: fields are never quoted
  int escape = -1;   ///< the byte that makes the next byte in a quoted field literal; -1: a quote in a field is doubled
  int comment = -1;  ///< the first byte of comment lines; -1: there are no comment lines
  /// The number of header records at the beginning of each input, which are not sorted. The last header record contains
  /// the column names.
  std::uint64_t header = 1;
  std::vector<ColumnKey> keys{};  ///< the sort keys, already reversed by --reverse; empty: all columns as text
  /// True: the zone of TZ or of the machine must not change the order, because several machines sort the records.
  bool alike_everywhere = false;
  bool reverse = false;  ///< true: the order is descending if there are no keys
  /// With --shuffle: the seed of the random order.
  std::optional<std::uint64_t> shuffle{};
  /// True: the job stores with each record its sort key and then its place in the input (formats/input_place.hpp).
  bool placed = false;
  /// True: the job stores with each record its sort key and then a checksum of the key (formats/checked_runs.hpp). Not
  /// together with `placed`.
  bool checked = false;
  /// With --sum: true if a wrong value is an error only if its record gets into the output. With --minus and
  /// --intersect, this is known only when the records are merged.
  bool late_sums = false;
  // Only for the format "binary": the size of a record in bytes, and its sort keys. Without keys, the order is that of
  // all bytes.
  std::uint64_t record_size = 0;
  KeySpec record_keys{};
  int separator = -1;  ///< the byte between the fields of a line; -1: runs of blanks

  /// Returns true if records are left out because of their timestamps (--since, --until).
  bool has_window() const { return !since.empty() || !until.empty(); }
  /// Returns true if a key is a curve through several columns.
  bool has_curve() const {
    return std::ranges::any_of(keys, [](const ColumnKey& key) { return key.curve != Curve::kNone; });
  }
};

}  // namespace gpusort
