// Keys that follow a space-filling curve through several columns, so that rows with similar values come near to each
// other. Each column of a row gives a cell number of 32 bits (ColumnScale). The numbers are the coordinates of a point,
// and the key is the place of this point on the curve (PlaceOnCurve).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/codec/row_schema.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// The numbers of columns that a curve may have.
inline constexpr std::size_t kLeastCurveColumns = 2, kMostCurveColumns = 8;

/// Divides the range of a column's values into 2^32 - 2 cells.
/// - Numbers: the cells have equal widths, from the least to the greatest value.
/// - Strings and binary values: the four bytes after the bytes that the least and the greatest value have in common.
/// - Null has the cell 0, and NaN has the last cell.
class ColumnScale {
 public:
  static constexpr std::uint32_t kNullCell = 0, kNanCell = 0xFFFFFFFF;

  /// `column` must have an order that is not kInt96. If its order is not kBytes, `range` must be known. `column` must
  /// outlive this object.
  ColumnScale(const RowColumn& column, const RowRange& range);
  /// Returns the cell of a value that is not null. A value outside the range gets the first or the last cell of it.
  std::uint32_t CellOf(std::string_view value) const;

 private:
  std::uint32_t CellOfBytes(std::string_view value) const;

  const RowColumn* column_;
  RowRange range_;
  bool linear_ = false;           ///< the numbers are doubles, and both ends of the range are finite
  double least_ = 0, width_ = 0;  ///< with `linear_`: halves, so that the width is no infinity
  std::size_t common_ = 0;        ///< for bytes: the size of the beginning that all values share
};

/// Appends the place of a point on the curve to `out`: as many bytes as the cells have, for memcmp. `cells` has 2 to
/// kMostCurveColumns numbers.
/// - kZorder: the highest bits of all cells in their order, then the next bits of all cells, and so on.
/// - kHilbert: the same bits after the transformation of J. Skilling, "Programming the Hilbert curve" (2004). Two
///   points that follow each other on the curve differ by one in one cell.
void PlaceOnCurve(Curve curve, std::span<const std::uint32_t> cells, std::string& out);

}  // namespace gpusort
