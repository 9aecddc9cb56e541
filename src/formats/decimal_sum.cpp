#include "formats/decimal_sum.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>

#include "formats/text_reader.hpp"

namespace gpusort {
namespace {

using boost::multiprecision::cpp_int;
using Small = __int128;
using Unsigned = unsigned __int128;

/// The numbers of so many digits fit into Small, and so does ten times such a number.
constexpr unsigned kSmallDigits = 37;

Unsigned Magnitude(Small value) { return value < 0 ? -static_cast<Unsigned>(value) : static_cast<Unsigned>(value); }

cpp_int BigOf(Small value) {
  cpp_int big = static_cast<std::uint64_t>(Magnitude(value) >> 64);
  big <<= 64;
  big += static_cast<std::uint64_t>(Magnitude(value));
  return value < 0 ? -big : big;
}

cpp_int Power(unsigned exponent) { return boost::multiprecision::pow(cpp_int(10), exponent); }

/// Multiplies `value` by 10^exponent. Returns false if the result is too large.
bool Scale(Small& value, unsigned exponent) {
  if (value == 0) return true;
  if (exponent > kSmallDigits) return false;
  Small power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return !__builtin_mul_overflow(value, power, &value);
}

std::string DigitsOf(Unsigned value) {
  char digits[40];
  char* at = std::end(digits);
  do {
    *--at = static_cast<char>('0' + static_cast<unsigned>(value % 10));
    value /= 10;
  } while (value != 0);
  return {at, std::end(digits)};
}

/// Reads numbers such as -12.50, which most numbers are like. Returns false for others, which may be numbers, too.
bool ReadShort(TextReader reader, char point, DecimalSum::Number& number) {
  constexpr std::size_t kMost = 18;  // so many digits fit into 64 bits
  const bool negative = reader.TakeSign();
  if (reader.rest().size() > kMost || reader.done()) return false;
  std::uint64_t value = 0;
  const char *at = reader.at, *after_point = nullptr;
  for (; at != reader.end; ++at) {
    const unsigned digit = static_cast<unsigned>(*at) - '0';
    if (digit < 10) {
      value = value * 10 + digit;
    } else if (*at == point && after_point == nullptr) {
      after_point = at + 1;
    } else {
      return false;
    }
  }
  const std::size_t digits = reader.rest().size() - (after_point != nullptr ? 1 : 0);
  if (digits == 0) return false;
  number.negative = negative;
  number.small = negative ? -static_cast<Small>(value) : static_cast<Small>(value);
  number.scale = after_point != nullptr ? static_cast<unsigned>(reader.end - after_point) : 0;
  number.separators = false;
  number.digits.clear();
  return true;
}

}  // namespace

/// The whole number `value`, divided by 10^scale.
struct DecimalSum::Big {
  cpp_int value = 0;
  unsigned scale = 0;

  void Add(const cpp_int& digits, unsigned digits_scale) {
    if (digits_scale > scale) {
      value *= Power(digits_scale - scale);
      scale = digits_scale;
    }
    value += digits_scale < scale ? cpp_int(digits * Power(scale - digits_scale)) : digits;
  }
};

DecimalSum::DecimalSum() = default;
DecimalSum::DecimalSum(DecimalSum&&) noexcept = default;
DecimalSum& DecimalSum::operator=(DecimalSum&&) noexcept = default;
DecimalSum::~DecimalSum() = default;

DecimalSum::Read DecimalSum::ReadNumber(std::string_view text, const ValueRule& rule, Number& number,
                                        std::size_t most) {
  TextReader reader{text.data(), text.data() + text.size()};
  if (ReadShort(reader, rule.decimal_point, number)) return Read::kNumber;
  number = {};
  number.negative = reader.TakeSign();
  std::string digits;
  bool any = false;
  const char* at = reader.at;
  const char* const end = reader.end;
  std::int64_t scale = 0;
  const auto take_digit = [&] {
    any = true;
    if (!digits.empty() || *at != '0') digits += *at;
  };
  for (; at != end; ++at) {
    if (IsDigit(*at)) {
      take_digit();
    } else if (static_cast<unsigned char>(*at) != rule.thousands || !any || at + 1 == end || !IsDigit(at[1])) {
      break;
    } else {
      number.separators = true;
    }
  }
  if (at != end && *at == rule.decimal_point) {
    for (++at; at != end && IsDigit(*at); ++at, ++scale) take_digit();
  }
  if (!any) return Read::kNoNumber;
  reader.at = at;
  if (reader.Take('e') || reader.Take('E')) {
    const bool negative = reader.TakeSign();
    std::string_view exponent = reader.rest();
    if (exponent.empty() || reader.digits() != exponent.size()) return Read::kNoNumber;
    exponent.remove_prefix(std::min(exponent.find_first_not_of('0'), exponent.size()));
    constexpr std::int64_t kLarge = 1'000'000'000'000;  // more than the digits of any record
    std::int64_t value = kLarge;
    if (exponent.size() <= 12) {
      value = 0;
      std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
    }
    scale += negative ? value : -value;
  } else if (!reader.done()) {
    return Read::kNoNumber;
  }
  if (digits.empty()) scale = std::max<std::int64_t>(scale, 0);  // 0e9 is 0
  const std::int64_t whole = static_cast<std::int64_t>(digits.size()) - scale;
  if (std::max(scale, whole) > static_cast<std::int64_t>(most)) return Read::kTooLong;
  if (scale < 0) digits.append(static_cast<std::size_t>(-scale), '0');
  number.scale = static_cast<unsigned>(std::max<std::int64_t>(scale, 0));
  if (digits.size() > kSmallDigits) {
    number.digits = std::move(digits);
  } else {
    for (const char digit : digits) number.small = number.small * 10 + (digit - '0');
    if (number.negative) number.small = -number.small;
  }
  return Read::kNumber;
}

void DecimalSum::Add(const Number& number) {
  any_ = true;
  separators_ |= number.separators;
  scale_ = std::max(scale_, number.scale);
  if (number.digits.empty()) return AddSmall(number.small, number.scale);
  const cpp_int value(number.digits);
  MakeBig().Add(number.negative ? cpp_int(-value) : value, number.scale);
}

void DecimalSum::Add(const DecimalSum& other) {
  any_ |= other.any_;
  separators_ |= other.separators_;
  scale_ = std::max(scale_, other.scale_);
  AddSmall(other.small_, other.small_scale_);
  if (other.big_) MakeBig().Add(other.big_->value, other.big_->scale);
}

void DecimalSum::AddSmall(Small digits, unsigned scale) {
  Small sum = small_;
  if (scale == small_scale_ && !__builtin_add_overflow(sum, digits, &sum)) {
    small_ = sum;
    return;
  }
  sum = small_;
  const unsigned common = std::max(scale, small_scale_);
  Small added = digits;
  if (Scale(sum, common - small_scale_) && Scale(added, common - scale) && !__builtin_add_overflow(sum, added, &sum)) {
    small_ = sum;
    small_scale_ = common;
    return;
  }
  MoveToBig();
  small_ = digits;
  small_scale_ = scale;
}

DecimalSum::Big& DecimalSum::MakeBig() {
  if (!big_) big_ = std::make_unique<Big>();
  return *big_;
}

void DecimalSum::MoveToBig() {
  MakeBig().Add(BigOf(small_), small_scale_);
  small_ = 0;
  small_scale_ = 0;
}

DecimalSum::Big DecimalSum::Total(unsigned scale) const {
  Big total;
  total.scale = scale;
  total.Add(BigOf(small_), small_scale_);
  if (big_) total.Add(big_->value, big_->scale);
  return total;
}

std::string DecimalSum::Text(const ValueRule& rule) const {
  std::string digits;
  bool negative = small_ < 0;
  if (Small value = small_; !big_ && Scale(value, scale_ - small_scale_)) {
    digits = DigitsOf(Magnitude(value));
  } else {
    const cpp_int total = Total(scale_).value;
    negative = total < 0;
    digits = (negative ? cpp_int(-total) : total).str();
  }
  if (digits.size() <= scale_) digits.insert(0, scale_ + 1 - digits.size(), '0');
  const std::size_t whole = digits.size() - scale_;
  std::string text = negative ? "-" : "";
  for (std::size_t i = 0; i < whole; ++i) {
    constexpr std::size_t kGroup = 3;
    const bool between = i > 0 && (whole - i) % kGroup == 0;
    if (separators_ && rule.thousands >= 0 && between) text += static_cast<char>(rule.thousands);
    text += digits[i];
  }
  if (scale_ > 0) text.append(1, rule.decimal_point).append(digits, whole);
  return text;
}

bool DecimalSum::Equals(const DecimalSum& other) const {
  const unsigned scale = std::max(scale_, other.scale_);
  return Total(scale).value == other.Total(scale).value;
}

void DecimalSum::Clear() {
  small_ = 0;
  small_scale_ = scale_ = 0;
  any_ = separators_ = false;
  big_.reset();
}

void AddSums(const ColumnSums& more, ColumnSums& sums) {
  for (std::size_t i = 0; i < more.size(); ++i) sums.at(i).Add(more[i]);
}

}  // namespace gpusort
