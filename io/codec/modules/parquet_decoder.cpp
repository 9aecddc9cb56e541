// Decodes a Parquet file into rows. Several threads decode row groups, and the caller gets the rows in their order.
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/util/base64.h>
#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "io/codec/modules/kept_rows.hpp"
#include "io/codec/modules/parquet.hpp"
#include "io/codec/modules/parquet_files.hpp"
#include "io/codec/modules/parquet_memory.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

using parquet::LogicalType;

/// The least bytes of rows that are decoded at once.
constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastColumnBytes = 16 << 10;
constexpr std::uint64_t kMostStep = 1 << 16;
constexpr std::int64_t kMostBuffer = 64 << 10, kLeastBuffer = 4 << 10;
constexpr std::size_t kMostLevel = 255;

RowColumn::Order OrderOf(const parquet::ColumnDescriptor& column) {
  using Order = RowColumn::Order;
  const auto& logical = column.logical_type();
  const parquet::Type::type type = column.physical_type();
  const bool bytes = type == parquet::Type::BYTE_ARRAY || type == parquet::Type::FIXED_LEN_BYTE_ARRAY;
  switch (logical->type()) {
    case LogicalType::Type::STRING:
    case LogicalType::Type::ENUM:
    case LogicalType::Type::JSON:
    case LogicalType::Type::BSON:
    case LogicalType::Type::UUID:
      return bytes ? Order::kBytes : Order::kNone;
    case LogicalType::Type::DECIMAL:
      return bytes ? Order::kBigSigned : Order::kSigned;
    case LogicalType::Type::DATE:
    case LogicalType::Type::TIME:
    case LogicalType::Type::TIMESTAMP:
      return Order::kSigned;
    case LogicalType::Type::INT:
      return static_cast<const parquet::IntLogicalType&>(*logical).is_signed() ? Order::kSigned : Order::kUnsigned;
    case LogicalType::Type::FLOAT16:
      return Order::kHalf;
    case LogicalType::Type::NIL:
    case LogicalType::Type::NONE:
    case LogicalType::Type::UNDEFINED:
      break;
    default:
      return Order::kNone;
  }
  if (logical->type() == LogicalType::Type::UNDEFINED) return Order::kNone;
  switch (type) {
    case parquet::Type::BOOLEAN:
      return Order::kBool;
    case parquet::Type::INT32:
    case parquet::Type::INT64:
      return Order::kSigned;
    case parquet::Type::INT96:
      return Order::kInt96;
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE:
      return Order::kFloat;
    case parquet::Type::BYTE_ARRAY:
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return Order::kBytes;
    case parquet::Type::UNDEFINED:
      break;
  }
  return Order::kNone;
}

RowColumn::Type TypeOf(const parquet::ColumnDescriptor& column, RowColumn::Order order) {
  using Type = RowColumn::Type;
  switch (column.logical_type()->type()) {
    case LogicalType::Type::STRING:
    case LogicalType::Type::ENUM:
    case LogicalType::Type::JSON:
      return Type::kText;
    case LogicalType::Type::UUID:
      return Type::kUuid;
    case LogicalType::Type::DECIMAL:
      return Type::kDecimal;
    case LogicalType::Type::DATE:
      return Type::kDate;
    case LogicalType::Type::TIME:
      return Type::kTime;
    case LogicalType::Type::TIMESTAMP:
      return Type::kTimestamp;
    default:
      break;
  }
  switch (order) {
    case RowColumn::Order::kSigned:
    case RowColumn::Order::kUnsigned:
      return Type::kInt;
    case RowColumn::Order::kHalf:
    case RowColumn::Order::kFloat:
      return Type::kFloat;
    case RowColumn::Order::kBool:
      return Type::kBool;
    case RowColumn::Order::kBytes:
      return Type::kBytes;
    case RowColumn::Order::kInt96:
      return Type::kTimestamp;
    case RowColumn::Order::kBigSigned:
    case RowColumn::Order::kNone:
      break;
  }
  return Type::kNone;
}

std::string UnitText(LogicalType::TimeUnit::unit unit, bool utc) {
  const char* const text = unit == LogicalType::TimeUnit::MILLIS   ? "ms"
                           : unit == LogicalType::TimeUnit::MICROS ? "us"
                           : unit == LogicalType::TimeUnit::NANOS  ? "ns"
                                                                   : "unknown";
  return std::string(text) + (utc ? ", UTC)" : ")");
}

/// Returns the type of a column for messages: "INT64 timestamp(us, UTC)". Columns of two types have different texts.
std::string TypeText(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  const std::string physical = parquet::TypeToString(column.physical_type(), column.type_length());
  switch (logical->type()) {
    case LogicalType::Type::NONE:
      return physical;
    case LogicalType::Type::TIMESTAMP: {
      const auto& type = static_cast<const parquet::TimestampLogicalType&>(*logical);
      return physical + " timestamp(" + UnitText(type.time_unit(), type.is_adjusted_to_utc());
    }
    case LogicalType::Type::TIME: {
      const auto& type = static_cast<const parquet::TimeLogicalType&>(*logical);
      return physical + " time(" + UnitText(type.time_unit(), type.is_adjusted_to_utc());
    }
    case LogicalType::Type::DECIMAL: {
      const auto& type = static_cast<const parquet::DecimalLogicalType&>(*logical);
      return physical + " decimal(" + std::to_string(type.precision()) + ", " + std::to_string(type.scale()) + ")";
    }
    case LogicalType::Type::INT: {
      const auto& type = static_cast<const parquet::IntLogicalType&>(*logical);
      return physical + (type.is_signed() ? " int" : " uint") + std::to_string(type.bit_width());
    }
    default:
      return physical + " " + logical->ToString();
  }
}

std::uint32_t ValueBytes(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
      return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::INT64:
    case parquet::Type::DOUBLE:
      return 8;
    case parquet::Type::INT96:
      return 12;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return static_cast<std::uint32_t>(std::max(0, column.type_length()));
    case parquet::Type::BYTE_ARRAY:
    case parquet::Type::UNDEFINED:
      break;
  }
  return 0;
}

RowColumn DescribeColumn(const parquet::ColumnDescriptor& descriptor) {
  RowColumn column;
  column.name = descriptor.path()->ToDotString();
  if (descriptor.max_definition_level() > static_cast<int>(kMostLevel) ||
      descriptor.max_repetition_level() > static_cast<int>(kMostLevel)) {
    throw Refusal{"column '" + column.name + "' is nested too deeply"};
  }
  if (descriptor.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY && descriptor.type_length() <= 0) {
    throw Refusal{"column '" + column.name + "' has values of no bytes"};
  }
  column.type_text = TypeText(descriptor);
  column.nested = descriptor.path()->ToDotVector().size() > 1 || descriptor.max_repetition_level() > 0;
  if (column.nested) column.group = descriptor.path()->ToDotVector().front();
  column.order = OrderOf(descriptor);
  column.type = TypeOf(descriptor, column.order);
  column.max_definition = static_cast<std::uint8_t>(descriptor.max_definition_level());
  column.value_bytes = ValueBytes(descriptor);
  column.levels = descriptor.max_repetition_level() > 0   ? RowColumn::Levels::kRepeated
                  : descriptor.max_definition_level() > 1 ? RowColumn::Levels::kByte
                  : descriptor.max_definition_level() > 0 ? RowColumn::Levels::kBit
                                                          : RowColumn::Levels::kNoLevels;
  std::string ids;
  for (const parquet::schema::Node* node = descriptor.schema_node().get(); node != nullptr && node->parent() != nullptr;
       node = node->parent()) {
    // The libraries cannot write such a type.
    if (node->logical_type()->type() == LogicalType::Type::UNDEFINED) {
      throw Refusal{"column '" + column.name + "' has a logical type that is not known here"};
    }
    // Old writers have converted types instead of logical ones, and both mean the same.
    column.shape += "/" + std::to_string(static_cast<int>(node->repetition())) + ":" +
                    std::to_string(static_cast<int>(node->logical_type()->type()));
    const bool has_id = node->field_id() >= 0;
    ids = (has_id ? std::to_string(node->field_id()) : "none") + (ids.empty() ? "" : "/" + ids);
  }
  column.shape += RowColumn::kIdsFollow + ids;
  return column;
}

/// Returns true if the Arrow schema that the writer has stored in the footer cannot be read. Arrow reads no schema with
/// integers of more than 64 bits.
bool MayHaveWideIntegers(const parquet::FileMetaData& metadata) {
  const auto& pairs = metadata.key_value_metadata();
  const int at = pairs != nullptr ? pairs->FindKey("ARROW:schema") : -1;
  if (at < 0) return false;
  const arrow::Result<std::string> bytes = arrow::util::base64_decode(pairs->value(at));
  if (!bytes.ok()) return true;
  arrow::io::BufferReader reader(std::make_shared<arrow::Buffer>(*bytes));
  arrow::ipc::DictionaryMemo dictionaries;
  return !arrow::ipc::ReadSchema(&reader, &dictionaries).ok();
}

/// Returns for each definition level of a column how many of the lists around a value have an element.
std::vector<std::int16_t> PresentLists(const parquet::ColumnDescriptor& column) {
  std::vector<parquet::Repetition::type> nodes;
  for (const parquet::schema::Node* node = column.schema_node().get(); node->parent() != nullptr;
       node = node->parent()) {
    nodes.push_back(node->repetition());
  }
  std::vector<std::int16_t> lists{0};
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const auto before = lists.back();
    if (nodes[i] == parquet::Repetition::OPTIONAL) lists.push_back(before);
    if (nodes[i] == parquet::Repetition::REPEATED) lists.push_back(static_cast<std::int16_t>(before + 1));
  }
  return lists;
}

/// Returns the range of a column in one row group, as the footer gives it.
RowRange RangeOf(const RowColumn& column, const parquet::ColumnChunkMetaData& chunk) {
  RowRange range;
  const std::shared_ptr<parquet::Statistics> statistics = chunk.statistics();
  if (statistics != nullptr && statistics->HasNullCount() && statistics->null_count() == chunk.num_values()) {
    return range;
  }
  if (statistics == nullptr || !statistics->HasMinMax()) {
    // Arrow gives no range if all values are NaN, and other writers give none if one is.
    const bool reals = column.order == RowColumn::Order::kHalf || column.order == RowColumn::Order::kFloat;
    range.gaps = statistics != nullptr && reals;
    range.unknown = !range.gaps;
    return range;
  }
  const std::string least = statistics->EncodeMin(), greatest = statistics->EncodeMax();
  if (column.order == RowColumn::Order::kBytes) {
    range.has_bytes = true;
    range.least_bytes = least;
    range.greatest_bytes = greatest;
    return range;
  }
  const bool any_size = column.order == RowColumn::Order::kBigSigned && column.value_bytes == 0;
  if (!any_size && (least.size() != column.value_bytes || greatest.size() != column.value_bytes)) {
    range.unknown = true;
    return range;
  }
  range.least = OrderedNumber(column, least);
  range.greatest = OrderedNumber(column, greatest);
  return range;
}

/// Returns true if the size of the column in a row is known only once the row is decoded.
bool HasVariedSize(const RowColumn& column) {
  return column.value_bytes == 0 || column.levels == RowColumn::Levels::kRepeated;
}

/// Returns how many bytes of decoded values a column with HasVariedSize() may hold, unless a single row needs more.
std::uint64_t ColumnBytes(const RowSchema& schema, std::uint64_t step_bytes) {
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(schema.columns, HasVariedSize));
  return std::max(step_bytes / std::max<std::uint64_t>(count, 1), kLeastColumnBytes);
}

/// The pages of a column without its empty data pages, at which the reader of a column would stop.
class FilledPages : public parquet::PageReader {
 public:
  explicit FilledPages(std::unique_ptr<parquet::PageReader> pages) : pages_(std::move(pages)) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    for (;;) {
      std::shared_ptr<parquet::Page> page = pages_->NextPage();
      if (page == nullptr) return page;
      const bool data = page->type() == parquet::PageType::DATA_PAGE || page->type() == parquet::PageType::DATA_PAGE_V2;
      if (!data || static_cast<const parquet::DataPage&>(*page).num_values() != 0) return page;
    }
  }
  void set_max_page_header_size(std::uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  const std::unique_ptr<parquet::PageReader> pages_;
};

/// What the footer says about a column of a row group.
struct ChunkFacts {
  std::uint64_t rows = 0, levels = 0;
  std::uint64_t limit = 0;  ///< the bytes of decoded values to hold, see ColumnBytes()
};

/// Copies a few bytes faster than a call of memcpy().
inline void CopyShort(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  const auto ends = [&](auto word) {
    decltype(word) last;
    std::memcpy(&word, from, sizeof(word));
    std::memcpy(&last, from + bytes - sizeof(word), sizeof(word));
    std::memcpy(to, &word, sizeof(word));
    std::memcpy(to + bytes - sizeof(word), &last, sizeof(word));
  };
  if (bytes > 32) {
    std::memcpy(to, from, bytes);
  } else if (bytes > 16) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= sizeof(std::uint64_t)) {
    ends(std::uint64_t{});
  } else if (bytes >= sizeof(std::uint32_t)) {
    ends(std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

/// Some of the rows in memory, and a place in each of them.
struct RowPart {
  std::size_t first = 0, count = 0;
  std::size_t value = 0;         ///< the value of the column with which the part begins
  unsigned char** at = nullptr;  ///< one address for each row
  std::size_t offset = 0;        ///< the place is so many bytes after the address
};

/// The values of one column in some rows, which are read from a row group.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  /// Forgets the rows of the last Use(), and reads on until `rows` rows are in memory. Stops earlier at the limit of
  /// ChunkFacts. Returns how many of the rows are in memory, at least one. At least `rows` rows must be left.
  virtual std::size_t Read(std::size_t rows) = 0;
  /// Chooses the first `rows` rows in memory for the functions below. Several threads may then call these functions.
  virtual void Use(std::size_t rows) = 0;
  /// Returns true if each row has exactly one value, and no level.
  virtual bool whole() const = 0;
  /// Returns true if the column has the same size in each row.
  virtual bool constant() const = 0;
  /// Returns the memory that the values take, without the memory of the libraries.
  virtual std::uint64_t memory_bytes() const = 0;
  /// Returns the number of values before a row.
  virtual std::size_t ValueOf(std::size_t row) const = 0;
  /// Adds the size of the levels and the values of row part.first + i to sizes[i].
  virtual void AddSizes(const RowPart& part, std::uint64_t* sizes) const = 0;
  /// Writes the levels and the values of the rows, and moves the places after them.
  virtual void Append(RowPart& part) const = 0;
  /// Clears bit `bit` of the bits at the place of each row that has no value.
  virtual void ClearBits(const RowPart& part, std::size_t bit) const = 0;
  virtual bool AtEnd() = 0;
};

template <typename ParquetType>
class TypedSource : public ColumnSource {
  using Reader = parquet::TypedColumnReader<ParquetType>;
  using Value = typename ParquetType::c_type;
  static constexpr bool kBytes = ParquetType::type_num == parquet::Type::BYTE_ARRAY;
  static constexpr bool kFixed = ParquetType::type_num == parquet::Type::FIXED_LEN_BYTE_ARRAY;
  /// The values that ReadBatch() returns are pointers.
  static constexpr bool kPoints = kBytes || kFixed;
  static constexpr std::size_t kLeastRead = 256;

 public:
  TypedSource(const RowColumn& column, const ChunkFacts& facts, std::shared_ptr<parquet::ColumnReader> reader)
      : column_(column),
        facts_(facts),
        lists_(PresentLists(*reader->descr())),
        reader_(std::static_pointer_cast<Reader>(std::move(reader))) {}

  std::size_t Read(std::size_t rows) override {
    Drop();
    for (;;) {
      std::size_t ready = WholeRows(rows);
      const bool over = held_bytes() >= facts_.limit;
      if (ready == rows || (ready > 0 && over)) return over ? FittingRows(ready) : ready;
      if (ReadMore(repeated() ? std::max(rows, kLeastRead) : rows - levels_) > 0) continue;
      if (read_levels_ != facts_.levels) {
        throw Refusal{"it ends after " + std::to_string(read_levels_) + " of " + std::to_string(facts_.levels) +
                      " values"};
      }
      if (repeated() && !starts_.empty()) ready = starts_.size();  // the last list ends here
      if (ready < rows) {
        throw Refusal{"it ends after " + std::to_string(used_rows_ + ready) + " of " + std::to_string(facts_.rows) +
                      " rows"};
      }
      return rows;
    }
  }

  void Use(std::size_t rows) override {
    rows_ = rows;
    used_rows_ += rows;
    if (repeated() && starts_.size() == rows) starts_.push_back(levels_);
    used_levels_ = repeated() ? starts_[rows] : rows;
    used_values_ = CountValues(0, used_levels_);
    used_bytes_ = used_values_ == values_ ? bytes_ : SumBytes(0, used_values_);
  }

  bool whole() const override {
    return !repeated() && column_.levels != RowColumn::Levels::kByte && used_values_ == rows_;
  }
  bool constant() const override { return !kBytes && whole(); }
  std::uint64_t memory_bytes() const override {
    return (definitions_.capacity() + repetitions_.capacity()) * sizeof(std::int16_t) +
           read_.capacity() * sizeof(Stored) + arena_.capacity();
  }
  std::size_t ValueOf(std::size_t row) const override { return CountValues(0, repeated() ? starts_[row] : row); }

  void AddSizes(const RowPart& part, std::uint64_t* sizes) const override {
    const Stored* value = values() + part.value;
    if (kBytes && whole()) {
      for (std::size_t i = 0; i < part.count; ++i) {
        const std::uint64_t bytes = SizeOf(value[i]);
        sizes[i] += RowNumberBytes(bytes) + bytes;
      }
      return;
    }
    std::size_t level = repeated() ? starts_[part.first] : part.first;
    for (std::size_t i = 0; i < part.count; ++i) {
      std::size_t count = 1;
      if (repeated()) {
        count = starts_[part.first + i + 1] - level;
        sizes[i] += RowNumberBytes(count) + 2 * count;
      } else if (column_.levels == RowColumn::Levels::kByte) {
        ++sizes[i];
      }
      for (const std::size_t end = level + count; level < end; ++level) {
        if (!Has(level)) continue;
        const std::uint64_t bytes = SizeOf(*value++);
        sizes[i] += bytes + (kBytes ? RowNumberBytes(bytes) : 0);
      }
    }
  }

  void Append(RowPart& part) const override {
    const Stored* value = values() + part.value;
    if (constant()) {
      for (std::size_t i = 0; i < part.count; ++i) PutValue(part.at[i] + part.offset, value[i]);
      part.value += part.count;
      part.offset += column_.value_bytes;
      return;
    }
    const std::size_t offset = std::exchange(part.offset, 0);
    if (whole()) {
      for (std::size_t i = 0; i < part.count; ++i) part.at[i] = PutValue(part.at[i] + offset, value[i]);
      part.value += part.count;
      return;
    }
    std::size_t level = repeated() ? starts_[part.first] : part.first;
    for (std::size_t i = 0; i < part.count; ++i) {
      unsigned char* at = part.at[i] + offset;
      std::size_t count = 1;
      if (repeated()) {
        count = starts_[part.first + i + 1] - level;
        at = PutRowNumber(at, count);
        for (std::size_t one = first_level_ + level; one < first_level_ + level + count; ++one) {
          *at++ = static_cast<unsigned char>(definitions_[one]);
          *at++ = static_cast<unsigned char>(repetitions_[one]);
        }
      } else if (column_.levels == RowColumn::Levels::kByte) {
        *at++ = static_cast<unsigned char>(definitions_[first_level_ + level]);
      }
      for (const std::size_t end = level + count; level < end; ++level) {
        if (Has(level)) at = PutValue(at, *value++);
      }
      part.at[i] = at;
    }
    part.value = static_cast<std::size_t>(value - values());
  }

  void ClearBits(const RowPart& part, std::size_t bit) const override {
    const auto mask = static_cast<unsigned char>(~(1u << bit % 8));
    for (std::size_t i = 0; i < part.count; ++i) {
      if (!Has(part.first + i)) part.at[i][part.offset + bit / 8] &= mask;
    }
  }

  bool AtEnd() override { return used_levels_ == levels_ && read_levels_ == facts_.levels; }

 private:
  /// A vector of bool has no addresses.
  using Stored = std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>;
  static_assert(sizeof(Stored) == sizeof(Value));

  bool Has(std::size_t level) const {
    return column_.max_definition == 0 || definitions_[first_level_ + level] == column_.max_definition;
  }
  const Stored* values() const { return read_.data() + first_value_; }
  std::uint64_t SizeOf([[maybe_unused]] const Stored& value) const {
    if constexpr (kBytes) {
      return value.len;
    } else {
      return column_.value_bytes;
    }
  }
  /// Writes a value, after its size if it has one. Returns the address after the value.
  unsigned char* PutValue(unsigned char* to, const Stored& value) const {
    if constexpr (kBytes) {
      to = PutRowNumber(to, value.len);
      CopyShort(to, value.ptr, value.len);
      return to + value.len;
    } else if constexpr (kFixed) {
      CopyShort(to, value.ptr, column_.value_bytes);
      return to + column_.value_bytes;
    } else {
      std::memcpy(to, &value, sizeof(value));
      return to + sizeof(value);
    }
  }

  bool repeated() const { return column_.levels == RowColumn::Levels::kRepeated; }
  std::uint64_t held_bytes() const { return bytes_ + levels_ * sizeof(std::int16_t) + values_ * sizeof(Value); }

  /// Returns how many of the levels [begin, end) in memory have a value.
  std::size_t CountValues(std::size_t begin, std::size_t end) const {
    if (levels_ == values_) return end - begin;
    const std::int16_t* const levels = definitions_.data() + first_level_;
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += levels[i] == column_.max_definition ? 1 : 0;
    return count;
  }
  /// Returns the size of the bytes to which the values [begin, end) in memory point.
  std::uint64_t SumBytes(std::size_t begin, std::size_t end) const {
    if constexpr (!kPoints) return 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = begin; i < end; ++i) bytes += SizeOf(values()[i]);
    return bytes;
  }

  /// Removes the levels and values of the rows of the last Use().
  void Drop() {
    starts_.clear();
    seen_levels_ = 0;
    rows_ = 0;
    const std::size_t levels = std::exchange(used_levels_, 0), values = std::exchange(used_values_, 0);
    first_level_ += levels;
    levels_ -= levels;
    first_value_ += values;
    values_ -= values;
    bytes_ -= std::exchange(used_bytes_, 0);
    own_values_ -= std::min(own_values_, values);
    if (own_values_ > 0) return;
    arena_.clear();
    if (arena_.capacity() > 2 * kBlockBytes) arena_ = {};
  }

  /// Moves what is in memory to the beginning of its buffers.
  void MoveToFront() {
    const auto move = [](auto& buffer, std::size_t first, std::size_t count) {
      if (first > 0 && count > 0) std::copy_n(buffer.data() + first, count, buffer.data());
    };
    if (column_.max_definition > 0) move(definitions_, first_level_, levels_);
    if (repeated()) move(repetitions_, first_level_, levels_);
    move(read_, first_value_, values_);
    first_level_ = first_value_ = 0;
  }

  /// Copies the bytes of the values in memory to `arena_`: the bytes may be a part of a page, which the next
  /// ReadBatch() frees.
  void OwnValues() {
    if constexpr (kPoints) {
      if (own_values_ == values_) return;
      std::uint64_t added = SumBytes(own_values_, values_);
      if (added > arena_.capacity() - arena_.size()) {
        std::vector<unsigned char> grown;
        grown.reserve(2 * bytes_ + kLeastRead);
        std::swap(grown, arena_);
        CopyValues(0, own_values_);
        CopyValues(own_values_, values_);
      } else {
        CopyValues(own_values_, values_);
      }
      own_values_ = values_;
    }
  }
  void CopyValues(std::size_t begin, std::size_t end) {
    for (std::size_t i = first_value_ + begin; i < first_value_ + end; ++i) {
      const std::size_t at = arena_.size();
      arena_.insert(arena_.end(), read_[i].ptr, read_[i].ptr + SizeOf(read_[i]));
      read_[i].ptr = arena_.data() + at;
    }
  }

  /// Reads at most `count` more levels and their values. Returns the number of levels, which is 0 only at the end.
  std::size_t ReadMore(std::size_t count) {
    MoveToFront();
    OwnValues();
    if (column_.max_definition > 0 && definitions_.size() < levels_ + count) definitions_.resize(levels_ + count);
    if (repeated() && repetitions_.size() < levels_ + count) repetitions_.resize(levels_ + count);
    if (read_.size() < values_ + count) read_.resize(values_ + count);
    std::int64_t values = 0;
    const std::int64_t got = reader_->ReadBatch(static_cast<std::int64_t>(count),
                                                column_.max_definition > 0 ? definitions_.data() + levels_ : nullptr,
                                                repeated() ? repetitions_.data() + levels_ : nullptr,
                                                reinterpret_cast<Value*>(read_.data() + values_), &values);
    if (got < 0 || values < 0 || got > static_cast<std::int64_t>(count) || values > got) {
      throw Refusal{"its pages have wrong numbers of values"};
    }
    CheckLevels(static_cast<std::size_t>(got), static_cast<std::size_t>(values));
    levels_ += static_cast<std::size_t>(got);
    read_levels_ += static_cast<std::uint64_t>(got);
    values_ += static_cast<std::size_t>(values);
    bytes_ += SumBytes(values_ - static_cast<std::size_t>(values), values_);
    return static_cast<std::size_t>(got);
  }

  /// Returns how many of the first `most` rows are in memory with all their values. The last list of a column is whole
  /// only once the end of the column is known.
  std::size_t WholeRows(std::size_t most) {
    if (!repeated()) return std::min(levels_, most);
    for (; seen_levels_ < levels_ && starts_.size() <= most; ++seen_levels_) {
      if (repetitions_[first_level_ + seen_levels_] == 0) starts_.push_back(seen_levels_);
    }
    if (seen_levels_ > 0 && (starts_.empty() || starts_[0] != 0)) throw Refusal{"its first value continues a row"};
    return starts_.empty() ? 0 : starts_.size() - 1;
  }

  /// Returns how many of the first `rows` rows are below the limit of ChunkFacts, and the row that reaches the limit.
  std::size_t FittingRows(std::size_t rows) const {
    std::uint64_t held = 0;
    std::size_t level = 0, value = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      for (const std::size_t end = repeated() ? starts_[row + 1] : row + 1; level < end; ++level) {
        held += sizeof(std::int16_t);
        if (!Has(level)) continue;
        held += sizeof(Value) + (kPoints ? SizeOf(values()[value]) : 0);
        ++value;
      }
      if (held >= facts_.limit) return row + 1;
    }
    return rows;
  }

  /// Throws if the levels that were just read do not fit the values and the schema.
  void CheckLevels(std::size_t levels, std::size_t values) {
    if (column_.max_definition > 0) {
      const std::int16_t* const read = definitions_.data() + levels_;
      std::size_t present = 0;
      unsigned most = 0;
      for (std::size_t i = 0; i < levels; ++i) {
        present += read[i] == column_.max_definition ? 1 : 0;
        most = std::max<unsigned>(most, static_cast<std::uint16_t>(read[i]));
      }
      if (most > column_.max_definition) throw Refusal{"a definition level is too large"};
      if (present != values) throw Refusal{"its definition levels do not fit its values"};
    } else if (levels != values) {
      throw Refusal{"its definition levels do not fit its values"};
    }
    if (!repeated()) return;
    // A value continues a list only if it is an element of this list, and if the value before is one.
    for (std::size_t i = levels_; i < levels_ + levels; ++i) {
      const std::int16_t lists = lists_[static_cast<std::size_t>(definitions_[i])];
      if (repetitions_[i] < 0 || repetitions_[i] > std::min(lists, lists_before_)) {
        throw Refusal{"a repetition level is wrong"};
      }
      lists_before_ = lists;
    }
  }

  const RowColumn& column_;
  const ChunkFacts facts_;
  const std::vector<std::int16_t> lists_;  ///< see PresentLists()
  const std::shared_ptr<Reader> reader_;
  std::int16_t lists_before_ = 0;                  ///< `lists_` of the last level that was read
  std::size_t rows_ = 0;                           ///< the rows of the last Use()
  std::uint64_t used_rows_ = 0, read_levels_ = 0;  ///< so far in the row group
  // The levels and values in memory begin at first_level_ and first_value_ of their buffers. `bytes_` is the size of
  // the bytes to which values point. The first ones belong to the current rows.
  std::size_t first_level_ = 0, first_value_ = 0;
  std::size_t levels_ = 0, values_ = 0, used_levels_ = 0, used_values_ = 0;
  std::uint64_t bytes_ = 0, used_bytes_ = 0;
  std::size_t seen_levels_ = 0;  ///< the levels whose rows are in `starts_`
  std::vector<std::int16_t> definitions_, repetitions_;
  std::vector<Stored> read_;
  std::vector<unsigned char> arena_;  ///< the bytes of the first `own_values_` values, for values that are pointers
  std::size_t own_values_ = 0;
  std::vector<std::size_t> starts_;  ///< the first level of each row, and the level after the last row
};

/// A Parquet file with its schema, which several threads read.
class OpenFile {
 public:
  OpenFile(RowFile file, const RowDecoderOptions& options)
      : pool_(options.memory_bytes), source_(std::make_shared<SourceFile>(std::move(file), &pool_)) {
    CheckMagic(options.memory_bytes);
    Run([&] { Open(options.memory_bytes); }, [] { return std::string("its footer: "); });
    if (metadata_->is_encryption_algorithm_set())
      throw Refusal{"it is signed or encrypted, which gpusort does not read"};
    Run([&] { Describe(); }, [] { return std::string("its schema: "); });
    if (options.ranges) Run([&] { FindRanges(); }, [] { return std::string("its statistics: "); });
  }

  /// Runs a step of the libraries. If reading the file has failed, throws the exception of RowFile::read.
  template <typename Step, typename Where>
  void Run(Step step, Where where) {
    try {
      Guarded(step, where);
    } catch (const Refusal&) {
      source_->RethrowFailure();
      throw;
    }
  }

  const parquet::FileMetaData& metadata() const { return *metadata_; }
  const RowSchema& schema() const { return schema_; }
  int groups() const { return metadata_->num_row_groups(); }
  /// Returns the size of the buffer through which a column is read.
  std::uint64_t buffer_bytes() const { return static_cast<std::uint64_t>(buffer_bytes_); }
  /// Returns the memory that the libraries take now.
  std::uint64_t library_bytes() const { return static_cast<std::uint64_t>(pool_.bytes_allocated()); }
  /// Returns the memory that the libraries do not use now.
  std::uint64_t unused_bytes() const { return pool_.kept_bytes(); }
  void FreeUnused() { pool_.ReleaseUnused(); }

  /// Opens the columns of a row group. Thread-safe.
  std::vector<std::unique_ptr<ColumnSource>> Columns(int group, std::uint64_t step_bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<ColumnSource>> columns;
    std::size_t number = 0;
    const auto open = [&] {
      const std::shared_ptr<parquet::RowGroupReader> reader = reader_->RowGroup(group);
      const std::uint64_t limit = ColumnBytes(schema_, step_bytes);
      for (; number < schema_.columns.size(); ++number) {
        const RowColumn& column = schema_.columns[number];
        const int i = static_cast<int>(number);
        const parquet::ColumnDescriptor* const descriptor = metadata_->schema()->Column(i);
        const std::int64_t levels = reader->metadata()->ColumnChunk(i)->num_values();
        if (levels < 0) throw Refusal{"it has a negative number of values"};
        const ChunkFacts facts{static_cast<std::uint64_t>(reader->metadata()->num_rows()),
                               static_cast<std::uint64_t>(levels),
                               HasVariedSize(column) ? limit : std::numeric_limits<std::uint64_t>::max()};
        const std::shared_ptr<parquet::ColumnReader> source = parquet::ColumnReader::Make(
            descriptor, std::make_unique<FilledPages>(reader->GetColumnPageReader(i)), &pool_);
        const auto make = [&](auto type) -> std::unique_ptr<ColumnSource> {
          return std::make_unique<TypedSource<decltype(type)>>(column, facts, source);
        };
        columns.push_back(WithParquetType(descriptor->physical_type(), make));
      }
    };
    Run(open, [&] { return Place(group, number); });
    return columns;
  }

  /// Returns about how much memory the libraries take for the dictionaries and one page of each column of a row group.
  /// Reads these pages. Returns 0 if they cannot be read. Thread-safe.
  std::uint64_t PageBytes(int group) {
    constexpr std::uint64_t kPointer = sizeof(parquet::ByteArray);
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    try {
      const std::shared_ptr<parquet::RowGroupReader> reader = reader_->RowGroup(group);
      for (int i = 0; i < metadata_->num_columns(); ++i) {
        const std::unique_ptr<parquet::PageReader> pages = reader->GetColumnPageReader(i);
        std::uint64_t dictionary = 0, values = 0, data = 0;
        std::shared_ptr<parquet::Page> page = pages->NextPage();
        if (page != nullptr && page->type() == parquet::PageType::DICTIONARY_PAGE) {
          dictionary = static_cast<std::uint64_t>(page->size());
          values = static_cast<std::uint64_t>(static_cast<const parquet::DictionaryPage&>(*page).num_values());
          page = pages->NextPage();
        }
        if (page != nullptr) data = static_cast<std::uint64_t>(page->size());
        // The page of a dictionary stays in memory beside the values that were decoded of it.
        bytes += dictionary + kPointer * values + std::max(dictionary, data) + data + kMostBuffer;
      }
    } catch (const parquet::ParquetException&) {
      return 0;
    }
    return bytes;
  }

  /// Returns the beginning of a message about a column of a row group.
  std::string Place(int group, std::size_t column) const {
    return "row group " + std::to_string(group) +
           (column < schema_.columns.size() ? ", column '" + schema_.columns[column].name + "'" : "") + ": ";
  }

 private:
  void CheckMagic(std::uint64_t most_footer) {
    constexpr std::uint64_t kEnd = 8, kLeast = 12;
    const std::uint64_t size = source_->size();
    unsigned char end[kEnd] = {}, begin[4] = {};
    const auto read = [&](std::uint64_t at, unsigned char* to, std::int64_t bytes) {
      const auto got = source_->ReadAt(static_cast<std::int64_t>(at), bytes, to);
      source_->RethrowFailure();
      return got.ok() && *got == bytes;
    };
    const std::string what = "it is no Parquet file";
    if (size == 0) throw Refusal{"it is empty, and no Parquet file: also a file without rows has a schema"};
    if (size < kLeast || !read(0, begin, 4) || !read(size - kEnd, end, kEnd)) {
      throw Refusal{what + ": it has " + std::to_string(size) + " bytes"};
    }
    const auto is = [](const unsigned char* at, const char* magic) { return std::memcmp(at, magic, 4) == 0; };
    if (is(end + 4, "PARE")) throw Refusal{"it is encrypted, and gpusort does not read encrypted Parquet"};
    if (!is(begin, "PAR1")) throw Refusal{what + ": it does not begin with PAR1"};
    if (!is(end + 4, "PAR1")) throw Refusal{"it is cut short: a Parquet file ends with PAR1"};
    const std::uint64_t footer = end[0] | end[1] << 8 | end[2] << 16 | std::uint64_t{end[3]} << 24;
    if (footer > size - kLeast) {
      throw Refusal{"its footer of " + std::to_string(footer) +
                    " bytes is larger than the file; if it is no Parquet, give its --format"};
    }
    // The libraries take several times as much memory as the footer has bytes.
    constexpr std::uint64_t kFooterShare = 4;
    if (footer > most_footer / kFooterShare) {
      throw Refusal{"its footer of " + std::to_string(footer) + " bytes takes too much memory", footer * kFooterShare};
    }
  }

  void Open(std::uint64_t memory) {
    parquet::ReaderProperties properties(&pool_);
    properties.set_page_checksum_verification(true);
    metadata_ = parquet::ReadMetaData(source_);
    // All columns of a row group are open at the same time.
    const auto share = static_cast<std::int64_t>(memory / 8) / std::max(1, metadata_->num_columns());
    buffer_bytes_ = std::clamp(share, kLeastBuffer, kMostBuffer);
    properties.enable_buffered_stream();
    properties.set_buffer_size(buffer_bytes_);
    reader_ = parquet::ParquetFileReader::Open(source_, properties, metadata_);
  }

  void Describe() {
    const parquet::SchemaDescriptor& schema = *metadata_->schema();
    const auto is_16_bytes = [](const parquet::ColumnDescriptor& column) {
      return column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY && column.type_length() == 16 &&
             column.logical_type()->is_none();
    };
    std::optional<bool> wide;
    for (int i = 0; i < schema.num_columns(); ++i) {
      RowColumn& column = schema_.columns.emplace_back(DescribeColumn(*schema.Column(i)));
      if (!is_16_bytes(*schema.Column(i))) continue;
      if (!wide) wide = MayHaveWideIntegers(*metadata_);
      if (!*wide) continue;
      // polars writes integers of 128 bits so, little-endian. Only its Arrow schema has their type.
      column.order = RowColumn::Order::kNone;
      column.type = RowColumn::Type::kNone;
      column.type_text += " that may hold integers of 128 bits, as polars writes them";
    }
    if (schema.num_columns() == 0 && metadata_->num_rows() > 0) {
      throw Refusal{"it has rows without columns, so there is nothing to sort"};
    }
    std::int64_t most_rows = 0, rows = 0;
    for (int group = 0; group < groups(); ++group) {
      const std::unique_ptr<parquet::RowGroupMetaData> row_group = metadata_->RowGroup(group);
      if (row_group->num_rows() < 0)
        throw Refusal{"row group " + std::to_string(group) + " has a negative number of rows"};
      if (row_group->num_columns() != schema.num_columns()) {
        throw Refusal{"row group " + std::to_string(group) + " has " + std::to_string(row_group->num_columns()) +
                      " columns, and the schema has " + std::to_string(schema.num_columns())};
      }
      most_rows = std::max(most_rows, row_group->num_rows());
      rows += row_group->num_rows();
      for (int i = 0; i < schema.num_columns(); ++i) {
        const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group->ColumnChunk(i);
        const std::string column = "column '" + schema_.columns[static_cast<std::size_t>(i)].name + "'";
        if (chunk->crypto_metadata() != nullptr) {
          throw Refusal{column + " is encrypted, and gpusort does not read encrypted Parquet"};
        }
        if (!chunk->can_decompress()) throw Refusal{column + " has an unknown codec"};
        if (!chunk->file_path().empty()) {
          throw Refusal{"its values are in another file, " + chunk->file_path()};
        }
      }
    }
    if (rows != metadata_->num_rows()) {
      throw Refusal{"its row groups have " + std::to_string(rows) + " rows, and its footer says " +
                    std::to_string(metadata_->num_rows())};
    }
    schema_.about = About();
    schema_.rows = static_cast<std::uint64_t>(rows);
    schema_.row_bytes = AverageRowBytes();
    schema_.stored_bytes = source_->size();
    // The writer needs the schema and the properties of the first row group.
    std::vector<int> first;
    if (groups() > 0) first.push_back(0);
    const std::string footer = metadata_->Subset(first)->SerializeToString();
    // A file with one row group says nothing about how many rows a row group shall have.
    const std::uint64_t group_rows = groups() > 1 ? static_cast<std::uint64_t>(most_rows) : 0;
    schema_.file.assign(reinterpret_cast<const char*>(&group_rows), sizeof(group_rows));
    schema_.file += footer;
  }

  /// Returns a text such as "700 rows in 3 row groups, snappy and zstd, by parquet-cpp-arrow version 26.0.1".
  std::string About() const {
    const auto counted = [](std::int64_t count, const std::string& word) {
      return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
    };
    std::string text = counted(metadata_->num_rows(), "row") + " in " + counted(groups(), "row group");
    std::vector<std::string> codecs;
    for (int i = 0; groups() > 0 && i < metadata_->num_columns(); ++i) {
      const std::string codec =
          arrow::util::Codec::GetCodecAsString(metadata_->RowGroup(0)->ColumnChunk(i)->compression());
      if (std::ranges::find(codecs, codec) == codecs.end()) codecs.push_back(codec);
    }
    for (std::size_t i = 0; i < codecs.size(); ++i) text += (i == 0 ? ", " : " and ") + codecs[i];
    return text + (metadata_->created_by().empty() ? "" : ", by " + metadata_->created_by());
  }

  /// Returns about how many bytes a decoded row has, as the footer lets us guess.
  std::uint64_t AverageRowBytes() const {
    constexpr double kUnknownText = 16;
    double bytes = static_cast<double>(kRowSizeBytes + BitBytes(schema_.columns));
    if (groups() == 0 || metadata_->RowGroup(0)->num_rows() == 0) return static_cast<std::uint64_t>(bytes);
    const std::unique_ptr<parquet::RowGroupMetaData> group = metadata_->RowGroup(0);
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      const RowColumn& column = schema_.columns[i];
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group->ColumnChunk(static_cast<int>(i));
      const double values = static_cast<double>(std::max<std::int64_t>(chunk->num_values(), 0));
      const std::shared_ptr<parquet::Statistics> statistics = chunk->statistics();
      double value = column.value_bytes;
      if (column.value_bytes == 0) {
        value = kUnknownText;
        if (!chunk->has_dictionary_page()) {
          value =
              static_cast<double>(std::max<std::int64_t>(chunk->total_uncompressed_size(), 0)) / std::max(values, 1.0);
        } else if (statistics != nullptr && statistics->HasMinMax()) {
          value = static_cast<double>(statistics->EncodeMin().size() + statistics->EncodeMax().size()) / 2;
        }
      }
      if (column.levels == RowColumn::Levels::kRepeated) value += 2;
      bytes += value * values / static_cast<double>(group->num_rows());
    }
    constexpr double kMost = std::uint64_t{1} << 32;
    return static_cast<std::uint64_t>(std::min(bytes, kMost));
  }

  /// Sets schema_.ranges.
  void FindRanges() {
    schema_.ranges.resize(schema_.columns.size());
    for (int group = 0; group < groups(); ++group) {
      const std::unique_ptr<parquet::RowGroupMetaData> row_group = metadata_->RowGroup(group);
      if (row_group->num_rows() == 0) continue;
      for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
        const RowColumn& column = schema_.columns[i];
        const bool ordered = column.order != RowColumn::Order::kNone && column.order != RowColumn::Order::kInt96;
        if (column.nested || !ordered) continue;
        schema_.ranges[i].Widen(RangeOf(column, *row_group->ColumnChunk(static_cast<int>(i))));
      }
    }
    for (RowRange& range : schema_.ranges) range.Shorten();
  }

  RecyclingPool pool_;
  const std::shared_ptr<SourceFile> source_;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::int64_t buffer_bytes_ = 0;
  RowSchema schema_;
  std::mutex mutex_;
};

/// Memory for rows that is used again and again.
struct RowBuffer {
  std::unique_ptr<unsigned char[]> bytes;
  std::size_t room = 0, size = 0;

  void Resize(std::size_t wanted) {
    if (wanted > room) {
      room = wanted + wanted / 8;  // most steps have about as many bytes
      bytes = std::make_unique_for_overwrite<unsigned char[]>(room);
    }
    size = wanted;
  }
};

/// How a row group is decoded. Each step reads about `step_bytes` of rows. `split` is the number of threads that shall
/// work on a step.
struct StepPlan {
  std::uint64_t step_bytes = kBlockBytes;
  std::size_t split = 1;
  int largest_group = 0;                   ///< the row group that takes most memory
  KeptRows* store = nullptr;               ///< keeps the rows; null: no rows are kept
  std::vector<std::size_t> key_columns{};  ///< the columns of a reference to a kept row
};

/// Decodes the rows of one row group in steps: BeginStep(), ReadPart() for each part, EndReading(), and WritePart() for
/// each part. Several threads may call ReadPart() or WritePart() at the same time, with different parts.
class GroupDecoder {
 public:
  /// The buffers of a thread.
  struct Scratch {
    std::vector<std::uint64_t> sizes, reference_sizes;
    std::vector<unsigned char*> at;
    std::vector<std::size_t> values;
  };

  GroupDecoder(OpenFile& file, int group, const StepPlan& plan)
      : file_(file),
        group_(group),
        plan_(plan),
        columns_(file.Columns(group, plan.step_bytes)),
        left_(static_cast<std::uint64_t>(file.metadata().RowGroup(group)->num_rows())),
        opened_(file.library_bytes()) {
    // Columns with HasVariedSize() stop at their limits, so that the size of a short value is enough here.
    constexpr std::uint64_t kVaried = 24;
    rows_shape_.columns.resize(columns_.size());
    std::iota(rows_shape_.columns.begin(), rows_shape_.columns.end(), std::size_t{0});
    references_shape_.columns = plan.key_columns;
    std::uint64_t row = kRowSizeBytes + BitBytes(file.schema().columns);
    for (const RowColumn& column : file.schema().columns)
      row += HasVariedSize(column) ? kVaried : column.value_bytes + 1;
    most_step_ = std::clamp<std::uint64_t>(plan.step_bytes / 2 / row, 1, kMostStep);
    step_ = most_step_;
  }

  bool done() const { return left_ == 0; }

  /// Returns the number of parts for ReadPart().
  std::size_t BeginStep() {
    asked_ = static_cast<std::size_t>(std::min(step_, left_));
    const std::size_t parts =
        std::max<std::size_t>(1, plan_.split == 1 ? 1 : std::min(columns_.size(), 2 * plan_.split));
    parts_.assign(parts, {});
    return parts;
  }

  /// Reads some of the columns. EndReading() throws the exceptions. Refuses the file if the libraries take more than
  /// `limit` bytes.
  void ReadPart(std::size_t number, std::uint64_t limit) {
    Part& part = parts_[number];
    const std::size_t begin = columns_.size() * number / parts_.size();
    const std::size_t end = columns_.size() * (number + 1) / parts_.size();
    std::size_t column = begin;
    part.rows = asked_;
    try {
      const auto read = [&] {
        for (; column < end; ++column) {
          part.rows = columns_[column]->Read(part.rows);
          part.memory += columns_[column]->memory_bytes();
          const std::uint64_t taken = file_.library_bytes(), read = std::min<std::uint64_t>(++read_, columns_.size());
          if (taken <= limit) continue;
          // If the pages of the others cannot be read, they count as this column does.
          const std::uint64_t known = std::max(file_.PageBytes(group_), file_.PageBytes(plan_.largest_group));
          const std::uint64_t like_read = (taken - std::min(taken, opened_)) * columns_.size() / read;
          const std::uint64_t needed = std::max(taken, opened_ + (known > 0 ? known : like_read));
          column = columns_.size();
          throw Refusal{"decoding " + std::to_string(columns_.size()) + " columns takes too much memory", needed};
        }
      };
      Run(column, read);
    } catch (...) {
      part.failure = std::current_exception();
    }
  }

  /// Returns the number of parts for WritePart().
  std::size_t EndReading() {
    std::size_t rows = asked_;
    memory_bytes_ = 0;
    for (const Part& part : parts_) {
      if (part.failure) std::rethrow_exception(part.failure);
      rows = std::min(rows, part.rows);
      memory_bytes_ += part.memory;
    }
    rows_ = rows;
    left_ -= rows;
    step_ = std::min<std::uint64_t>(2 * rows, most_step_);  // a column that stops later would hold needless rows
    for (const auto& column : columns_) column->Use(rows);
    SetShape(rows_shape_);
    if (plan_.store != nullptr) {
      SetShape(references_shape_);
      references_shape_.constant_bytes += KeptRow::kBytes;
    }
    if (left_ == 0) {
      std::size_t number = 0;
      Run(number, [&] {
        for (; number < columns_.size(); ++number) {
          if (!columns_[number]->AtEnd()) throw Refusal{"it has more values than the row group has rows"};
        }
      });
    }
    write_parts_ = std::clamp<std::size_t>(rows * rows_shape_.constant_bytes / (kBlockBytes / 2), 1, plan_.split);
    return write_parts_;
  }

  /// Writes some of the rows into the block, or keeps them and writes references to them into the block.
  void WritePart(std::size_t number, RowBuffer& block, Scratch& scratch) {
    const std::size_t first = rows_ * number / write_parts_, count = rows_ * (number + 1) / write_parts_ - first;
    const std::uint64_t bytes = FindSizes(rows_shape_, first, count, scratch.values, scratch.sizes);
    const KeptRows::Room room = plan_.store != nullptr ? plan_.store->Take(bytes) : KeptRows::Room{};
    if (room.data == nullptr) {
      block.Resize(bytes);
      return WriteRows(rows_shape_, first, bytes, block.bytes.get(), scratch, scratch.sizes, nullptr);
    }
    WriteRows(rows_shape_, first, bytes, room.data, scratch, scratch.sizes, nullptr);
    block.Resize(FindSizes(references_shape_, first, count, scratch.values, scratch.reference_sizes));
    WriteRows(references_shape_, first, block.size, block.bytes.get(), scratch, scratch.reference_sizes, &room);
    plan_.store->Count({count, bytes, block.size});
  }

  /// Returns the memory of the values of the last step, without the memory of the libraries.
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Part {
    std::size_t rows = 0;
    std::uint64_t memory = 0;
    std::exception_ptr failure;
  };
  /// The columns of the rows or of the references in this step.
  struct Shape {
    std::vector<std::size_t> columns;
    std::uint64_t constant_bytes = 0;  ///< the size without the columns whose sizes differ
    std::vector<unsigned char> bits;   ///< the bits of a row without nulls
  };

  void SetShape(Shape& shape) const {
    shape.bits.clear();
    std::uint64_t values = 0;
    std::size_t bit = 0;
    for (const std::size_t i : shape.columns) {
      const RowColumn& column = file_.schema().columns[i];
      if (columns_[i]->constant()) values += column.value_bytes;
      if (column.levels != RowColumn::Levels::kBit) continue;
      if (bit % 8 == 0) shape.bits.push_back(0);
      shape.bits.back() = static_cast<unsigned char>(shape.bits.back() | 1u << bit % 8);
      ++bit;
    }
    shape.constant_bytes = kRowSizeBytes + shape.bits.size() + values;
  }

  /// Sets sizes[i] to the size of row first + i, and the items of `values` to the first value of each column. Returns
  /// the size of the `count` rows.
  std::uint64_t FindSizes(const Shape& shape, std::size_t first, std::size_t count, std::vector<std::size_t>& values,
                          std::vector<std::uint64_t>& sizes) const {
    sizes.assign(count, shape.constant_bytes);
    values.resize(columns_.size());
    for (const std::size_t i : shape.columns) {
      values[i] = columns_[i]->ValueOf(first);
      if (!columns_[i]->constant()) {
        columns_[i]->AddSizes({.first = first, .count = count, .value = values[i]}, sizes.data());
      }
    }
    return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  }

  /// Writes the rows from row `first` on, which have `bytes` bytes, to `to`. scratch.values must be those of
  /// FindSizes().
  /// - kept: null, or the place of the kept rows to which references are written instead of rows; scratch.sizes has
  ///   their sizes
  void WriteRows(const Shape& shape, std::size_t first, std::uint64_t bytes, unsigned char* to, Scratch& scratch,
                 const std::vector<std::uint64_t>& sizes, const KeptRows::Room* kept) const {
    const std::size_t rows = sizes.size();
    const std::uint32_t flag = kept != nullptr ? KeptRow::kFlag : 0;
    std::uint64_t place = kept != nullptr ? kept->place : 0;
    // The rows of a tile stay in the cache while their columns are written.
    constexpr std::uint64_t kTileBytes = 32 << 10;
    const std::size_t tile = std::clamp<std::size_t>(kTileBytes * rows / bytes, 8, 1024);
    scratch.at.resize(tile);
    for (std::size_t begin = 0; begin < rows; begin += tile) {
      RowPart part{first + begin, std::min(tile, rows - begin), 0, scratch.at.data(), kRowSizeBytes};
      for (std::size_t i = 0; i < part.count; ++i) {
        const std::uint64_t row = sizes[begin + i];
        if (row >= KeptRow::kFlag) throw Refusal{Place(columns_.size()) + "a row has more than 2 GiB"};
        const auto size = static_cast<std::uint32_t>(row) | flag;
        std::memcpy(to, &size, sizeof(size));
        std::ranges::copy(shape.bits, to + kRowSizeBytes);  // there are none if no column has nulls
        part.at[i] = to;
        to += row;
      }
      std::size_t bit = 0;
      for (const std::size_t i : shape.columns) {
        if (file_.schema().columns[i].levels != RowColumn::Levels::kBit) continue;
        if (!columns_[i]->whole()) columns_[i]->ClearBits(part, bit);
        ++bit;
      }
      part.offset += shape.bits.size();
      for (const std::size_t i : shape.columns) {
        part.value = scratch.values[i];
        columns_[i]->Append(part);
        scratch.values[i] = part.value;
      }
      for (std::size_t i = 0; kept != nullptr && i < part.count; ++i) {
        const std::uint64_t row = scratch.sizes[begin + i];
        KeptRow{place, static_cast<std::uint32_t>(row)}.Put(part.at[i] + part.offset);
        place += row;
      }
    }
  }

  std::string Place(std::size_t column) const { return file_.Place(group_, column); }
  /// Runs a step of the libraries. `column` is the column of which messages speak.
  template <typename Step>
  void Run(const std::size_t& column, Step step) {
    try {
      file_.Run(step, [] { return std::string(); });
    } catch (const Refusal& refusal) {
      throw Refusal{Place(column) + refusal.why, refusal.needed};
    }
  }

  OpenFile& file_;
  const int group_;
  const StepPlan plan_;
  const std::vector<std::unique_ptr<ColumnSource>> columns_;
  std::uint64_t left_;
  const std::uint64_t opened_;              ///< the memory of the libraries before the first column was read
  std::uint64_t step_ = 1, most_step_ = 1;  ///< how many rows the next step has at most, and any step
  std::atomic<std::uint64_t> read_{0};      ///< how often a column was read
  std::size_t asked_ = 0, rows_ = 0;        ///< the rows of this step, before and after the columns were read
  std::vector<Part> parts_;
  std::uint64_t memory_bytes_ = 0;
  std::size_t write_parts_ = 1;
  Shape rows_shape_, references_shape_;
};

/// Returns about how much memory the libraries take at most for a row group: as if each column were a single page.
std::uint64_t GroupBytes(const OpenFile& file, int group) {
  const std::unique_ptr<parquet::RowGroupMetaData> row_group = file.metadata().RowGroup(group);
  std::uint64_t bytes = 0, most_stored = 0;
  for (int i = 0; i < row_group->num_columns(); ++i) {
    const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group->ColumnChunk(i);
    const auto positive = [](std::int64_t size) { return static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)); };
    most_stored = std::max(most_stored, positive(chunk->total_compressed_size()));
    const std::uint64_t values = positive(chunk->total_uncompressed_size());
    // A dictionary is decoded, and its strings get pointers.
    bytes += (chunk->has_dictionary_page() ? 3 : 1) * values + file.buffer_bytes();
  }
  return bytes + most_stored;
}

/// Decodes row groups. The threads take steps of the first row groups first.
class ParquetDecoder : public RowDecoder {
 public:
  ParquetDecoder(RowFile file, const RowDecoderOptions& options)
      : file_(std::move(file), options),
        header_(file_.schema().Header()),
        memory_(options.memory_bytes),
        threads_(std::max(1u, options.threads)),
        store_(options.store) {
    plan_.store = static_cast<KeptRows*>(store_.get());
    plan_.key_columns.assign(options.key_columns.begin(), options.key_columns.end());
    // The threads share the work on a row group if there are fewer row groups than threads, or too little memory for as
    // many row groups.
    std::uint64_t most = 0;
    for (int group = 0; group < file_.groups(); ++group) {
      group_bytes_.push_back(GroupBytes(file_, group));
      if (group_bytes_.back() <= most) continue;
      most = group_bytes_.back();
      plan_.largest_group = group;
    }
    const std::uint64_t beside = std::clamp<std::uint64_t>(memory_ / (most + 4 * kBlockBytes), 1, threads_);
    const auto groups =
        std::max<std::uint64_t>(1, std::min<std::uint64_t>(beside, static_cast<std::uint64_t>(file_.groups())));
    plan_.split = (threads_ + groups - 1) / groups;
    plan_.step_bytes =
        std::clamp(plan_.split * kBlockBytes, kBlockBytes, std::clamp(memory_ / 32, kBlockBytes, 8 * kBlockBytes));
  }
  ~ParquetDecoder() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    workers_.clear();
  }

  std::uint64_t Read(std::span<std::byte> out) override {
    if (header_taken_ < header_.size()) return Give(header_.data(), header_.size(), header_taken_, out);
    while (block_taken_ == block_.size) {
      block_taken_ = 0;
      block_.size = 0;
      if (!NextBlock()) return 0;
    }
    return Give(block_.bytes.get(), block_.size, block_taken_, out);
  }

 private:
  /// A row group.
  struct Unit {
    int group = 0;
    std::uint64_t cost = 0;  ///< the memory that the row group is expected to take
    std::unique_ptr<GroupDecoder> decoder;
    enum : std::uint8_t { kOpening, kIdle, kReading, kWriting, kDone } phase = kOpening;
    // Threads take the parts [next, parts) of the phase, and `running` threads work on the phase.
    std::size_t next = 0, parts = 0, running = 0;
    std::vector<RowBuffer> made;  ///< the blocks of this step
    std::deque<RowBuffer> blocks;
    std::exception_ptr failure;
    bool ended() const { return phase == kDone && running == 0; }
  };

  static std::uint64_t Give(const void* bytes, std::size_t size, std::size_t& taken, std::span<std::byte> out) {
    const std::size_t count = std::min(out.size(), size - taken);
    std::memcpy(out.data(), static_cast<const std::byte*>(bytes) + taken, count);
    taken += count;
    return count;
  }

  bool NextBlock() {
    if (threads_ > 1 && !started_) {
      started_ = true;
      while (workers_.size() < threads_ && StartThread(workers_, [this] { Work(); }).empty()) continue;
    }
    std::unique_lock lock(mutex_);
    for (;;) {
      while (!units_.empty() && units_.front()->blocks.empty() && units_.front()->ended()) {
        if (units_.front()->failure) std::rethrow_exception(units_.front()->failure);
        units_.pop_front();
      }
      if (units_.empty() && next_group_ == file_.groups()) return false;
      if (!units_.empty() && !units_.front()->blocks.empty()) break;
      if (workers_.empty()) {
        Step(lock, scratch_);
      } else {
        changed_.notify_one();
        given_.wait(lock,
                    [&] { return !units_.empty() && (!units_.front()->blocks.empty() || units_.front()->ended()); });
      }
    }
    Unit& unit = *units_.front();
    // The caller may take the rows of many row groups at once.
    if (block_.room > 0 && (spare_.size() + 1) * block_.room <= memory_ / 16) {
      spare_.push_back(std::move(block_));
    }
    block_ = std::move(unit.blocks.front());
    unit.blocks.pop_front();
    waiting_bytes_ -= block_.size;
    changed_.notify_one();
    return true;
  }

  void Work() {
    GroupDecoder::Scratch scratch;
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (!Step(lock, scratch)) changed_.wait(lock);
    }
  }

  /// Does a part of the work, and unlocks `lock` meanwhile. Returns false if there is nothing to do now.
  bool Step(std::unique_lock<std::mutex>& lock, GroupDecoder::Scratch& scratch) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const std::shared_ptr<Unit> unit = units_[i];
      if (unit->phase == Unit::kIdle && MayBegin(*unit, i == 0)) {
        unit->phase = Unit::kReading;
        unit->next = 0;
        unit->parts = unit->decoder->BeginStep();
      }
      if (unit->next == unit->parts) continue;
      const std::size_t part = unit->next++;
      ++unit->running;
      changed_.notify_one();  // there may be more to do
      unit->phase == Unit::kReading ? ReadPart(lock, *unit, part) : WritePart(lock, *unit, part, scratch);
      return true;
    }
    if (next_group_ == file_.groups()) return false;
    const std::uint64_t cost = CostOf(next_group_);
    if (IsFarAhead() || Active() >= threads_ || (!units_.empty() && !Fits(cost))) return false;
    const std::shared_ptr<Unit> unit = units_.emplace_back(std::make_shared<Unit>());
    unit->group = next_group_++;
    unit->cost = cost;
    ++unit->running;
    changed_.notify_one();
    lock.unlock();
    std::exception_ptr failure;
    try {
      unit->decoder = std::make_unique<GroupDecoder>(file_, unit->group, plan_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --unit->running;
    unit->phase = Unit::kIdle;
    if (failure || unit->decoder->done()) End(lock, *unit, failure);
    return true;
  }

  /// Returns true if so many rows wait for the caller that more would only take new memory.
  bool IsFarAhead() const {
    return units_.size() > threads_ + threads_ / 2 && waiting_bytes_ > 2 * threads_ * kBlockBytes;
  }
  /// Returns how many row groups are being decoded.
  std::size_t Active() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(units_, [](const auto& unit) { return unit->phase != Unit::kDone; }));
  }
  /// Returns the memory that the row groups take or are expected to take, and that of their rows.
  std::uint64_t UsedBytes() const {
    std::uint64_t expected = 0, values = 0;
    for (const auto& unit : units_) {
      expected += unit->cost;
      values += unit->cost > 0 ? 2 * plan_.step_bytes : 0;
    }
    return std::max(expected, file_.library_bytes() + values) + waiting_bytes_;
  }
  /// Returns true if there is memory for `bytes` more bytes.
  bool Fits(std::uint64_t bytes) {
    const std::uint64_t all = UsedBytes() + bytes;
    if (all > memory_) return false;
    if (all + file_.unused_bytes() > memory_) file_.FreeUnused();
    return true;
  }
  std::uint64_t CostOf(int group) const {
    const std::uint64_t bound = group_bytes_[static_cast<std::size_t>(group)] + 4 * plan_.step_bytes;
    return measured_ > 0 ? std::min(bound, measured_ + measured_ / 4) : bound;
  }
  /// Returns true if the row group may decode more rows. The first row group always may if few rows wait.
  bool MayBegin(const Unit& unit, bool first) {
    return (first && unit.blocks.size() <= plan_.split) || Fits(plan_.step_bytes);
  }

  void ReadPart(std::unique_lock<std::mutex>& lock, Unit& unit, std::size_t part) {
    const std::uint64_t limit = Active() == 1 ? memory_ : std::numeric_limits<std::uint64_t>::max();
    lock.unlock();
    unit.decoder->ReadPart(part, limit);
    lock.lock();
    if (--unit.running > 0 || unit.next < unit.parts) return;
    unit.next = unit.parts = 0;
    ++unit.running;
    lock.unlock();
    std::size_t parts = 0;
    std::exception_ptr failure;
    try {
      parts = unit.decoder->EndReading();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --unit.running;
    if (failure) return End(lock, unit, failure);
    measured_ = std::max(measured_, file_.library_bytes() / std::max<std::size_t>(Active(), 1) +
                                        unit.decoder->memory_bytes() + 2 * plan_.step_bytes);
    unit.phase = Unit::kWriting;
    unit.parts = parts;
    unit.made.clear();
    for (; parts > 0; --parts) {
      unit.made.emplace_back();
      if (spare_.empty()) continue;
      unit.made.back() = std::move(spare_.back());
      spare_.pop_back();
    }
  }

  void WritePart(std::unique_lock<std::mutex>& lock, Unit& unit, std::size_t part, GroupDecoder::Scratch& scratch) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      unit.decoder->WritePart(part, unit.made[part], scratch);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) unit.failure = failure;
    if (--unit.running > 0 || unit.next < unit.parts) return;
    unit.next = unit.parts = 0;
    if (unit.failure) return End(lock, unit, unit.failure);
    for (RowBuffer& block : unit.made) {
      waiting_bytes_ += block.size;
      unit.blocks.push_back(std::move(block));
    }
    unit.phase = Unit::kIdle;
    if (unit.decoder->done()) return End(lock, unit, nullptr);
    given_.notify_one();
  }

  /// Ends the decoding of a row group on which no thread works.
  void End(std::unique_lock<std::mutex>& lock, Unit& unit, std::exception_ptr failure) {
    unit.failure = failure;
    unit.phase = Unit::kDone;
    ++unit.running;
    lock.unlock();
    unit.decoder.reset();
    lock.lock();
    --unit.running;
    unit.cost = 0;
    given_.notify_one();
  }

  OpenFile file_;
  const std::vector<std::byte> header_;
  std::size_t header_taken_ = 0;
  const std::uint64_t memory_;
  const unsigned threads_;
  const std::shared_ptr<RowStore> store_;
  StepPlan plan_;
  std::vector<std::uint64_t> group_bytes_;  ///< GroupBytes() of each row group
  bool started_ = false;
  RowBuffer block_;
  std::size_t block_taken_ = 0;
  GroupDecoder::Scratch scratch_;  ///< for the caller's thread
  std::mutex mutex_;
  std::condition_variable changed_;  ///< there may be work for threads
  std::condition_variable given_;    ///< there may be rows for the caller
  bool stop_ = false;
  int next_group_ = 0;
  std::deque<std::shared_ptr<Unit>> units_;  ///< the row groups in memory, in their order
  std::uint64_t waiting_bytes_ = 0;          ///< the size of the rows that wait for the caller
  std::uint64_t measured_ = 0;               ///< the most memory that a row group has taken so far
  std::vector<RowBuffer> spare_;
  Threads workers_;  // its threads end before the other members are destroyed
};

}  // namespace

std::unique_ptr<RowDecoder> MakeParquetDecoder(RowFile file, const RowDecoderOptions& options) {
  return std::make_unique<ParquetDecoder>(std::move(file), options);
}

}  // namespace gpusort
