// The order of the sort option -R: by a hash of random bytes (the salt) and the key, so that lines with equal keys are
// neighbours.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/text.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::detail {

/// Computes the MD5 digest (RFC 1321) of all bytes that are passed to Put.
class Md5 {
 public:
  GPUSORT_HD void Put(unsigned byte) {
    const unsigned at = static_cast<unsigned>(bytes_++ % 64);
    block_[at / 4] |= static_cast<std::uint32_t>(byte) << (8 * (at % 4));
    if (at == 63) Mix();
  }
  /// Returns the 16 bytes of the digest as two big-endian numbers.
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
    // kSines[i] is floor(2^32 |sin(i + 1)|).
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

GPUSORT_HD inline int CompareRandom(const KeyText& a, const KeyText& b, const std::uint64_t salt[2]) {
  std::uint64_t x[2], y[2];
  HashText(a, salt, x);
  HashText(b, salt, y);
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  if (x[1] != y[1]) return x[1] < y[1] ? -1 : 1;
  return CompareText(a, b);
}

template <typename Writer>
GPUSORT_HD inline void PutRandom(Writer& out, const KeyText& text, const std::uint64_t salt[2]) {
  std::uint64_t digest[2];
  HashText(text, salt, digest);
  out.PutWord(digest[0]);
  out.PutWord(digest[1]);
  PutText(out, text);
}

}  // namespace gpusort::detail
