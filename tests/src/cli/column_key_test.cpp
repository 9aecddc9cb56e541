// Tests keys of records with columns: the meaning of operands, the complaints about wrong ones, and that a key that is
// written out again is the same key.
#include "cli/column_key.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
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
      {"\"a\"b", "'b' after the closing quote"},
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
      {"a:int(%F)", "unknown 'int(%F)'"},
      {"a:date()", "an empty time format"},
      {"a:enum", "an enum needs its words"},
      {"a:enum()", "an enum needs its words"},
      {"a:enum(x,,y)", "is empty"},
      {"a:enum(x,)", "is empty"},
      {"a:enum(x,y,x)", "has 'x' twice"}};
  for (const auto& [text, why] : cases) {
    const std::string complaint = Complaint(text);
    EXPECT_NE(complaint.find(why), std::string::npos) << text << ": " << complaint;
    EXPECT_NE(complaint.find("'" + text + "'"), std::string::npos) << complaint;
  }
  EXPECT_NE(Complaint("a:enum(x,'y)").find("has no closing quote"), std::string::npos);
  EXPECT_NE(Complaint("a:enum('x'y)").find("there is no comma"), std::string::npos);
  EXPECT_EQ(ParseColumnKey("a:enum(x, 'it''s, y', z w):desc").rule.labels,
            (std::vector<std::string>{"x", "it's, y", "z w"}));
  EXPECT_EQ(ParseColumnKey("a:date(%d.%m.%Y):desc").rule.time_format, "%d.%m.%Y");
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

TEST(IsTextKey, TellsKeysOfTextFromOtherKeys) {
  for (const char* const text :
       {"~a", "~", "~a:b:int", "3:int", "3:desc", "3,4:timestamp(%H:%M)", "12:i128", "3,:int"}) {
    EXPECT_TRUE(IsTextKey(text)) << text;
  }
  for (const char* const text : {"", "3", "3n", "2,3", "2.1,3", "3n:int", "8:i64", "8:i64:desc", "0:bytes10", "a",
                                 "#3:int", "\"~a\"", ",3:int"}) {
    EXPECT_FALSE(IsTextKey(text)) << text;
  }
}

TEST(ParseTextKey, TakesFields) {
  const ColumnKey one = ParseTextKey("3:int:desc");
  EXPECT_EQ(one.first_field, 3u);
  EXPECT_EQ(one.last_field, 3u);
  EXPECT_EQ(one.column, "3");
  EXPECT_EQ(one.rule.type, ValueType::kInt);
  EXPECT_TRUE(one.rule.descending);
  EXPECT_TRUE(one.of_text());
  const ColumnKey two = ParseTextKey("3,12:timestamp(%d:%m):nulls-first");
  EXPECT_EQ(two.first_field, 3u);
  EXPECT_EQ(two.last_field, 12u);
  EXPECT_EQ(two.rule.time_format, "%d:%m");
  EXPECT_EQ(two.rule.nulls_first, true);
  for (const char* const wrong :
       {"0:int", "1,0:int", "2,1:int", "1,:int", "1,2,3:int", "1:", "1:nit", "1:int:int", "99999999999999999999:int"}) {
    EXPECT_THROW(ParseTextKey(wrong), Error) << wrong;
  }
}

TEST(ParseTextKey, TakesTheWordsOffTheEndOfAnExpression) {
  struct Case {
    const char *text, *pattern;
    ValueType type;
    bool typed, descending;
  };
  const Case cases[] = {
      {"~a", "a", ValueType::kText, false, false},
      {"~a:b", "a:b", ValueType::kText, false, false},
      {"~a:int", "a", ValueType::kInt, true, false},
      {"~(?:a:b):decimal:desc", "(?:a:b)", ValueType::kDecimal, true, true},
      {"~a:desc:decimal", "a", ValueType::kDecimal, true, true},
      {"~a[:]int", "a[:]int", ValueType::kText, false, false},
      {"~a[:]int:text", "a[:]int", ValueType::kText, true, false},
      {"~int:(.*):int", "int:(.*)", ValueType::kInt, true, false},
      {"~a::int", "a:", ValueType::kInt, true, false},
      {"~time:(.*):timestamp(%H:%M):desc", "time:(.*)", ValueType::kTimestamp, true, true},
      {"~(a:timestamp(b))", "(a:timestamp(b))", ValueType::kText, false, false},
      {"~a:b-c", "a:b-c", ValueType::kText, false, false},
  };
  for (const Case& of : cases) {
    const ColumnKey key = ParseTextKey(of.text);
    EXPECT_EQ(key.pattern, of.pattern) << of.text;
    EXPECT_EQ(key.column, std::string("~") + of.pattern);
    EXPECT_EQ(key.rule.type, of.type) << of.text;
    EXPECT_EQ(key.rule.typed, of.typed) << of.text;
    EXPECT_EQ(key.rule.descending, of.descending) << of.text;
  }
  EXPECT_EQ(ParseTextKey("~x:(.*):timestamp(%H:%M)").rule.time_format, "%H:%M");
  EXPECT_NE(Complaint("~a:decimla").find("did you mean decimal?"), std::string::npos);
  EXPECT_NE(Complaint("~a:int:int").find("a second type"), std::string::npos);
  EXPECT_NE(Complaint("~a:desc:asc").find("a second direction"), std::string::npos);
  for (const char* const empty : {"~", "~:int", "~:int:desc"}) {
    EXPECT_NE(Complaint(empty).find("no regular expression"), std::string::npos) << empty;
  }
}

RC_GTEST_PROP(ParseTextKey, ReadsWhatIsWrittenOut, ()) {
  ColumnKey key;
  if (*rc::gen::arbitrary<bool>()) {
    key.pattern =
        *rc::gen::container<std::string>(rc::gen::element('a', ':', '"', '(', ')', '%', ' ', '\xff', '~')) + ".";
    key.text = key.column = "~" + key.pattern;
  } else {
    key.first_field = *rc::gen::inRange(1, 100);
    key.last_field = key.first_field + *rc::gen::inRange<std::uint64_t>(0, 2);
    key.column = std::to_string(key.first_field);
    if (key.last_field > key.first_field) key.column += "," + std::to_string(key.last_field);
    key.text = key.column;
  }
  key.rule.type = static_cast<ValueType>(*rc::gen::inRange(0, static_cast<int>(ValueType::kBytesHex) + 1));
  key.rule.typed = true;
  std::vector<std::string> words{std::string(ValueTypeName(key.rule.type))};
  if (key.rule.type == ValueType::kTimestamp && *rc::gen::arbitrary<bool>()) {
    key.rule.time_format = "%" + *rc::gen::container<std::string>(rc::gen::element('%', ':', 'a', '"'));
    words[0] += "(" + key.rule.time_format + ")";
  }
  if (*rc::gen::arbitrary<bool>()) {
    key.rule.descending = true;
    words.emplace_back("desc");
  }
  if (*rc::gen::arbitrary<bool>()) {
    key.rule.nulls_first = *rc::gen::arbitrary<bool>();
    words.emplace_back(*key.rule.nulls_first ? "nulls-first" : "nulls-last");
  }
  if (*rc::gen::arbitrary<bool>()) std::reverse(words.begin(), words.end());
  for (const std::string& word : words) key.text += ":" + word;
  RC_ASSERT(IsTextKey(key.text));
  RC_ASSERT(ParseTextKey(key.text) == key);
}

RC_GTEST_PROP(ParseTextKey, TakesOrRefusesAnyText, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "~", ":", "int", "desc", "timestamp(", ")", "%H", "3", ",", "a", "nulls-first", "decimla", "\"", ".", "#", "("));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  try {
    const ColumnKey key = IsTextKey(text) ? ParseTextKey(text) : ParseColumnKey(text);
    RC_ASSERT(key.of_text() == IsTextKey(text));
    RC_ASSERT(key.text == text);
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace gpusort
