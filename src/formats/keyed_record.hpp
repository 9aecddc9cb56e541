// A keyed record is a record with its sort key before it, for orders that must be computed (a locale, floats in text,
// columns of CSV or JSON). It consists of one byte of flags and kKeyEnd, one or more key fields that each end with
// kKeyEnd, and the record as it was read. Sorting, merging and the check of the order treat a keyed record as a line
// and compare its bytes. If the record itself contains newlines, they are escaped (StoreBody). The checksum and the
// output use the record without its key (OwnBytes).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// A bit that is always set in the first byte of a keyed record, which is a record with its sort key before it. The
/// byte is therefore never a newline, a NUL or kKeyEnd. kEscapedBody is another bit of that byte. Each kind of keys
/// (KeyScheme) gives its own meaning to the remaining bits.
inline constexpr unsigned kKeyedHead = 0x40;

/// Marks in the lowest bits of the first byte of a keyed record (a record with its sort key before it). Only database
/// dumps have them. kGapMark: the record is text between two rows, which must keep its place while the rows are sorted
/// (runs/gap_filler.hpp). kRowMark: a row with the text that follows most rows, such as a comma and a newline.
/// kBareRowMark: a row without that text. kStatementMark: an INSERT with one row. kOddPart is added to kStatementMark
/// in every second range of rows that are sorted together, so that the end of a range can be seen.
inline constexpr unsigned kGapMark = 1, kRowMark = 2, kBareRowMark = 3, kStatementMark = 4, kOddPart = 8, kMarks = 15;

/// Writes one field of the sort key of a keyed record, and cuts it off at a limit. A byte that would end a field or a
/// line is written as an escape of two bytes. Escapes do not change the order of keys.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}
  void Begin(std::uint64_t limit) {
    end_ = out_.size() + limit;
    flip_ = 0;
    exact_ = false;
  }
  /// Marks the field as exact. If two exact fields have equal bytes, the values are equal too, so nothing else must be
  /// compared.
  void SetExact() { exact_ = true; }
  /// Makes later Put() calls write the complement of each byte, which reverses the order.
  void set_reverse(bool reverse) { flip_ = reverse ? 0xFF : 0; }
  bool reverse() const { return flip_ != 0; }
  /// Returns true if the field has reached the limit on its size that Begin() set. Further bytes are then ignored.
  bool full() const { return out_.size() >= end_; }
  void Put(unsigned byte) {
    const Escaped escaped = Escape((byte ^ flip_) & 0xFF);
    PutRaw(escaped.bytes[0]);
    if (escaped.size > 1) PutRaw(escaped.bytes[1]);
  }
  /// Appends `size` bytes as Put() would do one by one, but faster.
  void PutBytes(const unsigned char* bytes, std::size_t size) {
    constexpr std::size_t kChunk = 128;
    std::byte made[2 * kChunk];
    const unsigned flip = flip_;
    while (size > 0) {
      const std::size_t chunk = std::min(size, kChunk);
      std::size_t count = 0;
      for (std::size_t i = 0; i < chunk; ++i) {
        const Escaped escaped = Escape(bytes[i] ^ flip);
        made[count++] = static_cast<std::byte>(escaped.bytes[0]);
        if (escaped.size > 1) made[count++] = static_cast<std::byte>(escaped.bytes[1]);
      }
      out_.insert(out_.end(), made, made + std::min(count, end_ - out_.size()));
      bytes += chunk;
      size -= chunk;
    }
  }
  /// Appends bytes as they are. None of them may need an escape. If the order is reversed, the caller must have
  /// complemented them already.
  void PutPlain(const unsigned char* bytes, std::size_t size) {
    const auto* const from = reinterpret_cast<const std::byte*>(bytes);
    out_.insert(out_.end(), from, from + std::min(size, end_ - out_.size()));
  }
  /// A byte of a key in escaped form: one or two bytes.
  struct Escaped {
    unsigned char bytes[2];
    unsigned char size;
  };
  static Escaped Escape(unsigned byte) {
    // The bytes 0, 1 (kKeyEnd) and 10 (newline) must not occur in a key field. The bytes 2 (kLow) and 9 (kNearNewline)
    // are the first bytes of escapes. The bytes 0 to 2 become kLow and a second byte, and the bytes 9 and 10 become
    // kNearNewline and a second byte. This keeps the order of the bytes.
    if (byte <= kLow) return {{kLow, static_cast<unsigned char>(byte + kLow)}, 2};
    if (byte != kNearNewline && byte != '\n') return {{static_cast<unsigned char>(byte), 0}, 1};
    return {{kNearNewline, static_cast<unsigned char>(byte - kNearNewline + kLow)}, 2};
  }
  /// Returns the first key field of `record`, without escapes. The field begins after the byte of flags and its
  /// kKeyEnd.
  static std::string Unescape(RecordSpan record);
  /// The bytes of a key that stand for one byte of a text. They are escaped already, and complemented if the order is
  /// reversed.
  struct Word {
    unsigned char bytes[15];
    unsigned char size;
  };
  /// Appends the bytes words[c] for each byte c of `text`, which has `size` bytes. `words` has 256 elements.
  void PutWords(const Byte* text, std::uint64_t size, const Word* words) {
    const std::size_t begin = out_.size();
    const std::size_t room = end_ - begin;
    out_.resize(end_ + sizeof(Word::bytes));
    std::byte* to = out_.data() + begin;
    std::byte* const stop = to + room;
    for (std::uint64_t i = 0; i < size && to < stop; ++i) {
      const Word& word = words[text[i]];
      std::memcpy(to, word.bytes, sizeof(word.bytes));
      to += word.size;
    }
    out_.resize(std::min(end_, static_cast<std::size_t>(to - out_.data())));
  }
  void PutWord(std::uint64_t word) { PutPart(word, 8); }
  void PutPart(std::uint64_t word, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) Put(static_cast<unsigned>(word >> (56 - 8 * i) & 0xFF));
  }
  void PutCount(std::uint64_t count) {
    Put(count < 255 ? static_cast<unsigned>(count) : 255);
    if (count >= 255) PutWord(count);
  }
  /// Does nothing. The template detail::PutKeys calls it after the keys with the whole line, which decides between
  /// lines of equal keys. A caller that needs the line in the key appends it with detail::PutText, so that it is
  /// escaped.
  void PutRest(const Byte*, std::uint64_t, std::uint64_t) {}
  /// Writes the byte that ends the field. Returns true if equal bytes in this field mean equal values: SetExact() was
  /// called, and the field was not cut off at the limit.
  bool End() {
    const bool cut = full();
    out_.push_back(static_cast<std::byte>(kKeyEnd));
    return exact_ && !cut;
  }

 private:
  static constexpr unsigned kLow = 2, kNearNewline = 9;

  void PutRaw(unsigned byte) {
    if (!full()) out_.push_back(static_cast<std::byte>(byte));
  }

  std::vector<std::byte>& out_;
  std::size_t end_ = 0;
  unsigned flip_ = 0;
  bool exact_ = false;
};

/// A bit of the first byte of a keyed record (a record with its sort key before it). It is set if newlines in the
/// record are escaped.
inline constexpr unsigned kEscapedBody = 0x80;

/// Appends `record` to its sort key, which begins at offset `begin` of `out`. Escapes newlines inside `record`, so that
/// the only newline of key and record together is the last byte.
void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out);

inline bool HasEscapedBody(RecordSpan keyed) { return (static_cast<unsigned>(keyed[0]) & kEscapedBody) != 0; }

/// Returns `record` without the sort key before it, and without escapes. `layout` says how many keys there are. If
/// `record` has escapes, the result lies in `scratch`.
RecordSpan OwnBytes(RecordSpan record, const RecordLayout& layout, std::vector<std::byte>& scratch);

/// Removes the escapes from a record that StoreBody() has stored. Add() gets the record in one or more parts, and calls
/// put(bytes) with the decoded bytes.
class BodyUnescaper {
 public:
  static constexpr std::byte kEscape{0x1D};
  /// The byte after kEscape tells what the escape stands for: a newline, kEscape itself, or the end of a record that
  /// had no newline at its end.
  static constexpr std::byte kNewlineCode{'n'}, kEscapeCode{'e'}, kNoNewlineCode{'.'};

  template <typename Put>
  void Add(RecordSpan part, Put put) {
    static constexpr std::byte kNewline{'\n'};
    while (!part.empty() && !ended_) {
      if (escape_) {
        ended_ = part[0] == kNoNewlineCode;
        if (!ended_) put(RecordSpan(part[0] == kNewlineCode ? &kNewline : &kEscape, 1));
        escape_ = false;
        part = part.subspan(1);
        continue;
      }
      const std::byte* const end =
          detail::FindDelimiter(part.data(), part.data() + part.size(), static_cast<unsigned char>(kEscape));
      const std::size_t plain = end == nullptr ? part.size() : static_cast<std::size_t>(end - part.data());
      if (plain > 0) put(part.first(plain));
      escape_ = end != nullptr;
      part = part.subspan(std::min(part.size(), plain + 1));
    }
  }

 private:
  bool escape_ = false, ended_ = false;
};

/// Removes the sort key before each record in `records`, which must contain whole records. Works in place: the returned
/// result lies inside of `records`.
std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout);

}  // namespace gpusort
