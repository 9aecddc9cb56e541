// Decodes a Parquet file into rows. Several threads decode row groups, and the caller gets the rows in their order.
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "io/codec/modules/parquet.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

using parquet::LogicalType;

/// The bytes of rows that are decoded at once. Half of them are for the columns whose values have different sizes.
constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastColumnBytes = 16 << 10;
constexpr std::uint64_t kMostStep = 8192;
constexpr std::uint64_t kPageBytes = std::uint64_t{1} << 20;
constexpr std::int64_t kBufferBytes = 64 << 10;
/// How many blocks of a row group may wait until the caller takes them.
constexpr std::size_t kWaitingBlocks = 3;
constexpr std::size_t kMostLevel = 255;

/// The input for the libraries. An exception of RowFile::read becomes a Status here, and is thrown again afterwards.
class SourceFile : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(RowFile file) : file_(std::move(file)) { set_mode(arrow::io::FileMode::READ); }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return arrow::Status::NotImplemented("Tell"); }
  arrow::Status Seek(std::int64_t) override { return arrow::Status::NotImplemented("Seek"); }
  arrow::Result<std::int64_t> Read(std::int64_t, void*) override { return arrow::Status::NotImplemented("Read"); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t) override {
    return arrow::Status::NotImplemented("Read");
  }
  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(file_.size); }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* out) override {
    if (position < 0 || bytes < 0 || static_cast<std::uint64_t>(position) > file_.size) {
      return arrow::Status::IOError("it points to byte ", position, " of ", file_.size);
    }
    const std::uint64_t count =
        std::min(static_cast<std::uint64_t>(bytes), file_.size - static_cast<std::uint64_t>(position));
    if (count == 0) return 0;
    try {
      return static_cast<std::int64_t>(
          file_.read(static_cast<std::uint64_t>(position), {static_cast<std::byte*>(out), count}));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      return arrow::Status::IOError("the file cannot be read");
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t bytes) override {
    // A damaged file may ask for more bytes than it has.
    const std::int64_t most = static_cast<std::int64_t>(file_.size) - position;
    ARROW_ASSIGN_OR_RAISE(
        std::shared_ptr<arrow::ResizableBuffer> buffer,
        arrow::AllocateResizableBuffer(std::clamp<std::int64_t>(bytes, 0, std::max<std::int64_t>(most, 0)),
                                       arrow::system_memory_pool()));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(position, buffer->size(), buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return buffer;
  }

  std::uint64_t size() const { return file_.size; }
  void RethrowFailure() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const RowFile file_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

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
    // Old writers have converted types instead of logical ones, and both mean the same.
    column.shape += "/" + std::to_string(static_cast<int>(node->repetition())) + ":" +
                    std::to_string(static_cast<int>(node->logical_type()->type()));
    const bool has_id = node->field_id() >= 0;
    ids = (has_id ? std::to_string(node->field_id()) : "none") + (ids.empty() ? "" : "/" + ids);
  }
  column.shape += RowColumn::kIdsFollow + ids;
  return column;
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

/// Returns true if the size of the column in a row is known only once the row is decoded.
bool HasVariedSize(const RowColumn& column) {
  return column.value_bytes == 0 || column.levels == RowColumn::Levels::kRepeated;
}

/// Returns how many bytes of decoded values a column with HasVariedSize() may hold, unless a single row needs more.
std::uint64_t ColumnBytes(const RowSchema& schema) {
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(schema.columns, HasVariedSize));
  return std::max(kBlockBytes / 2 / std::max<std::uint64_t>(count, 1), kLeastColumnBytes);
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

/// The values of one column in some rows, which are read from a row group.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  /// Forgets the rows of the last Use(), and reads on until `rows` rows are in memory. Stops earlier at the limit of
  /// ChunkFacts. Returns how many of the rows are in memory, at least one. At least `rows` rows must be left.
  virtual std::size_t Read(std::size_t rows) = 0;
  /// Chooses the first `rows` rows in memory for the functions below.
  virtual void Use(std::size_t rows) = 0;
  /// Adds the size of the levels and the values of row i to sizes[i].
  virtual void AddSizes(std::vector<std::uint64_t>& sizes) const = 0;
  /// Writes the levels and the values of row i to to[i], and moves to[i] after them.
  virtual void Append(std::vector<unsigned char*>& to) const = 0;
  /// Sets bit `bit` of the bits that begin at rows[i] if row i has a value.
  virtual void SetBits(const std::vector<unsigned char*>& rows, std::size_t bit) const = 0;
  virtual bool AtEnd() = 0;
};

template <typename ParquetType>
class TypedSource : public ColumnSource {
  using Reader = parquet::TypedColumnReader<ParquetType>;
  using Value = typename ParquetType::c_type;
  static constexpr bool kBytes = ParquetType::type_num == parquet::Type::BYTE_ARRAY;
  static constexpr bool kFixed = ParquetType::type_num == parquet::Type::FIXED_LEN_BYTE_ARRAY;
  /// The values that ReadBatch() returns are pointers.
  static constexpr bool kCopies = kBytes || kFixed;
  static constexpr std::size_t kLeastRead = 256;

 public:
  TypedSource(const RowColumn& column, const ChunkFacts& facts, std::shared_ptr<parquet::ColumnReader> reader)
      : column_(column),
        facts_(facts),
        lists_(PresentLists(*reader->descr())),
        reader_(std::static_pointer_cast<Reader>(std::move(reader))) {}

  std::size_t Read(std::size_t rows) override {
    Drop();
    std::uint64_t limit = facts_.limit;
    for (;;) {
      TakeValues(limit);
      std::size_t ready = WholeRows(rows);
      if (ready == rows || (ready > 0 && held_bytes() >= limit)) return ready;
      if (taken_levels_ < levels_) {
        limit += facts_.limit;  // a single row needs more
        continue;
      }
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
    used_values_ = 0;
    for (std::size_t level = 0; level < used_levels_; ++level) used_values_ += Has(level) ? 1 : 0;
  }

  void AddSizes(std::vector<std::uint64_t>& sizes) const override {
    std::size_t level = 0, value = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      std::size_t count = 1;
      if (column_.levels == RowColumn::Levels::kRepeated) {
        count = starts_[row + 1] - starts_[row];
        sizes[row] += RowNumberBytes(count) + 2 * count;
      } else if (column_.levels == RowColumn::Levels::kByte) {
        ++sizes[row];
      }
      for (const std::size_t end = level + count; level < end; ++level) {
        if (!Has(level)) continue;
        if constexpr (kBytes) {
          const std::uint64_t bytes = ends_[value + 1] - ends_[value];
          sizes[row] += RowNumberBytes(bytes) + bytes;
        } else {
          sizes[row] += column_.value_bytes;
        }
        ++value;
      }
    }
  }

  void Append(std::vector<unsigned char*>& to) const override {
    std::size_t level = 0, value = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      unsigned char* at = to[row];
      std::size_t count = 1;
      if (column_.levels == RowColumn::Levels::kRepeated) {
        count = starts_[row + 1] - starts_[row];
        at = PutRowNumber(at, count);
        for (std::size_t i = level; i < level + count; ++i) {
          *at++ = static_cast<unsigned char>(definitions_[i]);
          *at++ = static_cast<unsigned char>(repetitions_[i]);
        }
      } else if (column_.levels == RowColumn::Levels::kByte) {
        *at++ = static_cast<unsigned char>(definitions_[level]);
      }
      for (const std::size_t end = level + count; level < end; ++level) {
        if (!Has(level)) continue;
        if constexpr (kBytes) {
          const std::uint64_t bytes = ends_[value + 1] - ends_[value];
          at = PutRowNumber(at, bytes);
          std::memcpy(at, arena_.data() + ends_[value], bytes);
          at += bytes;
        } else if constexpr (kFixed) {
          std::memcpy(at, arena_.data() + value * column_.value_bytes, column_.value_bytes);
          at += column_.value_bytes;
        } else {
          std::memcpy(at, &read_[value], sizeof(Value));
          at += sizeof(Value);
        }
        ++value;
      }
      to[row] = at;
    }
  }

  void SetBits(const std::vector<unsigned char*>& rows, std::size_t bit) const override {
    for (std::size_t row = 0; row < rows_; ++row) {
      if (Has(row)) rows[row][bit / 8] = static_cast<unsigned char>(rows[row][bit / 8] | 1u << bit % 8);
    }
  }

  bool AtEnd() override { return used_levels_ == levels_ && read_levels_ == facts_.levels; }

 private:
  bool Has(std::size_t level) const {
    return column_.max_definition == 0 || definitions_[level] == column_.max_definition;
  }

  bool repeated() const { return column_.levels == RowColumn::Levels::kRepeated; }
  std::uint64_t held_bytes() const {
    return arena_.size() + levels_ * sizeof(std::int16_t) + values_ * (kCopies ? sizeof(std::uint64_t) : sizeof(Value));
  }

  /// Removes the levels and values of the rows of the last Use().
  void Drop() {
    starts_.clear();
    seen_levels_ = 0;
    const std::size_t levels = std::exchange(used_levels_, 0), values = std::exchange(used_values_, 0);
    if (levels == 0) return;
    levels_ -= levels;
    taken_levels_ -= levels;
    values_ -= values;
    if (column_.max_definition > 0)
      std::copy_n(definitions_.begin() + static_cast<std::ptrdiff_t>(levels), levels_, definitions_.begin());
    if (repeated())
      std::copy_n(repetitions_.begin() + static_cast<std::ptrdiff_t>(levels), levels_, repetitions_.begin());
    if constexpr (kBytes) {
      const std::uint64_t bytes = ends_[values];
      arena_.erase(arena_.begin(), arena_.begin() + static_cast<std::ptrdiff_t>(bytes));
      for (std::size_t i = 0; i <= values_; ++i) ends_[i] = ends_[i + values] - bytes;
      ends_.resize(values_ + 1);
    } else if constexpr (kFixed) {
      arena_.erase(arena_.begin(), arena_.begin() + static_cast<std::ptrdiff_t>(values * column_.value_bytes));
    } else {
      std::copy_n(read_.data() + values, values_, read_.data());
    }
  }

  /// Reads at most `count` more levels and their values. Returns the number of levels, which is 0 only at the end. The
  /// values before must be taken, because their pointers become invalid.
  std::size_t ReadMore(std::size_t count) {
    if (column_.max_definition > 0 && definitions_.size() < levels_ + count) definitions_.resize(levels_ + count);
    if (repeated() && repetitions_.size() < levels_ + count) repetitions_.resize(levels_ + count);
    const std::size_t begin = kCopies ? 0 : values_;
    if (read_.size() < begin + count) read_.resize(begin + count);
    std::int64_t values = 0;
    const std::int64_t got = reader_->ReadBatch(
        static_cast<std::int64_t>(count), column_.max_definition > 0 ? definitions_.data() + levels_ : nullptr,
        repeated() ? repetitions_.data() + levels_ : nullptr, reinterpret_cast<Value*>(read_.data() + begin), &values);
    if (got < 0 || values < 0 || got > static_cast<std::int64_t>(count) || values > got) {
      throw Refusal{"its pages have wrong numbers of values"};
    }
    CheckLevels(static_cast<std::size_t>(got), static_cast<std::size_t>(values));
    levels_ += static_cast<std::size_t>(got);
    read_levels_ += static_cast<std::uint64_t>(got);
    next_value_ = 0;
    if constexpr (!kCopies) values_ += static_cast<std::size_t>(values);
    return static_cast<std::size_t>(got);
  }

  /// Takes values of the last ReadMore() until all are taken or the column holds `limit` bytes. Copies values that are
  /// pointers: they point into a page, or many of them point to the same bytes of a dictionary.
  void TakeValues(std::uint64_t limit) {
    if constexpr (kCopies) {
      for (; taken_levels_ < levels_ && held_bytes() < limit; ++taken_levels_) {
        if (!Has(taken_levels_)) continue;
        const Value& value = read_[next_value_++];
        std::size_t bytes = column_.value_bytes;
        if constexpr (kBytes) bytes = value.len;
        arena_.insert(arena_.end(), value.ptr, value.ptr + bytes);
        if constexpr (kBytes) ends_.push_back(arena_.size());
        ++values_;
      }
    } else {
      taken_levels_ = levels_;
    }
  }

  /// Returns how many of the first `most` rows are in memory with all their values. The last list of a column is whole
  /// only once the end of the column is known.
  std::size_t WholeRows(std::size_t most) {
    if (!repeated()) return std::min(taken_levels_, most);
    for (; seen_levels_ < levels_ && starts_.size() <= most; ++seen_levels_) {
      if (repetitions_[seen_levels_] == 0) starts_.push_back(seen_levels_);
    }
    if (seen_levels_ > 0 && (starts_.empty() || starts_[0] != 0)) throw Refusal{"its first value continues a row"};
    const auto whole = std::ranges::upper_bound(starts_, taken_levels_) - starts_.begin();
    return whole > 0 ? static_cast<std::size_t>(whole) - 1 : 0;
  }

  /// Throws if the levels that were just read do not fit the values and the schema.
  void CheckLevels(std::size_t levels, std::size_t values) {
    std::size_t present = levels;
    if (column_.max_definition > 0) {
      const auto begin = definitions_.begin() + static_cast<std::ptrdiff_t>(levels_),
                 end = begin + static_cast<std::ptrdiff_t>(levels);
      present = static_cast<std::size_t>(std::count(begin, end, std::int16_t{column_.max_definition}));
      const auto wrong = [&](std::int16_t level) { return level < 0 || level > column_.max_definition; };
      if (std::any_of(begin, end, wrong)) throw Refusal{"a definition level is too large"};
    }
    if (present != values) throw Refusal{"its definition levels do not fit its values"};
    if (column_.levels != RowColumn::Levels::kRepeated) return;
    // A value continues a list only if it is an element of this list, and if the value before is one.
    for (std::size_t i = levels_; i < levels_ + levels; ++i) {
      const std::int16_t lists = lists_[static_cast<std::size_t>(definitions_[i])];
      if (repetitions_[i] < 0 || repetitions_[i] > std::min(lists, lists_before_)) {
        throw Refusal{"a repetition level is wrong"};
      }
      lists_before_ = lists;
    }
  }

  /// A vector of bool has no addresses.
  using Stored = std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>;
  static_assert(sizeof(Stored) == sizeof(Value));

  const RowColumn& column_;
  const ChunkFacts facts_;
  const std::vector<std::int16_t> lists_;  ///< see PresentLists()
  const std::shared_ptr<Reader> reader_;
  std::int16_t lists_before_ = 0;                  ///< `lists_` of the last level that was read
  std::size_t rows_ = 0;                           ///< the rows of the last Use()
  std::uint64_t used_rows_ = 0, read_levels_ = 0;  ///< so far in the row group
  // How many levels and values are in memory, and how many of them belong to the current rows.
  std::size_t levels_ = 0, values_ = 0, used_levels_ = 0, used_values_ = 0;
  std::size_t taken_levels_ = 0;  ///< the levels whose values are taken
  std::size_t next_value_ = 0;    ///< the first value in `read_` that is not taken
  std::size_t seen_levels_ = 0;   ///< the levels whose rows are in `starts_`
  std::vector<std::int16_t> definitions_, repetitions_;
  std::vector<Stored> read_;
  std::vector<unsigned char> arena_;    ///< the bytes of the values, for types whose values are pointers
  std::vector<std::uint64_t> ends_{0};  ///< value i has the bytes [ends_[i], ends_[i + 1]) of `arena_`
  std::vector<std::size_t> starts_;     ///< the first level of each row, and the level after the last row
};

/// A Parquet file with its schema, which several threads read.
class OpenFile {
 public:
  OpenFile(RowFile file, std::uint64_t most_footer) : source_(std::make_shared<SourceFile>(std::move(file))) {
    CheckMagic(most_footer);
    parquet::ReaderProperties properties(arrow::system_memory_pool());
    properties.enable_buffered_stream();
    properties.set_buffer_size(kBufferBytes);
    properties.set_page_checksum_verification(true);
    Run([&] { reader_ = parquet::ParquetFileReader::Open(source_, properties); },
        [] { return std::string("its footer: "); });
    metadata_ = reader_->metadata();
    if (metadata_->is_encryption_algorithm_set())
      throw Refusal{"it is signed or encrypted, which gpusort does not read"};
    Run([&] { Describe(); }, [] { return std::string("its schema: "); });
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

  /// Opens the columns of a row group. Thread-safe.
  std::vector<std::unique_ptr<ColumnSource>> Columns(int group) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<ColumnSource>> columns;
    std::size_t number = 0;
    const auto open = [&] {
      const std::shared_ptr<parquet::RowGroupReader> reader = reader_->RowGroup(group);
      const std::uint64_t limit = ColumnBytes(schema_);
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
            descriptor, std::make_unique<FilledPages>(reader->GetColumnPageReader(i)), arrow::system_memory_pool());
        const auto make = [&](auto type) -> std::unique_ptr<ColumnSource> {
          return std::make_unique<TypedSource<decltype(type)>>(column, facts, source);
        };
        columns.push_back(WithParquetType(descriptor->physical_type(), make));
      }
    };
    Run(open, [&] { return Place(group, number); });
    return columns;
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
    if (size < kLeast || !read(0, begin, 4) || !read(size - kEnd, end, kEnd)) {
      throw Refusal{what + ": it has " + std::to_string(size) + " bytes"};
    }
    const auto is = [](const unsigned char* at, const char* magic) { return std::memcmp(at, magic, 4) == 0; };
    if (is(end + 4, "PARE")) throw Refusal{"it is encrypted, and gpusort does not read encrypted Parquet"};
    if (!is(begin, "PAR1")) throw Refusal{what + ": it does not begin with PAR1"};
    if (!is(end + 4, "PAR1")) throw Refusal{"it is cut short: a Parquet file ends with PAR1"};
    const std::uint64_t footer = end[0] | end[1] << 8 | end[2] << 16 | std::uint64_t{end[3]} << 24;
    if (footer > size - kLeast) {
      throw Refusal{"its footer of " + std::to_string(footer) + " bytes is larger than the file"};
    }
    // The libraries take several times as much memory as the footer has bytes.
    constexpr std::uint64_t kFooterShare = 4;
    if (footer > most_footer / kFooterShare) {
      throw Refusal{"its footer of " + std::to_string(footer) + " bytes takes too much memory", footer * kFooterShare};
    }
  }

  void Describe() {
    const parquet::SchemaDescriptor& schema = *metadata_->schema();
    for (int i = 0; i < schema.num_columns(); ++i) schema_.columns.push_back(DescribeColumn(*schema.Column(i)));
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
    // The writer needs the schema and the properties of the first row group.
    std::vector<int> first;
    if (groups() > 0) first.push_back(0);
    const std::string footer = metadata_->Subset(first)->SerializeToString();
    // A file with one row group says nothing about how many rows a row group shall have.
    const std::uint64_t group_rows = groups() > 1 ? static_cast<std::uint64_t>(most_rows) : 0;
    schema_.file.assign(reinterpret_cast<const char*>(&group_rows), sizeof(group_rows));
    schema_.file += footer;
  }

  const std::shared_ptr<SourceFile> source_;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  RowSchema schema_;
  std::mutex mutex_;
};

/// Decodes the rows of one row group.
class GroupDecoder {
 public:
  GroupDecoder(OpenFile& file, int group)
      : file_(file),
        group_(group),
        bits_(file.schema().bit_bytes()),
        columns_(file.Columns(group)),
        left_(static_cast<std::uint64_t>(file.metadata().RowGroup(group)->num_rows())) {
    // Other columns than these stop at their limits.
    std::uint64_t row = kRowSizeBytes + bits_;
    for (const RowColumn& column : file.schema().columns) row += HasVariedSize(column) ? 1 : column.value_bytes + 1;
    most_step_ = std::clamp<std::uint64_t>(kBlockBytes / 2 / row, 1, kMostStep);
    step_ = most_step_;
  }

  /// Replaces `block` by the next rows. Returns false at the end.
  bool Next(std::vector<unsigned char>& block) {
    if (left_ == 0) return false;
    auto rows = static_cast<std::size_t>(std::min(step_, left_));
    std::size_t number = 0;
    const auto place = [&] { return file_.Place(group_, number); };
    const auto read = [&] {
      for (; number < columns_.size(); ++number) rows = columns_[number]->Read(rows);
    };
    try {
      file_.Run(read, [] { return std::string(); });
      for (const auto& column : columns_) column->Use(rows);
      left_ -= rows;
      step_ = std::min<std::uint64_t>(2 * rows, most_step_);  // a column that stops later would hold needless rows
      if (left_ == 0) {
        const auto end = [&] {
          for (number = 0; number < columns_.size(); ++number) {
            if (!columns_[number]->AtEnd()) throw Refusal{"it has more values than the row group has rows"};
          }
        };
        file_.Run(end, [] { return std::string(); });
      }
    } catch (const Refusal& refusal) {
      throw Refusal{place() + refusal.why, refusal.needed};
    }
    sizes_.assign(rows, kRowSizeBytes + bits_);
    for (const auto& column : columns_) column->AddSizes(sizes_);
    const std::uint64_t all = std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
    block.assign(all, 0);
    at_.resize(rows);
    unsigned char* to = block.data();
    for (std::size_t row = 0; row < rows; ++row) {
      if (sizes_[row] > std::numeric_limits<std::uint32_t>::max()) throw Refusal{place() + "a row has more than 4 GiB"};
      const auto size = static_cast<std::uint32_t>(sizes_[row]);
      std::memcpy(to, &size, sizeof(size));
      at_[row] = to + kRowSizeBytes;
      to += size;
    }
    std::size_t bit = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (file_.schema().columns[i].levels == RowColumn::Levels::kBit) columns_[i]->SetBits(at_, bit++);
    }
    for (unsigned char*& at : at_) at += bits_;
    for (const auto& column : columns_) column->Append(at_);
    return true;
  }

 private:
  OpenFile& file_;
  const int group_;
  const std::size_t bits_;
  std::vector<std::unique_ptr<ColumnSource>> columns_;
  std::uint64_t left_;
  std::uint64_t step_ = 1, most_step_ = 1;  ///< how many rows the next block has at most, and any block
  std::vector<std::uint64_t> sizes_;
  std::vector<unsigned char*> at_;
};

/// Returns about how much memory decoding a row group takes: a page and a buffer of each column, a dictionary, decoded
/// values, and the rows.
std::uint64_t GroupBytes(const RowSchema& schema, const parquet::FileMetaData& metadata, int group) {
  const std::unique_ptr<parquet::RowGroupMetaData> row_group = metadata.RowGroup(group);
  const auto varied = static_cast<std::uint64_t>(std::ranges::count_if(schema.columns, HasVariedSize));
  const std::uint64_t values = varied * ColumnBytes(schema);
  // The buffer of a column doubles when it is full.
  std::uint64_t bytes = (kWaitingBlocks + 3) * (kBlockBytes / 2 + std::max(values, kBlockBytes / 2)) + 2 * values;
  for (int i = 0; i < row_group->num_columns(); ++i) {
    const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group->ColumnChunk(i);
    const auto at_most_page = [](std::int64_t size) {
      return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)), kPageBytes);
    };
    const std::uint64_t page = at_most_page(chunk->total_uncompressed_size());
    bytes +=
        page + at_most_page(chunk->total_compressed_size()) + kBufferBytes + (chunk->has_dictionary_page() ? page : 0);
  }
  return bytes;
}

class ParquetDecoder : public RowDecoder {
 public:
  ParquetDecoder(RowFile file, const RowDecoderOptions& options)
      : file_(std::move(file), options.memory_bytes), header_(file_.schema().Header()) {
    std::uint64_t most = 0;
    for (int group = 0; group < file_.groups(); ++group)
      most = std::max(most, GroupBytes(file_.schema(), file_.metadata(), group));
    if (most > options.memory_bytes) {
      throw Refusal{"decoding its " + std::to_string(file_.schema().columns.size()) + " columns takes too much memory",
                    most};
    }
    threads_ = static_cast<unsigned>(
        std::min<std::uint64_t>({std::max(1u, options.threads), most == 0 ? 1 : options.memory_bytes / most,
                                 static_cast<std::uint64_t>(file_.groups())}));
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
    if (header_taken_ < header_.size()) return Give(header_, header_taken_, out);
    while (block_taken_ == block_.size()) {
      block_taken_ = 0;
      block_.clear();
      if (!NextBlock()) return 0;
    }
    return Give(block_, block_taken_, out);
  }

 private:
  struct Unit {
    std::deque<std::vector<unsigned char>> blocks;
    std::uint64_t bytes = 0;  ///< the size of the blocks
    bool done = false;
    std::exception_ptr failure;
  };

  template <typename Bytes>
  static std::uint64_t Give(const Bytes& bytes, std::size_t& taken, std::span<std::byte> out) {
    const std::size_t count = std::min(out.size(), bytes.size() - taken);
    std::memcpy(out.data(), bytes.data() + taken, count);
    taken += count;
    return count;
  }

  bool NextBlock() {
    if (threads_ > 1 && !started_) {
      started_ = true;
      while (workers_.size() < threads_ && StartThread(workers_, [this] { Work(); }).empty()) continue;
    }
    return workers_.empty() ? DecodeNext() : TakeNext();
  }

  /// Decodes the next block on the caller's thread.
  bool DecodeNext() {
    for (;;) {
      if (!own_) {
        if (next_group_ == file_.groups()) return false;
        own_ = std::make_unique<GroupDecoder>(file_, next_group_++);
      }
      if (own_->Next(block_)) return true;
      own_.reset();
    }
  }

  bool TakeNext() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return units_.empty() ? next_group_ == file_.groups() : units_.front()->done || !units_.front()->blocks.empty();
      });
      if (units_.empty()) return false;
      Unit& unit = *units_.front();
      if (!unit.blocks.empty()) {
        block_ = std::move(unit.blocks.front());
        unit.blocks.pop_front();
        unit.bytes -= block_.size();
        changed_.notify_all();
        return true;
      }
      if (unit.failure) std::rethrow_exception(unit.failure);
      units_.pop_front();
      changed_.notify_all();
    }
  }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || next_group_ == file_.groups() || units_.size() < threads_; });
      if (stop_ || next_group_ == file_.groups()) return;
      const std::shared_ptr<Unit> unit = units_.emplace_back(std::make_shared<Unit>());
      const int group = next_group_++;
      lock.unlock();
      std::exception_ptr failure;
      try {
        Decode(group, *unit);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      unit->failure = failure;
      unit->done = true;
      changed_.notify_all();
    }
  }

  void Decode(int group, Unit& unit) {
    GroupDecoder decoder(file_, group);
    std::vector<unsigned char> block;
    while (decoder.Next(block)) {
      std::unique_lock lock(mutex_);
      // A block of one large row may be larger than usual.
      changed_.wait(lock, [&] {
        return stop_ || unit.blocks.empty() ||
               (unit.blocks.size() < kWaitingBlocks && unit.bytes < kWaitingBlocks * kBlockBytes);
      });
      if (stop_) return;
      unit.bytes += block.size();
      unit.blocks.push_back(std::move(block));
      changed_.notify_all();
      block = {};
    }
  }

  OpenFile file_;
  const std::vector<std::byte> header_;
  std::size_t header_taken_ = 0;
  unsigned threads_ = 1;
  bool started_ = false;
  std::vector<unsigned char> block_;
  std::size_t block_taken_ = 0;
  std::unique_ptr<GroupDecoder> own_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  int next_group_ = 0;
  std::deque<std::shared_ptr<Unit>> units_;  ///< the row groups that are being decoded, in their order
  Threads workers_;                          // its threads end before the other members are destroyed
};

}  // namespace

std::unique_ptr<RowDecoder> MakeParquetDecoder(RowFile file, const RowDecoderOptions& options) {
  return std::make_unique<ParquetDecoder>(std::move(file), options);
}

}  // namespace gpusort
