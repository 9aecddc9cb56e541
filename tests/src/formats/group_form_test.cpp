// Tests how sums are kept until they are written, and how they are written into their records.
#include "formats/group_form.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace gpusort::testing {
namespace {

/// Returns CSV with a summed column for each of `thousands`, which are the separators of thousands.
JobSpec SpecOf(const std::vector<int>& thousands) {
  JobSpec spec;
  spec.source.table.emplace();
  spec.source.table->name = "csv";
  for (const int separator : thousands) {
    ColumnKey key;
    key.summed = true;
    key.rule.type = ValueType::kDecimal;
    key.rule.thousands = separator;
    spec.source.table->keys.push_back(key);
  }
  return spec;
}

// 1e999 + 1e-999 has 2000 digits, but what is kept of the sum is not much larger than the records.
RC_GTEST_PROP(GroupForm, KeepsLongSumsInFewBytes, ()) {
  const std::vector<int> thousands{-1, ' '};
  const JobSpec spec = SpecOf(thousands);
  const GroupForm form(spec);
  ColumnSums sums = form.NoSums(), totals = form.NoSums();
  std::vector<std::byte> mark;
  std::string record, want;
  std::size_t values = 0;
  for (std::size_t i = 0; i < thousands.size(); ++i) {
    const ValueRule& rule = spec.source.table->keys[i].rule;
    for (int left = *rc::gen::inRange(0, 4); left > 0; --left, ++values) {
      const std::string front = thousands[i] >= 0 && *rc::gen::arbitrary<bool>() ? "1 234.5e" : "7e";
      const std::string text =
          (*rc::gen::arbitrary<bool>() ? "-" : "") + front + std::to_string(*rc::gen::inRange(-990, 990));
      DecimalSum::Number number;
      RC_ASSERT(DecimalSum::ReadNumber(text, rule, number) == DecimalSum::Read::kNumber);
      sums[i].Add(number);
    }
    ValuePlace{.at = record.size(), .size = 1, .known = true, .null = false}.Append(mark);
    record += i == 0 ? "x," : "y";
    want += (sums[i].any() ? sums[i].Text(rule) : std::string(i == 0 ? "x" : "y")) + (i == 0 ? "," : "");
  }
  EndMark(mark);
  for (const char c : record) mark.push_back(static_cast<std::byte>(c));

  const std::string texts = form.TextsOf(sums);
  constexpr std::size_t kMostOfValue = 60, kMostOfSum = 50;
  RC_ASSERT(texts.size() <= kMostOfValue * values + kMostOfSum * sums.size());
  std::string got;
  form.Write({2, texts}, mark,
             [&](RecordSpan bytes) { got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
  RC_ASSERT(got == want);
  form.AddTexts(texts, totals);
  for (std::size_t i = 0; i < sums.size(); ++i) RC_ASSERT(totals[i].Equals(sums[i]));
  if (!texts.empty()) RC_ASSERT_THROWS_AS(form.AddTexts(texts.substr(0, texts.size() - 1), totals), WrongResult);
}

}  // namespace
}  // namespace gpusort::testing
