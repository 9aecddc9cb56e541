#include "io/codec/row_marks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

void AppendRow(std::uint32_t size, std::vector<std::byte>& rows) {
  const std::size_t at = rows.size();
  rows.resize(at + size);
  std::memcpy(rows.data() + at, &size, sizeof(size));
}

void AppendReference(std::uint32_t size, std::vector<std::byte>& rows) {
  rows.resize(rows.size() + KeptRow::kBytes);
  KeptRow{7, size}.Put(reinterpret_cast<unsigned char*>(rows.data() + rows.size() - KeptRow::kBytes));
}

TEST(RowMarks, StandAfterEach64Rows) {
  std::vector<std::byte> rows;
  for (std::uint32_t i = 0; i < 64; ++i) AppendRow(10 + i, rows);
  const std::uint64_t first = rows.size();
  for (std::uint32_t i = 0; i < 63; ++i) AppendReference(300, rows);
  EXPECT_EQ(MarkRows(rows).size(), 1u);
  AppendRow(20, rows);
  for (const std::size_t further : {0, 25}) {
    if (further > 0) AppendRow(further, rows);
    const std::vector<RowMark> marks = MarkRows(rows);
    ASSERT_EQ(marks.size(), 2u);
    EXPECT_EQ(marks[0].offset, first);
    EXPECT_EQ(marks[0].row_bytes, first);
    EXPECT_EQ(marks[1].offset, rows.size() - further);
    EXPECT_EQ(marks[1].row_bytes, first + 63 * 300 + 20);
  }
}

TEST(RowMarks, AreMissingIfTheLastRowIsNotWhole) {
  std::vector<std::byte> rows;
  EXPECT_TRUE(MarkRows(rows).empty());
  for (std::uint32_t i = 0; i < 100; ++i) AppendRow(10, rows);
  EXPECT_EQ(MarkRows(rows).size(), 1u);
  EXPECT_TRUE(MarkRows(std::span(rows).first(rows.size() - 1)).empty());
  EXPECT_TRUE(MarkRows(std::span(rows).first(rows.size() - 7)).empty());
}

TEST(RowMarks, ARowWithAWrongSizeIsAnError) {
  std::vector<std::byte> rows(8);
  EXPECT_THROW(MarkRows(rows), Error);
}

}  // namespace
}  // namespace gpusort
