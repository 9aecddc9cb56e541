// The encoded key of a line is a string of bytes that sorts as the line does (see EncodeChunk). LineChunk is twelve
// bytes of an encoded key. ChunkWriter collects these bytes.
#pragma once

#include <cstdint>

#include "gpusort/host_device.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/records/key.hpp"

namespace gpusort {

/// Twelve consecutive bytes of a line's encoded key (bytes that sort as the line does), most significant first.
struct LineChunk {
  std::uint64_t hi;  ///< bytes 0..7
  std::uint32_t lo;  ///< bytes 8..11
  bool ended;        ///< true if the encoded key has no byte after this chunk
};

namespace detail {

/// Collects the bytes [skip, skip + 12) of a line's encoded key (bytes that sort as the line does). The caller must
/// append the bytes of the key from the first byte on, until the key ends or full() returns true.
class ChunkWriter {
 public:
  explicit GPUSORT_HD ChunkWriter(std::uint64_t skip) : skip_(skip) {}

  /// If `reverse` is true, complements (~byte) all bytes that are appended from now on. Complemented bytes sort in
  /// reverse order.
  GPUSORT_HD void set_reverse(bool reverse) { flip_ = reverse ? ~std::uint64_t{0} : 0; }
  GPUSORT_HD bool reverse() const { return flip_ != 0; }
  /// Returns true if the key continues after the chunk. The caller need not append more bytes.
  GPUSORT_HD bool full() const { return at_ > skip_ && at_ - skip_ > kEntryKeyBytes; }

  GPUSORT_HD void Put(unsigned byte) {
    if (at_ >= skip_) Place(at_ - skip_, static_cast<std::uint64_t>((byte ^ flip_) & 0xFF) << 56);
    ++at_;
  }
  /// Appends the eight bytes of `word`, most significant first.
  GPUSORT_HD void PutWord(std::uint64_t word) {
    word ^= flip_;
    if (at_ >= skip_) {
      Place(at_ - skip_, word);
    } else if (skip_ - at_ < 8) {
      Place(0, word << (8 * (skip_ - at_)));
    }
    at_ += 8;
  }
  /// Appends the first (most significant) `bytes` bytes of a word. All other bytes of the word must be 0.
  GPUSORT_HD void PutPart(std::uint64_t word, unsigned bytes) {
    word ^= flip_ & ~std::uint64_t{0} << (64 - 8 * bytes);
    if (at_ >= skip_) {
      Place(at_ - skip_, word);
    } else if (skip_ - at_ < bytes) {
      Place(0, word << (8 * (skip_ - at_)));
    }
    at_ += bytes;
  }
  /// Appends `count`: as one byte if it is below 255, otherwise as the byte 255 and eight bytes.
  GPUSORT_HD void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    if (count >= 255) PutWord(count);
  }
  /// Appends the bytes [begin, end) of the line as the last bytes of the key. Append nothing after this call. The rest
  /// of the chunk is filled with 0x00, or with 0xFF after set_reverse(true).
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

}  // namespace detail

}  // namespace gpusort
