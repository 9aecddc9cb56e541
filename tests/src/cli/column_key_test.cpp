// Tests keys of records with columns: the meaning of operands, the complaints about wrong ones, and that a key that is
// written out again is the same key.
#include "cli/column_key.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "formats/value_key.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

std::string Complaint(const std::string& text) {
  try {
    ParseColumnKey(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(ParseColumnKey, TakesNamesNumbersAndPaths) {
  for (const std::string name : {"a", "user id", "/a/b/0", "a.b[0]", "a#1", "asc", "int", "-", "it's"}) {
    const ColumnKey key = ParseColumnKey(name);
    EXPECT_EQ(key.column, name);
    EXPECT_EQ(key.text, name);
    EXPECT_EQ(key.number, 0u);
    EXPECT_EQ(key.rule, ValueRule{});
  }
  const ColumnKey key = ParseColumnKey("#12:int");
  EXPECT_EQ(key.number, 12u);
  EXPECT_EQ(key.column, "12");
  EXPECT_EQ(key.rule.type, ValueType::kInt);
  EXPECT_EQ(ParseColumnKey("#18446744073709551615").number, ~std::uint64_t{0});
  EXPECT_EQ(ParseColumnKey("\"a:b\"\"c\":int").column, "a:b\"c");
  EXPECT_EQ(ParseColumnKey("\"#1\"").number, 0u);
  EXPECT_EQ(ParseColumnKey("\"#1\"").column, "#1");
  EXPECT_EQ(ParseColumnKey("\"\"").column, "");
}

TEST(ParseColumnKey, TakesWordsInAnyOrder) {
  const ColumnKey key = ParseColumnKey("t:nulls-first:desc:decimal", ',', '.');
  EXPECT_EQ(key.rule.type, ValueType::kDecimal);
  EXPECT_TRUE(key.rule.typed);
  EXPECT_TRUE(key.rule.descending);
  EXPECT_EQ(key.rule.nulls_first, true);
  EXPECT_EQ(key.rule.decimal_point, ',');
  EXPECT_EQ(key.rule.thousands, '.');
  const ColumnKey plain = ParseColumnKey("t:asc:nulls-last");
  EXPECT_FALSE(plain.rule.typed);
  EXPECT_FALSE(plain.rule.descending);
  EXPECT_EQ(plain.rule.nulls_first, false);
  EXPECT_TRUE(ParseColumnKey("t:text").rule.typed);
}

TEST(ParseColumnKey, TakesFormatsWithColonsAndBrackets) {
  const auto format = [](const std::string& text) { return ParseColumnKey(text).rule.time_format; };
  EXPECT_EQ(format("t:timestamp(%H:%M)"), "%H:%M");
  EXPECT_EQ(format("t:timestamp(%H:%M (%Z)):desc"), "%H:%M (%Z)");
  EXPECT_EQ(format("t:desc:timestamp(a)b:c)"), "a)b:c");
  EXPECT_EQ(format("t:timestamp(%F):desc:nulls-last"), "%F");
  EXPECT_TRUE(ParseColumnKey("t:timestamp(%F):desc").rule.descending);
  EXPECT_EQ(format("t:timestamp"), "");
}

TEST(ParseColumnKey, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "names no column"},
      {":int", "names no column"},
      {"#0", "'#0' is no column's number"},
      {"#", "'#' is no column's number"},
      {"#x", "'#x' is no column's number"},
      {"#1x", "'#1x' is no column's number"},
      {"#18446744073709551616", "is no column's number"},
      {"\"a", "no closing quote"},
      {"\"a\"\"", "no closing quote"},
      {"\"a\"b", "'b' behind the closing quote"},
      {"a:", "unknown ''"},
      {"a:int:", "unknown ''"},
      {"a:b:int", "unknown 'b'"},
      {"a:Int", "unknown 'Int'"},
      {"a:int:float", "a second type, 'float'"},
      {"a:int:int", "a second type, 'int'"},
      {"a:asc:desc", "a second direction, 'desc'"},
      {"a:nulls-first:nulls-first", "a second place for nulls"},
      {"a:timestamp()", "an empty time format"},
      {"a:timestamp(%F", "unknown 'timestamp(%F'"},
      {"a:timestamp(%F)x", "unknown 'timestamp(%F)x'"},
      {"a:date(%F)", "unknown 'date(%F)'"}};
  for (const auto& [text, why] : cases) {
    const std::string complaint = Complaint(text);
    EXPECT_NE(complaint.find(why), std::string::npos) << text << ": " << complaint;
    EXPECT_NE(complaint.find("'" + text + "'"), std::string::npos) << complaint;
  }
  EXPECT_NE(Complaint("a:b").find("text, nocase, natural"), std::string::npos);
  EXPECT_NE(Complaint("a:b").find("double quotes"), std::string::npos);
}

RC_GTEST_PROP(ParseColumnKey, ReadsWhatIsWrittenOut, ()) {
  ColumnKey key;
  key.column = *rc::gen::container<std::string>(rc::gen::element('a', ':', '"', '#', '1', ' ', '\n', '\xff'));
  key.text = "\"";
  for (const char c : key.column) key.text += c == '"' ? "\"\"" : std::string(1, c);
  key.text += '"';
  if (*rc::gen::arbitrary<bool>()) {
    key.rule.typed = true;
    key.rule.type = static_cast<ValueType>(*rc::gen::inRange(0, static_cast<int>(ValueType::kBytesHex) + 1));
    key.text += ":" + std::string(ValueTypeName(key.rule.type));
    if (key.rule.type == ValueType::kTimestamp && *rc::gen::arbitrary<bool>()) {
      key.rule.time_format = "x" + *rc::gen::container<std::string>(rc::gen::element('%', ':', '(', 'a', '"'));
      key.text += "(" + key.rule.time_format + ")";
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    key.rule.descending = true;
    key.text += ":desc";
  }
  if (*rc::gen::arbitrary<bool>()) {
    key.rule.nulls_first = *rc::gen::arbitrary<bool>();
    key.text += *key.rule.nulls_first ? ":nulls-first" : ":nulls-last";
  }
  RC_ASSERT(ParseColumnKey(key.text) == key);
}

}  // namespace
}  // namespace gpusort
