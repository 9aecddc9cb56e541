// The order of text lines as GNU sort 9.10 defines it in the C locale: keys found in a line, each compared by its
// ordering, then the whole line. LineOrder is what a user means; LineOrderView is the same as plain data for host and
// device. Two ways to use it, which agree: CompareLines, which is exact, and EncodeChunk, which gives the
// order-preserving bytes of all keys twelve at a time, so that sorters of fixed entries serve. Lines are given without
// their terminator and may hold any byte. Start at CompareLines.
#pragma once

#include <emmintrin.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gpusort/host_device.hpp"
#include "gpusort/key.hpp"

namespace gpusort {

/// What a key's bytes mean. A key that is only bytes compares them as unsigned numbers, the shorter first.
enum class LineOrdering : std::uint8_t {
  kBytes,
  kNumeric,  ///< -n: blanks, '-', digits, '.', digits, of any length; what follows does not count, nothing is 0
  kGeneral,  ///< -g: a long double as strtold reads it; what is no number first, then NaNs, then numbers. Host only
  kHuman,    ///< -h: sign and suffix (K M G T P E Z Y R Q), then as -n
  kMonth,    ///< -M: unknown < JAN < ... < DEC
  kVersion,  ///< -V: names with version numbers, as GNU's filevercmp
  kRandom,   ///< -R: MD5 of salt and key, so that equal keys are together
  kHost,     ///< LineKey::host decides. Host only, and never with a last resort
};

/// An order of texts that only the host knows, such as a locale's. Must outlive the keys that name it; any thread may
/// call it.
class HostOrder {
 public:
  /// Below, at or above 0.
  virtual int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const = 0;

 protected:
  ~HostOrder() = default;
};

/// One key of a line (KEYDEF), zero-based as sort counts inside. Numbers up to 2^64 - 1 are fine: a position behind the
/// line is its end.
struct LineKey {
  static constexpr std::uint64_t kToEnd = ~std::uint64_t{0};
  std::uint64_t begin_field = 0;
  std::uint64_t begin_char = 0;
  std::uint64_t end_field = kToEnd;  ///< the field that holds the last byte; kToEnd: the key goes to the line's end
  std::uint64_t end_char = 0;        ///< how many of that field's bytes count; 0: all
  bool skip_start_blanks = false;    ///< -b of the start
  bool skip_end_blanks = false;      ///< -b of the end
  bool dictionary_order = false;     ///< -d: only blanks and alphanumerics count (kBytes, kVersion, kRandom)
  bool ignore_nonprinting = false;   ///< -i: only printable ASCII counts (the same orderings)
  bool fold_case = false;            ///< -f: lower case as upper case (these, and the suffix of kHuman)
  LineOrdering ordering = LineOrdering::kBytes;
  bool reverse = false;
  const HostOrder* host = nullptr;  ///< of kHost

  /// True if the key's order is that of its bytes as they are.
  GPUSORT_HD bool plain() const {
    return ordering == LineOrdering::kBytes && !dictionary_order && !ignore_nonprinting && !fold_case;
  }

  friend bool operator==(const LineKey&, const LineKey&) = default;
};

/// Plain data for kernels: `keys` must be readable where this is used.
struct LineOrderView {
  const LineKey* keys = nullptr;
  std::uint32_t key_count = 0;       ///< 0: the whole line is the only key, reversed by last_resort_reverse
  int separator = -1;                ///< -t, 0..255; -1: a field begins with the blanks in front of it
  bool last_resort = true;           ///< equal keys are ordered by the whole line (neither -s nor -u)
  bool last_resort_reverse = false;  ///< -r
  std::uint64_t salt[2] = {0, 0};    ///< of kRandom: the 16 bytes of the random source, as they lie in memory
};

/// The order of lines that a user asks for; owns its keys.
struct LineOrder {
  std::vector<LineKey> keys;
  int separator = -1;
  bool last_resort = true;
  bool last_resort_reverse = false;
  std::uint64_t salt[2] = {0, 0};

  /// Valid as long as `keys` is not changed.
  LineOrderView view() const {
    return {keys.data(),       static_cast<std::uint32_t>(keys.size()), separator, last_resort, last_resort_reverse,
            {salt[0], salt[1]}};
  }
};

/// The bytes [begin, end) of a line.
struct KeyRange {
  std::uint64_t begin;
  std::uint64_t end;

  GPUSORT_HD std::uint64_t size() const { return end - begin; }
};

/// Twelve bytes of an encoded key, most significant first.
struct LineChunk {
  std::uint64_t hi;  ///< bytes 0..7
  std::uint32_t lo;  ///< bytes 8..11
  bool ended;        ///< the encoded key has no byte behind this chunk
};

/// True if only the host can compare and encode (long double and locales do not exist on a device).
GPUSORT_HD inline bool NeedsHost(const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    if (view.keys[k].ordering == LineOrdering::kGeneral || view.keys[k].ordering == LineOrdering::kHost) return true;
  }
  return false;
}

/// True if the keys are one range of the line, compared as bytes: the whole line, or FindKey's of the only key.
GPUSORT_HD inline bool PlainSingleKey(const LineOrderView& view) {
  return view.key_count == 0 || (view.key_count == 1 && view.keys[0].plain());
}

/// True if lines whose chunks are all equal are equal for CompareLines, too. False where the encoded key ends in plain
/// bytes, because its padding looks like NULs of the line, or before a key of the host, which has no encoding.
GPUSORT_HD inline bool ChunksDecide(const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    if (view.keys[k].ordering == LineOrdering::kHost) return false;
  }
  return view.key_count != 0 && !view.last_resort && !view.keys[view.key_count - 1].plain();
}

namespace detail {

// Newline is a blank as well: it occurs in lines only where NUL ends them.
GPUSORT_HD inline bool IsBlank(unsigned c) { return c == ' ' || c == '\t' || c == '\n'; }
GPUSORT_HD inline bool IsDigit(unsigned c) { return c - '0' < 10; }
GPUSORT_HD inline bool IsAlpha(unsigned c) { return (c | 0x20) - 'a' < 26; }
GPUSORT_HD inline unsigned ToUpper(unsigned c) { return c - 'a' < 26 ? c - 0x20 : c; }

GPUSORT_HD inline bool Ignores(const LineKey& key, unsigned c) {
  if (key.dictionary_order) return !IsBlank(c) && !IsAlpha(c) && !IsDigit(c);  // decides alone, also beside -i
  return key.ignore_nonprinting && c - ' ' > '~' - ' ';
}

inline constexpr std::uint64_t kLowBits = 0x0101010101010101;
inline constexpr std::uint64_t kHighBits = 0x8080808080808080;

/// Not 0 if a byte of `word` is 0; the lowest bit that is set lies in the lowest such byte.
GPUSORT_HD inline std::uint64_t ZeroBytes(std::uint64_t word) { return (word - kLowBits) & ~word & kHighBits; }

#if GPUSORT_ON_DEVICE
/// The eight bytes from p on, most significant first, of which the first `left` (1..8) exist; others are anything. A
/// warp's loads from as many lines take turns, so there are as few as can be: aligned words, each with a byte that
/// exists.
__device__ inline std::uint64_t LoadAligned(const Byte* p, std::uint64_t left) {
  const unsigned over = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 8);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(p - over);
  std::uint64_t word = words[0] >> 8 * over;
  if (over + left > 8) word |= words[1] << 8 * (8 - over);
  return std::uint64_t{__byte_perm(static_cast<std::uint32_t>(word), 0, 0x0123)} << 32 |
         __byte_perm(static_cast<std::uint32_t>(word >> 32), 0, 0x0123);
}
#endif

GPUSORT_HD inline std::uint64_t LoadBigEndian(const Byte* p) {
#if GPUSORT_ON_DEVICE
  return LoadAligned(p, 8);
#else
  std::uint64_t word;
  std::memcpy(&word, p, 8);
  return __builtin_bswap64(word);
#endif
}

/// Up to eight bytes of [at, end), most significant first, zeros behind. Reads nothing outside of [0, end), on a device
/// nothing outside of the aligned words that hold it.
GPUSORT_HD inline std::uint64_t LoadWord(const Byte* line, std::uint64_t at, std::uint64_t end) {
  if (at >= end) return 0;
  const std::uint64_t left = end - at;
  if (left >= 8) return LoadBigEndian(line + at);
  const unsigned missing = static_cast<unsigned>(8 * (8 - left));
#if GPUSORT_ON_DEVICE
  return LoadAligned(line + at, left) >> missing << missing;
#else
  if (end >= 8) return LoadBigEndian(line + end - 8) << missing;
  return LoadNumber(line + at, static_cast<std::uint32_t>(left), true) << missing;
#endif
}

GPUSORT_HD inline std::uint64_t SkipBlanks(const Byte* line, std::uint64_t at, std::uint64_t end) {
  while (at < end && IsBlank(line[at])) ++at;
  return at;
}

#if GPUSORT_ON_DEVICE
/// FieldMasks::Load as a call, because it is much code: 64 bytes of a line that goes on for `left`, by aligned loads
/// that each hold a byte of it.
__device__ __noinline__ inline std::uint64_t LoadSeparators(const Byte* bytes, std::uint64_t left, int separator) {
  const unsigned over = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(bytes) % 16);
  const auto* const blocks = reinterpret_cast<const uint4*>(bytes - over);
  const std::uint32_t end = over + static_cast<std::uint32_t>(left < 64 ? left : 64);
  const auto mask4 = [separator](std::uint32_t four) {
    // The high bit of each byte that is not c.
    const auto differ = [four](std::uint32_t c) {
      const std::uint32_t x = four ^ c * 0x01010101u;
      return ((x & 0x7F7F7F7F) + 0x7F7F7F7F) | x;
    };
    const std::uint32_t others =
        separator < 0 ? differ(' ') & differ('\t') & differ('\n') : differ(static_cast<std::uint32_t>(separator));
    return std::uint64_t{(~others >> 7 & 0x01010101) * 0x01020408 >> 24};
  };
  std::uint64_t mask = 0;
#pragma unroll
  for (unsigned i = 0; i < 5; ++i) {
    if (16 * i >= end) break;
    const uint4 block = blocks[i];
    const std::uint64_t found = mask4(block.x) | mask4(block.y) << 4 | mask4(block.z) << 8 | mask4(block.w) << 12;
    mask |= i == 0 ? found >> over : found << (16 * i - over);
  }
  return left < 64 ? mask & ~(~std::uint64_t{0} << left) : mask;
}
#endif

/// A line whose separators (blanks if there is none) are known 64 bytes at a time: looking for keys by steps of eight
/// took more than a third of sorts by two keys.
class FieldMasks {
 public:
  GPUSORT_HD FieldMasks(const Byte* line, std::uint64_t end, int separator)
      : line_(line), end_(end), separator_(separator), begin_(0), mask_(Load(0)) {}

  GPUSORT_HD std::uint64_t FindSeparator(std::uint64_t at) { return Find(at, true); }
  /// The first byte at or behind `at` that is no blank.
  GPUSORT_HD std::uint64_t SkipBlanks(std::uint64_t at) {
    return separator_ < 0 ? Find(at, false) : detail::SkipBlanks(line_, at, end_);
  }
  /// Where the field begins that is `count` behind that at `at`: behind a separator, or at the blanks in front of it.
  [[gnu::always_inline]] GPUSORT_HD inline std::uint64_t SkipFields(std::uint64_t at, std::uint64_t count) {
    if (count == 0) return at;
    if (at - begin_ >= 64) {
      if (at >= end_) return end_;
      begin_ = at;
      mask_ = Load(at);
    }
    // Fields end at separators, or at blanks behind another byte; the blanks at `at` belong to the field.
    const std::uint64_t from = at - begin_;
    std::uint64_t ends = separator_ < 0 ? (mask_ & ~(mask_ << 1)) >> from >> 1 << 1 << from : mask_ >> from << from;
    for (;;) {
      for (; ends != 0 && count > 1; --count) ends &= ends - 1;
      if (ends != 0) break;
      if (end_ - begin_ <= 64) return end_;
      const std::uint64_t last = mask_ >> 63;
      begin_ += 64;
      mask_ = Load(begin_);
      ends = separator_ < 0 ? mask_ & ~(mask_ << 1 | last) : mask_;
    }
    return begin_ + LowestBit(ends) + (separator_ < 0 ? 0 : 1);
  }

 private:
  /// The first byte at or behind `at` that is a separator, or none; the line's end if there is no such byte.
  [[gnu::always_inline]] GPUSORT_HD inline std::uint64_t Find(std::uint64_t at, bool wanted) {
    if (at - begin_ < 64) {
      const std::uint64_t left = (wanted ? mask_ : ~mask_) >> (at - begin_);
      if (left != 0) {
        const std::uint64_t found = at + LowestBit(left);
        return found < end_ ? found : end_;
      }
      at = begin_ + 64;
    }
    return FindBehind(at, wanted);
  }
#if !GPUSORT_ON_DEVICE
  [[gnu::noinline]]  // a device would have to keep all this in memory
#endif
  GPUSORT_HD std::uint64_t
  FindBehind(std::uint64_t at, bool wanted) {
    for (; at < end_; at += 64) {
      begin_ = at;
      mask_ = Load(at);
      const std::uint64_t left = wanted ? mask_ : ~mask_;
      if (left == 0) continue;
      const std::uint64_t found = at + LowestBit(left);
      return found < end_ ? found : end_;
    }
    return end_;
  }
  static GPUSORT_HD unsigned LowestBit(std::uint64_t mask) {
#if GPUSORT_ON_DEVICE
    return static_cast<unsigned>(__ffsll(static_cast<long long>(mask)) - 1);
#else
    return static_cast<unsigned>(__builtin_ctzll(mask));
#endif
  }
#if GPUSORT_ON_DEVICE
  __device__ std::uint64_t Load(std::uint64_t at) const {
    return at < end_ ? LoadSeparators(line_ + at, end_ - at, separator_) : 0;
  }
#else
  /// Bit i: is line[at + i] a separator?
  [[gnu::always_inline]] inline std::uint64_t Load(std::uint64_t at) const {
    if (end_ - at >= 64) {
      return Mask16(line_ + at) | Mask16(line_ + at + 16) << 16 | Mask16(line_ + at + 32) << 32 |
             Mask16(line_ + at + 48) << 48;
    }
    return LoadTail(at);
  }
  [[gnu::noinline]] std::uint64_t LoadTail(std::uint64_t at) const {
    const std::uint64_t left = end_ - at;
    std::uint64_t mask = 0, done = 0;
    for (; done + 16 <= left; done += 16) mask |= Mask16(line_ + at + done) << done;
    if (done == left) return mask;
    if (end_ >= 16) return mask | Mask16(line_ + end_ - 16) >> (16 - (left - done)) << done;
    for (; done < left; ++done) mask |= std::uint64_t{IsSeparator(line_[at + done])} << done;
    return mask;
  }
  bool IsSeparator(Byte c) const { return separator_ < 0 ? IsBlank(c) : c == separator_; }
  [[gnu::always_inline]] inline std::uint64_t Mask16(const Byte* bytes) const {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    const auto equal = [text](char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); };
    const __m128i found = separator_ < 0 ? _mm_or_si128(_mm_or_si128(equal(' '), equal('\t')), equal('\n'))
                                         : equal(static_cast<char>(separator_));
    return static_cast<unsigned>(_mm_movemask_epi8(found));
  }
#endif

  const Byte* const line_;
  const std::uint64_t end_;
  const int separator_;
  std::uint64_t begin_, mask_;  ///< bit i: of line[begin + i]
};

GPUSORT_HD inline std::uint64_t Advance(std::uint64_t at, std::uint64_t end, std::uint64_t count) {
  return count < end - at ? at + count : end;
}

}  // namespace detail

/// Where `key` lies in a line: empty if it ends before it begins or lies behind the line.
GPUSORT_HD inline KeyRange FindKey(const Byte* text, std::uint64_t length, const LineKey& key, int separator) {
  using namespace detail;
  if (key.begin_field == 0 && !key.skip_start_blanks && key.end_field == LineKey::kToEnd) {
    return {Advance(0, length, key.begin_char), length};
  }
  FieldMasks line(text, length, separator);
  const std::uint64_t field = line.SkipFields(0, key.begin_field);
  std::uint64_t begin = field;
  if (key.skip_start_blanks) begin = line.SkipBlanks(begin);
  begin = Advance(begin, length, key.begin_char);
  if (key.end_field == LineKey::kToEnd) return {begin, length};

  // An end in the first key's field or behind it is found from there on.
  std::uint64_t end = 0;
  std::uint64_t fields = key.end_field;
  if (key.end_field >= key.begin_field) {
    end = field;
    fields -= key.begin_field;
  }
  end = line.SkipFields(end, fields);
  if (key.end_char == 0) {
    if (separator < 0) end = line.SkipBlanks(end);
    end = line.FindSeparator(end);
  } else {
    if (key.skip_end_blanks) end = line.SkipBlanks(end);
    end = Advance(end, length, key.end_char);
  }
  return {begin, end > begin ? end : begin};
}

namespace detail {

/// A key as an ordering sees it: what the key ignores is left out, and letters are folded.
struct KeyText {
  const Byte* line;
  std::uint64_t begin;
  std::uint64_t end;
  const LineKey* key;

  /// The first byte that counts at or behind `at`, or end.
  GPUSORT_HD std::uint64_t Next(std::uint64_t at) const {
    while (at < end && Ignores(*key, line[at])) ++at;
    return at;
  }
  /// One behind the last byte that counts before `at`, or begin.
  GPUSORT_HD std::uint64_t Back(std::uint64_t at) const {
    while (at > begin && Ignores(*key, line[at - 1])) --at;
    return at;
  }
  GPUSORT_HD unsigned operator[](std::uint64_t at) const { return key->fold_case ? ToUpper(line[at]) : line[at]; }
};

GPUSORT_HD inline int Order(std::uint64_t a, std::uint64_t b) { return (a > b) - (a < b); }

GPUSORT_HD inline int CompareBytes(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) {
  const std::uint64_t common = a_size < b_size ? a_size : b_size;
#if GPUSORT_ON_DEVICE
  for (std::uint64_t i = 0; i < common; i += 8) {
    const std::uint64_t x = LoadWord(a, i, common), y = LoadWord(b, i, common);
    if (x != y) return x < y ? -1 : 1;
  }
#else
  const int order = common == 0 ? 0 : std::memcmp(a, b, common);
  if (order != 0) return order < 0 ? -1 : 1;
#endif
  return Order(a_size, b_size);
}

GPUSORT_HD inline int CompareText(const KeyText& a, const KeyText& b) {
  std::uint64_t i = a.Next(a.begin);
  std::uint64_t j = b.Next(b.begin);
  for (; i < a.end && j < b.end; i = a.Next(i + 1), j = b.Next(j + 1)) {
    if (a[i] != b[j]) return a[i] < b[j] ? -1 : 1;
  }
  return (i < a.end) - (j < b.end);
}

/// GNU sort takes byte 0x80 for a thousands separator where the locale has none (CHAR_MAX + 1 stands for "none", and
/// its comparison of numbers reads unsigned bytes). Seen in 9.1, and nothing changed it since.
inline constexpr unsigned kThousandsSeparator = 0x80;

/// A decimal number: digits of any length, found and not converted. The integer part has no leading zeros, the fraction
/// no trailing zeros.
struct Decimal {
  const Byte* line;
  std::uint64_t integer_begin;  ///< the integer part may hold separators between its digits
  std::uint64_t integer_end;
  std::uint64_t integer_digits;
  std::uint64_t fraction_begin;
  std::uint64_t fraction_end;
  bool negative;  ///< never for 0

  GPUSORT_HD bool zero() const { return integer_digits == 0 && fraction_begin == fraction_end; }
  GPUSORT_HD std::uint64_t NextInteger(std::uint64_t at) const {
    while (at < integer_end && line[at] == kThousandsSeparator) ++at;
    return at;
  }
};

GPUSORT_HD inline Decimal ReadDecimal(const Byte* line, std::uint64_t begin, std::uint64_t end) {
  Decimal number{};
  number.line = line;
  std::uint64_t at = SkipBlanks(line, begin, end);
  const bool minus = at < end && line[at] == '-';
  at += minus;
  while (at < end && (line[at] == '0' || line[at] == kThousandsSeparator)) ++at;
  number.integer_begin = at;
  for (; at < end && (IsDigit(line[at]) || line[at] == kThousandsSeparator); ++at) {
    number.integer_digits += line[at] != kThousandsSeparator;
  }
  number.integer_end = at;
  if (at < end && line[at] == '.') {
    number.fraction_begin = ++at;
    while (at < end && IsDigit(line[at])) ++at;
    while (at > number.fraction_begin && line[at - 1] == '0') --at;
    number.fraction_end = at;
  }
  number.negative = minus && !number.zero();
  return number;
}

GPUSORT_HD inline int CompareDecimals(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = Order(a.integer_digits, b.integer_digits);
  if (order == 0) {
    std::uint64_t i = a.NextInteger(a.integer_begin);
    std::uint64_t j = b.NextInteger(b.integer_begin);
    for (; order == 0 && i < a.integer_end; i = a.NextInteger(i + 1), j = b.NextInteger(j + 1)) {
      order = Order(a.line[i], b.line[j]);
    }
  }
  if (order == 0) {
    order = CompareBytes(a.line + a.fraction_begin, a.fraction_end - a.fraction_begin, b.line + b.fraction_begin,
                         b.fraction_end - b.fraction_begin);
  }
  return a.negative ? -order : order;
}

/// The place of a number's suffix among none, K, M, G, ..., negative for negative numbers; 0 also for 0. -f makes
/// suffixes of small letters.
GPUSORT_HD inline int HumanUnit(const KeyText& text) {
  const Byte* const line = text.line;
  const std::uint64_t end = text.end;
  std::uint64_t at = SkipBlanks(line, text.begin, end);
  const bool minus = at < end && line[at] == '-';
  at += minus;
  bool nonzero = false;
  for (; at < end && IsDigit(line[at]); ++at) nonzero |= line[at] != '0';
  if (at < end && line[at] == '.') {
    for (++at; at < end && IsDigit(line[at]); ++at) nonzero |= line[at] != '0';
  }
  if (!nonzero || at == end) return 0;
  int unit = 0;
  switch (text[at]) {
    case 'K':
    case 'k':
      unit = 1;
      break;
    case 'M':
      unit = 2;
      break;
    case 'G':
      unit = 3;
      break;
    case 'T':
      unit = 4;
      break;
    case 'P':
      unit = 5;
      break;
    case 'E':
      unit = 6;
      break;
    case 'Z':
      unit = 7;
      break;
    case 'Y':
      unit = 8;
      break;
    case 'R':
      unit = 9;
      break;
    case 'Q':
      unit = 10;
      break;
    default:
      break;
  }
  return minus ? -unit : unit;
}

/// 1..12 by the first three letters behind blanks, 0 if they are no month.
GPUSORT_HD inline int ReadMonth(const Byte* line, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t at = SkipBlanks(line, begin, end);
  if (end - at < 3) return 0;
  const unsigned name = ToUpper(line[at]) << 16 | ToUpper(line[at + 1]) << 8 | ToUpper(line[at + 2]);
  switch (name) {
    case 'J' << 16 | 'A' << 8 | 'N':
      return 1;
    case 'F' << 16 | 'E' << 8 | 'B':
      return 2;
    case 'M' << 16 | 'A' << 8 | 'R':
      return 3;
    case 'A' << 16 | 'P' << 8 | 'R':
      return 4;
    case 'M' << 16 | 'A' << 8 | 'Y':
      return 5;
    case 'J' << 16 | 'U' << 8 | 'N':
      return 6;
    case 'J' << 16 | 'U' << 8 | 'L':
      return 7;
    case 'A' << 16 | 'U' << 8 | 'G':
      return 8;
    case 'S' << 16 | 'E' << 8 | 'P':
      return 9;
    case 'O' << 16 | 'C' << 8 | 'T':
      return 10;
    case 'N' << 16 | 'O' << 8 | 'V':
      return 11;
    case 'D' << 16 | 'E' << 8 | 'C':
      return 12;
    default:
      return 0;
  }
}

/// What -g sees in a key. rank: 0 not a number, 1 -NaN, 2 NaN, 3 a number.
struct GeneralNumber {
  int rank;
  long double value;
};

#if !GPUSORT_ON_DEVICE
inline GeneralNumber ReadGeneral(const Byte* line, std::uint64_t begin, std::uint64_t end) {
  const auto is_space = [](Byte c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (begin < end && is_space(line[begin])) ++begin;
  // strtold wants a NUL behind the number: copy what can belong to it. Words are "infinity" or "nan" at most; numbers
  // have no letters but hexadecimal digits, x and p (and whatever the locale has for a point).
  const std::uint64_t digits = begin + (begin < end && (line[begin] == '-' || line[begin] == '+'));
  std::uint64_t stop = digits;
  if (digits < end && IsAlpha(line[digits])) {
    stop = Advance(digits, end, 8);
  } else {
    const auto ends = [](unsigned c) {
      return IsAlpha(c) && ToUpper(c) > 'F' && ToUpper(c) != 'X' && ToUpper(c) != 'P';
    };
    while (stop < end && line[stop] != 0 && !is_space(line[stop]) && !ends(line[stop])) ++stop;
  }
  char few[64];
  std::string many;
  const std::uint64_t size = stop - begin;
  const char* text = few;
  if (size < sizeof few) {
    if (size != 0) std::memcpy(few, line + begin, size);
    few[size] = 0;
  } else {
    many.assign(reinterpret_cast<const char*>(line + begin), size);
    text = many.c_str();
  }
  char* parsed = nullptr;
  const long double value = std::strtold(text, &parsed);
  if (parsed == text) return {0, 0};
  if (value != value) return {__builtin_signbit(value) != 0 ? 1 : 2, 0};
  return {3, value};
}

inline int CompareGeneral(const GeneralNumber& a, const GeneralNumber& b) {
  if (a.rank != b.rank) return a.rank < b.rank ? -1 : 1;
  return (a.value > b.value) - (a.value < b.value);
}
#endif

/// MD5 (RFC 1321) of what is put in.
class Md5 {
 public:
  GPUSORT_HD void Put(unsigned byte) {
    const unsigned at = static_cast<unsigned>(bytes_++ % 64);
    block_[at / 4] |= static_cast<std::uint32_t>(byte) << (8 * (at % 4));
    if (at == 63) Mix();
  }
  /// The digest as two numbers whose most significant bytes come first.
  GPUSORT_HD void Finish(std::uint64_t digest[2]) {
    const std::uint64_t bits = 8 * bytes_;
    Put(0x80);
    while (bytes_ % 64 != 56) Put(0);
    for (unsigned i = 0; i < 8; ++i) Put(static_cast<unsigned>(bits >> (8 * i) & 0xFF));
    for (unsigned i = 0; i < 2; ++i) {
      const std::uint64_t pair = state_[2 * i] | static_cast<std::uint64_t>(state_[2 * i + 1]) << 32;
      digest[i] = NumberMap<std::uint64_t>::Swap(pair);
    }
  }

 private:
  GPUSORT_HD void Mix() {
    // floor(2^32 |sin(i + 1)|)
    constexpr std::uint32_t kSines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    constexpr unsigned char kTurns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    std::uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    for (unsigned i = 0; i < 64; ++i) {
      std::uint32_t mixed;
      unsigned word;
      switch (i / 16) {
        case 0:
          mixed = (b & c) | (~b & d), word = i;
          break;
        case 1:
          mixed = (d & b) | (~d & c), word = 5 * i + 1;
          break;
        case 2:
          mixed = b ^ c ^ d, word = 3 * i + 5;
          break;
        default:
          mixed = c ^ (b | ~d), word = 7 * i;
          break;
      }
      mixed += a + kSines[i] + block_[word % 16];
      const unsigned turn = kTurns[i / 16 * 4 + i % 4];
      a = d;
      d = c;
      c = b;
      b += mixed << turn | mixed >> (32 - turn);
    }
    state_[0] += a;
    state_[1] += b;
    state_[2] += c;
    state_[3] += d;
    for (std::uint32_t& word : block_) word = 0;
  }

  std::uint32_t state_[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::uint32_t block_[16] = {};
  std::uint64_t bytes_ = 0;
};

GPUSORT_HD inline void HashText(const KeyText& text, const std::uint64_t salt[2], std::uint64_t digest[2]) {
  Md5 md5;
  for (unsigned i = 0; i < 16; ++i) md5.Put(static_cast<unsigned>(salt[i / 8] >> (8 * (i % 8)) & 0xFF));
  for (std::uint64_t at = text.Next(text.begin); at < text.end; at = text.Next(at + 1)) md5.Put(text[at]);
  md5.Finish(digest);
}

/// -V puts what is empty first, then ".", "..", other names with a leading dot, other names: 0..4.
GPUSORT_HD inline int VersionClass(const KeyText& text) {
  const std::uint64_t first = text.Next(text.begin);
  if (first == text.end) return 0;
  if (text[first] != '.') return 4;
  const std::uint64_t second = text.Next(first + 1);
  if (second == text.end) return 1;
  return text[second] == '.' && text.Next(second + 1) == text.end ? 2 : 3;
}

/// Where a name's suffix begins: the longest (\.[A-Za-z~][A-Za-z0-9~]*)* at the end that is not the whole name.
GPUSORT_HD inline std::uint64_t VersionSuffix(const KeyText& text) {
  std::uint64_t suffix = text.end;
  for (;;) {
    std::uint64_t at = text.Back(suffix);
    unsigned first = 0;
    while (at > text.begin) {
      const unsigned c = text[at - 1];
      if (!IsAlpha(c) && !IsDigit(c) && c != '~') break;
      first = c;
      at = text.Back(at - 1);
    }
    const bool word = IsAlpha(first) || first == '~';
    if (!word || at == text.begin || text[at - 1] != '.' || text.Back(at - 1) == text.begin) return suffix;
    suffix = at - 1;
  }
}

// How -V ranks what stands at one place of two names: '~' before the end, the end before a number, then letters, then
// all other bytes.
inline constexpr unsigned kVersionTilde = 1;
inline constexpr unsigned kVersionEnd = 2;
inline constexpr unsigned kVersionNumber = 3;

GPUSORT_HD inline unsigned VersionRank(unsigned c) {
  if (c == '~') return kVersionTilde;
  if (IsDigit(c)) return kVersionNumber;
  if (IsAlpha(c)) return kVersionNumber + 1 + (c < 'a' ? c - 'A' : c - 'a' + 26);
  // Digits, letters and the tilde leave 193 others, so that ranks end at 248.
  return kVersionNumber + 53 + c - (c > '9' ? 10 : 0) - (c > 'Z' ? 26 : 0) - (c > 'z' ? 26 : 0) - (c > '~');
}

GPUSORT_HD inline int CompareVersions(const KeyText& a, std::uint64_t a_end, const KeyText& b, std::uint64_t b_end) {
  std::uint64_t i = a.Next(a.begin);
  std::uint64_t j = b.Next(b.begin);
  while (i < a_end || j < b_end) {
    // What is no digit, by rank. An end does not meet a number here: it counts as the number 0 below.
    while ((i < a_end && !IsDigit(a[i])) || (j < b_end && !IsDigit(b[j]))) {
      const unsigned x = i < a_end ? VersionRank(a[i]) : kVersionEnd;
      const unsigned y = j < b_end ? VersionRank(b[j]) : kVersionEnd;
      if (x != y) return x < y ? -1 : 1;
      i = a.Next(i + 1);
      j = b.Next(j + 1);
    }
    // Numbers without leading zeros: the longer is greater, then the first digit that differs decides.
    while (i < a_end && a[i] == '0') i = a.Next(i + 1);
    while (j < b_end && b[j] == '0') j = b.Next(j + 1);
    int order = 0;
    for (;; i = a.Next(i + 1), j = b.Next(j + 1)) {
      const bool a_digit = i < a_end && IsDigit(a[i]);
      const bool b_digit = j < b_end && IsDigit(b[j]);
      if (a_digit != b_digit) return a_digit ? 1 : -1;
      if (!a_digit) break;
      if (order == 0) order = Order(a[i], b[j]);
    }
    if (order != 0) return order;
  }
  return 0;
}

GPUSORT_HD inline int CompareVersionKeys(const KeyText& a, const KeyText& b) {
  const int a_class = VersionClass(a);
  const int b_class = VersionClass(b);
  if (a_class != b_class) return a_class < b_class ? -1 : 1;
  if (a_class < 3) return 0;
  const int order = CompareVersions(a, VersionSuffix(a), b, VersionSuffix(b));
  return order != 0 ? order : CompareVersions(a, a.end, b, b.end);
}

GPUSORT_HD inline int CompareRandom(const KeyText& a, const KeyText& b, const std::uint64_t salt[2]) {
  std::uint64_t x[2], y[2];
  HashText(a, salt, x);
  HashText(b, salt, y);
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  if (x[1] != y[1]) return x[1] < y[1] ? -1 : 1;
  return CompareText(a, b);
}

/// Stops a kernel that was given an order of which NeedsHost says that only the host has it.
GPUSORT_HD inline void RefuseDevice() {
#if GPUSORT_ON_DEVICE
  __trap();
#endif
}

GPUSORT_HD inline int CompareKeyTexts(const KeyText& a, const KeyText& b, const LineKey& key,
                                      const std::uint64_t salt[2]) {
  switch (key.ordering) {
    case LineOrdering::kNumeric:
      return CompareDecimals(ReadDecimal(a.line, a.begin, a.end), ReadDecimal(b.line, b.begin, b.end));
    case LineOrdering::kGeneral:
#if GPUSORT_ON_DEVICE
      RefuseDevice();
      return 0;
#else
      return CompareGeneral(ReadGeneral(a.line, a.begin, a.end), ReadGeneral(b.line, b.begin, b.end));
#endif
    case LineOrdering::kHuman: {
      const int units = HumanUnit(a) - HumanUnit(b);
      if (units != 0) return units;
      return CompareDecimals(ReadDecimal(a.line, a.begin, a.end), ReadDecimal(b.line, b.begin, b.end));
    }
    case LineOrdering::kMonth:
      return ReadMonth(a.line, a.begin, a.end) - ReadMonth(b.line, b.begin, b.end);
    case LineOrdering::kVersion:
      return CompareVersionKeys(a, b);
    case LineOrdering::kRandom:
      return CompareRandom(a, b, salt);
    case LineOrdering::kHost:
#if GPUSORT_ON_DEVICE
      RefuseDevice();
      return 0;
#else
      return key.host->Compare(a.line + a.begin, a.end - a.begin, b.line + b.begin, b.end - b.begin);
#endif
    case LineOrdering::kBytes:
      break;
  }
  if (key.plain()) return CompareBytes(a.line + a.begin, a.end - a.begin, b.line + b.begin, b.end - b.begin);
  return CompareText(a, b);
}

}  // namespace detail

/// The order of two lines: negative, 0 or positive. 0 means that sort -s keeps their order and sort -u drops the
/// second.
GPUSORT_HD inline int CompareLines(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size,
                                   const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    const LineKey& key = view.keys[k];
    const KeyRange x = FindKey(a, a_size, key, view.separator);
    const KeyRange y = FindKey(b, b_size, key, view.separator);
    const int order = detail::CompareKeyTexts({a, x.begin, x.end, &key}, {b, y.begin, y.end, &key}, key, view.salt);
    if (order != 0) return (order < 0) != key.reverse ? -1 : 1;
  }
  if (view.key_count != 0 && !view.last_resort) return 0;
  const int order = detail::CompareBytes(a, a_size, b, b_size);
  return view.last_resort_reverse ? (order < 0) - (order > 0) : order;
}

namespace detail {

/// Collects bytes [skip, skip + 12) of what is put in.
class ChunkWriter {
 public:
  explicit GPUSORT_HD ChunkWriter(std::uint64_t skip) : skip_(skip) {}

  /// Complements all that is put from now on, which turns its order around.
  GPUSORT_HD void set_reverse(bool reverse) { flip_ = reverse ? ~std::uint64_t{0} : 0; }
  GPUSORT_HD bool reverse() const { return flip_ != 0; }
  /// More has been put than the chunk holds: nothing that follows matters.
  GPUSORT_HD bool full() const { return at_ > skip_ && at_ - skip_ > kEntryKeyBytes; }

  GPUSORT_HD void Put(unsigned byte) {
    if (at_ >= skip_) Place(at_ - skip_, static_cast<std::uint64_t>((byte ^ flip_) & 0xFF) << 56);
    ++at_;
  }
  /// Eight bytes, most significant first.
  GPUSORT_HD void PutWord(std::uint64_t word) {
    word ^= flip_;
    if (at_ >= skip_) {
      Place(at_ - skip_, word);
    } else if (skip_ - at_ < 8) {
      Place(0, word << (8 * (skip_ - at_)));
    }
    at_ += 8;
  }
  /// The first `bytes` bytes of a word, the others of which are 0.
  GPUSORT_HD void PutPart(std::uint64_t word, unsigned bytes) {
    word ^= flip_ & ~std::uint64_t{0} << (64 - 8 * bytes);
    if (at_ >= skip_) {
      Place(at_ - skip_, word);
    } else if (skip_ - at_ < bytes) {
      Place(0, word << (8 * (skip_ - at_)));
    }
    at_ += bytes;
  }
  /// Bytes below 255 take one byte of the encoding, which keeps their order.
  GPUSORT_HD void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    if (count >= 255) PutWord(count);
  }
  /// [begin, end) of the line as it is, padded to the end of the chunk. Nothing can follow.
  GPUSORT_HD void PutRest(const Byte* line, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t have = at_ > skip_ ? at_ - skip_ : 0;
    const std::uint64_t from = Advance(begin, end, skip_ > at_ ? skip_ - at_ : 0);
    Place(have, LoadWord(line, from, end) ^ flip_);
    Place(have + 8, (end - from > 8 ? LoadWord(line, from + 8, end) : 0) ^ flip_);
    at_ += end - begin;
  }

  GPUSORT_HD LineChunk chunk() const { return {hi_, lo_, !full()}; }

 private:
  GPUSORT_HD void Place(std::uint64_t index, std::uint64_t word) {
    if (index >= kEntryKeyBytes) return;
    if (index >= 8) {
      lo_ |= static_cast<std::uint32_t>(word >> (8 * (index - 4)));
    } else {
      hi_ |= word >> (8 * index);
      if (index != 0) lo_ |= static_cast<std::uint32_t>(word << (64 - 8 * index) >> 32);
    }
  }

  std::uint64_t skip_;
  std::uint64_t at_ = 0;
  std::uint64_t hi_ = 0;
  std::uint32_t lo_ = 0;
  std::uint64_t flip_ = 0;
};

/// Bytes in front of other bytes: 0 ends them, and 0 and 1 become 1 1 and 1 2.
template <typename Writer>
GPUSORT_HD inline void PutText(Writer& out, const KeyText& text) {
  const auto put = [&](unsigned c) {
    if (c < 2) out.Put(1);
    out.Put(c < 2 ? c + 1 : c);
  };
  const LineKey& key = *text.key;
  const bool as_it_is = !key.dictionary_order && !key.ignore_nonprinting && !key.fold_case;
  std::uint64_t at = text.begin;
  while (as_it_is && text.end - at >= 8 && !out.full()) {
    const std::uint64_t word = LoadBigEndian(text.line + at);
    if (ZeroBytes(word & ~kLowBits) == 0) {
      out.PutWord(word);
    } else {
      for (unsigned i = 0; i < 8; ++i) put(text.line[at + i]);
    }
    at += 8;
  }
  // What is left together with the 0 behind it.
  if (const std::uint64_t left = text.end - at; as_it_is && left > 0 && left < 8 && !out.full()) {
    const std::uint64_t word = LoadWord(text.line, at, text.end);
    if (ZeroBytes((word & ~kLowBits) | ~std::uint64_t{0} >> 8 * left) == 0) {
      out.PutPart(word, static_cast<unsigned>(left) + 1);
      return;
    }
  }
  for (at = text.Next(at); at < text.end && !out.full(); at = text.Next(at + 1)) put(text[at]);
  out.Put(0);
}

/// A number as sign and size of its integer part, then pairs of digits, then 0; complemented for negative numbers.
template <typename Writer>
GPUSORT_HD inline void PutDecimal(Writer& out, const Decimal& number) {
  constexpr unsigned kZero = 0x80;
  if (number.zero()) {
    out.Put(kZero);
    return;
  }
  const bool reverse = out.reverse();
  out.set_reverse(reverse != number.negative);

  // The number is 0.d1d2d3... times 10 to the power of `large - small`, of which one is 0.
  const std::uint64_t large = number.integer_digits;
  std::uint64_t small = 0;
  std::uint64_t at = number.NextInteger(number.integer_begin);
  std::uint64_t fraction = number.fraction_begin;
  if (large == 0) {
    while (number.line[fraction] == '0') ++fraction;
    small = fraction - number.fraction_begin;
  }
  constexpr unsigned kNear = 60;
  if (small > kNear) {
    out.Put(kZero + 1);
    out.PutWord(~small);
  } else if (large <= kNear) {
    out.Put(static_cast<unsigned>(kZero + 2 + kNear - small + large));
  } else {
    out.Put(kZero + 3 + 2 * kNear);
    out.PutWord(large);
  }

  // Trailing zeros of an integer do not count.
  std::uint64_t end = number.integer_end;
  if (fraction == number.fraction_end) {
    while (end > at && (number.line[end - 1] == '0' || number.line[end - 1] == kThousandsSeparator)) --end;
  }
  unsigned pair = 0;
  bool half = false;
  const auto put_digit = [&](unsigned c) {
    pair = pair * 10 + (c - '0');
    if (half) {
      out.Put(pair + 1);
      pair = 0;
    }
    half = !half;
  };
  for (; at < end && !out.full(); at = number.NextInteger(at + 1)) put_digit(number.line[at]);
  for (; fraction < number.fraction_end && !out.full(); ++fraction) put_digit(number.line[fraction]);
  if (half) put_digit('0');
  out.Put(0);
  out.set_reverse(reverse);
}

/// One pass of -V over [text.begin, end): ranks, and numbers by their length and digits.
template <typename Writer>
GPUSORT_HD inline void PutVersion(Writer& out, const KeyText& text, std::uint64_t end) {
  std::uint64_t at = text.Next(text.begin);
  for (bool first = true; !out.full(); first = false) {
    bool others = first;
    for (; at < end && !IsDigit(text[at]) && !out.full(); at = text.Next(at + 1)) {
      out.Put(VersionRank(text[at]));
      others = true;
    }
    if (at >= end && !others) break;
    // A name that ends here is equal to one that goes on with the number 0 and ends then.
    out.Put(kVersionNumber);
    while (at < end && text[at] == '0') at = text.Next(at + 1);
    std::uint64_t digits = 0;
    for (std::uint64_t i = at; i < end && IsDigit(text[i]); i = text.Next(i + 1)) ++digits;
    out.PutCount(digits);
    for (; digits > 0 && !out.full(); --digits, at = text.Next(at + 1)) out.Put(text[at]);
  }
  out.Put(kVersionEnd);
}

template <typename Writer>
GPUSORT_HD inline void PutGeneral(Writer& out, const KeyText& text) {
#if GPUSORT_ON_DEVICE
  RefuseDevice();
#else
  static_assert(std::numeric_limits<long double>::digits == 64, "the x87 format: 64 bits of mantissa, 16 of exponent");
  const GeneralNumber number = ReadGeneral(text.line, text.begin, text.end);
  out.Put(static_cast<unsigned>(number.rank));
  if (number.rank < 3) return;
  const long double value = number.value == 0 ? 0 : number.value;  // -0 is 0
  std::uint64_t mantissa;
  std::uint16_t exponent;
  std::memcpy(&mantissa, &value, 8);
  std::memcpy(&exponent, reinterpret_cast<const char*>(&value) + 8, 2);
  const bool negative = exponent >> 15 != 0;
  exponent = static_cast<std::uint16_t>(negative ? ~exponent : exponent | 0x8000);
  out.Put(exponent >> 8);
  out.Put(exponent & 0xFF);
  out.PutWord(negative ? ~mantissa : mantissa);
#endif
}

/// A key in front of others: bytes that keep its order, none of which begins another.
template <typename Writer>
GPUSORT_HD inline void PutKey(Writer& out, const KeyText& text, const LineKey& key, const std::uint64_t salt[2]) {
  switch (key.ordering) {
    case LineOrdering::kBytes:
      PutText(out, text);
      break;
    case LineOrdering::kHuman:
      out.Put(static_cast<unsigned>(0x80 + HumanUnit(text)));
      [[fallthrough]];
    case LineOrdering::kNumeric:
      PutDecimal(out, ReadDecimal(text.line, text.begin, text.end));
      break;
    case LineOrdering::kGeneral:
      PutGeneral(out, text);
      break;
    case LineOrdering::kMonth:
      out.Put(static_cast<unsigned>(ReadMonth(text.line, text.begin, text.end)));
      break;
    case LineOrdering::kVersion: {
      const int version_class = VersionClass(text);
      out.Put(static_cast<unsigned>(version_class));
      if (version_class < 3) break;
      PutVersion(out, text, VersionSuffix(text));
      PutVersion(out, text, text.end);
      break;
    }
    case LineOrdering::kRandom: {
      std::uint64_t digest[2];
      HashText(text, salt, digest);
      out.PutWord(digest[0]);
      out.PutWord(digest[1]);
      PutText(out, text);
      break;
    }
    case LineOrdering::kHost:
      break;
  }
}

/// The line's encoded key: all keys, then the whole line if it is the last resort.
template <typename Writer>
GPUSORT_HD inline void PutKeys(Writer& out, const Byte* line, std::uint64_t length, const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    const LineKey& key = view.keys[k];
    if (key.ordering == LineOrdering::kHost) return;
    const KeyRange range = FindKey(line, length, key, view.separator);
    out.set_reverse(key.reverse);
    if (k + 1 == view.key_count && !view.last_resort && key.plain()) {
      out.PutRest(line, range.begin, range.end);
    } else {
      PutKey(out, {line, range.begin, range.end, &key}, key, view.salt);
    }
    if (out.full()) return;
  }
  if (view.key_count == 0 || view.last_resort) {
    out.set_reverse(view.last_resort_reverse);
    out.PutRest(line, 0, length);
  }
}

}  // namespace detail

/// Bytes [skip, skip + 12) of the line's encoded key: all keys, then the whole line if it is the last resort.
/// Of two lines let the first chunk that differs (skip = 0, 12, 24, ... or any other common steps) decide by (hi, lo),
/// unsigned: its order is that of CompareLines. If all chunks are equal until both have ended, the lines differ in NULs
/// at the end of a plain last key at most: CompareLines decides then, or nothing if ChunksDecide. Behind its end an
/// encoded key is padded, with zeros, or with ones where it ends in plain bytes in reverse.
/// A plain last key (the whole line; one key without last resort) costs two loads behind FindKey, whatever `skip` is;
/// other keys cost O(skip).
GPUSORT_HD inline LineChunk EncodeChunk(const Byte* line, std::uint64_t length, const LineOrderView& view,
                                        std::uint64_t skip) {
  detail::ChunkWriter out(skip);
  detail::PutKeys(out, line, length, view);
  return out.chunk();
}

}  // namespace gpusort
