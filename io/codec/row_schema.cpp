#include "io/codec/row_schema.hpp"

#include <algorithm>

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

std::size_t RowSchema::bit_bytes() const {
  const auto bits = std::ranges::count(columns, RowColumn::Levels::kBit, &RowColumn::levels);
  return (static_cast<std::size_t>(bits) + 7) / 8;
}

void RowReader::Fail() { throw Error(ErrorCode::kIntegrity, "a row ends inside one of its columns"); }

}  // namespace gpusort
