#include "formats/curve_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace gpusort {
namespace {

template <typename Number>
std::string BytesOfNumber(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string Placed(Curve curve, const std::vector<std::uint32_t>& cells) {
  std::string place;
  PlaceOnCurve(curve, cells, place);
  return place;
}

TEST(CurveKey, ZorderTakesTheBitsInTurn) {
  EXPECT_EQ(Placed(Curve::kZorder, {0xFFFFFFFF, 0}), std::string(8, '\xAA'));
  EXPECT_EQ(Placed(Curve::kZorder, {0, 0xFFFFFFFF}), std::string(8, '\x55'));
  EXPECT_EQ(Placed(Curve::kZorder, {0x80000000, 0, 0}), std::string("\x80") + std::string(11, '\0'));
  EXPECT_EQ(Placed(Curve::kZorder, {0, 0, 1}), std::string(11, '\0') + "\x01");
}

TEST(CurveKey, HilbertGoesToNeighbours) {
  constexpr std::array<std::pair<std::size_t, unsigned>, 4> kGrids{{{2, 5}, {3, 3}, {4, 2}, {8, 1}}};
  for (const auto& [axes, bits] : kGrids) {
    const std::size_t points = std::size_t{1} << (axes * bits);
    std::vector<std::pair<std::string, std::vector<std::uint32_t>>> all(points);
    for (std::size_t point = 0; point < points; ++point) {
      std::vector<std::uint32_t>& cells = all[point].second;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const auto at = static_cast<std::uint32_t>(point >> (axis * bits) & ((1u << bits) - 1));
        cells.push_back(at << (32 - bits));
      }
      all[point].first = Placed(Curve::kHilbert, cells);
    }
    std::ranges::sort(all);
    for (std::size_t point = 1; point < points; ++point) {
      std::uint64_t steps = 0;
      for (std::size_t axis = 0; axis < axes; ++axis) {
        const std::int64_t step = std::int64_t{all[point].second[axis]} - all[point - 1].second[axis];
        steps += static_cast<std::uint64_t>(std::abs(step)) >> (32 - bits);
      }
      EXPECT_EQ(steps, 1u) << axes << " axes, point " << point;
    }
  }
}

RowColumn NumberColumn(RowColumn::Order order, std::uint32_t bytes) {
  RowColumn column;
  column.order = order;
  column.value_bytes = bytes;
  return column;
}

TEST(CurveKey, ScalesIntegersToTheirRange) {
  const RowColumn column = NumberColumn(RowColumn::Order::kSigned, 8);
  const auto cell = [&](std::int64_t least, std::int64_t greatest, std::int64_t value) {
    RowRange range;
    range.least = OrderedNumber(column, BytesOfNumber(least));
    range.greatest = OrderedNumber(column, BytesOfNumber(greatest));
    return ColumnScale(column, range).CellOf(BytesOfNumber(value));
  };
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min(), kHigh = -(kLow + 1);
  EXPECT_EQ(cell(-5, 5, -5), 1u);
  EXPECT_EQ(cell(-5, 5, 5), 0xFFFFFFFEu);
  EXPECT_EQ(cell(-5, 5, 0), 0x7FFFFFFFu);
  EXPECT_EQ(cell(-5, 5, -6), 1u);  // statistics may be wrong
  EXPECT_EQ(cell(-5, 5, 6), 0xFFFFFFFEu);
  EXPECT_EQ(cell(7, 7, 7), 1u);
  EXPECT_EQ(cell(kLow, kHigh, kLow), 1u);
  EXPECT_EQ(cell(kLow, kHigh, kHigh), 0xFFFFFFFEu);
  EXPECT_EQ(cell(kLow, kHigh, 0), 0x7FFFFFFFu);
}

TEST(CurveKey, ScalesDoublesToTheirRange) {
  const RowColumn column = NumberColumn(RowColumn::Order::kFloat, 8);
  const auto cell = [&](double least, double greatest, double value) {
    RowRange range;
    range.least = OrderedNumber(column, BytesOfNumber(least));
    range.greatest = OrderedNumber(column, BytesOfNumber(greatest));
    return ColumnScale(column, range).CellOf(BytesOfNumber(value));
  };
  constexpr double kMost = std::numeric_limits<double>::max(), kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cell(-1, 1, -1), 1u);
  EXPECT_EQ(cell(-1, 1, 1), 0xFFFFFFFEu);
  EXPECT_EQ(cell(-1, 1, std::nan("")), ColumnScale::kNanCell);
  EXPECT_EQ(cell(2, 2, 2), 1u);
  EXPECT_NEAR(cell(-kMost, kMost, 0), 0x7FFFFFFF, 2);
  EXPECT_EQ(cell(-kInfinity, kInfinity, -kInfinity), 1u);
  EXPECT_EQ(cell(-kInfinity, kInfinity, kInfinity), 0xFFFFFFFEu);
  EXPECT_LT(cell(-kInfinity, kInfinity, 1), cell(-kInfinity, kInfinity, 1.5));
}

TEST(CurveKey, TakesTheBytesAfterTheCommonOnes) {
  RowColumn column = NumberColumn(RowColumn::Order::kBytes, 0);
  RowRange range;
  range.has_bytes = true;
  range.least_bytes = "user/aaaa";
  range.greatest_bytes = "user/zzz";
  const ColumnScale scale(column, range);
  EXPECT_EQ(scale.CellOf("user/abcde"), 0x61626364u);
  EXPECT_EQ(scale.CellOf("user/ab"), 0x61620000u);
  EXPECT_EQ(scale.CellOf("user/"), 1u);
  EXPECT_EQ(scale.CellOf("a"), 1u);
  EXPECT_EQ(scale.CellOf("v"), 0xFFFFFFFEu);
  EXPECT_EQ(ColumnScale(column, RowRange{.unknown = true}).CellOf("abcd"), 0x61626364u);
}

}  // namespace
}  // namespace gpusort
