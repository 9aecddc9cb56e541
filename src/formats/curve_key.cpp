#include "formats/curve_key.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr unsigned kCellBits = 32;
/// The number of the cells of values: all but kNullCell and kNanCell.
constexpr std::uint64_t kCells = (std::uint64_t{1} << kCellBits) - 2;

/// Turns the coordinates of a point into the bits of its place on the Hilbert curve, as AxestoTranspose() of J.
/// Skilling does.
void ToHilbert(std::span<std::uint32_t> x) {
  constexpr std::uint32_t kTop = std::uint32_t{1} << (kCellBits - 1);
  for (std::uint32_t bit = kTop; bit > 1; bit >>= 1) {
    const std::uint32_t below = bit - 1;
    for (std::uint32_t& one : x) {
      if ((one & bit) != 0) {
        x[0] ^= below;
      } else {
        const std::uint32_t swapped = (x[0] ^ one) & below;
        x[0] ^= swapped;
        one ^= swapped;
      }
    }
  }
  for (std::size_t i = 1; i < x.size(); ++i) x[i] ^= x[i - 1];
  std::uint32_t flips = 0;
  for (std::uint32_t bit = kTop; bit > 1; bit >>= 1) {
    if ((x.back() & bit) != 0) flips ^= bit - 1;
  }
  for (std::uint32_t& one : x) one ^= flips;
}

/// Returns `part` / `whole` of all cells. `part` must be at most `whole`.
std::uint64_t Scaled(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  const auto product = static_cast<unsigned __int128>(part) * (kCells - 1);
  return static_cast<std::uint64_t>(product / whole);
}

}  // namespace

ColumnScale::ColumnScale(const RowColumn& column, const RowRange& range) : column_(&column), range_(range) {
  if (column.order == RowColumn::Order::kBytes) {
    if (!range.has_bytes || range.unknown) return;
    const std::string &least = range.least_bytes, &greatest = range.greatest_bytes;
    while (common_ < std::min(least.size(), greatest.size()) && least[common_] == greatest[common_]) ++common_;
    return;
  }
  if (range.unknown) throw Error(ErrorCode::kInternal, "a column of a curve has no range");
  if (!OrderedAsDouble(column) || range.least > range.greatest) return;
  least_ = DoubleOfOrdered(range.least) / 2;
  width_ = DoubleOfOrdered(range.greatest) / 2 - least_;
  linear_ = std::isfinite(least_) && std::isfinite(width_);
}

std::uint32_t ColumnScale::CellOfBytes(std::string_view value) const {
  // Statistics may be shortened, so a value can lie outside the range.
  const std::string_view front = value.substr(0, common_), common(range_.least_bytes.data(), common_);
  if (front != common) return front < common ? 1 : kCells;
  std::uint64_t bytes = 0;
  for (std::size_t i = common_; i < common_ + 4; ++i) {
    bytes = bytes << 8 | (i < value.size() ? static_cast<unsigned char>(value[i]) : 0u);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes, 1, kCells));
}

std::uint32_t ColumnScale::CellOf(std::string_view value) const {
  if (column_->order == RowColumn::Order::kBytes) return CellOfBytes(value);
  const std::uint64_t number = OrderedNumber(*column_, value);
  std::uint64_t cell = 0;
  if (OrderedAsDouble(*column_)) {
    const double real = DoubleOfOrdered(number);
    if (std::isnan(real)) return kNanCell;
    if (linear_ && width_ > 0) {
      const double share = std::clamp((real / 2 - least_) / width_, 0.0, 1.0);
      return 1 + static_cast<std::uint32_t>(share * static_cast<double>(kCells - 1));
    }
  }
  // Doubles get here only if an end of the range is infinite. Their bits, instead of their values, then give the place.
  if (range_.least > range_.greatest) return 1;
  cell = Scaled(std::clamp(number, range_.least, range_.greatest) - range_.least, range_.greatest - range_.least);
  return 1 + static_cast<std::uint32_t>(cell);
}

void PlaceOnCurve(Curve curve, std::span<const std::uint32_t> cells, std::string& out) {
  std::array<std::uint32_t, kMostCurveColumns> axes{};
  const std::span<std::uint32_t> bits(axes.data(), cells.size());
  std::ranges::copy(cells, bits.begin());
  if (curve == Curve::kHilbert) ToHilbert(bits);
  unsigned byte = 0, count = 0;
  for (unsigned bit = kCellBits; bit-- > 0;) {
    for (const std::uint32_t one : bits) {
      byte = byte << 1 | (one >> bit & 1);
      if (++count % 8 == 0) out.push_back(static_cast<char>(byte & 0xFF));
    }
  }
}

}  // namespace gpusort
