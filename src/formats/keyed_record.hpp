// A keyed record is a line that consists of a sort key and a record. Its parts:
// - one byte of flags, and the byte 1 (kKeyEnd)
// - one or more key fields, each with the byte 1 after it
// - the record, with escapes for newlines inside it (StoreBody)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

struct Order;

/// A bit that is set in the first byte of every keyed record (a record with its sort key before it).
inline constexpr unsigned kKeyedHead = 0x40;

/// The number of fields before a record with columns: one for flags, and one for its sort key.
inline constexpr std::uint32_t kTableKeys = 2;
/// Returns the order of keyed records by their first key field. Equal records keep the order of the input.
Order ByKeyField();

/// The kinds of records of an SQL dump, in the low bits of the first byte of the record:
/// - kGapMark: text between two rows
/// - kRowMark: a row with a separator after it, such as a comma and a newline
/// - kBareRowMark: a row without a separator
/// - kStatementMark: an INSERT statement with one row
/// - kOddPart: a bit that is added to kStatementMark in every second group of rows of the dump
/// - kMarks: all bits
inline constexpr unsigned kGapMark = 1, kRowMark = 2, kBareRowMark = 3, kStatementMark = 4, kOddPart = 8, kMarks = 15;

/// Writes one field of a sort key, and cuts it off at a limit. Bytes that could be mistaken for the end of a field or
/// of a line are written as escapes of two bytes. Escapes do not change the order of keys.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}
  void Begin(std::uint64_t limit) {
    end_ = out_.size() + limit;
    flip_ = 0;
    exact_ = false;
  }
  /// Marks the field as exact: if two exact fields have equal bytes, their values are equal, too.
  void SetExact() { exact_ = true; }
  /// If `reverse` is true, later Put() calls write the complement of each byte. Keys with complemented bytes sort in
  /// descending order.
  void set_reverse(bool reverse) { flip_ = reverse ? 0xFF : 0; }
  bool reverse() const { return flip_ != 0; }
  /// Returns true if the field has reached the limit on its size that Begin() set. Further bytes are then ignored.
  bool full() const { return out_.size() >= end_; }
  void Put(unsigned byte) {
    const Escaped escaped = Escape((byte ^ flip_) & 0xFF);
    PutRaw(escaped.bytes[0]);
    if (escaped.size > 1) PutRaw(escaped.bytes[1]);
  }
  /// Appends `size` bytes. Has the same effect as one call of Put() for each byte, but is faster.
  void PutBytes(const unsigned char* bytes, std::size_t size);
  /// Appends bytes as they are. The caller must pass only bytes that need no escape. For a descending key, the caller
  /// must pass the complements of the bytes (see set_reverse).
  void PutPlain(const unsigned char* bytes, std::size_t size) {
    const auto* const from = reinterpret_cast<const std::byte*>(bytes);
    out_.insert(out_.end(), from, from + std::min(size, end_ - out_.size()));
  }
  /// One byte of a key as it is written: one byte, or an escape of two bytes.
  struct Escaped {
    unsigned char bytes[2];
    unsigned char size;
  };
  static constexpr Escaped Escape(unsigned byte) {
    // A key field must not contain the bytes 0, 1 (kKeyEnd) and 10 (newline), so each of them becomes two bytes. The
    // first is kLow (2) or kNearNewline (9). The bytes 2 and 9 therefore need escapes, too. Escapes keep the order of
    // the bytes.
    if (byte <= kLow) return {{kLow, static_cast<unsigned char>(byte + kLow)}, 2};
    if (byte != kNearNewline && byte != '\n') return {{static_cast<unsigned char>(byte), 0}, 1};
    return {{kNearNewline, static_cast<unsigned char>(byte - kNearNewline + kLow)}, 2};
  }
  /// Returns the first key field of the keyed record `record` without escapes, or only its first `most` bytes.
  static std::string Unescape(RecordSpan record, std::size_t most = ~std::size_t{0});
  /// The bytes of a key that stand for one byte of a string. They are already escaped. For a descending key they are
  /// also complemented.
  struct Word {
    unsigned char bytes[15];
    unsigned char size;
  };
  /// Appends words[c] for each byte c of `text`, which has `size` bytes. `words` has 256 elements.
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
  /// Does nothing. Exists only because detail::PutKeys calls this function.
  void PutRest(const Byte*, std::uint64_t, std::uint64_t) {}
  /// Writes the byte that ends the field. Returns true if SetExact() was called and the field was not cut off at the
  /// limit. Equal bytes in this field then mean equal values.
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

namespace detail {

/// FieldWriter::Escape() of each byte.
inline constexpr auto kEscapedBytes = [] {
  std::array<FieldWriter::Escaped, 256> escaped{};
  for (unsigned byte = 0; byte < 256; ++byte) escaped[byte] = FieldWriter::Escape(byte);
  return escaped;
}();

}  // namespace detail

inline void FieldWriter::PutBytes(const unsigned char* bytes, std::size_t size) {
  constexpr std::size_t kChunk = 128;
  std::byte made[2 * kChunk];
  const unsigned flip = flip_;
  while (size > 0) {
    const std::size_t chunk = std::min(size, kChunk);
    std::byte* to = made;
    // Has no branch for each byte, because the CPU cannot predict which bytes of a number need an escape.
    for (std::size_t i = 0; i < chunk; ++i) {
      const Escaped& escaped = detail::kEscapedBytes[bytes[i] ^ flip];
      std::memcpy(to, escaped.bytes, sizeof(escaped.bytes));
      to += escaped.size;
    }
    out_.insert(out_.end(), made, made + std::min(static_cast<std::size_t>(to - made), end_ - out_.size()));
    bytes += chunk;
    size -= chunk;
  }
}

/// A bit of the first byte of a keyed record (a record with its sort key before it). It is set if newlines in the
/// record are escaped.
inline constexpr unsigned kEscapedBody = 0x80;

/// Appends `record` to `out`, after its sort key, which begins at offset `begin` of `out`. Escapes newlines inside
/// `record`, so that the only newline in the key and the record together is the last byte.
void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out);

inline bool HasEscapedBody(RecordSpan keyed) { return (static_cast<unsigned>(keyed[0]) & kEscapedBody) != 0; }

/// Returns the keyed record `record` without its sort key and without escapes. `layout` gives the number of key fields.
/// If `record` has escapes, the result lies in `scratch`; otherwise it lies in `record`.
RecordSpan OwnBytes(RecordSpan record, const RecordLayout& layout, std::vector<std::byte>& scratch);

/// Removes the escapes from a record that StoreBody() has stored. Pass the record to Add() in one or more parts. Add()
/// passes the decoded bytes to put(bytes).
class BodyUnescaper {
 public:
  static constexpr std::byte kEscape{0x1D};
  /// The byte after kEscape. The two bytes stand for:
  /// - kNewlineCode: a newline
  /// - kEscapeCode: the byte kEscape
  /// - kNoNewlineCode: the end of a record without a newline at its end
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

/// Removes the sort keys from `records`, which must contain whole keyed records (records with their sort keys before
/// them). Works in place. The returned span is the beginning of `records`.
std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout);

}  // namespace gpusort
