// Tests exact sums of decimal numbers.
#include "formats/decimal_sum.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpusort::testing {
namespace {

using boost::multiprecision::cpp_int;
using Texts = std::vector<std::string>;

std::optional<std::string> SumOf(const Texts& texts, const ValueRule& rule = {}) {
  DecimalSum sum;
  for (const std::string& text : texts) {
    DecimalSum::Number number;
    if (DecimalSum::ReadNumber(text, rule, number) != DecimalSum::Read::kNumber) return std::nullopt;
    sum.Add(number);
  }
  return sum.Text(rule);
}

DecimalSum::Read Read(const std::string& text, const ValueRule& rule = {}) {
  DecimalSum::Number number;
  return DecimalSum::ReadNumber(text, rule, number);
}

TEST(DecimalSum, HasTheScaleOfItsNumbers) {
  EXPECT_EQ(SumOf({"0.1", "0.2"}), "0.3");
  EXPECT_EQ(SumOf({"1.50", "-1.5"}), "0.00");
  EXPECT_EQ(SumOf({"-0", "+0"}), "0");
  EXPECT_EQ(SumOf({"1e3", "1E-3"}), "1000.001");
  EXPECT_EQ(SumOf({"1.50e1"}), "15.0");
  EXPECT_EQ(SumOf({"0e999999999999999999999", "007", ".5", "5."}), "12.5");
  EXPECT_EQ(SumOf({"-0.004", "0.001"}), "-0.003");
  EXPECT_EQ(SumOf({"0e-3"}), "0.000");
}

TEST(DecimalSum, IsWrittenAsItsNumbersAre) {
  ValueRule german;
  german.decimal_point = ',';
  german.thousands = '.';
  EXPECT_EQ(SumOf({"1.234,5", "-0,25"}, german), "1.234,25");
  EXPECT_EQ(SumOf({"999999", "1"}, german), "1000000");
  EXPECT_EQ(SumOf({"999999", "-1.000.000"}, german), "-1");
  EXPECT_EQ(SumOf({"-999.999", "-1"}, german), "-1.000.000");
}

TEST(DecimalSum, RefusesOtherTexts) {
  for (const char* text : {"", "-", ".", "-.", "x", "1x", "1 2", "1,5", "0x10", "1e", "1e+", "1e1.5", "1.2.3", "--1",
                           "NaN", "inf", "$5", "1_000"}) {
    EXPECT_EQ(Read(text), DecimalSum::Read::kNoNumber) << text;
  }
  const std::string nines(DecimalSum::kMostDigits, '9');
  for (const std::string& text : {nines, "-0000" + nines, "." + nines, nines + "." + nines, std::string("1e999"),
                                  std::string("1e-1000"), std::string("12e-00001000")}) {
    EXPECT_EQ(Read(text), DecimalSum::Read::kNumber) << text;
  }
  for (const std::string& text : {nines + "0", "." + nines + "0", std::string("1e1000"), std::string("1e-1001"),
                                  std::string("-1e99999999999999999999"), std::string("0e-1001")}) {
    EXPECT_EQ(Read(text), DecimalSum::Read::kTooLong) << text;
  }
}

/// A number as its digits, which are divided by 10^scale.
struct RandomDecimal {
  cpp_int digits;
  unsigned scale = 0;
  std::string text;
};

RandomDecimal AnyDecimal() {
  const auto size = *rc::gen::element<std::size_t>(1, 3, 9, 17, 18, 19, 36, 37, 38, 39, 60);
  std::string digits = *rc::gen::container<std::string>(size, rc::gen::inRange('0', static_cast<char>('9' + 1)));
  RandomDecimal any;
  any.scale = *rc::gen::inRange(0u, static_cast<unsigned>(size));
  digits.insert(0, "1");  // no leading zero, which would mean octal digits here
  any.digits = cpp_int(digits);
  const bool negative = *rc::gen::arbitrary<bool>();
  if (negative) any.digits = -any.digits;
  any.text = negative ? "-" : "";
  if (*rc::gen::arbitrary<bool>()) {
    any.text += digits + "e-" + std::to_string(any.scale);
  } else {
    const std::size_t point = digits.size() - any.scale;
    any.text += digits.substr(0, point) + (any.scale > 0 ? "." + digits.substr(point) : "");
  }
  return any;
}

RC_GTEST_PROP(DecimalSum, IsExact, ()) {
  const auto count = *rc::gen::inRange(1, 30);
  std::vector<RandomDecimal> numbers;
  unsigned scale = 0;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(AnyDecimal());
    scale = std::max(scale, numbers.back().scale);
  }
  const cpp_int ten = 10;
  cpp_int total = 0;
  for (const RandomDecimal& any : numbers) total += any.digits * boost::multiprecision::pow(ten, scale - any.scale);
  std::string want = cpp_int(abs(total)).str();
  if (want.size() <= scale) want.insert(0, scale + 1 - want.size(), '0');
  if (scale > 0) want.insert(want.size() - scale, ".");
  if (total < 0) want.insert(0, "-");

  // Some numbers are added one by one, and some as sums.
  DecimalSum sum, part, again;
  for (const RandomDecimal& any : numbers) {
    DecimalSum::Number number;
    RC_ASSERT(DecimalSum::ReadNumber(any.text, {}, number) == DecimalSum::Read::kNumber);
    (*rc::gen::arbitrary<bool>() ? part : sum).Add(number);
  }
  sum.Add(part);
  RC_ASSERT(sum.Text({}) == want);
  DecimalSum::Number number;
  RC_ASSERT(DecimalSum::ReadNumber(want, {}, number) == DecimalSum::Read::kNumber);
  again.Add(number);
  RC_ASSERT(sum.Equals(again));
  RC_ASSERT(DecimalSum::ReadNumber("1e-70", {}, number) == DecimalSum::Read::kNumber);
  again.Add(number);
  RC_ASSERT(!sum.Equals(again));
  sum.Clear();
  RC_ASSERT(!sum.any());
}

}  // namespace
}  // namespace gpusort::testing
