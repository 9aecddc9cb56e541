// Tests keys of typed values. The memcmp order of keys must be the order of the values by an independent reference
// (digit strings, <chrono>, __int128, libc). Equal values must have equal bytes. No key may be a prefix of another.
// Values that were never text must have the keys of their text. There are 100 cases for each property;
// RC_PARAMS=max_success=5000 runs more.
#include "formats/value_key.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "formats/time_text.hpp"
#include "kernels/error.hpp"
#include "lines.hpp"

namespace gpusort {
namespace {

using namespace std::string_literals;
using Texts = std::vector<std::string>;

constexpr ValueType kAllTypes[] = {
    ValueType::kText,     ValueType::kNoCase,     ValueType::kNatural,  ValueType::kLocale,   ValueType::kInt,
    ValueType::kDecimal,  ValueType::kFloat,      ValueType::kBool,     ValueType::kDate,     ValueType::kTimestamp,
    ValueType::kIp,       ValueType::kUuid,       ValueType::kBytesHex, ValueType::kNumber,   ValueType::kTime,
    ValueType::kInterval, ValueType::kMacAddress, ValueType::kBits,     ValueType::kSeverity, ValueType::kEnum,
    ValueType::kSet};

template <typename T>
int Sign(const T& a, const T& b) {
  return (b < a) - (a < b);
}

ValueRule Rule(ValueType type, bool descending = false) {
  ValueRule rule;
  rule.type = type;
  rule.descending = descending;
  if (HasLabels(type)) rule.labels = {"low", "mid high", "high"};
  return rule;
}

/// Returns the bytes that `put` writes, as a string in the order of memcmp.
template <typename Put>
std::string Bytes(const Put& put) {
  std::vector<std::byte> bytes;
  FieldWriter out(bytes);
  out.Begin(std::uint64_t{1} << 60);
  put(out);
  EXPECT_FALSE(out.reverse());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns the key, or an empty string if `text` is not a value.
std::string Key(const ValueRule& rule, const std::string& text, ZoneDoubt* doubt = nullptr) {
  bool good = false;
  std::string bytes = Bytes([&](FieldWriter& out) { good = ValueKey(rule).Put(text, out, doubt); });
  EXPECT_EQ(good, !bytes.empty()) << text;
  return bytes;
}
std::string Key(ValueType type, const std::string& text) { return Key(Rule(type), text); }
std::string FormatKey(const std::string& format, const std::string& text) {
  ValueRule rule = Rule(ValueType::kTimestamp);
  rule.time_format = format;
  return Key(rule, text);
}

bool Begins(const std::string& a, const std::string& b) { return a.size() < b.size() && b.starts_with(a); }

/// Returns the order of two texts by their keys, and checks the descending order as well.
int KeyOrder(ValueType type, const std::string& a, const std::string& b) {
  const std::string x = Key(type, a), y = Key(type, b);
  const std::string p = Key(Rule(type, true), a), q = Key(Rule(type, true), b);
  RC_ASSERT(!x.empty());
  RC_ASSERT(!y.empty());
  RC_ASSERT(!Begins(x, y) && !Begins(y, x) && !Begins(p, q) && !Begins(q, p));
  RC_ASSERT(Sign(x, y) == Sign(q, p));
  return Sign(x, y);
}

/// Expects equal keys within each group, and ascending keys from group to group.
void ExpectChain(ValueType type, const std::vector<Texts>& groups) {
  for (const bool descending : {false, true}) {
    const ValueRule rule = Rule(type, descending);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::string first = Key(rule, groups[i][0]);
      ASSERT_FALSE(first.empty()) << groups[i][0];
      for (const std::string& equal : groups[i]) EXPECT_EQ(Key(rule, equal), first) << groups[i][0] << " = " << equal;
      for (std::size_t k = 0; k < i; ++k) {
        const std::string before = Key(rule, groups[k][0]);
        EXPECT_EQ(Sign(before, first), descending ? 1 : -1) << groups[k][0] << " < " << groups[i][0];
        EXPECT_FALSE(Begins(before, first) || Begins(first, before)) << groups[k][0] << ", " << groups[i][0];
      }
    }
  }
}

void ExpectNone(ValueType type, const Texts& texts) {
  for (const std::string& text : texts) EXPECT_EQ(Key(type, text), "") << text;
}

std::string Digits(std::size_t most) {
  std::string digits = *rc::gen::container<std::string>(rc::gen::inRange('0', static_cast<char>('9' + 1)));
  digits.resize(std::min(digits.size(), most));
  return digits;
}

std::string Number128(__int128 value) {
  std::string text;
  const bool negative = value < 0;
  do {
    const int digit = static_cast<int>(value % 10);
    text.insert(text.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  return (negative ? "-" : *rc::gen::element<std::string>("", "+")) + std::string(*rc::gen::inRange(0, 3), '0') + text;
}

RC_GTEST_PROP(ValueKey, IntsOrderAsNumbers, ()) {
  const auto any = [] {
    const auto high = *rc::gen::arbitrary<std::int64_t>();
    const auto low = *rc::gen::arbitrary<std::int64_t>();
    return *rc::gen::arbitrary<bool>() ? __int128{low} : high * (__int128{1} << 62) + low;
  };
  const __int128 a = any(), b = *rc::gen::arbitrary<bool>() ? any() : a + *rc::gen::inRange(-2, 3);
  const std::string x = Number128(a), y = Number128(b);
  RC_ASSERT(KeyOrder(ValueType::kInt, " " + x, y + "\t") == Sign(a, b));
  RC_ASSERT(Key(ValueType::kInt, x) == Key(ValueType::kDecimal, x));
  RC_ASSERT(Key(ValueType::kDecimal, x + "00e-2") == Key(ValueType::kDecimal, x));
}

struct DecimalText {
  bool negative;
  std::string whole, fraction;
  int exponent;

  std::string text() const {
    return (negative ? "-" : "") + whole + (fraction.empty() ? "" : "." + fraction) +
           (exponent == 0 ? "" : "e" + std::to_string(exponent));
  }
  /// Returns the number with 400 digits before the decimal point and 400 after it.
  std::string plain() const {
    std::string digits = std::string(200, '0') + whole + fraction + std::string(200, '0');
    const auto point = static_cast<std::size_t>(200 + static_cast<int>(whole.size()) + exponent);
    std::string before = digits.substr(0, point), behind = digits.substr(point);
    before.insert(0, 400 - before.size(), '0');
    behind.resize(400, '0');
    return before + behind;
  }
};

int Compare(const DecimalText& a, const DecimalText& b) {
  const std::string x = a.plain(), y = b.plain(), zero(x.size(), '0');
  const bool p = a.negative && x != zero, q = b.negative && y != zero;
  if (p != q) return p ? -1 : 1;
  return p ? Sign(y, x) : Sign(x, y);
}

RC_GTEST_PROP(ValueKey, DecimalsOrderAsDigitStrings, ()) {
  const auto any = [] {
    DecimalText made{*rc::gen::arbitrary<bool>(), Digits(40), Digits(40), *rc::gen::inRange(-60, 61)};
    if (made.whole.empty()) made.whole = *rc::gen::element<std::string>("0", "1", "000");
    if (*rc::gen::arbitrary<bool>()) made.exponent = 0;
    return made;
  };
  const DecimalText a = any();
  DecimalText b = any();
  if (*rc::gen::arbitrary<bool>()) {
    // Write the number in another notation, possibly with one more digit.
    b = a;
    b.fraction += std::string(*rc::gen::inRange(0, 3), '0') + *rc::gen::element<std::string>("", "0", "1");
    b.whole += b.fraction;
    b.exponent -= static_cast<int>(b.fraction.size());
    b.fraction.clear();
  }
  RC_ASSERT(KeyOrder(ValueType::kDecimal, a.text(), b.text()) == Compare(a, b));
}

TEST(ValueKey, DecimalsAreExactAtAnyLength) {
  const std::string nines(400, '9'), nought(399, '0'), seven30(30, '7');
  ExpectChain(ValueType::kDecimal,
              {{"-inf", "-Infinity", " -INFINITY "},
               {"-1e1000000000000000000000"},
               {"-1e999999999999"},
               {"-" + nines},
               {"-1e46"},
               {"-1e45", "-10e44"},
               {"-1e44"},
               {"-2"},
               {"-1.1"},
               {"-1.01"},
               {"-1", "-1.0", "-01e0", "-10e-1"},
               {"-0.1", "-.1", "-1e-1"},
               {"-1e-999999999999"},
               {"0", "-0", "+0", "0.00", ".0", "0.", "0e5", "0e-99999999999999999999999999"},
               {"1e-1000000000000000000000001"},
               {"1e-1000000000000000000000000", "0.001e-999999999999999999999997", "100e-1000000000000000000000002"},
               {"1e-999999999999"},
               {"1e-47"},
               {"1e-46", "0." + std::string(45, '0') + "1"},
               {"1e-45"},
               {"1e-1", "0.1", ".10"},
               {"0.11"},
               {"1", "1.0", "1e0", "+1", "1E+0", "1e-0", "1e00000000000000000000000", "001"},
               {"1.0000000000000000000000000000000000000000000000000000000000000000000001"},
               {"1.01"},
               {"9"},
               {"10", "1e1"},
               {"99"},
               {"100"},
               {"1e44"},
               {"1e45"},
               {seven30 + seven30},
               {"1" + nought},
               {nines},
               {"1" + nought + "0", "1e400"},
               {"1e999999999999"},
               {"1e99999999999999999"},
               {"1e100000000000000000", "10e99999999999999999", "0.1e100000000000000001"},
               {"1e999999999999999999999999999999", "0.01e1000000000000000000000000000001"},
               {"1e1" + nines, "0.1e2" + nought + "0"},
               {"2e1" + nines},
               {"1e2" + nought + "0", "10e1" + nines},
               {"inf", "+inf", "Infinity"},
               {"NaN", "nan"}});
}

RC_GTEST_PROP(ValueKey, DecimalsKeepToTheirPunctuation, (std::uint32_t number, std::uint16_t part)) {
  std::string grouped = std::to_string(number);
  for (std::size_t at = grouped.size(); at > 3; at -= 3) grouped.insert(at - 3, ".");
  const std::string fraction = std::to_string(part);
  ValueRule rule = Rule(ValueType::kDecimal);
  rule.decimal_point = ',';
  rule.thousands = '.';
  const std::string plain = std::to_string(number) + "." + fraction;
  RC_ASSERT(Key(rule, "-" + grouped + "," + fraction) == Key(ValueType::kDecimal, "-" + plain));
  rule.type = ValueType::kFloat;
  RC_ASSERT(Key(rule, grouped + "," + fraction + "e-3") == Key(ValueType::kFloat, plain + "e-3"));
  rule.type = ValueType::kInt;
  RC_ASSERT(Key(rule, grouped) == Key(ValueType::kInt, std::to_string(number)));
  for (const std::string none : {".1", "1.", "1..2", "1,2.3", "1.,2", "-.1"}) RC_ASSERT(Key(rule, none).empty());
}

TEST(ValueKey, WhatIsNoNumberIsNoValue) {
  const Texts none = {"",
                      " ",
                      "-",
                      "+",
                      ".",
                      "-.",
                      "e5",
                      "1e",
                      "1e+",
                      "--1",
                      "+-1",
                      "1 2",
                      "1e5.0",
                      "0x10",
                      "1,000",
                      "\xff"
                      "1",
                      "1a",
                      "٣",
                      "1-2",
                      "1\0"s,
                      "i",
                      "n",
                      "infin",
                      "in"};
  for (const ValueType type : {ValueType::kInt, ValueType::kDecimal, ValueType::kFloat}) ExpectNone(type, none);
  ExpectNone(ValueType::kInt, {"1.0", "1e3", "1.", "inf", "nan"});
  ExpectNone(ValueType::kDecimal, {"-nan", "+nan", "nan(1)", "infinityy"});
  ExpectNone(ValueType::kFloat, {"nan(1)", "0x1p3", "infinityy"});
}

std::int64_t TotalOrder(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}

RC_GTEST_PROP(ValueKey, ListedValuesComeFirstAndOthersByBytes, (const std::set<std::string>& words)) {
  ValueRule rule = Rule(ValueType::kOrder);
  rule.labels = {"b", "a", "chr10", std::string("\0", 1), "\xFF"};
  for (const std::string& word : words) {
    // White space around a value does not count.
    if (std::ranges::none_of(word, [](unsigned char c) { return std::isspace(c) != 0; }) && !word.empty() &&
        std::ranges::find(rule.labels, word) == rule.labels.end()) {
      rule.labels.push_back(word);
    }
  }
  const auto any = [&] {
    std::string text;
    for (const int c : *rc::gen::container<std::vector<int>>(rc::gen::element(0, 1, 2, 4, 9, 97, 98, 255))) {
      if (c != 9) text += static_cast<char>(c);
    }
    return *rc::gen::arbitrary<bool>() ? text : *rc::gen::elementOf(rule.labels);
  };
  const auto place = [&](const std::string& text) {
    return std::pair(std::ranges::find(rule.labels, text) - rule.labels.begin(), text);
  };
  const std::string a = any(), b = any();
  RC_ASSERT(Sign(Key(rule, a), Key(rule, b)) == Sign(place(a), place(b)));
  RC_ASSERT(ValueKey(rule).Lists(a) == (place(a).first < static_cast<std::ptrdiff_t>(rule.labels.size())));
  rule.descending = true;
  RC_ASSERT(Sign(Key(rule, a), Key(rule, b)) == Sign(place(b), place(a)));
}

RC_GTEST_PROP(ValueKey, FloatsOrderByTotalOrder, ()) {
  const auto any = [] {
    double value;
    do {
      value = std::bit_cast<double>(
          *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                          rc::gen::map(rc::gen::arbitrary<std::int16_t>(),
                                       [](std::int16_t n) { return std::bit_cast<std::uint64_t>(n / 8.0); }),
                          rc::gen::map(rc::gen::arbitrary<std::uint16_t>(), [](std::uint16_t n) {
                            return std::uint64_t{n};  // smaller than all normal numbers
                          })));
    } while (std::isnan(value));
    return value;
  };
  const auto text = [](double value) {
    char buffer[64];
    return std::string(buffer, std::to_chars(buffer, std::end(buffer), value).ptr);
  };
  const double a = any(), b = *rc::gen::arbitrary<bool>() ? std::nextafter(a, 1.0) : any();
  RC_ASSERT(KeyOrder(ValueType::kFloat, text(a), text(b)) == Sign(TotalOrder(a), TotalOrder(b)));
  for (const bool descending : {false, true}) {
    const ValueKey key(Rule(ValueType::kFloat, descending));
    RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutFloat(a, out); }) == Key(key.rule(), text(a)));
  }
}

RC_GTEST_PROP(ValueKey, FloatsAreRoundedAsStrtodRounds, ()) {
  const std::string text = *rc::gen::element<std::string>("", "-", "+") + Digits(30) + "." + Digits(30) + "0e" +
                           std::to_string(*rc::gen::inRange(-360, 361));
  const ValueKey key(Rule(ValueType::kFloat));
  const double value = std::strtod(text.c_str(), nullptr);
  RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutFloat(value, out); }) == Key(ValueType::kFloat, text));
}

TEST(ValueKey, FloatsHaveEnds) {
  const std::string nines(400, '9');
  ExpectChain(ValueType::kFloat,
              {{"-nan", "-NaN"},
               {"-inf", "-infinity", "-1e999999999999", "-1e99999999999999999999999999", "-" + nines},
               {"-1.7976931348623157e308"},
               {"-4.9e-324", "-5e-324"},
               {"-0", "-0.0", "-1e-999999999999", "-1e-99999999999999999999999999", "-0e5"},
               {"0", "+0", "1e-400", "1e-99999999999999999999999999"},
               {"5e-324"},
               {"1", "1.0", "1e0", "0.99999999999999999999999999999999999"},
               {"1e308"},
               {"inf", "+Inf", "INFINITY", "1e309", nines, "1e99999999999999999999999999"},
               {"nan", "NAN", "+nan"}});
  const ValueKey key(Rule(ValueType::kFloat));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutFloat(-nan, out); }), Key(ValueType::kFloat, "nan"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutFloat(-std::numeric_limits<double>::infinity(), out); }),
            Key(ValueType::kFloat, "-inf"));
}

TEST(ValueKey, Bools) {
  ExpectChain(ValueType::kBool, {{"f", "F", "false", "FALSE", "no", "n", "off", "0", " f "},
                                 {"t", "True", "true", "yes", "Y", "on", "ON", "1"}});
  ExpectNone(ValueType::kBool, {"", "2", "tr", "of", "truee", "-1", "\xff"});
  for (const bool descending : {false, true}) {
    const ValueKey key(Rule(ValueType::kBool, descending));
    EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutBool(true, out); }), Key(key.rule(), "t"));
    EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutBool(false, out); }), Key(key.rule(), "f"));
  }
}

// --- Days and instants --------------------------------------------------------------------------------------------

std::string Padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number < 0 ? -number : number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return (number < 0 ? "-" : "") + text;
}

std::string DayText(std::chrono::sys_days day, const std::string& form = "iso") {
  const std::chrono::year_month_day date(day);
  const int year = static_cast<int>(date.year());
  const std::string month = Padded(static_cast<unsigned>(date.month()), 2);
  const std::string of_month = Padded(static_cast<unsigned>(date.day()), 2);
  if (form == "postgres" && year <= 0) return Padded(1 - year, 4) + "-" + month + "-" + of_month + " BC";
  if (form == "slashes" && year >= 0 && year <= 9999) return Padded(year, 4) + "/" + month + "/" + of_month;
  if (form == "compact" && year >= 0 && year <= 9999) return Padded(year, 4) + month + of_month;
  return Padded(year, 4) + "-" + month + "-" + of_month;
}

std::chrono::sys_days AnyDay() {
  // <chrono> knows the years -32767 to 32767.
  const int days = *rc::gen::weightedOneOf<int>({{3, rc::gen::inRange(-40000, 40000)},
                                                 {1, rc::gen::inRange(-730000, -700000)},
                                                 {1, rc::gen::inRange(-12000000, 11000000)}});
  return std::chrono::sys_days(std::chrono::days(days));
}

RC_GTEST_PROP(ValueKey, DaysOrderAsInTheCalendar, ()) {
  const std::chrono::sys_days a = AnyDay();
  const std::chrono::sys_days b =
      *rc::gen::arbitrary<bool>() ? AnyDay() : a + std::chrono::days(*rc::gen::inRange(-1, 2));
  const auto form = rc::gen::element<std::string>("iso", "postgres", "slashes", "compact");
  RC_ASSERT(KeyOrder(ValueType::kDate, DayText(a, *form), DayText(b, *form)) == Sign(a, b));
  const ValueKey key(Rule(ValueType::kDate));
  const auto days = static_cast<std::int32_t>(a.time_since_epoch().count());
  RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutDays(days, out); }) == Key(ValueType::kDate, DayText(a)));
  const std::optional<Day> parsed = ParseDay(DayText(a, *form));
  RC_ASSERT(parsed && parsed->infinite == 0 && parsed->days == days);
}

RC_GTEST_PROP(ValueKey, OnlyDaysOfTheCalendarAreValues, ()) {
  const int year = *rc::gen::element(0, 1, 1900, 2000, 2023, 2024, 9999);
  const unsigned month = *rc::gen::inRange(0u, 14u), day = *rc::gen::inRange(0u, 33u);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  const std::string text = Padded(year, 4) + "-" + Padded(month, 2) + "-" + Padded(day, 2);
  RC_ASSERT(Key(ValueType::kDate, text).empty() == !date.ok());
  RC_ASSERT(Key(ValueType::kTimestamp, text + " 10:00").empty() == !date.ok());
}

TEST(ValueKey, DaysHaveEnds) {
  ExpectChain(ValueType::kDate, {{"-infinity", "-Infinity"},
                                 {"-9999999-01-01"},
                                 {"4713-11-24 BC", "-4712-11-24"},
                                 {"0001-12-31 BC", "0000-12-31", "+0000-12-31", "-0000-12-31"},
                                 {"0001-01-01", "00010101"},
                                 {"2026-01-01", " 2026-01-01 ", "2026/01/01", "20260101", "+2026-01-01"},
                                 {"9999-12-31"},
                                 {"10000-01-01", "+10000-01-01"},
                                 {"27475-01-01"},
                                 {"5874897-12-31"},
                                 {"9999999-12-31"},
                                 {"infinity", "+infinity", "INFINITY"}});
  ExpectNone(ValueType::kDate, {"",
                                "-",
                                "0000-00-00",
                                "2026-02-30",
                                "2025-02-29",
                                "2026-13-01",
                                "2026-00-10",
                                "2026-1-1",
                                "26-01-01",
                                "2026-01-011",
                                "2026-01/01",
                                "-2026/01/01",
                                "202601011",
                                "2026010",
                                "0000-01-01 BC",
                                "-0044-01-01 BC",
                                "2026-01-01BC",
                                "2026-01-01 AD",
                                "12345678-01-01",
                                "2026-01-01 10:00",
                                "infinit",
                                "\xff\xfe",
                                "today"});
  const ValueKey key(Rule(ValueType::kDate));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutDays(std::numeric_limits<std::int32_t>::max(), out); }),
            Key(ValueType::kDate, "infinity"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutDays(std::numeric_limits<std::int32_t>::min(), out); }),
            Key(ValueType::kDate, "-infinity"));
}

using Micros = std::chrono::sys_time<std::chrono::microseconds>;

Micros AnyMicros() {
  const auto of_day = std::chrono::microseconds(
      *rc::gen::oneOf(rc::gen::element<std::int64_t>(0, 1, 1000000, 43200000000, 86399999999, 86399000000, 500000),
                      rc::gen::inRange<std::int64_t>(0, 86400000000)));
  return AnyDay() + of_day;
}

/// Returns an instant in the form of a random time zone.
std::string InstantText(Micros instant) {
  const int hours = *rc::gen::inRange(-15, 16), minutes = *rc::gen::element(0, 0, 30, 45);
  const std::string form = *rc::gen::element<std::string>("Z", "+hh", "+hhmm", "+hh:mm", "+hh:mm:00", " +hhmm", "");
  const bool zoned = form.find('h') != std::string::npos;
  int offset = zoned ? hours * 60 : 0;
  if (zoned && form.find("mm") != std::string::npos) offset += hours < 0 ? -minutes : minutes;
  const Micros local = instant + std::chrono::minutes(offset);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::hh_mm_ss<std::chrono::microseconds> clock(local - day);
  std::string fraction = Padded(clock.subseconds().count(), 6);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (fraction.empty() ? *rc::gen::arbitrary<bool>() : true) {
    fraction = *rc::gen::element<std::string>(".", ",") + fraction + std::string(*rc::gen::inRange(0, 9), '0');
    if (fraction.size() == 1) fraction.clear();
  }
  const std::string seconds = Padded(clock.seconds().count(), 2);
  std::string text = DayText(day, *rc::gen::element<std::string>("iso", "slashes", "compact"));
  text += *rc::gen::element<std::string>("T", "t", " ", "  ");
  text += Padded(clock.hours().count(), 2) + ":" + Padded(clock.minutes().count(), 2);
  if (seconds != "00" || !fraction.empty()) text += ":" + seconds + fraction;
  if (!zoned) return text + form;
  const int size = offset < 0 ? -offset : offset;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form.compare(i, 2, "hh") == 0) {
      text += Padded(size / 60, 2);
      ++i;
    } else if (form.compare(i, 2, "mm") == 0) {
      text += Padded(size % 60, 2);
      ++i;
    } else {
      text += form[i] == '+' && offset < 0 ? '-' : form[i];
    }
  }
  return text;
}

RC_GTEST_PROP(ValueKey, InstantsOrderWhateverTheirZones, ()) {
  const Micros a = AnyMicros();
  const Micros b = *rc::gen::arbitrary<bool>() ? AnyMicros() : a + std::chrono::microseconds(*rc::gen::inRange(-1, 2));
  const std::string x = InstantText(a);
  RC_LOG() << x;
  RC_ASSERT(KeyOrder(ValueType::kTimestamp, x, InstantText(b)) == Sign(a, b));
  for (const bool descending : {false, true}) {
    const ValueKey key(Rule(ValueType::kTimestamp, descending));
    const std::int64_t micros = a.time_since_epoch().count();
    RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutMicros(micros, out); }) == Key(key.rule(), x));
    RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutMicros(micros - 946684800'000000, out, 946684800); }) ==
              Key(key.rule(), x));
  }
}

RC_GTEST_PROP(ValueKey, CountsAreInstants, ()) {
  const auto seconds = *rc::gen::inRange<std::int64_t>(-9999999998, 9999999999);
  const std::string fraction =
      *rc::gen::element<std::string>("", ".5", ".25", ",000", ".999999999", ".000000000000000001");
  const auto other = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-9999999998, 9999999999),
                                     rc::gen::inRange<std::int64_t>(seconds - 1, seconds + 2));
  // As decimals they have the same order.
  std::string plain = fraction;
  std::replace(plain.begin(), plain.end(), ',', '.');
  const std::string a = std::to_string(seconds), b = std::to_string(other);
  RC_ASSERT(KeyOrder(ValueType::kTimestamp, a + fraction, b) == KeyOrder(ValueType::kDecimal, a + plain, b));
  const ValueKey key(Rule(ValueType::kTimestamp));
  RC_ASSERT(Bytes([&](FieldWriter& out) { key.PutMicros(seconds * 1000000, out); }) == Key(ValueType::kTimestamp, a));
}

TEST(ValueKey, InstantsHaveManyForms) {
  ExpectChain(
      ValueType::kTimestamp,
      {{"-infinity"},
       {"-9999999-01-01T00:00:00"},
       {"4714-11-24 00:00:00+00 BC", "-4713-11-24"},
       {"0044-03-15 12:00:00+00 BC", "-0043-03-15T12:00:00Z", "0044-03-15 12:00:00 BC"},
       {"0001-12-31 23:59:59 BC"},
       {"0001-01-01 00:00:00"},
       {"1969-12-31T23:59:58.5", "-1.5", "-1.50"},
       {"1969-12-31T23:59:58.75", "-1.25"},
       {"1969-12-31T23:59:59", "-1", "-1.000", "-00000001000"},
       {"1970-01-01", "0", "-0", "0.0", "00000000000", "1969-12-31T24:00:00+00"},
       {"1970-08-23T11:48:21Z", "20260101"},
       {"2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        "2026-01-01",
        "2026-01-01 00:00",
        "20260101T000000Z",
        "20260101T0000",
        "2025-12-31T24:00:00",
        "2025-12-31T23:59:60Z",
        "2026-01-01 05:30:00+05:30",
        "2025-12-31 18:59:59.000000-05:00:01",
        "01/Jan/2026:01:00:00 +0100",
        "1767225600",
        "1767225600000",
        "1767225600000000",
        "1767225600000000000",
        "1767225600.0",
        "1.7672256e+09",
        "1.76722560000E9",
        "2026-01-01 00:00:00 UTC",
        "2026/01/01 00:00:00"},
       {"2026-01-01T00:00:00.0000000000000000000000000000000001"},
       {"2026-01-01T00:00:00.1", "2026-01-01T00:00:00,100", "1767225600100", "1767225600.1"},
       {"2026-01-01T00:00:00.100000000000000000000000000000000000000000000000000000000000000000000000000000000001"},
       {"2026-12-31T22:59:59Z", "31/Dec/2026:23:59:59 +0100"},
       {"294276-12-31 23:59:59.999999"},
       {"9999999-12-31T24:00:00"},
       {"infinity"}});
  ExpectNone(ValueType::kTimestamp, {"",
                                     "-",
                                     "+",
                                     ".",
                                     "e5",
                                     "0000-00-00",
                                     "0000-00-00 00:00:00",
                                     "2026-02-30",
                                     "2026-01-01T",
                                     "2026-01-01T1",
                                     "2026-01-01T25:00",
                                     "2026-01-01T24:00:01",
                                     "2026-01-01T24:00:00.5",
                                     "2026-01-01T00:60",
                                     "2026-01-01T00:00:61",
                                     "2026-01-01T00:00:00.",
                                     "2026-01-01T00:00:00.x",
                                     "2026-01-01T00:00:00+",
                                     "2026-01-01T00:00:00+1",
                                     "2026-01-01T00:00:00+24",
                                     "2026-01-01T00:00:00+01:60",
                                     "2026-01-01T00:00:00Zx",
                                     "2026-01-01x00:00:00",
                                     "2026-01-01T0000",
                                     "31/Foo/2026:23:59:59 +0100",
                                     "31/Dec/2026 23:59:59",
                                     "1.",
                                     "1e5",
                                     "12345678901.5",
                                     "12345678901234567890",
                                     "2026-01-01 BC 10:00",
                                     "2026-01-01 10:00 BC BC",
                                     "\xff\xfe\xfd",
                                     "now",
                                     std::string(400, '9')});
  const ValueKey key(Rule(ValueType::kTimestamp));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutMicros(std::numeric_limits<std::int64_t>::max(), out); }),
            Key(ValueType::kTimestamp, "infinity"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { key.PutMicros(std::numeric_limits<std::int64_t>::min(), out); }),
            Key(ValueType::kTimestamp, "-infinity"));
}

TEST(ValueKey, SaysWhichInstantsLackAZone) {
  for (const std::string text :
       {"2026-01-01", "2026-01-01 10:00", "2026-01-01T10:00:00.5", "31/Dec/2026:23:59:59", "0044-03-15 12:00:00 BC"}) {
    ZoneDoubt doubt;
    Key(Rule(ValueType::kTimestamp), text, &doubt);
    EXPECT_TRUE(doubt.lacks_zone) << text;
  }
  for (const std::string text : {"2026-01-01T10:00Z", "2026-01-01 10:00:00+00", "1767225600", "infinity",
                                 "31/Dec/2026:23:59:59 -0000", "x", "0044-03-15 12:00:00+00 BC"}) {
    ZoneDoubt doubt;
    Key(Rule(ValueType::kTimestamp), text, &doubt);
    EXPECT_FALSE(doubt.lacks_zone) << text;
  }
}

RC_GTEST_PROP(ValueKey, FormatsReadWhatStrftimeWrites, ()) {
  const std::string format = *rc::gen::element<std::string>(
      "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S", "%d.%m.%Y %T", "%a, %d %b %Y %H:%M:%S %z", "%A %e %B %Y %I:%M:%S %p",
      "%F%n%T%t%Z", "%D %R:%S", "%Y-%j %T", "%s", "100%% %y/%m/%d %T", "%b %e %T %Y", "%p%I%M%S%d%m%Y");
  const bool two_digits = format.find("%y") != std::string::npos || format.find("%D") != std::string::npos;
  const auto seconds =
      static_cast<std::time_t>(two_digits ? *rc::gen::inRange<std::int64_t>(0, 3124223999)
                                          : *rc::gen::inRange<std::int64_t>(-30000000000, 250000000000));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[200];
  RC_ASSERT(std::strftime(text, sizeof(text), format.c_str(), &parts) > 0);
  RC_LOG() << text;
  const ValueKey key(Rule(ValueType::kTimestamp));
  RC_ASSERT(FormatKey(format, text) == Bytes([&](FieldWriter& out) { key.PutMicros(seconds * 1000000, out); }));
}

TEST(ValueKey, FormatsHaveEnds) {
  const auto same = [](const std::string& format, const std::string& text, const std::string& iso) {
    EXPECT_EQ(FormatKey(format, text), Key(ValueType::kTimestamp, iso)) << format << " " << text;
  };
  same("%d.%m.%Y %H:%M:%S.%f", "1.2.2026 3:04:05.0600", "2026-02-01T03:04:05.06");
  same("%d.%m.%Y%t%H:%M", "01.02.2026    03:04", "2026-02-01T03:04");
  same("%b %d %Y %I %p", "sep 5 2026 12 am", "2026-09-05T00:00");
  same("%b %d %Y %I %p", "SEPTEMBER 5 2026 12 pm", "2026-09-05T12:00");
  same("%Y %B", "2026 May", "2026-05-01");
  same("%H:%M", "24:00", "1972-01-02");
  same("%b %d %T", "Feb 29 10:00:00", "1972-02-29T10:00");
  same("%F %T %Z", "2026-01-01 00:00:00 GMT", "2026-01-01");
  same("%F %T %Z", "2026-01-01 00:00:00 est", "2026-01-01T05:00");
  same("%F %T%z", "2026-01-01 00:00:00+01:30", "2025-12-31T22:30");
  same("%s.%f", "-1.25", "-1.25");
  same("%s.%f", "-0.25", "-0.25");
  same("%Y/%j", "2024/366", "2024-12-31");
  for (const auto& [format, text] : std::vector<std::pair<std::string, std::string>>{{"%Y-%m-%d", "2026-02-30"},
                                                                                     {"%Y-%m-%d", "2026-02-28x"},
                                                                                     {"%Y-%m-%d", "2026-02-"},
                                                                                     {"%Y-%m-%d", ""},
                                                                                     {"%Y/%j", "2026/366"},
                                                                                     {"%Y/%j", "2026/0"},
                                                                                     {"%H:%M", "24:01"},
                                                                                     {"%I", "13"},
                                                                                     {"%I", "0"},
                                                                                     {"%b", "foo"},
                                                                                     {"%a", "foo"},
                                                                                     {"%p", "xm"},
                                                                                     {"%Z", "XYZ"},
                                                                                     {"%z", "x"},
                                                                                     {"%S", "61"},
                                                                                     {"%f", "x"},
                                                                                     {"%s", "x"},
                                                                                     {"%%", "x"},
                                                                                     {"%Y", "-2026"}}) {
    EXPECT_EQ(FormatKey(format, text), "") << format << " " << text;
  }
  ZoneDoubt doubt;
  ValueRule rule = Rule(ValueType::kTimestamp);
  rule.time_format = "%F %z";
  Key(rule, "2026-01-01 +01", &doubt);
  EXPECT_FALSE(doubt.lacks_zone);
  rule.time_format = "%F";
  Key(rule, "2026-01-01", &doubt);
  EXPECT_TRUE(doubt.lacks_zone);
}

TEST(ValueKey, RefusesRulesThatMeanNothing) {
  const auto complaint = [](const ValueRule& rule) {
    try {
      const ValueKey key(rule);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return std::string(error.what());
    }
    return ""s;
  };
  ValueRule rule = Rule(ValueType::kTimestamp);
  for (const std::string letter : {"%Q", "%E", "%G", "%"}) {
    rule.time_format = "%Y " + letter;
    EXPECT_NE(complaint(rule).find("unknown '" + letter + "'"), std::string::npos) << complaint(rule);
  }
  rule.time_format = "%Y";
  EXPECT_EQ(complaint(rule), "");
  rule.type = ValueType::kInt;
  EXPECT_NE(complaint(rule), "");
  rule.time_format.clear();
  EXPECT_EQ(complaint(rule), "");
  rule.thousands = '.';
  EXPECT_NE(complaint(rule), "");
  rule.thousands = '0';
  EXPECT_NE(complaint(rule), "");
}

// --- Addresses and bytes ------------------------------------------------------------------------------------------

RC_GTEST_PROP(ValueKey, AddressesOrderByFamilyNetworkPrefixAndHost, ()) {
  using Address = std::tuple<bool, std::vector<unsigned>, unsigned>;
  const auto any = [] {
    const bool v6 = *rc::gen::arbitrary<bool>();
    auto parts = *rc::gen::container<std::vector<unsigned>>(
        v6 ? 8 : 4, v6 ? rc::gen::weightedOneOf<unsigned>({{1, rc::gen::just(0u)}, {1, rc::gen::inRange(0u, 65536u)}})
                       : rc::gen::inRange(0u, 256u));
    return Address(v6, parts, *rc::gen::inRange(0u, v6 ? 129u : 33u));
  };
  const auto text = [](const Address& address) {
    const auto& [v6, parts, prefix] = address;
    std::string made;
    for (const unsigned part : parts) {
      char digits[8];
      std::snprintf(digits, sizeof(digits), v6 ? "%x" : "%u", part);
      made += (made.empty() ? "" : v6 ? ":" : ".") + std::string(digits);
    }
    return prefix == (v6 ? 128 : 32) && *rc::gen::arbitrary<bool>() ? made : made + "/" + std::to_string(prefix);
  };
  const Address a = any();
  Address b = any();
  if (*rc::gen::arbitrary<bool>()) {
    b = a;
    if (*rc::gen::arbitrary<bool>()) std::get<2>(b) = std::get<2>(a) / 2;
  }
  // The order of PostgreSQL's network_cmp.
  const auto order = [](const Address& address) {
    const auto& [v6, parts, prefix] = address;
    const unsigned bits = v6 ? 16 : 8;
    std::vector<unsigned> network = parts;
    for (unsigned i = 0; i < network.size(); ++i) {
      const unsigned kept = std::clamp(prefix, i * bits, (i + 1) * bits) - i * bits;
      network[i] &= ~((1u << (bits - kept)) - 1);
    }
    return std::tuple(v6, network, prefix, parts);
  };
  RC_ASSERT(KeyOrder(ValueType::kIp, text(a), text(b)) == Sign(order(a), order(b)));
}

TEST(ValueKey, AmountsHaveASignThatCountsForNothing) {
  ExpectChain(ValueType::kNumber, {{"($1000)", "-$1000", "$-1000", "$ -1e3", "(1000.00 %)"},
                                   {"-0.5%", "-.5", "-0.50 \u20AC"},
                                   {"0", "$0", "-$0", "0%"},
                                   {"\u00A35.01", "5.01\u00A2", " 5.01 % ", "+5.01"},
                                   {"\u20B910", "$10", "10 \u20BD"}});
  ExpectNone(ValueType::kNumber, {"", "$", "%", "()", "$$5", "5%%", "$5%", "5 km", "--5", "-$-5", "(-5)", "inf", "$inf",
                                  "\u20505", "\u20D05"});
}

TEST(ValueKey, NumbersHaveSeparatorsAndSuffixes) {
  const Texts none = {"1,23",       "1,2345",        "1234,567",  ",123",  "1,,234",    "12,34",
                      "123,45,678", "1,23,456,789",  "1,234 567", "1 23",  "1.234.567", "5KB%",
                      "5m",         "5Kb",           "5KiK",      "K",     "%K",        "1,234,",
                      "1'23",       "\u22121\u2212", "1e5e5",     "5 B B", "5b",        "1.5 \u22122"};
  ExpectNone(ValueType::kNumber, none);
  ExpectChain(ValueType::kNumber, {{"-1,234.5", "\u22121234.5", "(1,234.50)", "-$1,234.5", "$-1,234.5", "-1_234.5",
                                    "-1\u2019"
                                    "234.5"},
                                   {"0", "-0", "0K", "0 KiB", "(0)"},
                                   {"999", "999B", "999 B"},
                                   {"1000", "1K", "1k", "1 kB", "1e3", "0.001M", "1,000", "1 000",
                                    "1\u00A0"
                                    "000",
                                    "1\u202F"
                                    "000",
                                    "1'000", "$1K"},
                                   {"1024", "1Ki", "1KiB", "1 KiB", "1,024"},
                                   {"1536", "1.5Ki"},
                                   {"1234567", "1,234,567", "12,34,567", "1_234_567.00", "1.234567M"},
                                   {"1500000000", "1.5G", "$1.5B", "$1.5b", "1.5b \u20AC"},
                                   {"1610612736", "1.5Gi"},
                                   {"1152921504606846976",
                                    "1E"
                                    "i",
                                    "1024Pi"},
                                   {"1e19", "10E", "10000P", "0.01E21"}});
  ValueRule comma = Rule(ValueType::kNumber);
  comma.decimal_point = ',';
  EXPECT_EQ(Key(comma, "1.234,5"), Key(ValueType::kNumber, "1234.5"));
  EXPECT_EQ(Key(comma, "1 234,5"), Key(ValueType::kNumber, "1234.5"));
  EXPECT_EQ(Key(comma, "1,234.5"), "");
  ValueRule given = Rule(ValueType::kNumber);
  given.thousands = ',';
  EXPECT_EQ(Key(given, "1,2,3"), Key(ValueType::kNumber, "123"));
  EXPECT_EQ(Key(given, "1 234"), "");
}

RC_GTEST_PROP(ValueKey, NumbersAreDecimalsInOtherClothes, (std::int32_t number, std::uint16_t part)) {
  const std::string plain = std::to_string(number) + "." + std::to_string(part);
  std::string grouped = plain;
  const std::string separator = *rc::gen::element<std::string>(",", "_", "'", "\u202F");
  for (auto at = static_cast<int>(grouped.find('.')); at > 3 + (number < 0); at -= 3) grouped.insert(at - 3, separator);
  RC_ASSERT(Key(ValueType::kNumber, grouped) == Key(ValueType::kDecimal, plain));
  RC_ASSERT(Key(ValueType::kNumber, "$" + grouped) == Key(ValueType::kDecimal, plain));
  RC_ASSERT(Key(ValueType::kNumber, grouped + "M") == Key(ValueType::kDecimal, plain + "e6"));
  const std::string digits = std::to_string(part);
  const __int128 product = __int128{1048576} * std::stoll(std::to_string(number) + digits);
  RC_ASSERT(Key(ValueType::kNumber, grouped + " MiB") ==
            Key(ValueType::kDecimal, Number128(product) + "e-" + std::to_string(digits.size())));
}

RC_GTEST_PROP(ValueKey, TimesOrderAsPostgresOrdersThem, ()) {
  using Time = std::tuple<std::int64_t, std::int64_t>;  // microseconds since midnight in the zone, seconds east
  const auto any = [] {
    return Time{*rc::gen::inRange<std::int64_t>(0, 1440) * 60'000'000 + *rc::gen::element(0, 1, 500'000, 59'999'999),
                *rc::gen::element(0, 3600, -3600, 5400, 5401, -57599)};
  };
  const auto text = [](const Time& time) {
    const auto& [micros, east] = time;
    char buffer[64];
    std::snprintf(buffer, sizeof(buffer), "%02d:%02d:%02d.%06d", static_cast<int>(micros / 3'600'000'000),
                  static_cast<int>(micros / 60'000'000 % 60), static_cast<int>(micros / 1'000'000 % 60),
                  static_cast<int>(micros % 1'000'000));
    std::string made = buffer;
    if (east == 0) return made + *rc::gen::element<std::string>("", "Z", " UTC", "+00");
    const int zone = static_cast<int>(std::abs(east));
    std::snprintf(buffer, sizeof(buffer), "%c%02d:%02d:%02d", east < 0 ? '-' : '+', zone / 3600, zone / 60 % 60,
                  zone % 60);
    return made + buffer;
  };
  const auto order = [](const Time& time) {
    const auto& [micros, east] = time;
    return std::tuple(micros - east * 1'000'000, -east);
  };
  const Time a = any();
  Time b = any();
  if (*rc::gen::arbitrary<bool>()) b = {std::get<0>(a) + (std::get<1>(b) - std::get<1>(a)) * 1'000'000, std::get<1>(b)};
  RC_PRE(std::get<0>(b) >= 0);
  RC_ASSERT(KeyOrder(ValueType::kTime, text(a), text(b)) == Sign(order(a), order(b)));
}

TEST(ValueKey, InstantsHaveZonesOfTheDatabase) {
  const auto same = [](const std::string& a, const std::string& b) {
    EXPECT_EQ(Key(ValueType::kTimestamp, a), Key(ValueType::kTimestamp, b)) << a << " = " << b;
  };
  same("2026-07-01 12:00 Europe/Berlin", "2026-07-01 10:00Z");
  same("2026-01-01T12:00:00.5[Europe/Berlin]", "2026-01-01 11:00:00.5Z");
  same("2026-01-01T12:00+05:30[Europe/Berlin]", "2026-01-01 12:00+05:30");
  same("2026-01-01T12:00Z[Europe/London][u-ca=gregory]", "2026-01-01 12:00Z");
  same("2026-01-01T12:00[UTC]", "2026-01-01 12:00Z");
  same("2026-10-25 02:30 Europe/Berlin", "2026-10-25 01:30Z");  // the second time
  same("2026-03-29 02:30 Europe/Berlin", "2026-03-29 01:30Z");  // left out
  ExpectNone(ValueType::kTimestamp,
             {"2026-01-01 12:00 Europe/Nowhere", "2026-01-01 12:00 Berlin", "2026-01-01 12:00[Europe/Berlin",
              "2026-01-01 12:00[]", "2026-01-01 12:00 ../x", "2026-01-01 12:00 Europe/Berlin x"});
  ZoneDoubt doubt;
  EXPECT_NE(Key(Rule(ValueType::kTimestamp), "2026-07-01 12:00 Europe/Berlin", &doubt), "");
  EXPECT_FALSE(doubt.lacks_zone);
}

TEST(ValueKey, TimesHaveManyForms) {
  ExpectChain(ValueType::kTime, {{"-838:59:59"},
                                 {"-0:00:01", "-00:00:01.000"},
                                 {"0:00", "00:00:00", "12:00 AM", "12:00:00am", "00:00Z"},
                                 {"00:00:00.000000001"},
                                 {"1:05", "01:05:00", "1:05 am", "01:04:60"},
                                 {"09:00+01", "09:00 CET"},
                                 {"08:00", "8:00:00", "08:00:00,0",
                                  "8:00 a"
                                  "m"},
                                 {"07:00-01:00"},
                                 {"12:00", "12:00 PM"},
                                 {"24:00"},
                                 {"838:59:59"}});
  ExpectNone(ValueType::kTime,
             {"", "10", "10:", "10:0", "10:60", "10:00:61", "10:00:0", "10:00:00.", "10:00 xm", "13:00 PM", "0:30 PM",
              "-1:00 PM", "10:00+24", "10:00 NIX", "10:00:00.1234567890", "10:00:00 x", "12345678901:00"});
}

RC_GTEST_PROP(ValueKey, IntervalsOrderAsPostgresOrdersThem, ()) {
  struct Interval {
    int months, days;
    std::int64_t micros;
    __int128 sum() const { return (__int128{months} * 30 + days) * 86'400'000'000 + micros; }
  };
  const auto any = [] {
    return Interval{*rc::gen::element(0, 0, 1, -1, 14, -25), *rc::gen::element(0, 0, 1, -1, 30, -360),
                    *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-200'000'000'000, 200'000'000'000),
                                    rc::gen::element<std::int64_t>(0, 1, -1, 86'400'000'000, -86'400'000'000))};
  };
  const auto text = [](const Interval& interval) {
    const std::int64_t size = std::abs(interval.micros);
    char clock[64], seconds[32];
    std::snprintf(clock, sizeof(clock), "%s%02d:%02d:%02d.%06d", interval.micros < 0 ? "-" : "+",
                  static_cast<int>(size / 3'600'000'000), static_cast<int>(size / 60'000'000 % 60),
                  static_cast<int>(size / 1'000'000 % 60), static_cast<int>(size % 1'000'000));
    std::snprintf(seconds, sizeof(seconds), "%s%d.%06d", interval.micros < 0 ? "-" : "",
                  static_cast<int>(size / 1'000'000), static_cast<int>(size % 1'000'000));
    const std::string months = std::to_string(interval.months), days = std::to_string(interval.days);
    const std::string year = std::to_string(interval.months / 12), month = std::to_string(interval.months % 12);
    return *rc::gen::element<std::string>(
        months + " mons " + days + " days " + clock, year + " years " + month + " mon " + days + " day " + clock,
        "P" + months + "M" + days + "DT" + seconds + "S", "@ " + days + "d " + seconds + " secs " + months + " months");
  };
  const Interval a = any(), b = any();
  RC_ASSERT(KeyOrder(ValueType::kInterval, text(a), text(b)) == Sign(a.sum(), b.sum()));
}

TEST(ValueKey, IntervalsHaveManyForms) {
  ExpectChain(ValueType::kInterval, {{"-infinity"},
                                     {"-178000000 years"},
                                     {"-1-2 -3 -4:05:06", "-1-2 3 4:05:06",
                                      "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs ago", "-P1Y2M3DT4H5M6S"},
                                     {"-3 4:05:06", "-3 days -4:05:06", "3 days 4:05:06 ago"},
                                     {"-3 days 4:05:06", "-3 days +04:05:06"},
                                     {"-0.5", "-500ms", "PT-0.5S", "-00:00:00.5"},
                                     {"0", "@ 0", "00:00:00", "P0D", "PT0S", "0:00"},
                                     {"1ns", "0.000000001"},
                                     {"1us", "1\u00B5s", "1\u03BCs", "1000 nanoseconds"},
                                     {"1.5s", "1.5", "1500 ms", "PT1.5S", "PT1,5S", "1 sec 500 msecs"},
                                     {"90 minutes", "1h30m", "1:30", "01:30:00", "1 hr 30 min", "PT1H30M", "1.5h"},
                                     {"1 day, 2:03:04", "1d 2h 3m 4s", "1 2:03:04", "26:03:04"},
                                     {"1 week", "P1W", "7 days", "1w"},
                                     {"1 mon", "0-1", "30 days", "P1M", "P30D", "720 h"},
                                     {"1 year", "1-0", "360 days", "12 mons", "P1Y", "1y"},
                                     {"+1-2 -3 +4:05:06", "1 year 2 mons -3 days +04:05:06", "P1Y2M-3DT4H5M6S"},
                                     {"infinity", "+Infinity"}});
  ExpectNone(ValueType::kInterval, {"",
                                    "-",
                                    "@",
                                    "P",
                                    "PT",
                                    "P1",
                                    "P1H",
                                    "PT1D",
                                    "P1DT",
                                    "1 2",
                                    "1 x",
                                    "days",
                                    "1-12",
                                    "1-2-3",
                                    "1:60",
                                    "4:05 5:06",
                                    "1 day 2",
                                    "1 day 1-2",
                                    "ago",
                                    "1 ago",
                                    "1 day ago ago",
                                    "1.1234567890 s",
                                    "1 day 2:3",
                                    "1000000000000000000 years",
                                    "1..5 s",
                                    "5,"});
}

TEST(ValueKey, MacAddressesHaveManyForms) {
  ExpectChain(ValueType::kMacAddress,
              {{"00:00:00:00:00:00", "0:0:0:0:0:0"},
               {"08:00:2b:01:02:03", "08-00-2B-01-02-03", "08002b:010203", "08002b-010203", "0800.2b01.0203",
                "0800-2b01-0203", "08002b010203", "8:0:2b:1:2:3"},
               {"ff:ff:ff:ff:ff:ff"},
               {"00:00:00:00:00:00:00:00"},
               {"08:00:2b:01:02:03:04:05", "0800.2b01.0203.0405", "08002b01:02030405", "08002b0102030405"},
               {"ff:ff:ff:ff:ff:ff:ff:ff"}});
  ExpectNone(ValueType::kMacAddress,
             {"", ":", "08:00:2b:01:02", "08:00:2b:01:02:03:04", "08:00-2b:01:02:03", "08:00:2b:01:02:0g",
              "08002b01020", "08:00:2b:01:02:", ":08:00:2b:01:02", "080:02b:010:203", "08.00.2b.01.02.03",
              "08:00:2b:01:02:03:04:05:06", "0:0:0:0:0:000", std::string(400, '0')});
}

RC_GTEST_PROP(ValueKey, BitsOrderAsTexts, ()) {
  const auto any = [] { return *rc::gen::scale(0.2, rc::gen::container<std::string>(rc::gen::element('0', '1'))); };
  const std::string a = any(), b = *rc::gen::arbitrary<bool>() ? any() : a + any();
  RC_ASSERT(KeyOrder(ValueType::kBits, a, "b'" + b + "'") == Sign(a, b));
}

TEST(ValueKey, SeveritiesEnumsAndSets) {
  ExpectChain(ValueType::kSeverity, {{"trace", "TRACE", "V", "finest", "t"},
                                     {"debug", "D", "DEBUG5", "dbg"},
                                     {"info", "INFO", "[INFO]", "LOG", "information", "<info>", "INFO:"},
                                     {"notice", "NOTE", "n"},
                                     {"warn", "WARNING", "W", "[warn]:"},
                                     {"error", "ERR", "Severe", "E"},
                                     {"crit", "FATAL", "critical", "C"},
                                     {"alert", "A"},
                                     {"emerg", "PANIC", "emergency"}});
  ExpectNone(ValueType::kSeverity,
             {"", "30", "warnin", "war", "[]", "[info", "info]", ":", "in fo", "\xff", "info error"});
  ExpectChain(ValueType::kEnum, {{"low", " low "}, {"mid high"}, {"high"}});
  ExpectNone(ValueType::kEnum, {"", "Low", "mid", "lowest"});
  ExpectChain(ValueType::kSet,
              {{"", " "}, {"low", " low "}, {"mid high"}, {"low,mid high", "mid high,low,low"}, {"high"}});
  ExpectNone(ValueType::kSet, {"Low", "low,", ",low", "low, high", "low high"});
  ValueRule rule = Rule(ValueType::kEnum);
  rule.labels = {" a", "b"};  // a word with a blank before it
  EXPECT_LT(Key(rule, " a"), Key(rule, "b"));
  rule.type = ValueType::kSet;
  EXPECT_LT(Key(rule, "b"), Key(rule, " a,b"));
}

RC_GTEST_PROP(ValueKey, SetsOrderAsTheirBits, ()) {
  ValueRule rule = Rule(ValueType::kSet);
  rule.labels.clear();
  for (unsigned bit = 0; bit < kMostInSet; ++bit) rule.labels.push_back("w" + std::to_string(bit * 7919 % kMostInSet));
  const auto text = [&](std::uint64_t bits) {
    std::string words;
    for (unsigned bit = 0; bit < kMostInSet; ++bit) {
      if ((bits >> bit & 1) != 0) words += (words.empty() ? "" : ",") + rule.labels[bit];
    }
    return words;
  };
  const auto a = *rc::gen::scale(4.0, rc::gen::arbitrary<std::uint64_t>());
  const auto b = *rc::gen::oneOf(rc::gen::scale(4.0, rc::gen::arbitrary<std::uint64_t>()), rc::gen::just(a ^ 1));
  RC_ASSERT(Sign(Key(rule, text(a)), Key(rule, text(b))) == Sign(a, b));
}

TEST(ValueKey, DatesHaveFormats) {
  ValueRule rule = Rule(ValueType::kDate);
  rule.time_format = "%d.%m.%Y";
  EXPECT_EQ(Key(rule, "31.12.2026"), Key(ValueType::kDate, "2026-12-31"));
  EXPECT_EQ(Key(rule, " 1.2.1969 "), Key(ValueType::kDate, "1969-02-01"));
  for (const std::string none : {"2026-12-31", "31.13.2026", "30.02.2026", "31.12.2026 10:00"})
    EXPECT_EQ(Key(rule, none), "");
  rule.time_format = "%b %e, %Y";
  EXPECT_EQ(Key(rule, "Feb 3, 2000"), Key(ValueType::kDate, "2000-02-03"));
  for (const std::string clock : {"%d.%m.%Y %H", "%s", "%F %T", "%d%z"}) {
    rule.time_format = clock;
    EXPECT_THROW(ValueKey{rule}, Error) << clock;
  }
}

TEST(ValueKey, AddressesHaveManyForms) {
  ExpectChain(ValueType::kIp, {{"0.0.0.0/0"},
                               {"0.0.0.0", "0.0.0.0/32"},
                               {"10.0.0.0/8"},
                               {"10.0.0.0"},
                               {"10.0.0.1", " 10.0.0.1 "},
                               {"255.255.255.255"},
                               {"::/0"},
                               {"::", "0:0:0:0:0:0:0:0", "::/128"},
                               {"::1", "0::0:1"},
                               {"::ffff:1.2.3.4", "::FFFF:102:304"},
                               {"2001:db8::1", "2001:0DB8:0:0::1"},
                               {"fe80::"}});
  ExpectNone(ValueType::kIp, {"", "1.2.3", "1.2.3.256", "1.2.3.4.5", "01.2.3.4", ":", ":::", "1::2::3", "1.2.3.4/33",
                              "::/129", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/0x1", "fe80::1%eth0", "1.2.3.4\0"s,
                              "12345::", "/8", std::string(400, ':'), "\xff"});
}

RC_GTEST_PROP(ValueKey, HexadecimalBytesAndUuidsOrderAsBytes, ()) {
  const auto bytes = [](std::size_t size) {
    return *rc::gen::container<std::vector<unsigned char>>(
        size, rc::gen::element<unsigned char>(0, 1, 2, 3, 4, 5, 9, 10, 0x7F, 0xF5, 0xF6, 0xFA, 0xFB, 0xFD, 0xFE, 0xFF));
  };
  const auto hex = [](const std::vector<unsigned char>& from) {
    std::string made;
    for (const unsigned char byte : from) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), *rc::gen::arbitrary<bool>() ? "%02x" : "%02X", byte);
      made += digits;
    }
    return made;
  };
  const auto a = bytes(*rc::gen::inRange<std::size_t>(0, 6)), b = bytes(*rc::gen::inRange<std::size_t>(0, 6));
  const auto front = rc::gen::element<std::string>("", "0x", "\\x");
  RC_ASSERT(KeyOrder(ValueType::kBytesHex, *front + hex(a), *front + hex(b)) == Sign(a, b));
  const std::string raw(a.begin(), a.end());
  RC_ASSERT(Bytes([&](FieldWriter& out) { ValueKey(Rule(ValueType::kBytesHex)).PutBytes(raw, out); }) ==
            Key(ValueType::kBytesHex, hex(a)));
  const auto p = bytes(16), q = bytes(16);
  std::string hyphens = hex(q);
  for (const std::size_t at : {20, 16, 12, 8}) hyphens.insert(at, "-");
  if (*rc::gen::arbitrary<bool>()) hyphens = "{" + hyphens + "}";
  RC_ASSERT(KeyOrder(ValueType::kUuid, hex(p), hyphens) == Sign(p, q));
  RC_ASSERT(KeyOrder(ValueType::kUuid, hex(q), hyphens) == 0);
}

TEST(ValueKey, WhatIsNoHexadecimalIsNoValue) {
  ExpectNone(ValueType::kBytesHex, {"0", "0x0", "\\xg0", "xx", "0x0x", "00 00", "\xff\xff"});
  ExpectChain(ValueType::kBytesHex, {{"", "\\x", "0x", "0X"}, {"00", "\\x00"}, {"0000"}, {"01"}, {"ff", "0xFF"}});
  const std::string uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
  ExpectChain(ValueType::kUuid, {{uuid, "{" + uuid + "}", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
                                  "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"}});
  ExpectNone(ValueType::kUuid, {"", "-", "{}", uuid + "0", uuid.substr(1), "{" + uuid, uuid + "-", "-" + uuid,
                                "a0e-ebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
                                "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", std::string(400, '0')});
}

// --- Texts --------------------------------------------------------------------------------------------------------

std::string AnyText() {
  return *rc::gen::scale(0.1, rc::gen::container<std::string>(rc::gen::element(
                                  '\0', '\1', '\2', '\3', '\4', '\5', '\t', '\n', 'a', 'A', 'b', '_', ' ', '\xf5',
                                  '\xf6', '\xfa', '\xfb', '\xfc', '\xfd', '\xfe', '\xff')));
}

RC_GTEST_PROP(ValueKey, TextsOrderByBytes, ()) {
  const std::string a = AnyText(), b = *rc::gen::arbitrary<bool>() ? AnyText() : a + AnyText();
  RC_ASSERT(KeyOrder(ValueType::kText, a, b) == Sign(a, b));
  RC_ASSERT(KeyOrder(ValueType::kLocale, a, b) == Sign(a, b));  // in the C locale
  std::string p = a, q = b;
  for (std::string* text : {&p, &q}) {
    for (char& c : *text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  RC_ASSERT(KeyOrder(ValueType::kNoCase, a, b) == Sign(p, q));
  RC_ASSERT(Bytes([&](FieldWriter& out) { ValueKey(Rule(ValueType::kText)).PutBytes(a, out); }) ==
            Key(ValueType::kText, a));
  RC_ASSERT(Bytes([&](FieldWriter& out) { ValueKey(Rule(ValueType::kNoCase)).PutBytes(a, out); }) ==
            Key(ValueType::kNoCase, a));
}

RC_GTEST_PROP(ValueKey, NaturalIsTheOrderOfVersions, ()) {
  const std::vector<std::string> texts = *testing::LinesOf(2, LineOrdering::kVersion);
  const LineKey whole;
  const auto text = [&](std::size_t i) { return detail::KeyText{testing::Data(texts[i]), 0, texts[i].size(), &whole}; };
  RC_ASSERT(KeyOrder(ValueType::kNatural, texts[0], texts[1]) == Sign(detail::CompareVersion(text(0), text(1)), 0));
}

RC_GTEST_PROP(ValueKey, NaturalIsTheOrderOfVersionsWithSuffixes, ()) {
  const auto name = [] {
    std::string text;
    const int parts = *rc::gen::inRange(1, 5);
    for (int i = 0; i < parts; ++i)
      text += *rc::gen::element<std::string>("a", "0", "00", "1", "01", ".a", ".b", "~", ".", "-");
    return text;
  };
  const std::string a = name(), b = name();
  const LineKey whole;
  const auto text = [&](const std::string& of) { return detail::KeyText{testing::Data(of), 0, of.size(), &whole}; };
  RC_ASSERT(KeyOrder(ValueType::kNatural, a, b) == Sign(detail::CompareVersion(text(a), text(b)), 0));
}

TEST(ValueKey, NaturalTakesNumbersOfAnyLength) {
  const std::string eights(300, '8');
  ExpectChain(ValueType::kNatural, {{""},
                                    {"."},
                                    {".."},
                                    {".a"},
                                    {"a", "a0"},
                                    {"a0.b"},
                                    {"a00.c"},
                                    {"a.a"},
                                    {"a1", "a01"},
                                    {"a2"},
                                    {"a10"},
                                    {"a" + eights.substr(1)},
                                    {"a" + eights, "a00" + eights},
                                    {"a8" + eights},
                                    {"b"}});
}

/// Weights of the locale of the environment, or of any installed locale that does not order by plain bytes.
RC_GTEST_PROP(ValueKey, LocaleOrdersByWholeWeights, ()) {
  const std::string before = std::setlocale(LC_COLLATE, nullptr);
  for (const char* name : {"", "en_US.UTF-8", "de_DE.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_COLLATE, name) == nullptr) continue;
    if (std::strcmp(std::setlocale(LC_COLLATE, nullptr), "C") != 0) break;
  }
  const auto weights = [](const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t at = 0;; ++at) {
      const std::string part = text.c_str() + at;
      std::string made(part.size() * 20 + 20, '\0');
      made.resize(std::strxfrm(made.data(), part.c_str(), made.size()));
      parts.push_back(made);
      at += part.size();
      if (at == text.size()) return parts;
    }
  };
  const auto any =
      rc::gen::scale(0.1, rc::gen::container<std::string>(rc::gen::element('\0', 'a', 'A', 'b', '-', ' ', '_')));
  const std::string a = *any, b = *any;
  const int order = KeyOrder(ValueType::kLocale, a, b), expected = Sign(weights(a), weights(b));
  std::setlocale(LC_COLLATE, before.c_str());
  RC_ASSERT(order == expected);
}

// --- All types ----------------------------------------------------------------------------------------------------

Texts Samples(ValueType type) {
  switch (type) {
    case ValueType::kInt:
      return {"0", "-1", "1", "12", "123", "-123456789012345678901234567890"};
    case ValueType::kDecimal:
      return {"0", "-1", "1.5", "1.50000000001", "1e999999999999999999999", "-1e-77", "inf", "nan"};
    case ValueType::kNumber:
      return {"0", "-$1", "1.5 %", "(1e-77)", "$1e999999999999999999999"};
    case ValueType::kTime:
      return {"10:00", "10:00:00.5", "10:00+02", "10:00-11:30", "-1:00", "838:59:59"};
    case ValueType::kInterval:
      return {"0", "1 day", "-1 day", "00:00:00.5", "infinity", "-infinity", "10000 years"};
    case ValueType::kMacAddress:
      return {"08:00:2b:01:02:03", "08:00:2b:01:02:03:04:05", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff:ff:ff"};
    case ValueType::kBits:
      return {"0", "1", "00", "01", "111111111"};
    case ValueType::kSeverity:
      return {"trace", "warn", "emerg"};
    case ValueType::kEnum:
      return {"low", "mid high", "high"};
    case ValueType::kOrder:
      return {"low", "mid high", "high", "other"};
    case ValueType::kSet:
      return {"", "low", "mid high", "low,mid high", "low,mid high,high"};
    case ValueType::kFloat:
      return {"0", "-0", "1.5", "-1e-77", "inf", "nan"};
    case ValueType::kBool:
      return {"t", "f"};
    case ValueType::kDate:
      return {"2026-11-22", "0044-03-15 BC", "infinity", "99999-01-01"};
    case ValueType::kTimestamp:
      return {"2026-11-22", "2026-11-22 10:00:00.123456", "0044-03-15 BC", "infinity", "99999-01-01"};
    case ValueType::kIp:
      return {"1.2.3.4", "1.2.3.4/8", "::1", "fe80::/10"};
    case ValueType::kUuid:
      return {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", std::string(32, '0'), std::string(32, 'f')};
    case ValueType::kBytesHex:
      return {"", "00", "0000", "ff", "03", "04"};
    default:
      return {"", "a", "a\0"s, "ab", "\0"s, "\0\0"s, "\3"s, "\xff"s, "a10", "a9"};
  }
}

RC_GTEST_PROP(ValueKey, NullsStandWhereTheRuleSays, ()) {
  ValueRule rule = Rule(*rc::gen::elementOf(std::vector<ValueType>(std::begin(kAllTypes), std::end(kAllTypes))),
                        *rc::gen::arbitrary<bool>());
  if (*rc::gen::arbitrary<bool>()) rule.nulls_first = *rc::gen::arbitrary<bool>();
  const std::string null = Bytes([&](FieldWriter& out) { ValueKey(rule).PutNull(out); });
  for (const std::string& text : Samples(rule.type)) {
    RC_ASSERT(Sign(null, Key(rule, text)) == (rule.puts_nulls_first() ? -1 : 1));
    RC_ASSERT(null[0] != Key(rule, text)[0]);
  }
}

RC_GTEST_PROP(ValueKey, KeysOfSeveralColumnsOrderAsTheColumns, ()) {
  std::string keys[2];
  int expected = 0;
  for (int column = 0; column < 3; ++column) {
    const ValueRule rule = Rule(*rc::gen::elementOf(std::vector<ValueType>(std::begin(kAllTypes), std::end(kAllTypes))),
                                *rc::gen::arbitrary<bool>());
    const Texts samples = Samples(rule.type);
    const std::string a = *rc::gen::elementOf(samples),
                      b = *rc::gen::arbitrary<bool>() ? a : *rc::gen::elementOf(samples);
    if (expected == 0) expected = Sign(Key(rule, a), Key(rule, b));
    keys[0] += Key(rule, a);
    keys[1] += Key(rule, b);
  }
  RC_ASSERT(Sign(keys[0], keys[1]) == expected);
}

TEST(ValueKey, NumbersAndTimesNeedNoEscape) {
  for (const ValueType type :
       {ValueType::kInt, ValueType::kDecimal, ValueType::kFloat, ValueType::kBool, ValueType::kDate,
        ValueType::kTimestamp, ValueType::kIp, ValueType::kNumber, ValueType::kTime, ValueType::kInterval,
        ValueType::kMacAddress, ValueType::kBits, ValueType::kSeverity, ValueType::kEnum, ValueType::kSet}) {
    for (const bool descending : {false, true}) {
      for (const std::string& text : Samples(type)) {
        EXPECT_EQ(Key(Rule(type, descending), text).find_first_of("\2\x09"), std::string::npos) << text;
      }
    }
  }
  EXPECT_EQ(Key(ValueType::kTimestamp, "2026-11-22T10:00:00Z").size(), 5u);
  EXPECT_EQ(Key(ValueType::kTimestamp, "2026-11-22T10:00:00.123456Z").size(), 8u);
  EXPECT_EQ(Key(ValueType::kDate, "2026-11-22").size(), 3u);
  EXPECT_EQ(Key(ValueType::kDecimal, "1234.56").size(), 4u);
  EXPECT_EQ(Key(ValueType::kFloat, "1234.56").size(), 9u);
}

// --- Values that were never text ----------------------------------------------------------------------------------

RC_GTEST_PROP(ValueKey, IntegersHaveTheKeysOfTheirText, (std::int64_t value)) {
  const ValueRule rule = Rule(ValueType::kInt, *rc::gen::arbitrary<bool>());
  for (const std::int64_t number : {value, std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, value / 1000}) {
    RC_ASSERT(Bytes([&](FieldWriter& out) { ValueKey(rule).PutInt(number, out); }) ==
              Key(rule, std::to_string(number)));
  }
}

RC_GTEST_PROP(ValueKey, NumericsHaveTheKeysOfTheirText, ()) {
  const auto digits = *rc::gen::container<std::vector<std::uint16_t>>(
      rc::gen::element<std::uint16_t>(0, 0, 1, 9, 10, 90, 100, 120, 1000, 1230, 1234, 9999));
  const int weight = *rc::gen::inRange(-30, 30);
  const bool negative = *rc::gen::arbitrary<bool>();
  std::string text = negative ? "-0" : "0";
  for (const std::uint16_t digit : digits) text += Padded(digit, 4);
  text += "e" + std::to_string((weight + 1) * 4 - 4 * static_cast<int>(digits.size()));
  const ValueRule rule = Rule(ValueType::kDecimal, *rc::gen::arbitrary<bool>());
  RC_ASSERT(Bytes([&](FieldWriter& out) { ValueKey(rule).PutDecimal(digits, weight, negative ? 0x4000 : 0, out); }) ==
            Key(rule, text));
}

TEST(ValueKey, NumericsHaveEnds) {
  const ValueRule rule = Rule(ValueType::kDecimal);
  const ValueKey key(rule);
  const std::vector<std::uint16_t> wrong = {10000};
  EXPECT_EQ(Bytes([&](FieldWriter& out) { EXPECT_TRUE(key.PutDecimal({}, 0, 0xC000, out)); }), Key(rule, "NaN"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { EXPECT_TRUE(key.PutDecimal({}, 0, 0xD000, out)); }), Key(rule, "inf"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { EXPECT_TRUE(key.PutDecimal({}, 0, 0xF000, out)); }), Key(rule, "-inf"));
  EXPECT_EQ(Bytes([&](FieldWriter& out) { EXPECT_FALSE(key.PutDecimal(wrong, 0, 0, out)); }), "");
  EXPECT_EQ(Bytes([&](FieldWriter& out) { EXPECT_FALSE(key.PutDecimal({}, 0, 1, out)); }), "");
}

TEST(ValueKey, HasANameForEachType) {
  for (const ValueType type : kAllTypes) EXPECT_EQ(FindValueType(ValueTypeName(type)), type);
  const std::pair<const char*, ValueType> others[] = {
      {"json", ValueType::kText},   {"amount", ValueType::kNumber},       {"money", ValueType::kNumber},
      {"timetz", ValueType::kTime}, {"macaddr8", ValueType::kMacAddress}, {"varbit", ValueType::kBits}};
  for (const auto& [name, type] : others) EXPECT_EQ(FindValueType(name), type);
  EXPECT_EQ(FindValueType("jsonb"), std::nullopt);  // its order is not that of its text
  EXPECT_EQ(FindValueType("int "), std::nullopt);
  EXPECT_TRUE(ValueTypeNames().starts_with("text, nocase, "));
}

TEST(LooksLike, SaysOnlyWhatIsPlain) {
  const std::vector<std::pair<std::optional<ValueType>, Texts>> cases = {
      {ValueType::kInt, {"0", "1", "-12", "+3", "20260101", "123456789012345678901234567890"}},
      {ValueType::kDecimal, {"0.5", "-1.25", "1.5e10"}},
      {ValueType::kDate, {"2026-11-22", "2026/11/22"}},
      {ValueType::kTimestamp, {"2026-11-22T10:00:00Z", "2026-11-22 10:00", "22/Nov/2026:10:00:00 +0100"}},
      {ValueType::kUuid, {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}},
      {ValueType::kIp, {"10.0.0.1", "10.0.0.0/8", "fe80::1", "::1"}},
      {std::nullopt,
       {"",
        "a",
        "007",
        "00.5",
        "1.",
        ".5",
        "1e5",
        "-",
        "true",
        "nan",
        "inf",
        "infinity",
        "2026-02-30",
        "a::b",
        "::",
        "10:30:45",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "1.2.3",
        " 1",
        "1 ",
        "\xff"}}};
  for (const auto& [type, texts] : cases) {
    for (const std::string& text : texts) EXPECT_EQ(LooksLike(text), type) << text;
  }
}

}  // namespace
}  // namespace gpusort
