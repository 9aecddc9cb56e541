#include "io/codec/modules/parquet_rows.hpp"

#include <parquet/column_writer.h>

#include <cstring>
#include <type_traits>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

template <typename ParquetType>
class TypedPart : public ColumnPart {
  using Value = typename ParquetType::c_type;

 public:
  explicit TypedPart(const RowColumn& column) : column_(column) {}

  void Clear() override {
    levels_ = 0;
    definitions_.clear();
    repetitions_.clear();
    values_.clear();
  }
  void Take(RowBlock& block, std::size_t bit) override {
    switch (column_.levels) {
      case RowColumn::Levels::kNoLevels:
        levels_ += block.rows.size();
        return TakeEach(block, [](std::size_t) { return true; });
      case RowColumn::Levels::kBit: {
        std::int16_t* const levels = AddLevels(definitions_, block.rows.size());
        return TakeEach(block, [&](std::size_t i) {
          const int level = block.bits[i][bit / 8] >> bit % 8 & 1;
          levels[i] = static_cast<std::int16_t>(level);
          return level != 0;
        });
      }
      case RowColumn::Levels::kByte: {
        std::int16_t* const levels = AddLevels(definitions_, block.rows.size());
        return TakeEach(block, [&](std::size_t i) {
          levels[i] = *block.rows[i].Take(1);
          return levels[i] == column_.max_definition;
        });
      }
      case RowColumn::Levels::kRepeated:
        for (RowReader& row : block.rows) TakeRepeated(row);
        return;
    }
  }
  void Write(parquet::ColumnWriter& writer) const override {
    static_cast<parquet::TypedColumnWriter<ParquetType>&>(writer).WriteBatch(
        static_cast<std::int64_t>(levels_), definitions_.empty() ? nullptr : definitions_.data(),
        repetitions_.empty() ? nullptr : repetitions_.data(), reinterpret_cast<const Value*>(values_.data()));
  }
  std::uint64_t bytes() const override {
    return (definitions_.capacity() + repetitions_.capacity()) * sizeof(std::int16_t) +
           values_.capacity() * sizeof(Stored);
  }

 private:
  /// A vector of bool has no addresses.
  using Stored = std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>;
  static_assert(sizeof(Stored) == sizeof(Value));

  std::int16_t* AddLevels(std::vector<std::int16_t>& levels, std::size_t count) {
    levels_ += count;
    levels.resize(levels.size() + count);
    return levels.data() + (levels.size() - count);
  }
  /// Takes a value from each row for which has_value(index of the row) returns true.
  template <typename HasValue>
  void TakeEach(RowBlock& block, HasValue has_value) {
    const std::size_t before = values_.size();
    values_.resize(before + block.rows.size());
    Stored* const first = values_.data();
    Stored* to = first + before;
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      if (has_value(i)) TakeValue(block.rows[i], *to++);
    }
    values_.resize(static_cast<std::size_t>(to - first));
  }
  void TakeRepeated(RowReader& row) {
    const std::uint64_t count = row.TakeNumber();
    const unsigned char* from = row.Take(count);
    row.Take(count);
    std::int16_t* const definitions = AddLevels(definitions_, count);
    repetitions_.resize(definitions_.size());
    std::int16_t* const repetitions = repetitions_.data() + (repetitions_.size() - count);
    std::size_t present = 0;
    for (std::size_t i = 0; i < count; ++i, from += 2) {
      definitions[i] = from[0];
      repetitions[i] = from[1];
      present += from[0] == column_.max_definition ? 1 : 0;
    }
    for (; present > 0; --present) TakeValue(row, values_.emplace_back());
  }
  void TakeValue(RowReader& row, Stored& to) const {
    if constexpr (ParquetType::type_num == parquet::Type::BYTE_ARRAY) {
      const std::string_view value = row.TakeValue(column_);
      to = parquet::ByteArray(value);
    } else if constexpr (ParquetType::type_num == parquet::Type::FIXED_LEN_BYTE_ARRAY) {
      to = parquet::FixedLenByteArray(row.Take(column_.value_bytes));
    } else {
      std::memcpy(&to, row.Take(sizeof(Stored)), sizeof(Stored));
    }
  }

  const RowColumn& column_;
  std::uint64_t levels_ = 0;
  std::vector<std::int16_t> definitions_, repetitions_;
  std::vector<Stored> values_;
};

}  // namespace

std::unique_ptr<ColumnPart> MakeColumnPart(const RowColumn& column, parquet::Type::type type) {
  return WithParquetType(type, [&](auto parquet_type) -> std::unique_ptr<ColumnPart> {
    return std::make_unique<TypedPart<decltype(parquet_type)>>(column);
  });
}

void DivideRows(std::span<const std::byte> rows, const RowSchema& schema,
                std::span<const std::unique_ptr<ColumnPart>> parts) {
  // A block stays in the nearest cache while its columns are taken.
  constexpr std::size_t kMostRows = 256, kMostBytes = std::size_t{32} << 10;
  const std::size_t bit_bytes = schema.bit_bytes();
  RowBlock block;
  while (!rows.empty()) {
    block.rows.clear();
    block.bits.clear();
    std::size_t bytes = 0;
    while (bytes < rows.size() && bytes < kMostBytes && block.rows.size() < kMostRows) {
      const std::size_t size = RowBytes(rows.subspan(bytes));
      RowReader& row = block.rows.emplace_back(rows.subspan(bytes, size));
      block.bits.push_back(row.Take(bit_bytes));
      bytes += size;
    }
    std::size_t bit = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i]->Take(block, bit);
      if (schema.columns[i].levels == RowColumn::Levels::kBit) ++bit;
    }
    for (const RowReader& row : block.rows) {
      if (!row.done()) throw Error(ErrorCode::kIntegrity, "a row of the output has more bytes than its columns");
    }
    rows = rows.subspan(bytes);
  }
}

}  // namespace gpusort
