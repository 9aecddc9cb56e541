#include "io/codec/modules/parquet_rows.hpp"

#include <parquet/column_writer.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// A vector whose new items have no values yet. Clear() keeps the memory.
template <typename T>
class RawVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  const T* data() const { return items_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return room_; }
  /// Appends `count` items, and returns the first one.
  T* Grow(std::size_t count) {
    if (count > room_ - size_) {
      const std::size_t room = std::max(size_ + count, 2 * room_);
      std::unique_ptr<T[], Free> grown(static_cast<T*>(std::malloc(room * sizeof(T))));
      if (!grown) throw std::bad_alloc();
      if (size_ > 0) std::memcpy(grown.get(), items_.get(), size_ * sizeof(T));
      items_ = std::move(grown);
      room_ = room;
    }
    return items_.get() + std::exchange(size_, size_ + count);
  }
  /// Removes the last `count` items.
  void Shrink(std::size_t count) { size_ -= count; }
  void Clear() { size_ = 0; }

 private:
  struct Free {
    void operator()(T* items) const { std::free(items); }
  };
  std::unique_ptr<T[], Free> items_;
  std::size_t size_ = 0, room_ = 0;
};

template <typename ParquetType>
class TypedPart : public ColumnPart {
  using Value = typename ParquetType::c_type;

 public:
  explicit TypedPart(const RowColumn& column) : column_(column) {}

  void Clear() override {
    levels_ = 0;
    definitions_.Clear();
    repetitions_.Clear();
    values_.Clear();
  }
  void Take(RowBlock& block, std::size_t bit) override {
    switch (column_.levels) {
      case RowColumn::Levels::kNoLevels:
        levels_ += block.rows.size();
        return TakeEach(block, [](std::size_t) { return true; });
      case RowColumn::Levels::kBit: {
        std::int16_t* const levels = AddLevels(block.rows.size());
        return TakeEach(block, [&](std::size_t i) {
          const int level = block.bits[i][bit / 8] >> bit % 8 & 1;
          levels[i] = static_cast<std::int16_t>(level);
          return level != 0;
        });
      }
      case RowColumn::Levels::kByte: {
        std::int16_t* const levels = AddLevels(block.rows.size());
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
        static_cast<std::int64_t>(levels_), definitions_.size() == 0 ? nullptr : definitions_.data(),
        repetitions_.size() == 0 ? nullptr : repetitions_.data(), reinterpret_cast<const Value*>(values_.data()));
  }
  std::uint64_t bytes() const override {
    return (definitions_.capacity() + repetitions_.capacity()) * sizeof(std::int16_t) +
           values_.capacity() * sizeof(Stored);
  }

 private:
  /// A vector of bool has no addresses.
  using Stored = std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value>;
  static_assert(sizeof(Stored) == sizeof(Value));

  std::int16_t* AddLevels(std::size_t count) {
    levels_ += count;
    return definitions_.Grow(count);
  }
  /// Takes a value from each row for which has_value(index of the row) returns true.
  template <typename HasValue>
  void TakeEach(RowBlock& block, HasValue has_value) {
    Stored* to = values_.Grow(block.rows.size());
    Stored* const end = to + block.rows.size();
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      if (has_value(i)) TakeValue(block.rows[i], *to++);
    }
    values_.Shrink(static_cast<std::size_t>(end - to));
  }
  void TakeRepeated(RowReader& row) {
    const std::uint64_t count = row.TakeNumber();
    const unsigned char* from = row.Take(count);
    row.Take(count);
    std::int16_t* const definitions = AddLevels(count);
    std::int16_t* const repetitions = repetitions_.Grow(count);
    std::size_t present = 0;
    for (std::size_t i = 0; i < count; ++i, from += 2) {
      definitions[i] = from[0];
      repetitions[i] = from[1];
      present += from[0] == column_.max_definition ? 1 : 0;
    }
    Stored* to = values_.Grow(present);
    for (; present > 0; --present) TakeValue(row, *to++);
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
  RawVector<std::int16_t> definitions_, repetitions_;
  RawVector<Stored> values_;
};

/// Asks for the memory of a row, which is anywhere, before it is needed.
void Prefetch(std::span<const std::byte> row) {
  constexpr std::size_t kLine = 64, kMostLines = 4;
  for (std::size_t at = 0; at < std::min(row.size(), kMostLines * kLine); at += kLine) {
    __builtin_prefetch(row.data() + at);
  }
  __builtin_prefetch(row.data() + row.size() - 1);
}

}  // namespace

std::unique_ptr<ColumnPart> MakeColumnPart(const RowColumn& column, parquet::Type::type type) {
  return WithParquetType(type, [&](auto parquet_type) -> std::unique_ptr<ColumnPart> {
    return std::make_unique<TypedPart<decltype(parquet_type)>>(column);
  });
}

void GatherRows(std::span<const std::byte> rows, const KeptRows& store, std::vector<std::byte>& out) {
  // The number of rows that are asked for before they are copied.
  constexpr std::size_t kAhead = 64;
  std::span<const std::byte> found[kAhead];
  while (!rows.empty()) {
    std::size_t count = 0;
    for (; count < kAhead && !rows.empty(); ++count) {
      const auto here = rows.first(RowSizes::Of(rows).here);
      found[count] = here;
      if (KeptRow::Is(here)) {
        found[count] = store.Row(KeptRow::Load(reinterpret_cast<const unsigned char*>(here.data())));
        Prefetch(found[count]);
      }
      rows = rows.subspan(here.size());
    }
    for (const std::span<const std::byte> row : std::span(found).first(count)) {
      // A damaged reference points into the middle of a row.
      if (row.size() < kRowSizeBytes || KeptRow::Is(row) || RowSizes::Of(row).here != row.size()) {
        throw Error(ErrorCode::kIntegrity, "a record of the output refers to no row");
      }
      out.insert(out.end(), row.begin(), row.end());
    }
  }
}

void DivideRows(std::span<const std::byte> rows, const RowSchema& schema,
                std::span<const std::unique_ptr<ColumnPart>> parts) {
  // A block stays in the nearest cache while its columns are taken.
  constexpr std::size_t kMostRows = 256, kMostBytes = std::size_t{32} << 10;
  const std::size_t bit_bytes = BitBytes(schema.columns);
  RowBlock block;
  while (!rows.empty()) {
    block.rows.clear();
    block.bits.clear();
    std::size_t bytes = 0;
    while (bytes < rows.size() && bytes < kMostBytes && block.rows.size() < kMostRows) {
      const std::size_t size = RowSizes::Of(rows.subspan(bytes)).here;
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
