// Describes the rows that a module decodes from a file of columns, such as Parquet. The decoder returns a stream of
// bytes: a header, which is a RowSchema, and then the rows. Start at RowSchema.
//
// A row has these parts. Numbers are little-endian.
// - its size with these four bytes (4 bytes)
// - a bit for each column with RowColumn::Levels::kBit, which is set if the row has a value; filled up to whole bytes
// - the columns in their order: first the levels of kByte and kRepeated, then the values
//
// The definition level says which of the nested parts of a value are there. The repetition level says which list the
// value continues. Both are those of Parquet. A column with kByte has one definition level (1 byte). A column with
// kRepeated has the number of its levels (PutRowNumber), and for each of them a definition and a repetition level (1
// byte each). A value is there for each definition level that is the column's max_definition. A value has the column's
// fixed size, or its own size before it (PutRowNumber).
//
// A module can keep the rows in memory (RowStore). The stream then has a reference for each row:
// - its size with these four bytes, and KeptRow::kFlag (4 bytes)
// - the columns of the sort keys: their bits, and then their levels and values, as in a row
// - a KeptRow, which says where the row is
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

struct RowColumn {
  /// How the order of the values follows from their bytes. kNone: the values have no order.
  enum class Order : std::uint8_t {
    kNone,
    kSigned,    ///< a signed integer: numbers, dates, times, timestamps and small decimals
    kUnsigned,  ///< an unsigned integer
    kHalf,      ///< a floating-point number of 16 bits
    kFloat,     ///< a floating-point number of 32 or 64 bits
    kBool,
    kBytes,      ///< unsigned bytes
    kBigSigned,  ///< a signed integer of any size, big-endian
    kInt96,      ///< the nanoseconds of a day (8 bytes), and the Julian day (4 bytes)
  };
  /// The type of a column for -k options. kNone: other types cannot be keys.
  enum class Type : std::uint8_t {
    kNone,
    kInt,
    kDecimal,
    kFloat,
    kBool,
    kDate,
    kTime,
    kTimestamp,
    kText,
    kBytes,
    kUuid
  };
  enum class Levels : std::uint8_t { kNoLevels, kBit, kByte, kRepeated };
  static constexpr char kIdsFollow = '|';

  std::string name;       ///< the names of the column and of the groups around it, with dots between them
  std::string group;      ///< if `nested`: the outermost group, list or map around the column
  std::string type_text;  ///< the type for messages, such as "int64" or "decimal(9, 2)"
  /// The groups around the column and what is repeated or optional, and after kIdsFollow the field ids, to compare two
  /// inputs.
  std::string shape;
  Order order = Order::kNone;
  Type type = Type::kNone;
  Levels levels = Levels::kNoLevels;
  bool nested = false;              ///< true: the column is a part of a group, a list or a map
  std::uint8_t max_definition = 0;  ///< the definition level of a value
  std::uint32_t value_bytes = 0;    ///< the size of each value; 0: each value has its size before it

  friend bool operator==(const RowColumn&, const RowColumn&) = default;
};

/// A column by which the rows of the output are sorted.
struct SortedColumn {
  std::uint32_t column = 0;
  bool descending = false, nulls_first = false;
};

/// Returns a number in whose order the values of a column are. The column must have an order, and not that of kBytes or
/// kInt96. Floating-point numbers and numbers of kBigSigned give the bits of a double (DoubleOfOrdered).
std::uint64_t OrderedNumber(const RowColumn& column, std::string_view value);
/// Returns the double of a number that OrderedNumber() has made of a double.
double DoubleOfOrdered(std::uint64_t ordered);
/// Returns the value of a floating-point number of 16 bits.
double HalfValue(std::uint16_t half);
/// Returns true if the numbers that OrderedNumber() makes of the column's values are the bits of doubles.
inline bool OrderedAsDouble(const RowColumn& column) {
  return column.order == RowColumn::Order::kHalf || column.order == RowColumn::Order::kFloat ||
         column.order == RowColumn::Order::kBigSigned;
}

/// The least and the greatest value of a column in all row groups, from the statistics in the footer. Values that are
/// null or NaN do not count.
struct RowRange {
  /// True: the statistics of a row group are missing, so the other members say nothing.
  bool unknown = false;
  /// True: a row group of floating-point numbers has no range, because some or all of its values are NaN.
  bool gaps = false;
  /// The values as OrderedNumber() makes them. If `least` is greater than `greatest`, there is no value.
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  /// The same for RowColumn::Order::kBytes: the beginnings of the values. Only valid if `has_bytes` is true.
  std::string least_bytes{}, greatest_bytes{};
  bool has_bytes = false;

  /// Adds the values of another range of the same column.
  void Widen(const RowRange& other);
  /// Shortens the strings. Two ranges that are shortened differ at the same byte as before.
  void Shorten();
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

struct RowSchema {
  std::vector<RowColumn> columns;
  std::vector<SortedColumn> sorted;  ///< only in the header of the output
  /// The ranges of all columns, only if RowDecoderOptions::ranges asks for them. They may differ between inputs.
  std::vector<RowRange> ranges;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;     ///< about how many bytes a row has on average
  std::uint64_t stored_bytes = 0;  ///< the size of the file
  std::string about;               ///< what a user wants to know about the file, for --explain
  std::string file;                ///< what the module needs to write such a file; the program does not read it

  /// Returns the size of the header at the beginning of `front`, or 0 if more bytes are needed to tell. Throws
  /// Error(kInternal) if `front` is no header.
  static std::uint64_t HeaderBytes(std::span<const std::byte> front);
  /// Returns the part of the header that describes the columns. It must be equal in all inputs.
  static std::span<const std::byte> ColumnsOf(std::span<const std::byte> header);
  /// Throws Error(kInternal) if `header` is no complete header.
  static RowSchema Parse(std::span<const std::byte> header);
  std::vector<std::byte> Header() const;
};

/// Returns the number of bytes that the bits of the columns with Levels::kBit take.
std::size_t BitBytes(std::span<const RowColumn> columns);

/// The size of the number with which each row begins.
inline constexpr std::size_t kRowSizeBytes = 4;

/// Says where a RowStore has a row. Each byte is greater than 127, but for a newline at the end. So the record of a
/// line needs no escapes, and the fourth byte tells a KeptRow from a row.
struct KeptRow {
  static constexpr std::uint32_t kFlag = std::uint32_t{1} << 31;  ///< is set in the first four bytes; not set in a row
  static constexpr std::size_t kSizeBytes = 5, kPlaceBytes = 7, kBytes = kSizeBytes + kPlaceBytes + 1;
  static constexpr unsigned kPlaceBits = 7 * kPlaceBytes;

  std::uint64_t place = 0;  ///< a number of RowStore
  std::uint32_t bytes = 0;  ///< the size of the row

  void Put(unsigned char* to) const {
    PutSevens(bytes, to, kSizeBytes);
    PutSevens(place, to + kSizeBytes, kPlaceBytes);
    to[kBytes - 1] = '\n';
  }
  /// Returns true if `bytes` begin with a KeptRow or a reference. Returns false if they begin with a row, or if more
  /// bytes are needed to tell.
  static bool Is(std::span<const std::byte> bytes) {
    return bytes.size() >= kRowSizeBytes && (bytes[kRowSizeBytes - 1] & std::byte{kFlag >> 24}) != std::byte{0};
  }
  /// Reads kBytes bytes.
  static KeptRow Load(const unsigned char* from) {
    return {LoadSevens(from + kSizeBytes, kPlaceBytes), static_cast<std::uint32_t>(LoadSevens(from, kSizeBytes))};
  }

 private:
  static void PutSevens(std::uint64_t number, unsigned char* to, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(number >> 7 * i | 0x80);
  }
  static std::uint64_t LoadSevens(const unsigned char* from, std::size_t bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number |= std::uint64_t{from[i] & 0x7FU} << 7 * i;
    return number;
  }
};

/// Returns the number of bytes that PutRowNumber() writes.
inline std::size_t RowNumberBytes(std::uint64_t number) {
  std::size_t bytes = 1;
  while (number >= 0x80) {
    number >>= 7;
    ++bytes;
  }
  return bytes;
}
/// Writes a number in groups of seven bits, the lowest group first. Returns the address after the number.
inline unsigned char* PutRowNumber(unsigned char* to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<unsigned char>(number | 0x80);
  *to++ = static_cast<unsigned char>(number);
  return to;
}

/// Reads the parts of a row, and checks that they lie inside the row. Throws Error(kIntegrity) if not.
class RowReader {
 public:
  explicit RowReader(std::span<const std::byte> row)
      : at_(reinterpret_cast<const unsigned char*>(row.data())), end_(at_ + row.size()) {
    Take(kRowSizeBytes);
  }
  const unsigned char* Take(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) Fail();
    const unsigned char* const taken = at_;
    at_ += bytes;
    return taken;
  }
  std::uint64_t TakeNumber() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned char byte = *Take(1);
      number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    Fail();
  }
  std::string_view TakeValue(const RowColumn& column) {
    const std::uint64_t bytes = column.value_bytes > 0 ? column.value_bytes : TakeNumber();
    return {reinterpret_cast<const char*>(Take(bytes)), bytes};
  }
  bool done() const { return at_ == end_; }

 private:
  [[noreturn]] static void Fail();

  const unsigned char* at_;
  const unsigned char* const end_;
};

}  // namespace gpusort
