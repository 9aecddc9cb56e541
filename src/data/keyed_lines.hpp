// Lines whose order must be computed (a locale's collation, floats in text) get their keys once, when they are read: a
// keyed line is a byte that tells which fields say all, one or more fields, each ended by kKeyEnd, and the line as it
// was. Behind phase 1's reader it is a line like any other, so that sorting, the cut, merging and the check of order
// serve it (LineOrderView::keyed); the sum of a record and the output leave its keys out (Body). A field is what of the
// order bytes can tell, cut to a limit: lines with equal fields that do not say all are compared by KeyMaker itself,
// before the next field is looked at. Start at KeyedOrder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "lines/line_order.hpp"
#include "records/records.hpp"

namespace gpusort {

/// Bytes for a field of a keyed line, up to its limit. Bytes that end fields or lines are written as two that keep
/// their place in the order.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}
  /// Begins a field of at most `limit` bytes.
  void Begin(std::uint64_t limit) {
    end_ = out_.size() + limit;
    flip_ = 0;
    exact_ = false;
  }
  /// No field that is put as the same bytes, exact too, differs by what the field is made of.
  void SetExact() { exact_ = true; }
  /// Complements all that is put from now on, which turns its order around.
  void set_reverse(bool reverse) { flip_ = reverse ? 0xFF : 0; }
  bool reverse() const { return flip_ != 0; }
  /// Nothing that follows matters.
  bool full() const { return out_.size() >= end_; }
  void Put(unsigned byte) {
    const Escaped escaped = Escape((byte ^ flip_) & 0xFF);
    PutRaw(escaped.bytes[0]);
    if (escaped.size > 1) PutRaw(escaped.bytes[1]);
  }
  /// One or two bytes in place of any.
  struct Escaped {
    unsigned char bytes[2];
    unsigned char size;
  };
  static Escaped Escape(unsigned byte) {
    constexpr unsigned kLow = 2, kNearNewline = 9;
    // NUL, kKeyEnd and kLow begin with kLow; kNearNewline and newline with kNearNewline.
    if (byte <= kLow) return {{kLow, static_cast<unsigned char>(byte + kLow)}, 2};
    if (byte != kNearNewline && byte != '\n') return {{static_cast<unsigned char>(byte), 0}, 1};
    return {{kNearNewline, static_cast<unsigned char>(byte - kNearNewline + kLow)}, 2};
  }
  /// What each of some bytes is to be put as: escaped, and complemented if reverse().
  struct Word {
    unsigned char bytes[15];
    unsigned char size;
  };
  /// Puts words[c] for each byte c of [text, text + size).
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
  /// The last resort of detail::PutKeys, which is no part of a field.
  void PutRest(const Byte*, std::uint64_t, std::uint64_t) {}
  /// True if the field is exact and not cut.
  bool End() {
    const bool cut = full();
    out_.push_back(static_cast<std::byte>(kKeyEnd));
    return exact_ && !cut;
  }

 private:
  void PutRaw(unsigned byte) {
    if (!full()) out_.push_back(static_cast<std::byte>(byte));
  }

  std::vector<std::byte>& out_;
  std::size_t end_ = 0;
  unsigned flip_ = 0;
  bool exact_ = false;
};

/// What lines are ordered by where their bytes do not tell. Compare is the order of whole lines.
class KeyMaker : public HostOrder {
 public:
  virtual ~KeyMaker() = default;
  /// At least 1, at most kMaxFields.
  virtual std::size_t fields() const = 0;
  /// Puts bytes whose order is that of lines that agree in all fields before: where two differ, ties(field) says the
  /// same. Any thread.
  virtual void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const = 0;
  /// The order of lines by what this field is made of. With those of all fields, one after the other, it is Compare.
  virtual const HostOrder& ties(std::size_t field) const = 0;

  static constexpr std::size_t kMaxFields = 65;
};

/// The order of lines by a KeyMaker, and of keyed lines.
class KeyedOrder {
 public:
  /// `maker` must outlive this.
  explicit KeyedOrder(const KeyMaker& maker);
  KeyedOrder(const KeyedOrder&) = delete;
  KeyedOrder& operator=(const KeyedOrder&) = delete;

  /// Chooses how long first fields may be from lines of the input. Not once keyed lines were made.
  void Tune(RecordSpan lines, unsigned char delimiter);
  /// Of lines as they are: KeyMaker::Compare.
  const LineOrderView& plain() const { return plain_; }
  /// Of keyed lines.
  RecordLayout layout(unsigned char delimiter) const;
  /// Appends `line`, which has its delimiter, as a keyed line to `out`.
  void AppendKeyed(RecordSpan line, std::vector<std::byte>& out) const;
  /// The most that a keyed line has more than the line.
  std::uint64_t most_added() const { return 2 + first_limit_ + (maker_.fields() - 1) * kNextLimit + maker_.fields(); }

 private:
  /// The bit of a keyed line's first byte that is set if the field is exact; fields behind the sixth have none.
  static constexpr unsigned kNoExact = 0x40, kFieldBits = 6;
  static constexpr unsigned FieldBit(std::size_t field) { return field < kFieldBits ? 1u << field : 0; }
  /// What says how lines with equal bytes in a field differ by it.
  struct Ties : HostOrder {
    Ties(const HostOrder& maker, unsigned bit) : maker_(maker), bit_(bit) {}
    int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
      return maker_.Compare(a, a_size, b, b_size);
    }
    bool Settled(const Byte* line) const override { return (line[0] & bit_) != 0; }

   private:
    const HostOrder& maker_;
    const unsigned bit_;
  };

  /// Bytes of a first field: where the first that differs in lines from everywhere lies, and as many behind it as tell
  /// nearly all lines apart; a line's tie costs microseconds, a byte of all keys memory and time to copy.
  static constexpr std::uint64_t kMostFirst = 256, kBehindCommon = 40, kUsualFirst = 96, kNextLimit = 24;

  const KeyMaker& maker_;
  std::uint64_t first_limit_ = kUsualFirst;
  LineKey plain_key_;
  std::deque<Ties> ties_;
  std::vector<LineKey> keyed_keys_;
  LineOrderView plain_, keyed_;
};

/// Removes the keys of the keyed lines in `records`, which hold whole ones, in place; returns what is left at the
/// front.
std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout);

}  // namespace gpusort
