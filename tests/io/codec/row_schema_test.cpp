#include "io/codec/row_schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

RowSchema TwoColumns() {
  RowSchema schema;
  schema.columns = {{.name = "id",
                     .group = "",
                     .type_text = "INT64",
                     .shape = "/0:19",
                     .order = RowColumn::Order::kSigned,
                     .type = RowColumn::Type::kInt,
                     .levels = RowColumn::Levels::kBit,
                     .max_definition = 1,
                     .value_bytes = 8},
                    {.name = "list.element",
                     .group = "list",
                     .type_text = "BYTE_ARRAY String",
                     .shape = "/2:3",
                     .order = RowColumn::Order::kBytes,
                     .type = RowColumn::Type::kText,
                     .levels = RowColumn::Levels::kRepeated,
                     .nested = true,
                     .max_definition = 3}};
  schema.sorted = {{0, true, false}};
  schema.file = std::string("a\0b", 3);
  return schema;
}

using RecordBytes = std::span<const std::byte>;

TEST(RowSchema, IsReadFromItsHeader) {
  const RowSchema schema = TwoColumns();
  const std::vector<std::byte> header = schema.Header();
  const RowSchema read = RowSchema::Parse(header);
  EXPECT_EQ(read.columns, schema.columns);
  EXPECT_EQ(read.file, schema.file);
  ASSERT_EQ(read.sorted.size(), 1u);
  EXPECT_TRUE(read.sorted[0].descending);
  EXPECT_FALSE(read.sorted[0].nulls_first);
  EXPECT_EQ(BitBytes(read.columns), 1u);
}

TEST(RowSchema, KeepsTheRangesOfColumns) {
  RowSchema schema = TwoColumns();
  schema.about = "700 rows";
  schema.ranges.resize(2);
  schema.ranges[0].Widen({.least = 5, .greatest = 9});
  schema.ranges[0].Widen({.least = 7, .greatest = 12});
  schema.ranges[1].Widen({.least_bytes = "b", .greatest_bytes = "\xff", .has_bytes = true});
  schema.ranges[1].Widen({});  // no values
  schema.ranges[1].Widen({.least_bytes = "a", .greatest_bytes = "c", .has_bytes = true});
  const RowSchema read = RowSchema::Parse(schema.Header());
  EXPECT_EQ(read.ranges, schema.ranges);
  EXPECT_EQ(read.about, "700 rows");
  EXPECT_EQ(read.ranges[0].least, 5u);
  EXPECT_EQ(read.ranges[0].greatest, 12u);
  EXPECT_EQ(read.ranges[1].least_bytes, "a");
  EXPECT_EQ(read.ranges[1].greatest_bytes, "\xff");
  EXPECT_FALSE(read.ranges[1].unknown);
}

TEST(RowSchema, OrdersNumbersAsTheirColumns) {
  const auto bytes = [](auto number) {
    std::string text(sizeof number, '\0');
    std::memcpy(text.data(), &number, sizeof number);
    return text;
  };
  RowColumn column;
  column.order = RowColumn::Order::kSigned;
  column.value_bytes = 4;
  EXPECT_LT(OrderedNumber(column, bytes(std::int32_t{-2})), OrderedNumber(column, bytes(std::int32_t{1})));
  column.order = RowColumn::Order::kUnsigned;
  EXPECT_LT(OrderedNumber(column, bytes(std::int32_t{1})), OrderedNumber(column, bytes(std::int32_t{-2})));
  column.order = RowColumn::Order::kFloat;
  column.value_bytes = 8;
  const double doubles[] = {-1e300, -2.5, 0, 1e-300, 7};
  for (std::size_t i = 0; i + 1 < std::size(doubles); ++i) {
    EXPECT_LT(OrderedNumber(column, bytes(doubles[i])), OrderedNumber(column, bytes(doubles[i + 1])));
    EXPECT_EQ(DoubleOfOrdered(OrderedNumber(column, bytes(doubles[i]))), doubles[i]);
  }
  column.order = RowColumn::Order::kBigSigned;
  column.value_bytes = 0;
  EXPECT_EQ(DoubleOfOrdered(OrderedNumber(column, std::string("\xff\xff\xfb", 3))), -5);
  EXPECT_EQ(DoubleOfOrdered(OrderedNumber(column, std::string("\x01\0\0", 3))), 65536);
  EXPECT_EQ(DoubleOfOrdered(OrderedNumber(column, std::string(16, '\0') + "\x07")), 7);
}

TEST(RowSchema, TellsWhereItsHeaderEnds) {
  std::vector<std::byte> bytes = TwoColumns().Header();
  const std::size_t size = bytes.size();
  bytes.resize(size + 5);
  EXPECT_EQ(RowSchema::HeaderBytes(bytes), size);
  for (std::size_t front = 0; front < size; ++front) {
    EXPECT_EQ(RowSchema::HeaderBytes(std::span(bytes).first(front)), 0u);
    EXPECT_THROW(RowSchema::Parse(std::span(bytes).first(front)), Error);
  }
  bytes[0] = std::byte{'x'};
  EXPECT_THROW(RowSchema::HeaderBytes(bytes), Error);
}

TEST(RowSchema, ComparesInputsByTheirColumnsAlone) {
  RowSchema one = TwoColumns(), other = TwoColumns();
  other.file = "other";
  other.sorted.clear();
  const auto equal = [](const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    return std::ranges::equal(RowSchema::ColumnsOf(a), RowSchema::ColumnsOf(b));
  };
  EXPECT_TRUE(equal(one.Header(), other.Header()));
  other.columns[1].shape += "x";
  EXPECT_FALSE(equal(one.Header(), other.Header()));
}

TEST(RowReader, ReadsNumbersOfAnySize) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, ~std::uint64_t{0}}) {
    std::vector<std::byte> row(kRowSizeBytes + 10);
    auto* const begin = reinterpret_cast<unsigned char*>(row.data()) + kRowSizeBytes;
    const auto size = static_cast<std::size_t>(PutRowNumber(begin, number) - begin);
    EXPECT_EQ(size, RowNumberBytes(number));
    RowReader reader{RecordBytes(row).first(kRowSizeBytes + size)};
    EXPECT_EQ(reader.TakeNumber(), number);
    EXPECT_TRUE(reader.done());
    RowReader cut{RecordBytes(row).first(kRowSizeBytes + size - 1)};
    EXPECT_THROW(cut.TakeNumber(), Error);
  }
}

TEST(RowReader, RefusesValuesBeyondTheRow) {
  std::vector<std::byte> row(kRowSizeBytes + 3, std::byte{3});
  const RowColumn text{.name = "t", .group = "", .type_text = "", .shape = ""};
  RowReader cut(row);
  EXPECT_THROW(cut.TakeValue(text), Error);  // a string of 3 bytes, of which 2 are there
  row.push_back(std::byte{3});
  RowReader whole(row);
  EXPECT_EQ(whole.TakeValue(text).size(), 3u);
  EXPECT_THROW(whole.Take(1), Error);
  const RecordBytes front = RecordBytes(row).first(2);
  EXPECT_THROW(RowReader{front}, Error);
}

}  // namespace
}  // namespace gpusort
