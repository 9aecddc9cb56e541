#include "io/codec/row_schema.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::string_view kSchemaMagic = "gsROWS1\n";
/// The sizes before the columns: of the header, and of its part with the columns.
constexpr std::size_t kSchemaFront = kSchemaMagic.size() + 16;

[[noreturn]] void FailSchema() { throw Error(ErrorCode::kInternal, "the header of rows is damaged"); }

template <typename Number>
Number LoadNumber(std::span<const std::byte> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Number)) FailSchema();
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(Number));
  return number;
}

class SchemaWriter {
 public:
  template <typename Number>
  void Put(Number number) {
    const auto* const from = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), from, from + sizeof(Number));
  }
  void PutText(std::string_view text) {
    Put(static_cast<std::uint64_t>(text.size()));
    const auto* const from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }

  std::vector<std::byte> bytes;
};

class SchemaReader {
 public:
  explicit SchemaReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename Number>
  Number Take() {
    const auto number = LoadNumber<Number>(bytes_, at_);
    at_ += sizeof(Number);
    return number;
  }
  std::string TakeText() {
    const auto size = Take<std::uint64_t>();
    if (size > bytes_.size() - at_) FailSchema();
    const std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return text;
  }

 private:
  const std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::uint64_t RowSchema::HeaderBytes(std::span<const std::byte> front) {
  const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
  if (text.substr(0, kSchemaMagic.size()) != kSchemaMagic.substr(0, text.size())) FailSchema();
  if (front.size() < kSchemaFront) return 0;
  const auto bytes = LoadNumber<std::uint64_t>(front, kSchemaMagic.size());
  if (bytes < kSchemaFront) FailSchema();
  return bytes <= front.size() ? bytes : 0;
}

std::span<const std::byte> RowSchema::ColumnsOf(std::span<const std::byte> header) {
  if (header.empty()) return header;
  const auto bytes = LoadNumber<std::uint64_t>(header, kSchemaMagic.size() + 8);
  if (header.size() < kSchemaFront || bytes > header.size() - kSchemaFront) FailSchema();
  return header.subspan(kSchemaFront, bytes);
}

RowSchema RowSchema::Parse(std::span<const std::byte> header) {
  if (HeaderBytes(header) != header.size()) FailSchema();
  RowSchema schema;
  SchemaReader columns(ColumnsOf(header));
  for (auto count = columns.Take<std::uint32_t>(); count > 0; --count) {
    RowColumn& column = schema.columns.emplace_back();
    column.name = columns.TakeText();
    column.group = columns.TakeText();
    column.type_text = columns.TakeText();
    column.shape = columns.TakeText();
    column.order = static_cast<RowColumn::Order>(columns.Take<std::uint8_t>());
    column.type = static_cast<RowColumn::Type>(columns.Take<std::uint8_t>());
    column.levels = static_cast<RowColumn::Levels>(columns.Take<std::uint8_t>());
    column.nested = columns.Take<std::uint8_t>() != 0;
    column.max_definition = columns.Take<std::uint8_t>();
    column.value_bytes = columns.Take<std::uint32_t>();
  }
  SchemaReader rest(header.subspan(kSchemaFront + ColumnsOf(header).size()));
  for (auto count = rest.Take<std::uint32_t>(); count > 0; --count) {
    SortedColumn& sorted = schema.sorted.emplace_back();
    sorted.column = rest.Take<std::uint32_t>();
    sorted.descending = rest.Take<std::uint8_t>() != 0;
    sorted.nulls_first = rest.Take<std::uint8_t>() != 0;
    if (sorted.column >= schema.columns.size()) FailSchema();
  }
  for (auto count = rest.Take<std::uint32_t>(); count > 0; --count) {
    RowRange& range = schema.ranges.emplace_back();
    range.unknown = rest.Take<std::uint8_t>() != 0;
    range.gaps = rest.Take<std::uint8_t>() != 0;
    range.least = rest.Take<std::uint64_t>();
    range.greatest = rest.Take<std::uint64_t>();
    range.has_bytes = rest.Take<std::uint8_t>() != 0;
    range.least_bytes = rest.TakeText();
    range.greatest_bytes = rest.TakeText();
  }
  if (!schema.ranges.empty() && schema.ranges.size() != schema.columns.size()) FailSchema();
  schema.rows = rest.Take<std::uint64_t>();
  schema.row_bytes = rest.Take<std::uint64_t>();
  schema.stored_bytes = rest.Take<std::uint64_t>();
  schema.about = rest.TakeText();
  schema.file = rest.TakeText();
  return schema;
}

std::vector<std::byte> RowSchema::Header() const {
  SchemaWriter middle;
  middle.Put(static_cast<std::uint32_t>(columns.size()));
  for (const RowColumn& column : columns) {
    middle.PutText(column.name);
    middle.PutText(column.group);
    middle.PutText(column.type_text);
    middle.PutText(column.shape);
    middle.Put(static_cast<std::uint8_t>(column.order));
    middle.Put(static_cast<std::uint8_t>(column.type));
    middle.Put(static_cast<std::uint8_t>(column.levels));
    middle.Put(static_cast<std::uint8_t>(column.nested));
    middle.Put(column.max_definition);
    middle.Put(column.value_bytes);
  }
  SchemaWriter rest;
  rest.Put(static_cast<std::uint32_t>(sorted.size()));
  for (const SortedColumn& one : sorted) {
    rest.Put(one.column);
    rest.Put(static_cast<std::uint8_t>(one.descending));
    rest.Put(static_cast<std::uint8_t>(one.nulls_first));
  }
  rest.Put(static_cast<std::uint32_t>(ranges.size()));
  for (const RowRange& range : ranges) {
    rest.Put(static_cast<std::uint8_t>(range.unknown));
    rest.Put(static_cast<std::uint8_t>(range.gaps));
    rest.Put(range.least);
    rest.Put(range.greatest);
    rest.Put(static_cast<std::uint8_t>(range.has_bytes));
    rest.PutText(range.least_bytes);
    rest.PutText(range.greatest_bytes);
  }
  rest.Put(rows);
  rest.Put(row_bytes);
  rest.Put(stored_bytes);
  rest.PutText(about);
  rest.PutText(file);
  SchemaWriter header;
  const auto magic = std::as_bytes(std::span(kSchemaMagic));
  header.bytes.assign(magic.begin(), magic.end());
  header.Put(static_cast<std::uint64_t>(kSchemaFront + middle.bytes.size() + rest.bytes.size()));
  header.Put(static_cast<std::uint64_t>(middle.bytes.size()));
  header.bytes.insert(header.bytes.end(), middle.bytes.begin(), middle.bytes.end());
  header.bytes.insert(header.bytes.end(), rest.bytes.begin(), rest.bytes.end());
  return std::move(header.bytes);
}

std::size_t BitBytes(std::span<const RowColumn> columns) {
  const auto bits = std::ranges::count(columns, RowColumn::Levels::kBit, &RowColumn::levels);
  return (static_cast<std::size_t>(bits) + 7) / 8;
}

double HalfValue(std::uint16_t half) {
  const bool negative = (half >> 15) != 0;
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  double value = 0;
  if (exponent == 31) {
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else {
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  }
  return negative ? -value : value;
}

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

template <typename Number>
Number LoadValue(std::string_view value) {
  return LoadNumber<Number>(std::as_bytes(std::span(value)), 0);
}

/// Returns a number in whose order doubles are.
std::uint64_t OrderedDouble(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// Returns the double that is nearest to a signed integer of any size, big-endian.
double BigValue(std::string_view value) {
  const bool negative = !value.empty() && static_cast<signed char>(value[0]) < 0;
  double number = negative ? -1 : 0;
  for (const char byte : value) number = number * 256 + static_cast<unsigned char>(byte);
  return number;
}

}  // namespace

double DoubleOfOrdered(std::uint64_t ordered) {
  return std::bit_cast<double>((ordered & kSign) != 0 ? ordered ^ kSign : ~ordered);
}

std::uint64_t OrderedNumber(const RowColumn& column, std::string_view value) {
  switch (column.order) {
    case RowColumn::Order::kSigned: {
      const std::int64_t number =
          column.value_bytes == 4 ? LoadValue<std::int32_t>(value) : LoadValue<std::int64_t>(value);
      return static_cast<std::uint64_t>(number) ^ kSign;
    }
    case RowColumn::Order::kUnsigned:
      return column.value_bytes == 4 ? LoadValue<std::uint32_t>(value) : LoadValue<std::uint64_t>(value);
    case RowColumn::Order::kHalf:
      return OrderedDouble(HalfValue(LoadValue<std::uint16_t>(value)));
    case RowColumn::Order::kFloat:
      return OrderedDouble(column.value_bytes == 4 ? static_cast<double>(LoadValue<float>(value))
                                                   : LoadValue<double>(value));
    case RowColumn::Order::kBool:
      return LoadValue<std::uint8_t>(value);
    case RowColumn::Order::kBigSigned:
      return OrderedDouble(BigValue(value));
    case RowColumn::Order::kBytes:
    case RowColumn::Order::kInt96:
    case RowColumn::Order::kNone:
      break;
  }
  throw Error(ErrorCode::kInternal, "the values of a column are no numbers");
}

void RowRange::Widen(const RowRange& other) {
  unknown |= other.unknown;
  gaps |= other.gaps;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  if (!other.has_bytes) return;
  // The order of strings of char is that of unsigned bytes.
  if (!has_bytes || other.least_bytes < least_bytes) least_bytes = other.least_bytes;
  if (!has_bytes || other.greatest_bytes > greatest_bytes) greatest_bytes = other.greatest_bytes;
  has_bytes = true;
}

void RowRange::Shorten() {
  constexpr std::size_t kAfterCommon = 8;
  std::size_t common = 0;
  while (common < std::min(least_bytes.size(), greatest_bytes.size()) && least_bytes[common] == greatest_bytes[common])
    ++common;
  least_bytes.resize(std::min(least_bytes.size(), common + kAfterCommon));
  greatest_bytes.resize(std::min(greatest_bytes.size(), common + kAfterCommon));
}

void RowReader::Fail() { throw Error(ErrorCode::kIntegrity, "a row ends inside one of its columns"); }

}  // namespace gpusort
