// Functions and classes that write the bytes of sort keys: for decimal digits, numbers of a fixed range, and strings.
// ValueKey (value_key.hpp) uses them. Start at KeyBytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "formats/keyed_record.hpp"

namespace gpusort::keys {

// The sort key of a null value: kNullFirst if nulls come before all other values, kNullLast if they come after them.
// The keys of all other values begin with a byte from 16 to 239, which needs no escape (see FieldWriter::Escape).
inline constexpr unsigned kNullFirst = 4, kNullLast = 251;
/// The sort keys of -infinity, infinity and NaN, one byte each, for decimal numbers, dates and times.
inline constexpr unsigned kLeast = 17, kGreatest = 238, kAboveAll = 239;
inline constexpr unsigned kText = 128;  ///< the first byte of the sort keys of strings and bytes

/// Collects the bytes of a sort key and passes them to a FieldWriter. Call End() or EndPlain() after the last byte.
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
  /// Appends the first `count` bytes of `word`, in the order in which they are stored in memory.
  void PutWord(std::uint64_t word, unsigned count) {
    if (size_ + sizeof(word) > bytes_.size()) End();
    word ^= flip_ * 0x0101010101010101u;
    std::memcpy(bytes_.data() + size_, &word, sizeof(word));
    size_ += count;
  }
  void End() { out_.PutBytes(bytes_.data(), std::exchange(size_, 0)); }
  /// Passes the buffered bytes to the FieldWriter as they are. Call this only if none of the bytes needs an escape.
  void EndPlain() { out_.PutPlain(bytes_.data(), std::exchange(size_, 0)); }
  /// If `reverse` is true, later calls write the complement of each byte. Keys with complemented bytes sort in
  /// descending order.
  void set_reverse(bool reverse) { flip_ = reverse ? 0xFF : 0; }
  bool reverse() const { return flip_ != 0; }

  // The following members exist only because the template detail::PutVersionPart calls them.
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

/// If `reverse` is true, reverses the sort order of the bytes that are written to `out` while this object exists:
/// ascending becomes descending, and descending becomes ascending. Used for negative numbers.
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

// --- Numbers of a fixed range, as digits of base 224: the byte 16 is the digit 0, and the byte 239 the digit 223 ---

// The base of the digits, and the byte that stands for the digit 0. The digits are the bytes 16 to 239. None of these
// bytes, and none of their complements, needs an escape in a key.
inline constexpr std::uint32_t kBase = 224;
inline constexpr unsigned kFirstDigit = 16;
constexpr std::uint64_t Power(unsigned digits) { return digits == 0 ? 1 : kBase * Power(digits - 1); }

template <unsigned kDigits>
void PutFixed(std::uint64_t value, KeyBytes& out) {
  // Splits off four digits at a time. A number of four digits fits into 32 bits, and divisions of such numbers are
  // faster.
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

/// Appends the sort key of `value`, which must be between -2^54 and 2^54. The key has kDigits bytes for small values
/// from 0 on, and 9 bytes for all other values.
template <unsigned kDigits>
void PutUsual(std::int64_t value, KeyBytes& out) {
  constexpr std::uint64_t kDigit = Power(kDigits - 1);
  if (value >= 0 && static_cast<std::uint64_t>(value) < 200 * kDigit) {
    PutFixed<kDigits>(static_cast<std::uint64_t>(value) + 10 * kDigit, out);  // the first byte is between 26 and 225
  } else {
    // The byte 20 sorts before the first byte of all shorter keys, and the byte 230 after it.
    out.Put(value < 0 ? 20 : 230);
    PutFixed<8>(static_cast<std::uint64_t>(value + (std::int64_t{1} << 54)), out);
  }
}

// --- Decimal digits ---------------------------------------------------------------------------------------------

/// Writes decimal digits, two in each byte. The byte of two digits with the value N is 20 + 2 * N, plus 1 if more
/// digits follow. A number therefore sorts before longer numbers that begin with it: 0.12 before 0.1234. The last digit
/// must not be 0.
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
/// Reads a string of at most kMost bytes as decimal digits. Has no loop, because the CPU would often predict the
/// branches of a loop wrongly.
class ShortDigits {
 public:
  static constexpr std::size_t kMost = 16;

  explicit ShortDigits(std::string_view text) : count_(static_cast<unsigned>(text.size())) {
    const __m128i values = _mm_sub_epi8(Load(text), _mm_set1_epi8('0'));
    const __m128i nine = _mm_set1_epi8(9);
    const __m128i digits = _mm_cmpeq_epi8(_mm_max_epu8(values, nine), nine);
    others_ = ~static_cast<unsigned>(_mm_movemask_epi8(digits)) & ((1u << count_) - 1);
    Set(_mm_and_si128(values, digits));
  }
  /// Returns a bit mask. Bit i is set if byte i of the string is not a digit.
  unsigned others() const { return others_; }
  /// Returns the number of bytes of the string that Remove() has not removed.
  unsigned count() const { return count_; }
  /// Removes the byte with the index `at`, such as the decimal point.
  void Remove(unsigned at) {
    const unsigned __int128 front = (static_cast<unsigned __int128>(1) << 8 * at) - 1;
    digits_ = (digits_ & front) | (digits_ >> 8 & ~front);
    --count_;
  }
  /// Returns a bit mask of the digits that are not 0: "0120" -> bits 1 and 2.
  unsigned not_zero() const {
    return ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(Vector(), _mm_setzero_si128()))) & 0xFFFF;
  }
  /// Writes the digits from index `first` through index `last` as DigitPairs does. All later digits must be 0. Call
  /// this only once.
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
  /// Returns the bytes of `text`, followed by zeros.
  static __m128i Load(std::string_view text) {
    // A copy of the string to a buffer of 16 bytes would be slower: the load would wait for the stores of the copy.
    const char* const begin = text.data();
    const std::size_t size = text.size();
    const auto load = [&]<typename Word>(Word word, std::size_t at) {
      std::memcpy(&word, begin + at, sizeof(word));
      return std::uint64_t{word};
    };
    std::uint64_t front = 0, back = 0;
    if (size >= 8) {
      front = load(std::uint64_t{}, 0);
      if (size > 8) back = load(std::uint64_t{}, size - 8) >> 8 * (16 - size);
    } else if (size >= 4) {
      front = load(std::uint32_t{}, 0) | load(std::uint32_t{}, size - 4) << 8 * (size - 4);
    } else {
      for (std::size_t i = 0; i < size; ++i) front |= load(std::uint8_t{}, i) << 8 * i;
    }
    return _mm_set_epi64x(static_cast<long long>(back), static_cast<long long>(front));
  }
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

// --- Texts ------------------------------------------------------------------------------------------------------

/// Appends one byte of a string to a sort key. A byte from 0 to 4 is written as two bytes, so that the byte 3 can end a
/// string.
inline void PutContent(unsigned byte, KeyBytes& out) {
  if (byte <= 4) {
    out.Put(4);
    byte += kFirstDigit;
  }
  out.Put(byte);
}
/// The bytes of strings from kFirstPlain to 255 - kFirstPlain are written as they are, and so are their complements:
/// they need no escape, neither here nor in a FieldWriter.
inline constexpr unsigned kFirstPlain = 11;
constexpr bool IsPlain(unsigned byte) { return byte >= kFirstPlain && byte <= 255 - kFirstPlain; }
/// Returns true if IsPlain() is true for all eight bytes of `word`.
constexpr bool ArePlain(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  // Subtracting kFirstPlain from a smaller byte sets its highest bit. The complement tests the upper limit.
  const std::uint64_t small = (word - kOnes * kFirstPlain) & ~word, large = (~word - kOnes * kFirstPlain) & word;
  return ((small | large) & (kOnes << 7)) == 0;
}
/// Ends a string in a sort key. The string then sorts before all longer strings that begin with it.
inline void EndContent(KeyBytes& out) { out.Put(3); }

}  // namespace gpusort::keys
