#include "formats/value_key.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/gnu_quote.hpp"
#include "base/text.hpp"
#include "formats/locale_keys.hpp"
#include "formats/text_reader.hpp"
#include "formats/time_text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

// Bytes 3..8, 11..244 and 247..252 need no escape, nor do their complements. Keys of values begin with 16..239, so that
// nulls can stand on either side of them, in both directions.
constexpr unsigned kNullFirst = 4, kNullLast = 251;
constexpr unsigned kLeast = 17, kGreatest = 238, kAboveAll = 239;  ///< first bytes of infinities and NaN
constexpr unsigned kText = 128;                                    ///< the first byte of what is put as bytes

using TypeName = std::pair<std::string_view, ValueType>;
/// The names of the kTypes types, and after them PostgreSQL's names of the same types.
constexpr TypeName kTypeNames[] = {
    {"text", ValueType::kText},           {"nocase", ValueType::kNoCase}, {"natural", ValueType::kNatural},
    {"locale", ValueType::kLocale},       {"int", ValueType::kInt},       {"decimal", ValueType::kDecimal},
    {"float", ValueType::kFloat},         {"bool", ValueType::kBool},     {"date", ValueType::kDate},
    {"timestamp", ValueType::kTimestamp}, {"ip", ValueType::kIp},         {"uuid", ValueType::kUuid},
    {"bytes-hex", ValueType::kBytesHex},  {"amount", ValueType::kAmount}, {"int2", ValueType::kInt},
    {"int4", ValueType::kInt},            {"int8", ValueType::kInt},      {"float4", ValueType::kFloat},
    {"float8", ValueType::kFloat},        {"numeric", ValueType::kDecimal}, {"timestamptz", ValueType::kTimestamp},
    {"bytea", ValueType::kBytesHex},      {"inet", ValueType::kIp},       {"cidr", ValueType::kIp},
    {"money", ValueType::kAmount}};
constexpr std::size_t kTypes = 14;

/// Gathers the bytes of a key, for FieldWriter::PutBytes.
class KeyBytes {
 public:
  KeyBytes(FieldWriter& out, bool reverse) : out_(out) { set_reverse(reverse); }
  KeyBytes(const KeyBytes&) = delete;
  KeyBytes& operator=(const KeyBytes&) = delete;

  void Put(unsigned byte) {
    if (size_ == bytes_.size()) End();
    bytes_[size_++] = static_cast<unsigned char>(byte ^ flip_);
  }
  template <std::size_t kSize>
  void Put(const std::array<unsigned char, kSize>& bytes) {
    if (size_ + kSize > bytes_.size()) End();
    for (std::size_t i = 0; i < kSize; ++i) bytes_[size_ + i] = static_cast<unsigned char>(bytes[i] ^ flip_);
    size_ += kSize;
  }
  /// Puts the first `count` bytes of `word` in the order that they have in memory.
  void PutWord(std::uint64_t word, unsigned count) {
    if (size_ + sizeof(word) > bytes_.size()) End();
    word ^= flip_ * 0x0101010101010101u;
    std::memcpy(bytes_.data() + size_, &word, sizeof(word));
    size_ += count;
  }
  void End() { out_.PutBytes(bytes_.data(), std::exchange(size_, 0)); }
  /// Ends a part of bytes that need no escape.
  void EndPlain() { out_.PutPlain(bytes_.data(), std::exchange(size_, 0)); }
  /// Complements what is put from now on.
  void set_reverse(bool reverse) { flip_ = reverse ? 0xFF : 0; }
  bool reverse() const { return flip_ != 0; }

  // Members that detail::PutVersionPart also needs.
  static bool full() { return false; }
  void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    for (unsigned shift = 64; count >= 255 && shift > 0;) Put(static_cast<unsigned>(count >> (shift -= 8) & 0xFF));
  }

 private:
  FieldWriter& out_;
  std::array<unsigned char, 120> bytes_;
  std::size_t size_ = 0;
  unsigned flip_ = 0;
};

/// Reverses what is put while it lives, on top of what is reversed already.
class Reversed {
 public:
  Reversed(KeyBytes& out, bool reverse) : out_(out), before_(out.reverse()) { out_.set_reverse(before_ != reverse); }
  Reversed(const Reversed&) = delete;
  Reversed& operator=(const Reversed&) = delete;
  ~Reversed() { out_.set_reverse(before_); }

 private:
  KeyBytes& out_;
  const bool before_;
};

// --- Numbers of a fixed range: digits of base 224, as bytes from 16 on. -------------------------------------------

constexpr std::uint32_t kBase = 224;
constexpr unsigned kFirstDigit = 16;
constexpr std::uint64_t Power(unsigned digits) { return digits == 0 ? 1 : kBase * Power(digits - 1); }

template <unsigned kDigits>
void PutFixed(std::uint64_t value, KeyBytes& out) {
  // Four digits at a time, which 32 bits hold.
  constexpr unsigned kPart = 4;
  if constexpr (kDigits > kPart) {
    PutFixed<kDigits - kPart>(value / Power(kPart), out);
    PutFixed<kPart>(value % Power(kPart), out);
  } else {
    auto part = static_cast<std::uint32_t>(value);
    std::array<unsigned char, kDigits> bytes;
    for (unsigned i = kDigits; i-- > 0; part /= kBase)
      bytes[i] = static_cast<unsigned char>(kFirstDigit + part % kBase);
    out.Put(bytes);
  }
}

/// `value`, of less than 2^54, in kDigits bytes if it is in [0, 200 * 224^(kDigits - 1)), otherwise in 9.
template <unsigned kDigits>
void PutUsual(std::int64_t value, KeyBytes& out) {
  constexpr std::uint64_t kDigit = Power(kDigits - 1);
  if (value >= 0 && static_cast<std::uint64_t>(value) < 200 * kDigit) {
    PutFixed<kDigits>(static_cast<std::uint64_t>(value) + 10 * kDigit, out);  // begins with 26..225
  } else {
    out.Put(value < 0 ? 20 : 230);
    PutFixed<8>(static_cast<std::uint64_t>(value + (std::int64_t{1} << 54)), out);
  }
}

// --- Decimal numbers ----------------------------------------------------------------------------------------------

/// Decimal digits by twos: 20 + 2 * pair, and one more if another pair follows. So they need no end, and what is cut
/// off is less. The last digit is not to be 0.
class DigitPairs {
 public:
  explicit DigitPairs(KeyBytes& out) : out_(out) {}
  void Add(unsigned digit) {
    if (half_) {
      pair_ += digit;
    } else {
      if (any_) out_.Put(kMore + 2 * pair_);
      pair_ = 10 * digit;
      any_ = true;
    }
    half_ = !half_;
  }
  void End() { out_.Put(kLast + 2 * pair_); }

  static constexpr unsigned kLast = 20, kMore = 21;

 private:
  KeyBytes& out_;
  unsigned pair_ = 0;
  bool half_ = false;
  bool any_ = false;
};

#if defined(__SSE2__)
/// Reads up to 16 bytes of text as digits without a loop. Most numbers are that short. A loop would often be predicted
/// wrongly, because numbers differ in their count of digits and in the place of the point.
class ShortDigits {
 public:
  static constexpr std::size_t kMost = 16;

  explicit ShortDigits(std::string_view text) : count_(static_cast<unsigned>(text.size())) {
    char copy[kMost] = {};
    std::memcpy(copy, text.data(), text.size());
    const __m128i values = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(copy)), _mm_set1_epi8('0'));
    const __m128i nine = _mm_set1_epi8(9);
    const __m128i digits = _mm_cmpeq_epi8(_mm_max_epu8(values, nine), nine);
    others_ = ~static_cast<unsigned>(_mm_movemask_epi8(digits)) & ((1u << count_) - 1);
    Set(_mm_and_si128(values, digits));
  }
  /// A bit for each byte that is no digit.
  unsigned others() const { return others_; }
  /// Digits; also the others count while they are not removed, and are zeros.
  unsigned count() const { return count_; }
  void Remove(unsigned at) {
    const unsigned __int128 front = (static_cast<unsigned __int128>(1) << 8 * at) - 1;
    digits_ = (digits_ & front) | (digits_ >> 8 & ~front);
    --count_;
  }
  /// A bit for each digit that is not 0.
  unsigned not_zero() const {
    return ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(Vector(), _mm_setzero_si128()))) & 0xFFFF;
  }
  /// Puts the bytes that DigitPairs puts for the digits from `first` to `last`.
  void PutPairs(unsigned first, unsigned last, KeyBytes& out) {
    digits_ >>= 8 * first;
    const __m128i tens = _mm_mullo_epi16(_mm_and_si128(Vector(), _mm_set1_epi16(0xFF)), _mm_set1_epi16(2 * 10));
    const __m128i ones = _mm_slli_epi16(_mm_srli_epi16(Vector(), 8), 1);
    const __m128i pairs = _mm_add_epi16(_mm_add_epi16(tens, ones), _mm_set1_epi16(DigitPairs::kLast));
    std::uint64_t word = 0;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(&word), _mm_packus_epi16(pairs, pairs));
    const unsigned count = (last - first) / 2 + 1;
    constexpr std::uint64_t kMore = 0x0101010101010101u * (DigitPairs::kMore - DigitPairs::kLast);
    out.PutWord(word + (kMore & ((std::uint64_t{1} << 8 * (count - 1)) - 1)), count);
  }

 private:
  void Set(__m128i digits) { std::memcpy(&digits_, &digits, sizeof(digits_)); }
  __m128i Vector() const {
    __m128i vector;
    std::memcpy(&vector, &digits_, sizeof(vector));
    return vector;
  }

  unsigned count_, others_;
  unsigned __int128 digits_;
};
#endif

// First bytes of numbers that are not negative; those of negative ones are complements. The number is 0.DIGITS *
// 10^exponent, the first digit not 0.
constexpr unsigned kTiny = 132, kExponentZero = 180, kHuge = 228, kZero = 127;
constexpr std::int64_t kMostExponent = 45;

/// An exponent whose magnitude is not small: how many digits it has, then they.
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

/// A decimal number in its text.
struct Decimal {
  bool negative = false;
  const char* first = nullptr;  ///< the first digit that is not 0; null: the number is 0
  const char* last = nullptr;   ///< the last one
  std::int64_t shift = 0;       ///< digits from `first` to the point, or zeros between them, negative
  bool negative_exponent = false;
  std::string_view exponent;  ///< without leading zeros

  static constexpr std::size_t kShortExponent = 17;  ///< digits, with which the sum of it and `shift` is no overflow
  bool short_exponent() const { return exponent.size() <= kShortExponent; }
  std::int64_t short_sum() const {
    std::int64_t number = 0;
    for (const char digit : exponent) number = number * 10 + (digit - '0');
    return shift + (negative_exponent ? -number : number);
  }
  /// The digits of |shift + exponent| where the exponent is not short and decides the sign.
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

/// Reads all of `reader` as a number. Returns false if the text is no number. `whole`: only digits are allowed.
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

/// Puts the key that ReadDecimal and PutDecimalText would put, if `reader` holds a number of few digits without an
/// exponent. Otherwise returns false and puts nothing.
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

/// Puts the key of a number. Returns false and puts nothing if the text is none. `whole`: only digits are allowed.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out) {
  if (PutShort(reader, rule, whole, out)) return true;
  Decimal number;
  if (!ReadDecimal(reader, rule, whole, number)) return false;
  PutDecimalText(number, out);
  return true;
}

/// See ValueKey::PutDecimal.
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
  // Decimal digits from the first to the last that is not 0.
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

// --- Words for what is no finite number ---------------------------------------------------------------------------

enum class Special { kNone, kInfinity, kNan };

/// Returns which special number the text after a sign names.
Special SpecialOf(std::string_view text) {
  if (text.empty() || (Lower(text[0]) != 'i' && Lower(text[0]) != 'n')) return Special::kNone;
  if (IsWord(text, "inf") || IsWord(text, "infinity")) return Special::kInfinity;
  return IsWord(text, "nan") ? Special::kNan : Special::kNone;
}

/// Puts the key of an infinity or NaN among decimals.
bool PutSpecial(TextReader reader, KeyBytes& out) {
  const char* const begin = reader.at;
  const bool negative = reader.TakeSign();
  const Special special = SpecialOf(reader.rest());
  if (special == Special::kNone || (special == Special::kNan && reader.at != begin)) return false;
  out.Put(special == Special::kNan ? kAboveAll : negative ? kLeast : kGreatest);
  return true;
}

// --- Amounts ------------------------------------------------------------------------------------------------------

/// Takes a currency sign at the front: $, cent, pound, yen and the general one, or one of U+20A0 to U+20CF.
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

/// Takes a currency sign, or a percent sign, at the end.
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

bool PutAmount(TextReader reader, const ValueRule& rule, KeyBytes& out) {
  if (PutShort(reader, rule, false, out)) return true;
  bool negative = false, sign = false;
  if (reader.rest().size() > 1 && reader.Is('(') && reader.end[-1] == ')') {
    negative = sign = true;
    reader = TextReader::Trimmed(reader.rest().substr(1, reader.rest().size() - 2));
  }
  const auto take_sign = [&] {
    if (sign || (!reader.Is('-') && !reader.Is('+'))) return;
    sign = true;
    negative = reader.TakeSign();
  };
  take_sign();
  if (TakeCurrency(reader)) {
    reader.SkipSpace();
    take_sign();
  } else if (TakeUnitBehind(reader)) {
    reader = TextReader::Trimmed(reader.rest());
  }
  Decimal number;
  if (reader.Is('-') || reader.Is('+') || !ReadDecimal(reader, rule, false, number)) return false;
  number.negative = negative;
  PutDecimalText(number, out);
  return true;
}

// --- Floats -------------------------------------------------------------------------------------------------------

/// Puts the key of a float. All NaNs with the same sign have the same key.
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
    std::string plain;  // as from_chars wants it
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

// --- Days and instants --------------------------------------------------------------------------------------------

/// Returns -1 or 1 for the least and the greatest binary number, which stand for the infinities.
template <typename Number>
int InfinityOf(Number number) {
  return number == std::numeric_limits<Number>::max() ? 1 : number == std::numeric_limits<Number>::min() ? -1 : 0;
}

void PutInfinite(int sign, KeyBytes& out) { out.Put(sign < 0 ? kLeast : kGreatest); }

void PutDay(const Day& day, KeyBytes& out) {
  constexpr std::int64_t kYearZero = 719528;  // 3 bytes for the years 0 to 27474
  if (day.infinite != 0) return PutInfinite(day.infinite, out);
  PutUsual<3>(day.days + kYearZero, out);
}

bool PutDayText(std::string_view text, KeyBytes& out) {
  const std::optional<Day> day = ParseDay(text);
  if (day) PutDay(*day, out);
  return day.has_value();
}

void PutInstant(const Instant& instant, KeyBytes& out) {
  constexpr std::int64_t kYearZero = 62167219200;  // 5 bytes for the years 0 to 7978
  if (instant.infinite != 0) return PutInfinite(instant.infinite, out);
  PutUsual<5>(2 * (instant.seconds + kYearZero) + !instant.fraction.empty(), out);
  if (instant.fraction.empty()) return;
#if defined(__SSE2__)
  if (!instant.from_next && instant.fraction.size() <= ShortDigits::kMost) {
    const auto count = static_cast<unsigned>(instant.fraction.size());
    return ShortDigits(instant.fraction).PutPairs(0, count - 1, out);
  }
#endif
  DigitPairs pairs(out);
  const std::size_t last = instant.fraction.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const auto digit = static_cast<unsigned>(instant.fraction[i] - '0');
    pairs.Add(!instant.from_next ? digit : (i == last ? 10 : 9) - digit);
  }
  pairs.End();
}

// --- Bytes, bools, addresses --------------------------------------------------------------------------------------

/// One byte of what is put as bytes: 3 ends it, 4 and one more stand for the least ones.
void PutContent(unsigned byte, KeyBytes& out) {
  if (byte <= 4) {
    out.Put(4);
    byte += kFirstDigit;
  }
  out.Put(byte);
}
void EndContent(KeyBytes& out) { out.Put(3); }

bool PutHex(std::string_view text, KeyBytes& out) {
  if (text.starts_with("\\x") || text.starts_with("0x") || text.starts_with("\\X") || text.starts_with("0X")) {
    text.remove_prefix(2);
  }
  if (text.size() % 2 != 0 || std::any_of(text.begin(), text.end(), [](char c) { return HexDigit(c) < 0; })) {
    return false;
  }
  out.Put(kText);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    PutContent(static_cast<unsigned>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1])), out);
  }
  EndContent(out);
  out.End();
  return true;
}

bool ReadUuid(std::string_view text, std::array<unsigned char, 16>& uuid) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  uuid.fill(0);
  unsigned digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') {
      if (digits == 0 || digits % 4 != 0 || digits == 32 || text[i - 1] == '-') return false;
      continue;
    }
    const int digit = HexDigit(text[i]);
    if (digit < 0 || digits == 32) return false;
    uuid[digits / 2] = static_cast<unsigned char>(uuid[digits / 2] * 16 + digit);
    ++digits;
  }
  return digits == 32;
}

bool PutUuid(std::string_view text, KeyBytes& out) {
  std::array<unsigned char, 16> uuid;
  if (!ReadUuid(text, uuid)) return false;
  out.Put(kText);
  out.Put(uuid);
  out.End();
  return true;
}

using AddressBits = unsigned __int128;
struct Address {
  unsigned size = 32;  ///< bits: 32 or 128
  unsigned prefix = 32;
  AddressBits bits = 0;
};

bool ReadAddress(std::string_view text, Address& address) {
  const std::size_t slash = text.find('/');
  const std::string_view number = text.substr(0, slash);
  char copy[INET6_ADDRSTRLEN] = {};
  if (number.empty() || number.size() >= sizeof(copy) || number.find('\0') != std::string_view::npos) return false;
  std::memcpy(copy, number.data(), number.size());
  std::array<unsigned char, 16> bytes{};
  const bool v6 = number.find(':') != std::string_view::npos;
  if (::inet_pton(v6 ? AF_INET6 : AF_INET, copy, bytes.data()) != 1) return false;
  address.size = address.prefix = v6 ? 128 : 32;
  for (unsigned i = 0; i < address.size / 8; ++i) address.bits = address.bits << 8 | bytes[i];
  if (slash == std::string_view::npos) return true;
  const std::string_view digits = text.substr(slash + 1);
  const std::optional<std::uint64_t> prefix = ParseDigits(digits);
  if (!prefix || *prefix > address.size || digits.size() > 3) return false;
  address.prefix = static_cast<unsigned>(*prefix);
  return true;
}

/// As PostgreSQL's inet: the bits of the network, the length of the prefix, then the bits of the host.
bool PutAddress(std::string_view text, KeyBytes& out) {
  Address address;
  if (!ReadAddress(text, address)) return false;
  const unsigned host_size = address.size - address.prefix;
  const AddressBits host_mask = host_size == 128 ? ~AddressBits{0} : (AddressBits{1} << host_size) - 1;
  const AddressBits host = address.bits & host_mask, network = address.bits & ~host_mask;
  const auto low = [](AddressBits bits) { return static_cast<std::uint64_t>(bits); };
  if (address.size == 32) {
    PutFixed<5>(low(network) * 33 + address.prefix, out);  // begins with 16..72
    if (host_size > 0) PutFixed<5>(low(host), out);
    return true;
  }
  out.Put(200);
  PutFixed<9>(low(network >> 64), out);
  PutFixed<9>(low(network), out);
  out.Put(kFirstDigit + address.prefix);
  if (host_size > 64) PutFixed<9>(low(host >> 64), out);
  if (host_size > 0) PutFixed<9>(low(host), out);
  return true;
}

constexpr unsigned kFalse = 96, kTrue = 160;

bool PutBoolText(std::string_view text, KeyBytes& out) {
  using Word = std::pair<std::string_view, unsigned>;
  constexpr Word kWords[] = {
      {"t", kTrue},  {"true", kTrue},   {"y", kTrue},  {"yes", kTrue}, {"on", kTrue},   {"1", kTrue},
      {"f", kFalse}, {"false", kFalse}, {"n", kFalse}, {"no", kFalse}, {"off", kFalse}, {"0", kFalse}};
  const auto is = [text](std::string_view word) { return IsWord(text, word); };
  const auto* const found = std::ranges::find_if(kWords, is, &Word::first);
  if (found == std::end(kWords)) return false;
  out.Put(found->second);
  return true;
}

// --- Texts --------------------------------------------------------------------------------------------------------

/// As detail::PutVersion, but of the second pass only what differs from the first: names that agree up to their
/// suffixes differ by those.
void PutNatural(std::string_view text, KeyBytes& out) {
  const LineKey whole;
  const detail::KeyText all{reinterpret_cast<const Byte*>(text.data()), 0, text.size(), &whole};
  const int version_class = detail::VersionClass(all);
  out.Put(kFirstDigit + static_cast<unsigned>(version_class));
  if (version_class < 3) return;
  const std::uint64_t suffix = detail::VersionSuffix(all);
  detail::PutVersionPart(out, all, suffix);
  detail::PutVersionPart(out, {all.line, suffix, all.end, &whole}, all.end);
}

/// Puts the weights of the parts that NULs divide a text into, with a byte between them that is smaller than all
/// weights.
void PutCollated(std::string_view text, KeyBytes& out) {
  const TextBuffer copy = EndedText(text);
  TextBuffer weights(4 * text.size() + 64, boost::container::default_init);
  const char* const end = copy.data() + text.size();
  for (const char* part = copy.data();; ++part) {
    std::size_t size = std::strxfrm(weights.data(), part, weights.size());
    if (size >= weights.size()) {
      weights.resize(size + 1);
      size = std::strxfrm(weights.data(), part, weights.size());
    }
    for (std::size_t i = 0; i < size; ++i) PutContent(static_cast<unsigned char>(weights[i]), out);
    part += std::strlen(part);
    if (part == end) return;
    PutContent(0, out);
  }
}

/// Puts the key of a value of a type that ignores white space around it, which `text` has lost. Timestamps are read
/// elsewhere. Returns false and puts nothing if the text is no value of the type.
bool PutParsed(const ValueRule& rule, TextReader text, KeyBytes& out) {
  switch (rule.type) {
    case ValueType::kInt:
      return PutNumber(text, rule, true, out);
    case ValueType::kDecimal:
      return PutNumber(text, rule, false, out) || PutSpecial(text, out);
    case ValueType::kAmount:
      return PutAmount(text, rule, out);
    case ValueType::kFloat:
      return PutFloatText(text, rule, out);
    case ValueType::kBool:
      return PutBoolText(text.rest(), out);
    case ValueType::kDate:
      return PutDayText(text.rest(), out);
    case ValueType::kIp:
      return PutAddress(text.rest(), out);
    case ValueType::kUuid:
      return PutUuid(text.rest(), out);
    case ValueType::kBytesHex:
      return PutHex(text.rest(), out);
    default:
      return false;
  }
}

}  // namespace

std::string_view ValueTypeName(ValueType type) { return std::ranges::find(kTypeNames, type, &TypeName::second)->first; }

std::optional<ValueType> FindValueType(std::string_view name) {
  const auto* const found = std::ranges::find(kTypeNames, name, &TypeName::first);
  return found == std::end(kTypeNames) ? std::nullopt : std::optional(found->second);
}

std::string ValueTypeNames() {
  std::string names;
  for (const auto& [name, type] : std::span(kTypeNames).first(kTypes)) (names += names.empty() ? "" : ", ") += name;
  return names;
}

std::optional<ValueType> LooksLike(std::string_view text) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  const TextReader all{text.data(), text.data() + text.size()};
  TextReader reader = all;
  reader.TakeSign();
  const std::size_t digits = reader.digits();
  if (digits > 0) {
    const bool zeros = *reader.at == '0' && digits > 1;
    reader.at += digits;
    if (!zeros && reader.done()) return ValueType::kInt;
    Decimal number;
    if (!zeros && reader.Take('.') && reader.digits() > 0 && ReadDecimal(all, {}, false, number)) {
      return ValueType::kDecimal;
    }
  }
  std::array<unsigned char, 16> uuid;
  if (text.size() == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' &&
      ReadUuid(text, uuid)) {
    return ValueType::kUuid;
  }
  // "a::b" is more often no address.
  Address address;
  if (ReadAddress(text, address) && (digits > 0 || std::count(text.begin(), text.end(), ':') > 1) &&
      std::any_of(text.begin(), text.end(), IsDigit)) {
    return ValueType::kIp;
  }
  if (digits != 4 && digits != 2) return std::nullopt;
  if (digits == 4 && ParseDay(text)) return ValueType::kDate;
  if (text.find(':') != std::string_view::npos && ParseInstant(text)) return ValueType::kTimestamp;
  return std::nullopt;
}

ValueKey::ValueKey(const ValueRule& rule)
    : rule_(rule), time_format_(CheckedTimeFormat(rule.time_format)), collates_(CollatesByLocale()) {
  if (!rule.time_format.empty() && rule.type != ValueType::kTimestamp) {
    throw Error(ErrorCode::kUsage, "only timestamps have a format: " + QuoteWord(rule.time_format));
  }
  const auto needed = [](int c) { return c >= 0 && c < 128 && std::strchr("0123456789+-eE", c) != nullptr; };
  const int point = static_cast<unsigned char>(rule.decimal_point);
  if (needed(point) || needed(rule.thousands) || point == rule.thousands) {
    throw Error(ErrorCode::kUsage, "numbers need other bytes as decimal point and between thousands");
  }
}

bool ValueKey::Put(std::string_view text, FieldWriter& out, bool* lacks_zone) const {
  constexpr ValueType kTexts[] = {ValueType::kText, ValueType::kNoCase, ValueType::kNatural, ValueType::kLocale};
  if (std::ranges::find(kTexts, rule_.type) != std::end(kTexts)) {
    PutBytes(text, out);
    return true;
  }
  KeyBytes key(out, rule_.descending);
  if (rule_.type == ValueType::kTimestamp) {
    const std::optional<Instant> instant =
        time_format_.empty() ? ParseInstant(text) : ParseInstantBy(time_format_, text);
    if (!instant) return false;
    gpusort::PutInstant(*instant, key);
    if (!instant->zoned && lacks_zone != nullptr) *lacks_zone = true;
  } else if (!PutParsed(rule_, TextReader::Trimmed(text), key)) {
    return false;
  }
  key.EndPlain();
  return true;
}

void ValueKey::PutNull(FieldWriter& out) const { out.Put(rule_.puts_nulls_first() ? kNullFirst : kNullLast); }

void ValueKey::PutInt(std::int64_t value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  char digits[20];
  const char* const end = std::to_chars(digits, std::end(digits), value).ptr;
  PutNumber({digits, end}, {}, true, key);
  key.End();
}

bool ValueKey::PutDecimal(std::span<const std::uint16_t> digits, int weight, unsigned sign, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  if (!PutNumeric(digits, weight, sign, key)) return false;
  key.End();
  return true;
}

void ValueKey::PutFloat(double value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  PutDouble(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value, key);
  key.End();
}

void ValueKey::PutBool(bool value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  key.Put(value ? kTrue : kFalse);
  key.End();
}

void ValueKey::PutMicros(std::int64_t micros, FieldWriter& out, std::int64_t epoch) const {
  constexpr std::int64_t kSecond = 1'000'000;
  Instant instant;
  instant.infinite = InfinityOf(micros);
  instant.seconds = micros / kSecond - (micros % kSecond < 0);
  auto part = static_cast<unsigned>(micros % kSecond + (micros % kSecond < 0 ? kSecond : 0));
  instant.seconds += epoch;
  char digits[6];
  std::size_t size = 6;
  for (unsigned i = 6; i-- > 0; part /= 10) digits[i] = static_cast<char>('0' + part % 10);
  while (size > 0 && digits[size - 1] == '0') --size;
  instant.fraction = {digits, size};
  PutInstant(instant, out);
}

void ValueKey::PutInstant(const Instant& instant, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  gpusort::PutInstant(instant, key);
  key.End();
}

void ValueKey::PutDays(std::int32_t days, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  PutDay({InfinityOf(days), days}, key);
  key.End();
}

void ValueKey::PutBytes(std::string_view bytes, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  key.Put(kText);
  if (rule_.type == ValueType::kNatural) {
    PutNatural(bytes, key);
  } else if (rule_.type == ValueType::kLocale && collates_) {
    PutCollated(bytes, key);
    EndContent(key);
  } else {
    const bool folds = rule_.type == ValueType::kNoCase;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      PutContent(folds ? static_cast<unsigned char>(Lower(c)) : byte, key);
    }
    EndContent(key);
  }
  key.End();
}

}  // namespace gpusort
