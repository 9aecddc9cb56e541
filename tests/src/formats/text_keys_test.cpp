// Tests the values of keys of text: fields against a slow division of the line, and matches of regular expressions.
#include "formats/text_keys.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Value = std::optional<std::string>;

ColumnKey Fields(std::uint64_t first, std::uint64_t last) {
  ColumnKey key;
  key.first_field = first;
  key.last_field = last;
  return key;
}

ColumnKey Pattern(const std::string& pattern) {
  ColumnKey key;
  key.pattern = pattern;
  key.text = "~" + pattern;
  return key;
}

Value Find(const ColumnKey& key, std::string_view text, int separator = -1) {
  TableOptions table;
  table.keys = {key};
  table.separator = separator;
  const std::optional<std::string_view> found = TextKeys(table).Find(0, text);
  if (!found) return std::nullopt;
  EXPECT_TRUE(found->data() >= text.data() && found->data() + found->size() <= text.data() + text.size());
  return std::string(*found);
}

TEST(TextKeys, FindsFields) {
  EXPECT_EQ(Find(Fields(1, 1), "a,,c", ','), "a");
  EXPECT_EQ(Find(Fields(2, 2), "a,,c", ','), "");
  EXPECT_EQ(Find(Fields(3, 3), "a,,c", ','), "c");
  EXPECT_EQ(Find(Fields(4, 4), "a,,c", ','), std::nullopt);
  EXPECT_EQ(Find(Fields(4, 4), "a,,c,", ','), "");
  EXPECT_EQ(Find(Fields(2, 9), "a,,c", ','), ",c");
  EXPECT_EQ(Find(Fields(1, 1), "", ','), "");
  EXPECT_EQ(Find(Fields(1, 1), " a  b"), "a");
  EXPECT_EQ(Find(Fields(2, 2), " a \t b "), "b");
  EXPECT_EQ(Find(Fields(1, 2), " a \t b "), "a \t b");
  EXPECT_EQ(Find(Fields(1, 9), " a  b "), "a  b");
  EXPECT_EQ(Find(Fields(3, 3), " a  b "), std::nullopt);
  EXPECT_EQ(Find(Fields(1, 1), "  "), std::nullopt);
  EXPECT_EQ(Find(Fields(2, ~std::uint64_t{0}), "a b c"), "b c");
  EXPECT_EQ(Find(Fields(2, ~std::uint64_t{0}), "a,b,c", ','), "b,c");
}

RC_GTEST_PROP(TextKeys, FindsTheFieldsOfASlowDivision, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ',', ',', ' ', '\t', 'c', 'd'));
  const auto first = *rc::gen::inRange<std::uint64_t>(1, 12);
  const auto last = first + *rc::gen::inRange<std::uint64_t>(0, 3);
  const bool blanks = *rc::gen::arbitrary<bool>();
  struct Part {
    std::size_t begin, end;
  };
  std::vector<Part> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(blanks ? " \t" : ",", at), text.size());
    if (!blanks || end > at) parts.push_back({at, end});
    at = end + 1;
  }
  Value expected;
  if (first <= parts.size()) {
    const std::size_t begin = parts[first - 1].begin;
    expected = text.substr(begin, parts[std::min<std::size_t>(last, parts.size()) - 1].end - begin);
  }
  RC_ASSERT(Find(Fields(first, last), text, blanks ? -1 : ',') == expected);
}

TEST(TextKeys, FindsMatches) {
  EXPECT_EQ(Find(Pattern("b+"), "abbc"), "bb");
  EXPECT_EQ(Find(Pattern("a(b+)(c)"), "xabbc"), "bb");
  EXPECT_EQ(Find(Pattern("(?P<id>[0-9]+)"), "a12 34"), "12");
  EXPECT_EQ(Find(Pattern("a(b)?"), "a"), std::nullopt);
  EXPECT_EQ(Find(Pattern("a(b?)"), "a"), "");
  EXPECT_EQ(Find(Pattern("(?:a|b)c"), "xbc"), "bc");
  EXPECT_EQ(Find(Pattern("^b"), "ab"), std::nullopt);
  EXPECT_EQ(Find(Pattern("(?m)^b$"), "a\nb"), "b");
  EXPECT_EQ(Find(Pattern("a.*"), "xab\nc"), "ab");
  EXPECT_EQ(Find(Pattern("x"), ""), std::nullopt);
}

TEST(TextKeys, MatchesBytesByAnExpressionOfAscii) {
  EXPECT_EQ(Find(Pattern("=(..)"), "=\xff\xfe\xfd"), "\xff\xfe");
  EXPECT_EQ(Find(Pattern("=(.)"), "=\xc3\xa4"), "\xc3");
  EXPECT_EQ(Find(Pattern("\xc3\xa4(.)"), "\xc3\xa4\xc3\xb6"), "\xc3\xb6");
  EXPECT_EQ(Find(Pattern("\\p{L}"), "1\xc3\xb6"), "\xc3\xb6");
}

TEST(TextKeys, RefusesInvalidExpressions) {
  for (const auto& [pattern, why] : {std::pair{"(", "missing ): ("},
                                     {"a**", "bad repetition operator: **"},
                                     {"(?=a)", "invalid perl operator: (?="},
                                     {"\xff", "invalid UTF-8"},
                                     {"((a{100}){100}){100}", "invalid repetition size"}}) {
    try {
      Find(Pattern(pattern), "");
      FAIL() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gpusort
