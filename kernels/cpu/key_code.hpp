// A code for the bytes of encoded keys. Bytes that are common in a batch get fewer bits, so that twelve bytes of code
// usually hold more of a key than twelve bytes of the key itself. Start at KeyCode::Encode.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/lines/chunk.hpp"

namespace gpusort::detail {

/// A prefix code for bytes that keeps their order: if a < b, the code of a sorts before the code of b. Two keys
/// therefore sort as their codes do.
class KeyCode {
 public:
  /// The number of times that each byte was seen in a sample of keys.
  using Counts = std::array<std::uint32_t, 256>;

  explicit KeyCode(const Counts& counts) {
    std::uint64_t total = 0;
    for (const std::uint32_t count : counts) total += count;
    // The term total / 256 + 1 gives a code to bytes that are not in the sample. It also keeps each code shorter than
    // 24 bits.
    Sums sums;
    sums[0] = 0;
    for (unsigned b = 0; b < 256; ++b) sums[b + 1] = sums[b] + 16 * std::uint64_t{counts[b]} + total / 256 + 1;
    Divide(sums, 0, 256, 0, 0);
  }

  struct Coded {
    LineChunk chunk;      ///< the first 96 bits of the code; `ended` is true if they hold the whole key
    std::uint64_t bytes;  ///< the number of key bytes whose codes lie completely in these 96 bits
  };
  /// Returns the first 96 bits of the code of `key`, as if zero bytes followed the key. If `flip` is 0xFF, encodes the
  /// complement of each byte, and of the zero bytes.
  Coded Encode(std::span<const Byte> key, Byte flip) const {
    std::uint64_t words[2] = {0, 0};  // the 96 bits: 64 in the first word, and 32 at the top of the second
    const std::uint64_t n = key.size();
    std::uint64_t i = 0, bits = 0, code = 0;
    const auto next = [&] {
      const std::uint32_t entry = codes_[static_cast<Byte>(key[i++] ^ flip)];
      code = std::uint64_t{entry & ~kSizeMask} << 32;
      return entry & kSizeMask;
    };
    while (i < n && bits < 64) {
      const std::uint32_t size = next();
      words[0] |= code >> bits;
      bits += size;
      if (bits > 64) words[1] = code << (size - (bits - 64));
    }
    while (i < n && bits < kBits) {
      const std::uint32_t size = next();
      words[1] |= code >> (bits - 64);
      bits += size;
    }
    // The padding is the code of zero bytes: only zeros, or only ones if `flip` is 0xFF.
    if (flip != 0 && bits < 64) words[0] |= ~std::uint64_t{0} >> bits;
    if (flip != 0 && bits < kBits) words[1] |= ~std::uint64_t{0} >> (std::max<std::uint64_t>(bits, 64) - 64);
    const std::uint64_t whole = bits > kBits ? i - 1 : i;
    return {{words[0], static_cast<std::uint32_t>(words[1] >> 32), whole == n}, whole};
  }

  /// Returns how many bytes of any key always fit into 96 bits of code.
  std::uint64_t least_bytes() const {
    std::uint32_t longest = 0;
    for (const std::uint32_t code : codes_) longest = std::max(longest, code & kSizeMask);
    return kBits / longest;
  }

 private:
  static constexpr std::uint64_t kBits = 8 * kEntryKeyBytes;
  static constexpr std::uint32_t kSizeMask = 0xFF;
  using Sums = std::array<std::uint64_t, 257>;

  /// Gives codes to the byte values [begin, end). All these codes begin with the `size` highest bits of `code`. Divides
  /// the values into two parts of about the same weight.
  void Divide(const Sums& sums, unsigned begin, unsigned end, std::uint32_t code, unsigned size) {
    if (end - begin == 1) {
      codes_[begin] = code | size;
      return;
    }
    const std::uint64_t middle = (sums[begin] + sums[end]) / 2;
    unsigned cut = begin + 1;
    while (cut < end - 1 && sums[cut] < middle) ++cut;
    if (cut > begin + 1 && sums[cut] > middle && middle - sums[cut - 1] < sums[cut] - middle) --cut;
    Divide(sums, begin, cut, code, size + 1);
    Divide(sums, cut, end, code | std::uint32_t{1} << (31 - size), size + 1);
  }

  /// For each byte value: its code, which starts at the highest bit, and in the lowest eight bits the size of the code
  /// in bits.
  std::array<std::uint32_t, 256> codes_;
};

}  // namespace gpusort::detail
