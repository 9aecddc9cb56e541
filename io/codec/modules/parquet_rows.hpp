// Divides rows into columns, for the encoder of Parquet. Start at DivideRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/codec/modules/kept_rows.hpp"
#include "io/codec/modules/parquet.hpp"
#include "io/codec/row_marks.hpp"

namespace parquet {
class ColumnWriter;
}

namespace gpusort {

/// Some rows. Their columns are taken one after the other.
struct RowBlock {
  std::vector<RowReader> rows;             ///< each row is at its next column
  std::vector<const unsigned char*> bits;  ///< for each row the bits of the columns with Levels::kBit
};

/// The values of one column in some rows. Values of type BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY point into the rows.
class ColumnPart {
 public:
  virtual ~ColumnPart() = default;
  virtual void Clear() = 0;
  /// Appends the next column of each row. `bit` is the index of the bit of a column with Levels::kBit.
  virtual void Take(RowBlock& block, std::size_t bit) = 0;
  virtual void Write(parquet::ColumnWriter& writer) const = 0;
  /// Returns the memory that the object takes.
  virtual std::uint64_t bytes() const = 0;
};

std::unique_ptr<ColumnPart> MakeColumnPart(const RowColumn& column, parquet::Type::type type);

/// Appends whole rows to the parts, one part for each column. Throws Error(kIntegrity) if the rows are damaged.
void DivideRows(std::span<const std::byte> rows, const RowSchema& schema,
                std::span<const std::unique_ptr<ColumnPart>> parts);

/// Appends rows to `out`. `rows` has whole rows and references to rows in `store`. Throws Error(kIntegrity) if a
/// reference is damaged.
void GatherRows(std::span<const std::byte> rows, const KeptRows& store, std::vector<std::byte>& out);

}  // namespace gpusort
