// Finds the records of an input, its header and its trailer. Lines, fixed records, CSV and JSON Lines are formats. Keys
// are made by formats/key_encoder.hpp. Start at RecordFormat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

struct DumpPlace;

/// The state of a format at a byte of an input. ScanState{} is the state at the front of an input.
struct ScanState {
  unsigned mode = 0;        ///< the meaning of mode and count is the format's
  std::uint64_t count = 0;
  std::string held;         ///< the beginning of a token that goes on
  std::shared_ptr<const DumpPlace> dump;  ///< used by formats/pgdump_format.cpp
};

/// A record that cannot be read. The caller knows where the record lies and turns this into an Error with a place.
class BadRecord : public Error {
 public:
  BadRecord(std::uint64_t at, const std::string& why) : Error(ErrorCode::kBadInput, why), at_(at) {}
  /// The byte at fault, counted from the first byte that the format was given.
  std::uint64_t at() const { return at_; }

 private:
  std::uint64_t at_;
};

/// Returns the first line of `records` with its delimiter. Throws Error(kInternal) if there is no delimiter.
inline RecordSpan FirstLine(RecordSpan records, unsigned char delimiter) {
  const std::byte* const end = detail::FindDelimiter(records.data(), records.data() + records.size(), delimiter);
  if (end == nullptr) throw Error(ErrorCode::kInternal, "records that end inside a record");
  return records.first(static_cast<std::size_t>(end - records.data()) + 1);
}

/// Finds headers, records and trailers. All functions may be called by any thread at any time.
class RecordFormat {
 public:
  RecordFormat() = default;
  RecordFormat(const RecordFormat&) = delete;
  RecordFormat& operator=(const RecordFormat&) = delete;
  virtual ~RecordFormat() = default;

  /// True if an input may begin with bytes that are no record.
  virtual bool has_header() const { return false; }
  /// Returns the size of the header. `front` is the first bytes of an input, or `all` of it. Returns std::nullopt if
  /// more bytes are needed to tell. Throws BadRecord.
  virtual std::optional<std::uint64_t> HeaderBytes(RecordSpan, bool) const { return 0; }
  /// The number of lines of a header in which no field has a newline. 0: any number.
  virtual std::uint64_t header_lines() const { return 0; }
  /// True if an option gives the number of lines of the header.
  virtual bool counts_header() const { return false; }
  /// True if a header without a newline at its end gets one.
  virtual bool ends_header(RecordSpan) const { return true; }

  /// The part of a header that the headers of all inputs must share. The default leaves out a byte order mark.
  virtual RecordSpan HeaderText(RecordSpan header) const;

  /// True if records end with a delimiter, so that messages can count lines.
  virtual bool newlines() const { return true; }
  /// The number of bytes that Ending() looks at.
  static constexpr std::size_t kTailBytes = 4;
  /// Returns the bytes that the last record of an input lacks at its end. `tail` is the last kTailBytes bytes of the
  /// input, or all of its bytes if there are fewer.
  virtual std::string Ending(RecordSpan header, RecordSpan tail) const = 0;

  struct Ends {
    std::uint64_t first = 0, last = 0;  ///< the ends of the first and the last record that end in the bytes; 0: none
    ScanState state{};                  ///< the state at `last`, or before the bytes if `last` is 0
    /// The bytes show that the record before them ended there. The state between such records is ScanState{}.
    bool at_front = false;
    bool none() const { return last == 0 && !at_front; }
  };
  /// Finds the ends of records in `bytes`. `state` is the state before the bytes, and afterwards the state after them.
  /// Throws BadRecord.
  virtual Ends Scan(RecordSpan bytes, ScanState& state) const = 0;
  /// Returns the state at the front of the next input, after an input that ended in the given state.
  virtual ScanState NextInput(const ScanState&) const { return {}; }
  /// True if the bytes since the last end that Scan() found are a record if no other byte follows. A format whose
  /// records end with their last byte returns false.
  virtual bool ends_in(const ScanState&) const { return false; }
  /// Handles the end of an input. `open` is the bytes after the last complete record, and `state` the state after them.
  /// Returns how many of these bytes are one more record. The other bytes are the trailer of the output. Throws
  /// BadRecord.
  virtual std::uint64_t Finish(RecordSpan open, const ScanState&) const {
    if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return 0;
  }
  /// True if the output ends with the trailers of all inputs. False: the trailers of all inputs must be equal.
  virtual bool joins_trailers() const { return false; }
  /// The number of values that ScanState::mode can have. 1 means that every delimiter ends a record. 0 means that the
  /// state is more than its mode: records can only be found from the front of an input on.
  virtual unsigned modes() const { return 1; }
  /// Writes the state between two records as text for another process, and reads it. An empty text is ScanState{}.
  virtual std::string SaveState(const ScanState&) const { return {}; }
  virtual ScanState LoadState(const std::string&) const { return {}; }
  /// Returns why a record is still open in the given state, to explain a record that is too long. Empty: no reason.
  virtual std::string WhyOpen(const ScanState&) const { return {}; }

  /// The result of a Scan from the first newline of a block on, under the guess that a record ends there. Several
  /// threads can look at blocks at the same time, because the guess does not need the bytes before the block.
  struct Guess {
    std::uint64_t from = 0;  ///< the byte after the newline; 0: there is no guess
    std::uint64_t last = 0;  ///< the end of the last record of the block; 0: no record ends after `from`
    ScanState at_last, state;
  };
  virtual Guess LookAhead(RecordSpan) const { return {}; }
};

/// Lines and fixed records. The first `header_lines` lines of an input are its header.
class PlainFormat : public RecordFormat {
 public:
  /// `layout` is the layout of the records as the input has them.
  explicit PlainFormat(const RecordLayout& layout, std::uint64_t header_lines = 0)
      : layout_(layout), header_lines_(header_lines) {}

  bool has_header() const override { return header_lines_ > 0; }
  bool counts_header() const override { return header_lines_ > 0; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  bool newlines() const override { return !layout_.fixed(); }
  std::string Ending(RecordSpan header, RecordSpan tail) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;

 private:
  const RecordLayout layout_;
  const std::uint64_t header_lines_;
};

}  // namespace gpusort
