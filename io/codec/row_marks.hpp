// Finds the places of rows in a piece of the rows of a file of columns (io/codec/row_schema.hpp). Several threads can
// do this for several pieces. The thread that divides the rows into row groups then looks at few rows. Start at
// MarkRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "io/codec/row_schema.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// The size of a row or of a reference to a row, and the size of the row. Both are 0 if more bytes are needed to tell.
struct RowSizes {
  std::size_t here = 0, row = 0;

  /// Returns the sizes of what `bytes` begins with. Throws Error(kIntegrity) if the size is wrong.
  static RowSizes Of(std::span<const std::byte> bytes) {
    if (KeptRow::Is(bytes)) {
      if (bytes.size() < KeptRow::kBytes) return {};
      return {KeptRow::kBytes, KeptRow::Load(reinterpret_cast<const unsigned char*>(bytes.data())).bytes};
    }
    std::uint32_t size;
    if (bytes.size() < sizeof(size)) return {};
    std::memcpy(&size, bytes.data(), sizeof(size));
    if (size < kRowSizeBytes) throw Error(ErrorCode::kIntegrity, "a row of the output has a wrong size");
    return {size, size};
  }
};

/// A place between two rows of a piece.
struct RowMark {
  static constexpr std::uint64_t kRows = 64;  ///< how many rows are between two marks

  std::uint64_t offset = 0;     ///< the offset in the piece
  std::uint64_t row_bytes = 0;  ///< the size of the rows before the place; a reference counts as its row
};

/// A piece of whole rows, or references to rows. marks[i] is the place after (i + 1) * RowMark::kRows rows.
struct MarkedRows {
  std::span<const std::byte> bytes;
  std::span<const RowMark> marks;
};

/// Returns the marks of the rows in `bytes`, or no marks if `bytes` ends inside a row. Throws Error(kIntegrity) if the
/// size of a row is wrong.
inline std::vector<RowMark> MarkRows(std::span<const std::byte> bytes) {
  std::vector<RowMark> marks;
  RowMark at;
  for (std::uint64_t rows = 1; at.offset < bytes.size(); ++rows) {
    const RowSizes sizes = RowSizes::Of(bytes.subspan(at.offset));
    if (sizes.here == 0 || sizes.here > bytes.size() - at.offset) return {};
    at.offset += sizes.here;
    at.row_bytes += sizes.row;
    if (rows % RowMark::kRows == 0) marks.push_back(at);
  }
  return marks;
}

}  // namespace gpusort
