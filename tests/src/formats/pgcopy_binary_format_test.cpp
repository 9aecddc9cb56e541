// Compares the format COPY BINARY with a parser that reads field by field, wherever blocks end. Compares values in the
// servers' binary forms with the same values as text.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cut_records.hpp"
#include "formats/formats.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace std::string_literals;
using namespace gpusort::testing;
using Tuple = std::vector<std::optional<std::string>>;

template <typename T>
std::string Big(T value) {
  std::string bytes;
  for (unsigned i = sizeof(T); i-- > 0;) bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 0xFF);
  return bytes;
}

std::string Tuples(const Tuple& tuple) {
  std::string bytes = Big(static_cast<std::int16_t>(tuple.size()));
  for (const auto& field : tuple) {
    bytes += Big(field ? static_cast<std::int32_t>(field->size()) : -1) + field.value_or("");
  }
  return bytes;
}

std::string Header(std::int32_t flags, const std::string& extension = "") {
  return "PGCOPY\n\377\r\n\0"s + Big(flags) + Big(static_cast<std::int32_t>(extension.size())) + extension;
}

JobSpec BinaryOptions(std::vector<ColumnKey> keys) {
  JobSpec spec;
  spec.source.table.emplace();
  spec.source.table->name = "pgcopy-binary";
  spec.source.table->keys = std::move(keys);
  return spec;
}

std::int64_t Number(const std::string& bytes, std::size_t at, unsigned size) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < size; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(number << (64 - 8 * size)) >> (64 - 8 * size);
}

/// Returns the ends of tuples, or std::nullopt if `text` is not correct, including its trailer.
std::optional<std::vector<std::size_t>> EndsOf(const std::string& text) {
  std::vector<std::size_t> ends;
  std::optional<std::int64_t> columns;
  for (std::size_t at = 0;;) {
    if (text.size() - at < 2) return std::nullopt;
    const std::int64_t count = Number(text, at, 2);
    at += 2;
    if (count == -1) return at == text.size() ? std::optional(ends) : std::nullopt;
    if (count < 0 || count != columns.value_or(count)) return std::nullopt;
    columns = count;
    for (std::int64_t i = 0; i < count; ++i) {
      if (text.size() - at < 4) return std::nullopt;
      const std::int64_t length = Number(text, at, 4);
      at += 4;
      if (length < -1 || (length > 0 && text.size() - at < static_cast<std::uint64_t>(length))) return std::nullopt;
      at += length > 0 ? static_cast<std::size_t>(length) : 0;
    }
    ends.push_back(at);
  }
}

RC_GTEST_PROP(PgCopyBinaryFormat, ReadsTuplesAsASlowParser, ()) {
  const auto columns = *rc::gen::inRange<std::size_t>(0, 4);
  std::string text;
  std::vector<Tuple> tuples(*rc::gen::inRange<std::size_t>(0, 6));
  for (Tuple& tuple : tuples) {
    tuple.resize(columns);
    for (auto& value : tuple) {
      if (*rc::gen::inRange(0, 4) > 0) value = (*rc::gen::arbitrary<std::string>()).substr(0, 9);
    }
    text += Tuples(tuple);
  }
  text += Big(std::int16_t{-1});
  // Most texts are correct.
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
      break;
    case 1:
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = static_cast<char>(*rc::gen::element(-1, 0, 1, 2));
      break;
    case 2:
      text += *rc::gen::element("a"s, Big(std::int16_t{-1}));
      break;
  }
  const auto ends = EndsOf(text);
  for (const bool all : {true, false}) {
    const JobSpec spec =
        BinaryOptions(all ? std::vector<ColumnKey>{}
                          : std::vector{TypedKey(2, ValueType::kText, true), TypedKey(1, ValueType::kText)});
    const CutInput cut =
        CutEverywhere(*MakePgCopyBinaryFormat(spec), text, [](std::size_t) { RC_FAIL("cuts matter"); });
    if (text.empty()) continue;  // nothing is read then
    RC_ASSERT(cut.error.empty() == ends.has_value());
    if (!ends) continue;
    RC_ASSERT(cut.trailer == Big(std::int16_t{-1}));
    RC_ASSERT(cut.records.size() == ends->size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < ends->size(); ++i) {
      RC_ASSERT(cut.records[i].body == text.substr(at, (*ends)[i] - at));
      at = (*ends)[i];
    }
    RC_ASSERT(at + 2 == text.size());
    for (std::size_t i = 0; i < tuples.size() && tuples.size() == ends->size(); ++i) {
      if (Tuples(tuples[i]) != cut.records[i].body) continue;
      RC_ASSERT(cut.records[i].key == KeyBytes([&](FieldWriter& out) {
                  const auto put = [&](const ValueRule& rule, std::size_t column) {
                    const ValueKey key(rule);
                    if (column < columns && tuples[i][column]) {
                      key.Put(*tuples[i][column], out);
                    } else {
                      key.PutNull(out);
                    }
                  };
                  for (std::size_t column = 0; all && column < columns; ++column) put({}, column);
                  for (const ColumnKey& key : spec.source.table->keys) put(key.rule, key.number - 1);
                }));
    }
  }
}

/// Returns the key of a value in binary form.
std::string BinaryKey(ValueType type, const std::string& value, bool descending, std::uint64_t* bad = nullptr) {
  const JobSpec spec = BinaryOptions({TypedKey(1, type, descending)});
  const std::string tuple = Tuples({value});
  const CutInput cut = CutRecords(*MakePgCopyBinaryFormat(spec), tuple + Big(std::int16_t{-1}), 1000);
  EXPECT_EQ(cut.error, "");
  if (bad != nullptr) *bad = cut.tally.columns[0].bad.count;
  return cut.records.at(0).key;
}

std::string TextKey(ValueType type, const std::string& text, bool descending) {
  const ValueKey key(TypedKey(1, type, descending).rule);
  return KeyBytes([&](FieldWriter& out) { EXPECT_TRUE(key.Put(text, out)) << text; });
}

void ExpectSame(ValueType type, const std::string& binary, const std::string& text) {
  for (const bool descending : {false, true}) {
    RC_ASSERT(BinaryKey(type, binary, descending) == TextKey(type, text, descending));
  }
}

RC_GTEST_PROP(PgCopyBinaryFormat, OrdersNumbersAsTheirTexts,
              (std::int16_t two, std::int32_t four, std::int64_t eight)) {
  ExpectSame(ValueType::kInt, Big(two), std::to_string(two));
  ExpectSame(ValueType::kInt, Big(four), std::to_string(four));
  ExpectSame(ValueType::kInt, Big(eight), std::to_string(eight));
  const double value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  ExpectSame(ValueType::kFloat, Big(std::bit_cast<std::uint64_t>(value)), std::isnan(value) ? "NaN" : text);
  const float small = std::bit_cast<float>(static_cast<std::uint32_t>(four));
  std::snprintf(text, sizeof(text), "%.17g", static_cast<double>(small));
  ExpectSame(ValueType::kFloat, Big(std::bit_cast<std::uint32_t>(small)), std::isnan(small) ? "NaN" : text);
}

/// Digits of base 10000 around the decimal point.
RC_GTEST_PROP(PgCopyBinaryFormat, OrdersNumericsAsTheirTexts, (bool negative)) {
  const auto digits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10000));
  const int weight = *rc::gen::inRange(-4, 6);
  std::string bytes = Big(static_cast<std::int16_t>(digits.size())) + Big(static_cast<std::int16_t>(weight)) +
                      Big(static_cast<std::int16_t>(negative ? 0x4000 : 0)) + Big(std::int16_t{0});
  std::string text = negative ? "-" : "";
  if (weight < 0 || digits.empty()) text += "0";
  if (weight < 0) text += "." + std::string(static_cast<std::size_t>(-weight - 1) * 4, '0');
  for (int i = 0; i < static_cast<int>(digits.size()); ++i) {
    const int digit = digits[static_cast<std::size_t>(i)];
    if (i == weight + 1 && weight >= 0) text += ".";
    char four[8];
    std::snprintf(four, sizeof(four), "%04d", digit);
    text += four;
    bytes += Big(static_cast<std::int16_t>(digit));
  }
  for (int i = static_cast<int>(digits.size()); i <= weight && !digits.empty(); ++i) text += "0000";
  ExpectSame(ValueType::kDecimal, bytes, text);
}

RC_GTEST_PROP(PgCopyBinaryFormat, OrdersTimesAsTheirTexts, ()) {
  using namespace std::chrono;
  const auto days = *rc::gen::inRange<std::int32_t>(-700000, 2900000);
  const year_month_day day{sys_days(std::chrono::days(days))};
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()));
  ExpectSame(ValueType::kDate, Big(days - 10957), text);
  const auto micros = *rc::gen::inRange<std::int64_t>(0, 86400000000);
  const std::string date = text;
  std::snprintf(text, sizeof(text), "%s %02d:%02d:%02d.%06d+00", date.c_str(), static_cast<int>(micros / 3600000000),
                static_cast<int>(micros / 60000000 % 60), static_cast<int>(micros / 1000000 % 60),
                static_cast<int>(micros % 1000000));
  ExpectSame(ValueType::kTimestamp, Big((std::int64_t{days} - 10957) * 86400000000 + micros), text);
}

TEST(PgCopyBinaryFormat, OrdersOtherTypesAsTheirTexts) {
  using Limits4 = std::numeric_limits<std::int32_t>;
  using Limits8 = std::numeric_limits<std::int64_t>;
  const auto same = [](ValueType type, const std::string& binary, const std::string& text) {
    for (const bool descending : {false, true}) {
      EXPECT_EQ(BinaryKey(type, binary, descending), TextKey(type, text, descending)) << text;
    }
  };
  same(ValueType::kDate, Big(Limits4::max()), "infinity");
  same(ValueType::kDate, Big(Limits4::min()), "-infinity");
  same(ValueType::kTimestamp, Big(Limits8::max()), "infinity");
  same(ValueType::kTimestamp, Big(Limits8::min()), "-infinity");
  same(ValueType::kBool, "\1", "t");
  same(ValueType::kBool, "\0"s, "f");
  same(ValueType::kDecimal, "\0\0\0\0\xC0\0\0\0"s, "NaN");
  same(ValueType::kDecimal, "\0\0\0\0\xD0\0\0\0"s, "Infinity");
  same(ValueType::kDecimal, "\0\0\0\0\xF0\0\0\0"s, "-Infinity");
  same(ValueType::kUuid, "\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11",
       "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
  same(ValueType::kIp, "\2\x18\0\4\xc0\xa8\1\0"s, "192.168.1.0/24");
  same(ValueType::kIp, "\3\x80\0\x10"s + std::string(15, '\0') + "\1", "::1");
  same(ValueType::kBytesHex, "\0\n\xff"s, "\\x000aff");
  same(ValueType::kNoCase, "aB", "Ab");
  same(ValueType::kNatural, "a10", "a10");
}

TEST(PgCopyBinaryFormat, TakesOtherLengthsForNoValues) {
  for (const ValueType type : {ValueType::kInt, ValueType::kDecimal, ValueType::kFloat, ValueType::kBool,
                               ValueType::kDate, ValueType::kTimestamp, ValueType::kIp, ValueType::kUuid}) {
    for (const std::string& value : {""s, "abc"s, "\0\2\0\0\0\0\0\0"s + "\0\1\0"s, std::string(33, 'a')}) {
      std::uint64_t bad = 0;
      BinaryKey(type, value, false, &bad);
      EXPECT_EQ(bad, 1) << static_cast<int>(type) << value;
    }
  }
}

TEST(PgCopyBinaryFormat, FindsTheEndOfTheHeader) {
  const JobSpec spec = BinaryOptions({TypedKey(1, ValueType::kText)});
  const std::unique_ptr<TableFormat> made = MakePgCopyBinaryFormat(spec);
  TableFormat& format = *made;
  for (const std::string& header : {Header(0), Header(0, "extension"), Header(1 << 16), Header(5)}) {
    for (std::size_t size = 0; size <= header.size() + 3; ++size) {
      const std::string front = (header + "abc").substr(0, size);
      if (size < header.size()) {
        EXPECT_EQ(format.HeaderBytes(Span(front), false), std::nullopt);
        EXPECT_THROW(format.HeaderBytes(Span(front), true), BadRecord);
      } else {
        EXPECT_EQ(format.HeaderBytes(Span(front), false), header.size());
      }
    }
  }
  EXPECT_THROW(format.HeaderBytes(Span("PGCOPY\n\xff\r\r"s), false), BadRecord);
  EXPECT_THROW(format.HeaderBytes(Span(Header(1 << 17)), false), BadRecord);
  // An OID before the columns is not a column.
  format.ReadHeader(Span(Header(1 << 16)));
  const std::string with_oid = Big(std::int16_t{1}) + Big(4) + "oids" + Big(1) + "x";
  const CutInput cut = CutRecords(format, with_oid + Big(std::int16_t{-1}), 3);
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.records.at(0).key, TextKey(ValueType::kText, "x", false));
}

TEST(PgCopyBinaryFormat, SaysWhatIsWrong) {
  const JobSpec spec = BinaryOptions({});
  const std::unique_ptr<TableFormat> made = MakePgCopyBinaryFormat(spec);
  const TableFormat& format = *made;
  const auto error = [&](const std::string& text) { return CutRecords(format, text, text.size()).error; };
  EXPECT_NE(error(Tuples({"a"})).find("trailer is missing"), std::string::npos);
  EXPECT_NE(error(Tuples({"a"}) + "\0"s).find("inside a tuple"), std::string::npos);
  EXPECT_NE(error(Tuples({"a"}) + Tuples({"a", "b"})).find("2 fields after a tuple of 1"), std::string::npos);
  ScanState first;
  format.Scan(Span(Tuples({"a"}) + Big(std::int16_t{-1})), first);
  ScanState next = format.NextInput(first);
  EXPECT_THROW(format.Scan(Span(Tuples({"a", "b"})), next), BadRecord);
  EXPECT_NE(error(Big(std::int16_t{-2})).find("-2 fields"), std::string::npos);
  EXPECT_NE(error(Big(std::int16_t{1}) + Big(-2)).find("-2 bytes"), std::string::npos);
  EXPECT_NE(error(Big(std::int16_t{-1}) + "x").find("after the trailer"), std::string::npos);
}

}  // namespace
}  // namespace gpusort
