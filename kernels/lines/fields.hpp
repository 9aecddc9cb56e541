// Finds the fields and the keys of a text line, as GNU sort does. Start at FindKey.
#pragma once

#include <emmintrin.h>

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/lines/line_key.hpp"

namespace gpusort {
namespace detail {

#if GPUSORT_ON_DEVICE
/// Returns a mask of the first 64 bytes: bit i is set if bytes[i] is a separator and i is less than `left`.
/// - Reads aligned words of 16 bytes. Each word contains at least one of the bytes [0, left).
__device__ __noinline__ inline std::uint64_t LoadSeparators(const Byte* bytes, std::uint64_t left, int separator) {
  const unsigned over = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(bytes) % 16);
  const auto* const blocks = reinterpret_cast<const uint4*>(bytes - over);
  const std::uint32_t end = over + static_cast<std::uint32_t>(left < 64 ? left : 64);
  const auto mask4 = [separator](std::uint32_t four) {
    // Compares the four bytes of `four` with `c`. Byte i of the result has its high bit set if byte i of `four` differs
    // from `c`. The other bits of the result have no meaning.
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

#if !GPUSORT_ON_DEVICE
/// Returns a mask of bytes[0, 16): bit i is set if bytes[i] equals `c`.
inline std::uint32_t EqualMask16(const Byte* bytes, unsigned char c) {
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(static_cast<char>(c)))));
}
#endif

/// Finds the separators between the fields of a line, 64 bytes at a time. If `separator` is negative, blanks separate
/// the fields.
class FieldMasks {
 public:
  GPUSORT_HD FieldMasks(const Byte* line, std::uint64_t end, int separator)
      : line_(line), end_(end), separator_(separator), begin_(0), mask_(Load(0)) {}

  GPUSORT_HD std::uint64_t FindSeparator(std::uint64_t at) { return Find(at, true); }
  /// Returns the position of the first byte at or after `at` that is not a blank. Returns the end of the line if there
  /// is no such byte.
  GPUSORT_HD std::uint64_t SkipBlanks(std::uint64_t at) {
    return separator_ < 0 ? Find(at, false) : detail::SkipBlanks(line_, at, end_);
  }
  /// Skips `count` fields from `at`, the start of a field. Returns the start of the next field, or the end of the line.
  /// If blanks separate fields, the blanks before a field are its first bytes.
  [[gnu::always_inline]] GPUSORT_HD inline std::uint64_t SkipFields(std::uint64_t at, std::uint64_t count) {
    if (count == 0) return at;
    if (at - begin_ >= 64) {
      if (at >= end_) return end_;
      begin_ = at;
      mask_ = Load(at);
    }
    // Bit i of `ends` is set if a field ends before byte begin_ + i. If blanks separate fields, no field ends at `at`.
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
  /// Returns the first position from `at` on that has a separator (if `wanted` is true) or any other byte (if `wanted`
  /// is false). Returns the end of the line if there is no such byte.
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
  [[gnu::noinline]]  // host only: on a GPU, a call would move all members from registers to memory
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
  /// Returns a mask of the next 64 bytes of the line: bit i is set if line_[at + i] is a separator. Bits after the end
  /// of the line are 0.
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
  std::uint64_t begin_, mask_;  ///< bit i of mask_ is set if line_[begin_ + i] is a separator
};

}  // namespace detail

/// A part of a line: its bytes [begin, end).
struct KeyRange {
  std::uint64_t begin;
  std::uint64_t end;

  GPUSORT_HD std::uint64_t size() const { return end - begin; }
};

/// Returns the part of the line `text` that `key` describes. The part is empty if the key ends before it begins or
/// starts after the end of the line.
GPUSORT_HD inline KeyRange FindKey(const Byte* text, std::uint64_t length, const LineKey& key, int separator) {
  using namespace detail;
  if (key.begin_field == 0 && !key.skip_start_blanks && key.end_field == LineKey::kToEnd) {
    return {Advance(0, length, key.begin_char), length};
  }
#if !GPUSORT_ON_DEVICE
  // A faster way if the key is the second field and ends in the first 32 bytes of the line.
  constexpr std::uint64_t kShort = 16;
  if (separator >= 0 && length >= kShort && key.begin_field == 1 && key.end_field == 1 && key.begin_char == 0 &&
      key.end_char == 0 && !key.skip_start_blanks) {
    std::uint32_t found = EqualMask16(text, static_cast<unsigned char>(separator));
    if ((found & (found - 1)) == 0 && length >= 2 * kShort) {
      found |= EqualMask16(text + kShort, static_cast<unsigned char>(separator)) << kShort;
    }
    const std::uint32_t later = found & (found - 1);
    if (later != 0) {
      return {static_cast<std::uint64_t>(__builtin_ctz(found)) + 1, static_cast<std::uint64_t>(__builtin_ctz(later))};
    }
  }
#endif
  FieldMasks line(text, length, separator);
  const std::uint64_t field = line.SkipFields(0, key.begin_field);
  std::uint64_t begin = field;
  if (key.skip_start_blanks) begin = line.SkipBlanks(begin);
  begin = Advance(begin, length, key.begin_char);
  if (key.end_field == LineKey::kToEnd) return {begin, length};

  // Finds the field in which the key ends. If possible, the search starts at the first field of the key.
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

}  // namespace gpusort
