// Reads and compares the encoded keys of lines on the CPU, and finds their common prefixes. The encoded key of a line
// is a string of bytes that sorts as the line does. Start at LineKeys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/cpu/key_code.hpp"
#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::detail {

/// A copy of 56 consecutive bytes of one line's encoded key (bytes that sort as the line does). A sort compares
/// WideKeys if the twelve key bytes in two Entry objects are equal.
struct WideKey {
  static constexpr std::uint64_t kBytes = 56;

  Byte bytes[kBytes];  ///< after the end of the key: zeros or ones, as EncodeChunk pads
  std::uint32_t row;
  std::uint32_t size;  ///< the number of bytes before the padding; kMore: the encoded key has more bytes than fit here

  static constexpr std::uint32_t kMore = ~std::uint32_t{0};
  bool ended() const { return size != kMore; }
};

/// Collects the bytes of a WideKey. Has the same functions as ChunkWriter, which collects twelve bytes, so that PutKeys
/// can write a line's key to either.
class WideWriter {
 public:
  /// Writes bytes [skip, skip + WideKey::kBytes) of an encoded key to `key`. Once more than skip + wanted bytes were
  /// appended, full() returns true, and the caller may stop.
  WideWriter(WideKey& key, std::uint64_t skip, std::uint64_t wanted)
      : to_(reinterpret_cast<Byte*>(&key)), skip_(skip), end_(skip + wanted) {}

  void set_reverse(bool reverse) { flip_ = reverse ? ~std::uint64_t{0} : 0; }
  bool reverse() const { return flip_ != 0; }
  bool full() const { return at_ > end_; }

  void Put(unsigned byte) {
    // If at_ < skip_, the unsigned difference wraps around to a large number, so the byte is dropped.
    if (at_ - skip_ < WideKey::kBytes) to_[at_ - skip_] = static_cast<Byte>(byte ^ flip_);
    ++at_;
  }
  void PutWord(std::uint64_t word) { PutPart(word, 8); }
  void PutPart(std::uint64_t word, unsigned bytes) {
    word ^= flip_ & ~std::uint64_t{0} << (64 - 8 * bytes);
    // Stores eight bytes at once, even if `bytes` is smaller. Later calls overwrite the bytes that do not count, and
    // Finish sets the bytes after the key.
    if (at_ >= skip_) {
      if (at_ - skip_ < WideKey::kBytes) Store(at_ - skip_, word);
    } else if (skip_ - at_ < bytes) {
      Store(0, word << (8 * (skip_ - at_)));
    }
    at_ += bytes;
  }
  void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    if (count >= 255) PutWord(count);
  }
  void PutRest(const Byte* line, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t from = std::min(end, begin + (skip_ - std::min(skip_, at_)));
    const std::uint64_t have = Have();
    const std::uint64_t size = std::min(end - from, WideKey::kBytes - have);
    if (size > 0) std::memcpy(to_ + have, line + from, size);
    for (std::uint64_t i = have; reverse() && i < have + size; ++i) to_[i] = static_cast<Byte>(~to_[i]);
    at_ += end - begin;
    padding_ = reverse() ? 0xFF : 0;
  }
  void Finish(std::uint32_t row) {
    std::memset(to_ + Have(), padding_, WideKey::kBytes - Have());
    const std::uint32_t tail[2] = {row, full() ? WideKey::kMore : static_cast<std::uint32_t>(Have())};
    std::memcpy(to_ + WideKey::kBytes, tail, sizeof(tail));
  }

 private:
  std::uint64_t Have() const { return at_ > skip_ ? std::min(at_ - skip_, WideKey::kBytes) : 0; }
  void Store(std::uint64_t index, std::uint64_t word) {
    word = __builtin_bswap64(word);
    std::memcpy(to_ + index, &word, 8);
  }

  Byte* const to_;
  const std::uint64_t skip_, end_;
  std::uint64_t at_ = 0;
  std::uint64_t flip_ = 0;
  int padding_ = 0;
};
static_assert(sizeof(WideKey) == WideKey::kBytes + 8, "a word at the last byte stays inside");

/// Reads the encoded key of a line (bytes that sort as the line does) as a LineChunk of twelve bytes or as a WideKey of
/// 56 bytes. If plain() is true, the key can also be read as a range of bytes of the line.
class LineKeys {
 public:
  explicit LineKeys(const LineOrderView& order)
      : order_(order),
        plain_(IsPlain(order)),
        flip_(plain_ && (order.key_count == 0 ? order.last_resort_reverse : order.keys[0].reverse) ? ~std::uint64_t{0}
                                                                                                   : 0) {}

  /// Returns the first position in [begin, end) at which the keys of lines a and b differ. If they do not differ there,
  /// returns `end` or the length of the shorter key, whichever is smaller. Call this only if plain() is true, that is,
  /// if a key is a range of bytes of its line.
  std::uint64_t Find(RecordSpan a, RecordSpan b, std::uint64_t begin, std::uint64_t end) const {
    const RecordSpan x = Key(a), y = Key(b);
    return FirstDifference(x.data(), y.data(), begin,
                           std::min({end, std::uint64_t{x.size()}, std::uint64_t{y.size()}}));
  }
  /// Returns twelve bytes of the line's encoded key (bytes that sort as the line does), from byte `skip` on. `line`
  /// must not include its delimiter.
  LineChunk Chunk(RecordSpan line, std::uint64_t skip) const {
    if (in_line()) return ChunkOf(InLine(line), skip);
    return EncodeChunk(AsBytes(line.data()), line.size(), order_, skip);
  }
  /// Returns twelve bytes of an encoded key, from byte `skip` on. `key` must be a result of InLine().
  LineChunk ChunkOf(RecordSpan key, std::uint64_t skip) const {
    const Byte* const bytes = AsBytes(key.data());
    return {LoadWord(bytes, skip, key.size()) ^ flip_,
            static_cast<std::uint32_t>((LoadWord(bytes, skip + 8, key.size()) ^ flip_) >> 32),
            key.size() <= skip + kEntryKeyBytes};
  }
  /// Encodes the sort key of `line`, and writes the bytes [skip, skip + WideKey::kBytes) of the result to `key`.
  /// - Returns true if the encoded key has at most skip + wanted bytes.
  /// - `line` must not include its delimiter.
  bool Widen(RecordSpan line, std::uint64_t skip, std::uint32_t row, WideKey& key,
             std::uint64_t wanted = WideKey::kBytes) const {
    if (order_.keyed) {
      const RecordSpan field = Field(line);
      PutPadded(field, skip, key.bytes, WideKey::kBytes);
      key.row = row;
      const std::uint64_t size = field.size() - std::min<std::uint64_t>(skip, field.size());
      key.size = size <= wanted ? static_cast<std::uint32_t>(size) : WideKey::kMore;
      return key.ended();
    }
    WideWriter writer(key, skip, wanted);
    PutKeys(writer, AsBytes(line.data()), line.size(), order_);
    writer.Finish(row);
    return key.ended();
  }
  /// Returns true if the encoded key of a line is simply a range of the bytes of the line, or their complements (for
  /// descending order).
  bool plain() const { return plain_; }
  /// Returns the part of `line` that is the sort key. The bytes of the encoded key are these bytes XOR flip(). Call
  /// this only if plain() returns true.
  RecordSpan Key(RecordSpan line) const {
    if (order_.key_count == 0) return line;
    const KeyRange range = FindKey(AsBytes(line.data()), line.size(), order_.keys[0], order_.separator);
    return line.subspan(range.begin, range.size());
  }
  /// Returns true if each line contains its encoded key. InLine() then returns the key.
  bool in_line() const { return plain_ || order_.keyed; }
  /// Returns the part of `line` that contains the encoded key. The bytes of the encoded key are these bytes XOR flip().
  /// Call this only if in_line() returns true.
  RecordSpan InLine(RecordSpan line) const { return plain_ ? Key(line) : Field(line); }
  /// Returns 0xFF if each byte of an encoded key is the complement of a byte of the line, otherwise 0.
  Byte flip() const { return static_cast<Byte>(flip_); }
  const LineOrderView& order() const { return order_; }
  int Compare(RecordSpan a, RecordSpan b) const {
    return CompareLines(AsBytes(a.data()), a.size(), AsBytes(b.data()), b.size(), order_);
  }

  /// Returns the first position in [begin, end) at which the bytes of a and b differ. Returns `end` if they are equal
  /// there.
  static std::uint64_t FirstDifference(const std::byte* a, const std::byte* b, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = begin;
    for (; at + 8 <= end; at += 8) {
      std::uint64_t p, q;
      std::memcpy(&p, a + at, 8);
      std::memcpy(&q, b + at, 8);
      if (p != q) return at + static_cast<unsigned>(__builtin_ctzll(p ^ q)) / 8;
    }
    while (at < end && a[at] == b[at]) ++at;
    return at;
  }

 private:
  static bool IsPlain(const LineOrderView& order) {
    return order.key_count == 0 || (order.key_count == 1 && order.keys[0].plain() && !order.last_resort);
  }

  /// Returns the encoded key that gpusort has stored in the line.
  RecordSpan Field(RecordSpan line) const {
    const KeyRange field = KeyedFields(AsBytes(line.data()), line.size(), order_).Next();
    return line.subspan(field.begin, field.size());
  }
  /// Sets to[0, room) to the bytes of `field` from byte `skip` on, and the rest to zeros. A field contains no zeros, so
  /// a field comes before all longer fields that begin with it.
  static void PutPadded(RecordSpan field, std::uint64_t skip, Byte* to, std::uint64_t room) {
    const std::uint64_t size = std::min(room, field.size() - std::min<std::uint64_t>(skip, field.size()));
    if (size > 0) std::memcpy(to, field.data() + skip, size);
    std::memset(to + size, 0, room - size);
  }

  const LineOrderView& order_;
  const bool plain_;
  const std::uint64_t flip_;  ///< all ones if plain keys are in descending order, otherwise 0
};

/// Compares the encoded keys of lines with the encoded key of a first line, which the constructor takes. An encoded key
/// is a string of bytes that sorts as the line does.
class CommonKey {
 public:
  CommonKey(const LineKeys& keys, RecordSpan first) : keys_(keys) {
    if (keys.in_line()) {
      key_ = keys.InLine(first);
      most_ = std::min<std::uint64_t>(key_.size(), 1024);
    } else {
      keys.Widen(first, 0, 0, wide_);
    }
  }
  /// Returns how many key bytes Find() can compare.
  std::uint64_t most() const { return most_; }

  /// Returns how many leading key bytes are equal in `line` and in the line that the constructor got. Stops at `most`,
  /// which must not exceed most().
  std::uint64_t Find(RecordSpan line, std::uint64_t most) const {
    if (keys_.in_line()) return Same(keys_.InLine(line), most);
    WideKey wide;
    keys_.Widen(line, 0, 0, wide, most);
    return Same(wide, most);
  }
  /// Returns twelve bytes of the encoded key of `line`, from byte `skip` on.
  /// - common: how many leading key bytes all lines so far share (at most `skip`); lowered if `line` shares fewer
  LineChunk Chunk(RecordSpan line, std::uint64_t skip, std::uint64_t& common) const {
    if (skip == 0) return keys_.Chunk(line, 0);
    if (keys_.in_line()) {
      const RecordSpan key = keys_.InLine(line);
      common = Same(key, common);
      return keys_.ChunkOf(key, skip);
    }
    WideKey wide;
    const bool ended = keys_.Widen(line, 0, 0, wide, skip + kEntryKeyBytes);
    common = Same(wide, common);
    const Byte* const bytes = wide.bytes + skip;
    return {LoadBigEndian(bytes), static_cast<std::uint32_t>(LoadBigEndian(bytes + 4)), ended};
  }

  /// Returns the encoded key of `line`, from byte `skip` on, compressed with `code`.
  /// - common: the number of leading key bytes that all lines so far share; lowered if `line` shares fewer
  KeyCode::Coded Code(RecordSpan line, std::uint64_t skip, const KeyCode& code, std::uint64_t& common) const {
    if (keys_.in_line()) {
      const RecordSpan key = keys_.InLine(line);
      common = Same(key, common);
      return code.Encode(Rest(key, skip), keys_.flip());
    }
    WideKey wide;
    keys_.Widen(line, 0, 0, wide);
    common = Same(wide, common);
    KeyCode::Coded coded = code.Encode(std::span(wide.bytes).subspan(skip), 0);
    coded.chunk.ended = wide.ended() && wide.size <= skip + coded.bytes;
    return coded;
  }
  /// Counts how often each byte value occurs in the encoded key of `line`, from byte `skip` on. Adds the numbers to
  /// `counts`. Reads at most 28 bytes of the key.
  void Count(RecordSpan line, std::uint64_t skip, KeyCode::Counts& counts) const {
    // Twelve bytes of compressed key seldom stand for more than 28 key bytes.
    constexpr std::uint64_t kMost = 28;
    WideKey wide;
    std::span<const Byte> key = wide.bytes;
    if (keys_.in_line()) {
      key = Rest(keys_.InLine(line), skip);
    } else {
      keys_.Widen(line, 0, 0, wide);
      key = key.subspan(skip);
    }
    for (const Byte byte : key.first(std::min<std::uint64_t>(key.size(), kMost))) ++counts[byte ^ keys_.flip()];
  }

 private:
  static std::span<const Byte> Rest(RecordSpan key, std::uint64_t skip) {
    const RecordSpan rest = key.subspan(std::min<std::uint64_t>(skip, key.size()));
    return {AsBytes(rest.data()), rest.size()};
  }
  std::uint64_t Same(RecordSpan key, std::uint64_t most) const {
    return LineKeys::FirstDifference(key_.data(), key.data(), 0, std::min<std::uint64_t>(most, key.size()));
  }
  std::uint64_t Same(const WideKey& wide, std::uint64_t most) const {
    return LineKeys::FirstDifference(reinterpret_cast<const std::byte*>(wide.bytes),
                                     reinterpret_cast<const std::byte*>(wide_.bytes), 0, most);
  }

  const LineKeys& keys_;
  RecordSpan key_;  ///< the encoded key of the first line, if in_line() is true
  WideKey wide_;    ///< the encoded key of the first line, if in_line() is false
  std::uint64_t most_ = WideKey::kBytes - kEntryKeyBytes;
};

inline Entry MakeLineEntry(const LineChunk& chunk, std::uint32_t row) {
  return {static_cast<std::uint64_t>(chunk.lo) << 32 | row, chunk.hi};
}
inline bool SameEntryKey(const Entry& a, const Entry& b) { return a.hi == b.hi && (a.lo ^ b.lo) >> 32 == 0; }

inline void Prefetch(RecordSpan line) {
  __builtin_prefetch(line.data());
  __builtin_prefetch(line.data() + 64);
}

/// Compares two lines by 56 bytes of their encoded keys, and by the whole lines if these bytes do not decide. Keeps the
/// 56 bytes of recent lines in a cache.
template <typename Lines>
class WideCompare {
 public:
  /// Compares keys from byte `next` on. The key bytes before it must be equal in the lines that are compared.
  /// - memory: for the cached key bytes. Must have room for at least one WideKey.
  WideCompare(const LineKeys& keys, Lines lines, std::uint64_t next, std::span<WideKey> memory)
      : keys_(keys), lines_(lines), next_(next), memory_(memory.first(std::bit_floor(memory.size()))) {}

  int operator()(std::uint32_t a, std::uint32_t b) {
    if (keys_.order().key_count == 0 || keys_.order().keyed || CacheIndex(a) == CacheIndex(b)) {
      return keys_.Compare(lines_(a), lines_(b));
    }
    if (!clean_) {
      for (WideKey& key : memory_) key.row = kNoRow;
      clean_ = true;
    }
    const WideKey &x = Get(a), &y = Get(b);
    const int order = std::memcmp(x.bytes, y.bytes, WideKey::kBytes);
    if (order != 0 || (x.ended() && y.ended() && ChunksDecide(keys_.order()))) return order;
    return keys_.Compare(lines_(a), lines_(b));
  }

 private:
  /// Marks an unused entry of the cache. No line has this row (line index), because a batch has fewer than 2^32 lines.
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

  std::uint64_t CacheIndex(std::uint32_t row) const { return row & (memory_.size() - 1); }
  const WideKey& Get(std::uint32_t row) const {
    WideKey& key = memory_[CacheIndex(row)];
    if (key.row != row) keys_.Widen(lines_(row), next_, row, key);
    return key;
  }

  const LineKeys& keys_;
  const Lines lines_;
  const std::uint64_t next_;
  const std::span<WideKey> memory_;
  bool clean_ = false;
};

/// Orders the Entry objects of lines by their twelve key bytes. If these are equal, compare(row, row) decides, where a
/// row is the index of a line. If compare returns 0, the smaller row comes first.
template <typename Compare>
struct LineEntryLess {
  Compare* compare;

  bool operator()(const Entry& a, const Entry& b) const {
    if (a.hi != b.hi) return a.hi < b.hi;
    if ((a.lo ^ b.lo) >> 32 != 0) return a.lo < b.lo;
    const int order = (*compare)(a.row(), b.row());
    return order != 0 ? order < 0 : a.row() < b.row();
  }
};

}  // namespace gpusort::detail
