#include "formats/suggest_type.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "formats/value_key.hpp"

namespace gpusort {
namespace {

std::string Suggested(const std::vector<std::string>& samples, const ValueRule& given = {}) {
  std::string text;
  for (const Suggestion& way : SuggestTypes(samples, given))
    text += (text.empty() ? "" : "; ") + way.type + way.options;
  return text;
}

TEST(SuggestTypes, NamesWhatReadsAllSamples) {
  EXPECT_EQ(Suggested({}), "");
  EXPECT_EQ(Suggested({"1", "20"}), "int");
  EXPECT_EQ(Suggested({"1", "2.5"}), "decimal");
  EXPECT_EQ(Suggested({"1", "2,500"}), "number; decimal --decimal-point ','");
  EXPECT_EQ(Suggested({"1", "2,500", "1,000,000.5"}), "number");
  EXPECT_EQ(Suggested({"12,34,567"}), "number");
  EXPECT_EQ(Suggested({"1.234.567"}), "number --decimal-point ','");
  EXPECT_EQ(Suggested({"$5", "$1,000.00"}), "number");
  EXPECT_EQ(Suggested({"11/12/2026", "1/2/2026"}), "date(%m/%d/%Y); date(%d/%m/%Y)");
  EXPECT_EQ(Suggested({"11/12/2026", "11/13/2026"}), "date(%m/%d/%Y)");
  EXPECT_EQ(Suggested({"11.12.2026", "13.12.2026 10:00"}), "");
  EXPECT_EQ(Suggested({"Mon Nov 23 09:00:00 CET 2026"}), "timestamp(%a %b %d %H:%M:%S %z %Y)");
  EXPECT_EQ(Suggested({"2026-11-23 09:00:00 CET"}), "timestamp");
  EXPECT_EQ(Suggested({"11/12/2026 10:00", "11/13/2026 9:05"}), "timestamp(%m/%d/%Y %H:%M)");
  EXPECT_EQ(Suggested({"1.5K", "2M"}), "number");
  EXPECT_EQ(Suggested({"\u22125", "\u22126"}), "number");
  EXPECT_EQ(Suggested({"1,234", "1,23"}), "decimal --decimal-point ','");
  EXPECT_EQ(Suggested({"1.2.3", "1.10.3"}), "");
  EXPECT_EQ(Suggested({"100%", "a"}), "");
  ValueRule comma;
  comma.decimal_point = ',';
  EXPECT_EQ(Suggested({"1,5", "2"}, comma), "decimal");
  ValueRule typed;
  typed.typed = true;
  EXPECT_EQ(Suggested({"yes", "no"}, typed), "bool");
  EXPECT_EQ(Suggested({"yes", "no"}), "");
}

RC_GTEST_PROP(SuggestTypes, TakesAnyTexts, ()) {
  const auto samples =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::element(
          '0', '1', '2', '9', '.', ',', ':', '-', '/', ' ', '%', '$', 'J', 'a', 'n', 'P', 'M', '\0', '\xE2', '('))));
  for (const Suggestion& way : SuggestTypes(samples, {})) RC_ASSERT(!way.type.empty());
}

TEST(IsCompactTime, KnowsDaysWithoutSeparators) {
  for (const char* text : {"20261123", "19000101", "202611231059", "20261123105959"})
    EXPECT_TRUE(IsCompactTime(text)) << text;
  for (const char* text :
       {"20261323", "20260230", "1700000000", "1700000000123", "202611232459", "18991231", "2026112", "2026-1-1"}) {
    EXPECT_FALSE(IsCompactTime(text)) << text;
  }
}

}  // namespace
}  // namespace gpusort
