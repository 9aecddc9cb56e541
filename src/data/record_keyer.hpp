// Records whose order must be computed (a locale's collation, floats in text, typed columns of CSV or JSON) get their
// keys once, when they are read: a keyed record is a byte that tells about it, one or more fields, each ended by
// kKeyEnd, and the record as it was. Behind phase 1's reader it is a line like any other, so that sorting, the cut,
// merging and the check of order serve it. A record with newlines inside is stored with those escaped (StoreBody); the
// sum of a record and the output look at its own bytes (OwnBytes). Start at RecordKeyer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/lines/bytes.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// The first byte of a keyed record; its other bits are the keyer's, but for kEscapedBody.
inline constexpr unsigned kKeyedHead = 0x40;

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
  /// The same for `size` bytes, in a third of the time.
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
  /// The same of bytes that need no escape. Not reversed.
  void PutPlain(const unsigned char* bytes, std::size_t size) {
    const auto* const from = reinterpret_cast<const std::byte*>(bytes);
    out_.insert(out_.end(), from, from + std::min(size, end_ - out_.size()));
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

struct DumpPlace;

/// What is known in front of a byte of an input; at its front: ScanState{}. Means what the keyer says.
struct ScanState {
  unsigned mode = 0;
  std::uint64_t count = 0;
  std::string held;  ///< what came of a token that goes on
  std::shared_ptr<const DumpPlace> dump;  ///< formats/pgdump_format.cpp's
};

/// What was seen of the values of columns while keys were made.
struct KeyTally {
  /// How often something was seen, and where first.
  struct Seen {
    std::uint64_t count = 0;
    std::uint32_t input = 0;
    std::uint64_t record = 0;  ///< of that input, from 0

    /// Counts the record that `tally` stands at.
    void Note(const KeyTally& tally) {
      if (count++ > 0) return;
      input = tally.input;
      record = tally.record;
    }
    /// Adds what was seen after `before` records.
    void Add(const Seen& later, std::uint64_t before);
  };
  struct Column {
    Seen bad;                          ///< values that are none of the column's type
    Seen days;                         ///< digits that are a day, and were taken as seconds since 1970
    std::uint64_t nulls = 0;           ///< of them `missing` in their records
    std::uint64_t missing = 0;
    bool any = false;                  ///< there is a value of the column's type
    std::vector<std::string> samples;  ///< some of the bad values, or of those that were looked at to guess the type
    std::string day;                   ///< the first of `days`
    std::uint64_t values = 0;          ///< looked at, to guess the type
    unsigned looks_like = ~0u;         ///< a bit for each type that all of them may be
  };
  std::vector<Column> columns;
  std::uint64_t short_records = 0;  ///< without a column that is a key
  bool lacks_zone = false;          ///< timestamps were taken as UTC
  Seen other_width;                 ///< records with another number of columns than the header
  std::uint64_t first_width = 0;    ///< columns of the first of them
  Seen glued;                       ///< records with newlines in quotes, and text after the closing quote
  std::string example;              ///< a record without a column that is a key
  unsigned char delimiter = 0;      ///< one that the header has, where it is a single column; 0: none
  // While a piece is read: its input, and where in it the record being read is. In a sum: records of the last input.
  std::uint32_t input = 0;
  std::uint64_t record = 0, offset = 0;

  /// `later` follows what was seen before.
  void Add(const KeyTally& later);
};

/// A record that cannot be read: `at` is the byte of it. Whoever knows where it lies makes an Error of it.
class BadRecord : public Error {
 public:
  BadRecord(std::uint64_t at, const std::string& why) : Error(ErrorCode::kBadInput, why), at_(at) {}
  std::uint64_t at() const { return at_; }

 private:
  std::uint64_t at_;
};

/// The first line of `records`, up to and with its delimiter.
inline RecordSpan FirstLine(RecordSpan records, unsigned char delimiter) {
  const std::byte* const end = detail::FindDelimiter(records.data(), records.data() + records.size(), delimiter);
  if (end == nullptr) throw Error(ErrorCode::kInternal, "records that end inside a record");
  return records.first(static_cast<std::size_t>(end - records.data()) + 1);
}

/// Where records of an input end, and what keys they get. Const functions from any thread.
class RecordKeyer {
 public:
  RecordKeyer() = default;
  RecordKeyer(const RecordKeyer&) = delete;
  RecordKeyer& operator=(const RecordKeyer&) = delete;
  virtual ~RecordKeyer() = default;

  /// Of keyed records.
  virtual RecordLayout layout() const = 0;
  /// The most that a keyed record has more than a record of `bytes`.
  virtual std::uint64_t most_added(std::uint64_t bytes) const = 0;
  /// Keys are cut behind so many bytes: who makes them refuses records with longer ones. Not while keys are made.
  virtual void LimitKeys(std::uint64_t) {}
  /// Looks at whole records of the input. Not once keyed records were made.
  virtual void Tune(RecordSpan) {}

  /// How much of the front of an input is no record; nothing if `front` is not enough to tell, and not `all` of it.
  virtual std::optional<std::uint64_t> HeaderBytes(RecordSpan, bool) const { return 0; }
  virtual bool has_header() const { return false; }
  /// The lines that a header has unless a field of it has a newline. 0: any number.
  virtual std::uint64_t header_lines() const { return 0; }
  /// Whether what HeaderBytes found, and has no newline at its end, gets one.
  virtual bool ends_header(RecordSpan) const { return true; }
  /// What HeaderBytes found, before the first record is read.
  virtual void ReadHeader(RecordSpan) {}
  /// Whether a last record that lacks its newline gets one.
  virtual bool newlines() const { return true; }
  /// Whether records of an input with this header end with CR LF, so that a last one that lacks its end gets that.
  virtual bool EndsInReturns(RecordSpan) const { return false; }

  struct Ends {
    std::uint64_t first = 0, last = 0;  ///< behind the first and the last record that end there; 0: none
    ScanState state;                    ///< behind the last
  };
  /// Goes over bytes that follow those for which `state` stands, and takes it on to their end. Throws BadRecord.
  virtual Ends Scan(RecordSpan bytes, ScanState& state) const = 0;
  /// Where another input begins, behind one that ended in this state.
  virtual ScanState NextInput(const ScanState&) const { return {}; }
  /// The input ends in `state`, `open` being what is behind the last record: returns how much of that is a record; the
  /// rest is the trailer of the output. Throws BadRecord.
  virtual std::uint64_t Finish(RecordSpan open, const ScanState&) const {
    if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return 0;
  }
  /// Whether the trailers of several inputs stand behind each other in the output; else they must be the same.
  virtual bool joins_trailers() const { return false; }
  /// In front of any byte stands ScanState::mode alone, less than this; 1: records end with their newlines. 0: more, so
  /// that a record is found from the front of its input on only.
  virtual unsigned modes() const { return 1; }
  /// A state between two records as text, for another process, and back. Empty: records begin in ScanState{}.
  virtual std::string SaveState(const ScanState&) const { return {}; }
  virtual ScanState LoadState(const std::string&) const { return {}; }
  /// Why a record is still open in `state`, for who finds it too long; empty: nothing to say.
  virtual std::string WhyOpen(const ScanState&) const { return {}; }

  /// What Scan finds behind the first newline of a block, if a record ends there: so that several threads can look,
  /// each without what is in front of its block.
  struct Guess {
    std::uint64_t from = 0;  ///< behind that newline; 0: nothing was looked for
    std::uint64_t last = 0;  ///< of the block; 0: no other record ends in it
    ScanState at_last, state;
  };
  virtual Guess LookAhead(RecordSpan) const { return {}; }

  /// Appends the first of `records`, which hold whole ones and begin in `state`, as a keyed record. Returns its bytes.
  /// Throws BadRecord.
  virtual std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out,
                               KeyTally& tally) const = 0;
};

/// In the first byte of a keyed record: its body is escaped.
inline constexpr unsigned kEscapedBody = 0x80;

/// Appends `record` behind the keys of the keyed record that begins at `begin` of `out`, so that it ends with a newline
/// and has no other.
void StoreBody(RecordSpan record, std::size_t begin, std::vector<std::byte>& out);

inline bool HasEscapedBody(RecordSpan keyed) { return (static_cast<unsigned>(keyed[0]) & kEscapedBody) != 0; }

/// What was read, and will be written, of a whole record of `layout`; where that is not how it lies, in `scratch`.
RecordSpan OwnBytes(RecordSpan record, const RecordLayout& layout, std::vector<std::byte>& scratch);

/// Takes an escaped body, which comes in parts, apart: calls put(bytes) for what it stands for.
class BodyUnescaper {
 public:
  template <typename Put>
  void Add(RecordSpan part, Put put);

 private:
  bool escape_ = false, ended_ = false;
};

/// Puts the own bytes of the keyed records in `records`, which hold whole ones, in their place; returns what is left at
/// the front.
std::span<std::byte> DropKeys(std::span<std::byte> records, const RecordLayout& layout);

namespace detail {
inline constexpr unsigned char kBodyEscape = 0x1D;
inline constexpr char kBodyNewline = 'n', kBodyItself = 'e', kBodyNoNewline = '.';
}  // namespace detail

template <typename Put>
void BodyUnescaper::Add(RecordSpan part, Put put) {
  static constexpr std::byte kNewline{'\n'}, kItself{detail::kBodyEscape};
  while (!part.empty() && !ended_) {
    if (escape_) {
      const char code = static_cast<char>(part[0]);
      if (code == detail::kBodyNoNewline) {
        ended_ = true;
      } else {
        put(RecordSpan(code == detail::kBodyNewline ? &kNewline : &kItself, 1));
      }
      escape_ = false;
      part = part.subspan(1);
      continue;
    }
    const std::byte* const end = detail::FindDelimiter(part.data(), part.data() + part.size(), detail::kBodyEscape);
    const std::size_t plain = end == nullptr ? part.size() : static_cast<std::size_t>(end - part.data());
    if (plain > 0) put(part.first(plain));
    escape_ = end != nullptr;
    part = part.subspan(std::min(part.size(), plain + 1));
  }
}

}  // namespace gpusort
