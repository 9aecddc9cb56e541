#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "formats/value_keys.hpp"

namespace gpusort::keys {
namespace {

// First bytes of the keys of numbers that are not negative. The key of a negative number is the complement. A number is
// written as 0.DIGITS * 10^exponent, where the first digit is not 0.
constexpr unsigned kTiny = 132, kExponentZero = 180, kHuge = 228, kZero = 127;
constexpr std::int64_t kMostExponent = 45;

/// Appends a large exponent: the number of its digits, and then the digits.
void PutLongExponent(bool negative, std::string_view digits, KeyBytes& out) {
  out.Put(negative ? kTiny : kHuge);
  const Reversed reversed(out, negative);
  constexpr unsigned kShort = 200;
  if (digits.size() < kShort) {
    out.Put(kFirstDigit + static_cast<unsigned>(digits.size()));
  } else {
    out.Put(kFirstDigit + kShort);
    PutFixed<9>(digits.size(), out);
  }
  for (const char digit : digits) out.Put(kFirstDigit + static_cast<unsigned>(digit - '0'));
}

void PutExponent(std::int64_t exponent, KeyBytes& out) {
  if (exponent >= -kMostExponent && exponent <= kMostExponent) {
    out.Put(static_cast<unsigned>(kExponentZero + exponent));
    return;
  }
  char digits[20];
  const char* const end = std::to_chars(digits, std::end(digits), exponent < 0 ? -exponent : exponent).ptr;
  PutLongExponent(exponent < 0, {digits, static_cast<std::size_t>(end - digits)}, out);
}

/// A decimal number, as pointers into its text.
struct Decimal {
  bool negative = false;
  const char* first = nullptr;  ///< the first digit that is not 0; null: the number is 0
  const char* last = nullptr;   ///< the last digit that is not 0
  /// The number of digits from `first` to the point; negative: the number of zeros between the point and `first`.
  std::int64_t shift = 0;
  bool negative_exponent = false;
  std::string_view exponent;  ///< the digits of the exponent, without leading zeros

  static constexpr std::size_t kShortExponent = 17;  ///< with so few digits, exponent + `shift` does not overflow
  bool short_exponent() const { return exponent.size() <= kShortExponent; }
  std::int64_t short_sum() const {
    std::int64_t number = 0;
    for (const char digit : exponent) number = number * 10 + (digit - '0');
    return shift + (negative_exponent ? -number : number);
  }
  /// Returns the digits of |shift + exponent|. The exponent must have more than kShortExponent digits, so it decides
  /// the sign.
  std::string LongSum() const {
    std::string sum(exponent);
    std::int64_t carry = negative_exponent ? -shift : shift;
    for (std::size_t i = sum.size(); i-- > 0 && carry != 0;) {
      std::int64_t digit = sum[i] - '0' + carry % 10;
      carry /= 10;
      if (digit < 0 || digit > 9) {
        const int over = digit < 0 ? -1 : 1;
        digit -= 10 * over;
        carry += over;
      }
      sum[i] = static_cast<char>('0' + digit);
    }
    if (carry > 0) sum.insert(0, std::to_string(carry));
    return sum.substr(sum.find_first_not_of('0'));
  }
};

/// Reads all of `reader` as a number. Returns false if the text is no number. If `whole` is true, only a sign and
/// digits are allowed.
bool ReadDecimal(TextReader reader, const ValueRule& rule, bool whole, Decimal& number) {
  number.negative = reader.TakeSign();
  const char* at = reader.at;
  const char* const end = reader.end;
  bool any = false;
  const auto take_digit = [&] {
    any = true;
    if (*at == '0') return;
    if (number.first == nullptr) number.first = at;
    number.last = at;
  };
  for (; at != end; ++at) {
    if (IsDigit(*at)) {
      take_digit();
      number.shift += number.first != nullptr;
    } else if (static_cast<unsigned char>(*at) != rule.thousands || !any || at + 1 == end || !IsDigit(at[1])) {
      break;
    }
  }
  if (!whole && at != end && *at == rule.decimal_point) {
    for (++at; at != end && IsDigit(*at); ++at) {
      take_digit();
      number.shift -= number.first == nullptr;
    }
  }
  if (!any) return false;
  reader.at = at;
  if (whole || reader.done()) return reader.done();
  if (!reader.Take('e') && !reader.Take('E')) return false;
  number.negative_exponent = reader.TakeSign();
  number.exponent = reader.rest();
  if (reader.done() || reader.digits() != number.exponent.size()) return false;
  number.exponent.remove_prefix(std::min(number.exponent.find_first_not_of('0'), number.exponent.size()));
  return true;
}

void PutDecimalText(const Decimal& number, KeyBytes& out) {
  if (number.first == nullptr) {
    out.Put(kZero);
    return;
  }
  const Reversed reversed(out, number.negative);
  if (number.short_exponent()) {
    PutExponent(number.short_sum(), out);
  } else {
    PutLongExponent(number.negative_exponent, number.LongSum(), out);
  }
  DigitPairs pairs(out);
  for (const char* at = number.first; at <= number.last; ++at) {
    if (IsDigit(*at)) pairs.Add(static_cast<unsigned>(*at - '0'));
  }
  pairs.End();
}

/// Appends the key that ReadDecimal() and PutDecimalText() would make, if `reader` holds a number of few digits without
/// an exponent. Otherwise returns false and appends nothing.
bool PutShort(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out) {
#if defined(__SSE2__)
  const bool negative = reader.TakeSign();
  if (reader.rest().size() > ShortDigits::kMost) return false;
  ShortDigits digits(reader.rest());
  unsigned point = digits.count();
  if (digits.others() != 0) {
    if (whole || !std::has_single_bit(digits.others())) return false;
    point = static_cast<unsigned>(std::countr_zero(digits.others()));
    if (reader.at[point] != rule.decimal_point) return false;
    digits.Remove(point);
  }
  if (digits.count() == 0) return false;
  const unsigned not_zero = digits.not_zero();
  if (not_zero == 0) {
    out.Put(kZero);
    return true;
  }
  const auto first = static_cast<unsigned>(std::countr_zero(not_zero));
  const auto last = static_cast<unsigned>(std::bit_width(not_zero)) - 1;
  const Reversed reversed(out, negative);
  out.Put(kExponentZero + point - first);
  digits.PutPairs(first, last, out);
  return true;
#else
  return false;
#endif
}

}  // namespace

bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out) {
  if (PutShort(reader, rule, whole, out)) return true;
  Decimal number;
  if (!ReadDecimal(reader, rule, whole, number)) return false;
  PutDecimalText(number, out);
  return true;
}

bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out) {
  constexpr unsigned kNegative = 0x4000, kNan = 0xC000, kInfinity = 0xD000, kMinusInfinity = 0xF000;
  if (sign == kNan || sign == kInfinity || sign == kMinusInfinity) {
    out.Put(sign == kNan ? kAboveAll : sign == kInfinity ? kGreatest : kLeast);
    return true;
  }
  if ((sign != 0 && sign != kNegative) ||
      std::any_of(digits.begin(), digits.end(), [](unsigned digit) { return digit > 9999; })) {
    return false;
  }
  std::int64_t exponent = (std::int64_t{weight} + 1) * 4;
  while (!digits.empty() && digits.back() == 0) digits = digits.first(digits.size() - 1);
  for (; !digits.empty() && digits.front() == 0; digits = digits.subspan(1)) exponent -= 4;
  if (digits.empty()) {
    out.Put(kZero);
    return true;
  }
  // Skips the zeros before the first digit and after the last digit that is not 0.
  unsigned skip = digits.front() < 10 ? 3 : digits.front() < 100 ? 2 : digits.front() < 1000 ? 1 : 0;
  const unsigned back = digits.back();
  const unsigned cut = back % 1000 == 0 ? 3 : back % 100 == 0 ? 2 : back % 10 == 0 ? 1 : 0;
  const Reversed negative(out, sign == kNegative);
  PutExponent(exponent - skip, out);
  DigitPairs pairs(out);
  for (std::size_t i = 0; i < digits.size(); ++i, skip = 0) {
    const unsigned digit = digits[i];
    const unsigned four[] = {digit / 1000, digit / 100 % 10, digit / 10 % 10, digit % 10};
    const unsigned end = i + 1 == digits.size() ? 4 - cut : 4;
    for (unsigned k = skip; k < end; ++k) pairs.Add(four[k]);
  }
  pairs.End();
  return true;
}

bool IsDecimal(TextReader reader) {
  Decimal number;
  return ReadDecimal(reader, {}, false, number);
}

// --- Infinity and NaN ---------------------------------------------------------------------------------------------

namespace {

enum class Special { kNone, kInfinity, kNan };

/// Returns the special number that the text names. The sign before it must have been skipped.
Special SpecialOf(std::string_view text) {
  if (text.empty() || (Lower(text[0]) != 'i' && Lower(text[0]) != 'n')) return Special::kNone;
  if (IsWord(text, "inf") || IsWord(text, "infinity")) return Special::kInfinity;
  return IsWord(text, "nan") ? Special::kNan : Special::kNone;
}

}  // namespace

bool PutSpecial(TextReader reader, KeyBytes& out) {
  const char* const begin = reader.at;
  const bool negative = reader.TakeSign();
  const Special special = SpecialOf(reader.rest());
  if (special == Special::kNone || (special == Special::kNan && reader.at != begin)) return false;
  out.Put(special == Special::kNan ? kAboveAll : negative ? kLeast : kGreatest);
  return true;
}

// --- Numbers as people write them ---------------------------------------------------------------------------------

namespace {

/// Skips a currency sign at the front: $, cent, pound, yen, the general one, or one of U+20A0 to U+20CF.
bool TakeCurrency(TextReader& reader) {
  const std::string_view text = reader.rest();
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  std::size_t size = 0;
  if (byte(0) == '$') size = 1;
  if (byte(0) == 0xC2 && byte(1) >= 0xA2 && byte(1) <= 0xA5) size = 2;
  if (byte(0) == 0xE2 && ((byte(1) == 0x82 && byte(2) >= 0xA0) || (byte(1) == 0x83 && byte(2) <= 0x8F))) size = 3;
  reader.at += size;
  return size > 0;
}

/// Removes a currency sign or a percent sign from the end of the text. Does nothing if there is none.
bool TakeUnitBehind(TextReader& reader) {
  const std::string_view text = reader.rest();
  if (text.ends_with('%')) {
    --reader.end;
    return true;
  }
  for (std::size_t size = 1; size <= std::min<std::size_t>(3, text.size()); ++size) {
    TextReader unit{reader.end - size, reader.end};
    if (!TakeCurrency(unit) || !unit.done()) continue;
    reader.end -= size;
    return true;
  }
  return false;
}

bool TakeText(TextReader& reader, std::string_view text) {
  if (!reader.rest().starts_with(text)) return false;
  reader.at += text.size();
  return true;
}

/// Takes a sign, also U+2212. Returns false if there is none.
bool TakeAnySign(TextReader& reader, bool& negative) {
  negative = TakeText(reader, "-") || TakeText(reader, "\u2212");
  return negative || reader.Take('+');
}

/// Appends the digits before the decimal point to `plain`, without separators. Returns false if the groups that the
/// separators divide have wrong sizes.
bool TakeGroups(TextReader& reader, const ValueRule& rule, std::string& plain) {
  const auto append = [&](std::size_t digits) {
    plain.append(reader.at, digits);
    reader.at += digits;
  };
  if (rule.thousands >= 0) {
    const auto thousands = static_cast<char>(rule.thousands);
    for (append(reader.digits()); !plain.empty() && reader.Is(thousands); append(reader.digits())) {
      ++reader.at;
      if (reader.digits() == 0) return false;
    }
    return true;
  }
  const std::string_view kSeparators[] = {
      rule.decimal_point == ',' ? "." : ",", "'", "_", " ", "\u00A0", "\u2009", "\u2019", "\u202F"};
  std::string_view separator;
  std::size_t size = reader.digits();
  bool pairs = false;  // a group of two digits occurred after the first one, as in 12,34,567 (India)
  append(size);
  if (size == 0 || size > 3) return true;
  for (const std::string_view known : kSeparators) {
    TextReader after = reader;
    if (TakeText(after, known) && after.digits() > 0) separator = known;
  }
  while (!separator.empty() && TakeText(reader, separator)) {
    const std::size_t before = size;
    size = reader.digits();
    const bool pair = size == 2 && separator == ",";
    if ((size != 3 && !pair) || (pair && before == 3) || (pairs && before == 3)) return false;
    pairs |= pair;
    append(size);
  }
  return size == 3 || separator.empty();
}

/// Takes a suffix such as K, and sets `power` to the power of 1000 or 1024 that it stands for. Returns false if other
/// text follows.
bool TakeSuffix(TextReader& reader, bool currency, unsigned& power, bool& binary) {
  constexpr std::string_view kLetters = "KMGTPE";
  reader.SkipSpace();
  if (reader.done()) return true;
  if (currency && IsWord(reader.rest(), "b")) {
    power = 3;
    return true;
  }
  const std::size_t letter = kLetters.find(reader.Is('k') ? 'K' : *reader.at);
  if (letter != std::string_view::npos) {
    power = static_cast<unsigned>(letter) + 1;
    ++reader.at;
    binary = reader.Take('i');
  }
  reader.Take('B');
  return reader.done();
}

/// Puts the key of `number` times 1024^power. Returns false and puts nothing if it has more than kMost digits.
bool PutBinary(const Decimal& number, unsigned power, KeyBytes& out) {
  constexpr std::int64_t kMost = 18;
  unsigned __int128 value = 0;
  std::int64_t digits = 0;
  for (const char* at = number.first; number.first != nullptr && at <= number.last; ++at) {
    if (!IsDigit(*at)) continue;
    if (++digits > kMost) return false;
    value = value * 10 + static_cast<unsigned>(*at - '0');
  }
  // The number is 0.DIGITS * 10^shift.
  const std::int64_t shift = number.short_sum() - digits;
  value <<= 10 * power;
  std::string text;
  for (; value > 0; value /= 10) text.insert(text.begin(), static_cast<char>('0' + static_cast<unsigned>(value % 10)));
  if (text.empty()) text = "0";
  text += "e" + std::to_string(shift);
  Decimal product;
  ReadDecimal({text.data(), text.data() + text.size()}, {}, false, product);
  product.negative = number.negative;
  PutDecimalText(product, out);
  return true;
}

}  // namespace

// How people write numbers:
// - Currency signs and percent signs are ignored. A number in parentheses is negative.
// - The `thousands` byte of `rule` may separate digits. If `rule` has no such byte, one of the usual separators, such
//   as a comma or a space, may separate groups of three digits.
// - The suffixes K, M, G, T, P and E multiply by powers of 1000. Ki, Mi and so on multiply by powers of 1024. A "B"
//   may follow the suffix. After a currency sign, B without another suffix multiplies by 10^9.
bool PutLooseNumber(TextReader reader, const ValueRule& rule, KeyBytes& out) {
  if (PutShort(reader, rule, false, out)) return true;
  bool negative = false, currency = false;
  bool sign = reader.rest().size() > 1 && reader.Is('(') && reader.end[-1] == ')';
  if (sign) {
    negative = true;
    reader = TextReader::Trimmed(reader.rest().substr(1, reader.rest().size() - 2));
  }
  sign = sign || TakeAnySign(reader, negative);
  bool percent = false;
  if (TakeCurrency(reader)) {
    currency = true;
    reader.SkipSpace();
    sign = sign || TakeAnySign(reader, negative);
  } else {
    percent = reader.rest().ends_with('%');
    if (TakeUnitBehind(reader)) {
      currency = !percent;
      reader = TextReader::Trimmed(reader.rest());
    }
  }
  std::string plain;
  if (!TakeGroups(reader, rule, plain)) return false;
  const auto append_digits = [&] {
    plain.append(reader.at, reader.digits());
    reader.at += reader.digits();
  };
  if (reader.Take(rule.decimal_point)) {
    plain += '.';
    append_digits();
  }
  TextReader exponent = reader;
  if (exponent.Take('e') || exponent.Take('E')) {
    const char* const begin = exponent.at;
    exponent.TakeSign();
    if (exponent.digits() > 0) {
      plain.append("e").append(begin, exponent.at);
      reader.at = exponent.at;
      append_digits();
    }
  }
  unsigned power = 0;
  bool binary = false;
  if (!reader.done() && (percent || !TakeSuffix(reader, currency, power, binary))) return false;
  Decimal number;
  if (plain.empty() || !ReadDecimal({plain.data(), plain.data() + plain.size()}, {}, false, number)) return false;
  number.negative = negative;
  if (power > 0 && !number.short_exponent()) return false;
  if (binary) return PutBinary(number, power, out);
  number.shift += 3 * power;
  PutDecimalText(number, out);
  return true;
}

// --- Floats -------------------------------------------------------------------------------------------------------

void PutDouble(double value, KeyBytes& out) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) {
    PutFixed<9>((bits & kSign) != 0 ? 0 : ~std::uint64_t{0}, out);
  } else {
    PutFixed<9>((bits & kSign) != 0 ? ~bits : bits | kSign, out);
  }
}

bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out) {
  Decimal number;
  const bool finite = ReadDecimal(reader, rule, false, number);
  const double sign = reader.TakeSign() ? -1 : 1;
  std::string_view text = reader.rest();
  double value = 0;
  if (!finite) {
    const Special special = SpecialOf(text);
    if (special == Special::kNone) return false;
    using Limits = std::numeric_limits<double>;
    value = special == Special::kNan ? Limits::quiet_NaN() : Limits::infinity();
  } else if (number.first != nullptr) {
    std::string plain;  // the number in the form that from_chars() reads
    if (rule.decimal_point != '.' || rule.thousands >= 0) {
      for (const char c : text) {
        if (static_cast<unsigned char>(c) != rule.thousands) plain += c == rule.decimal_point ? '.' : c;
      }
      text = plain;
    }
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range) {
      const bool large = number.short_exponent() ? number.short_sum() > 0 : !number.negative_exponent;
      value = large ? std::numeric_limits<double>::infinity() : 0;
    }
  }
  PutDouble(std::copysign(value, sign), out);
  return true;
}

}  // namespace gpusort::keys
