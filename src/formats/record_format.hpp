// RecordFormat finds the header, the records and the trailer of an input. Lines, fixed records, CSV and JSON Lines are
// formats. A format makes no sort keys: see formats/key_encoder.hpp. Start at RecordFormat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

struct DumpPlace;
struct LogTimes;

/// The place in a log, after some of its records: see formats/logs_format.hpp.
struct LogPlace {
  std::shared_ptr<const LogTimes> times;  ///< the forms of the times of the input; null before BeginInput()
  bool alone = false;                     ///< each record is read without the others: see RecordFormat::Alone()
  bool local = false;                     ///< the last record had a time, and `at` is that time
  bool second_pass = false;               ///< `at` is in the second occurrence of an hour that occurs twice
  std::int64_t at = 0;                    ///< seconds since 1970-01-01 00:00:00 local time
  std::int64_t year = 0;                  ///< with --year: the year of the last time without a year
  std::int64_t day = 0;                   ///< with --date: the day of the last time without a day, days since 1970
  // The time of the last record that has one, for records without a time (--multiline). No time: `seconds` is kNoTime.
  static constexpr std::int64_t kNoTime = std::int64_t{1} << 62;
  std::int64_t seconds = kNoTime;
  std::string fraction;
};

/// The state of a format's scan at a byte of an input. A ScanState{} is the state at the beginning of an input.
struct ScanState {
  unsigned mode = 0;  ///< each format gives `mode` and `count` its own meaning
  std::uint64_t count = 0;
  std::string held;                       ///< the beginning of a token that ends after the scanned bytes
  std::shared_ptr<const DumpPlace> dump;  ///< only for dumps: see formats/pgdump_format.cpp
  LogPlace log{};                         ///< only for logs
};

/// Thrown for a record that cannot be read. The caller throws an Error with the record's place instead.
class BadRecord : public Error {
 public:
  BadRecord(std::uint64_t at, const std::string& why) : Error(ErrorCode::kBadInput, why), at_(at) {}
  /// The offset of the wrong byte, counted from the first byte that the caller passed to the format.
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

/// Finds the header, the records and the trailer of an input. Any thread may call any function at any time.
class RecordFormat {
 public:
  RecordFormat() = default;
  RecordFormat(const RecordFormat&) = delete;
  RecordFormat& operator=(const RecordFormat&) = delete;
  virtual ~RecordFormat() = default;

  /// Returns true if an input may begin with bytes that are no record.
  virtual bool has_header() const { return false; }
  /// Returns the size of the header. `front` is the beginning of an input, or the whole input if the second argument is
  /// true. Returns std::nullopt if more bytes are needed. Throws BadRecord.
  virtual std::optional<std::uint64_t> HeaderBytes(RecordSpan, bool) const { return 0; }
  /// Returns the number of lines of a header if none of its fields contains a newline, or 0 if the number can vary.
  virtual std::uint64_t header_lines() const { return 0; }
  /// Returns true if the user gave the number of header lines by an option.
  virtual bool counts_header() const { return false; }
  /// Returns true if a newline must be added to a header that does not end with a newline.
  virtual bool ends_header(RecordSpan) const { return true; }

  /// Returns the part of `header` that must be equal in all inputs. The default leaves out a byte order mark.
  virtual RecordSpan HeaderText(RecordSpan header) const;

  /// Returns true if every record ends with a delimiter. Messages can then count lines.
  virtual bool newlines() const { return true; }
  /// The largest number of bytes at the end of an input that Ending() looks at.
  static constexpr std::size_t kTailBytes = 4;
  /// Returns the bytes that must be added to an input to complete its last record, or an empty string. `tail` is the
  /// last kTailBytes bytes of the input, or the whole input if it is shorter.
  virtual std::string Ending(RecordSpan header, RecordSpan tail) const = 0;

  struct Ends {
    std::uint64_t first = 0, last = 0;  ///< offsets of the ends of the first and last record in the bytes; 0: none
    ScanState state{};                  ///< the state at `last`, or before the bytes if `last` is 0
    /// True if the bytes show that a record ended directly before them. The state at that place is ScanState{}.
    bool at_front = false;
    /// Adds the end of the next record.
    void Add(std::ptrdiff_t end) {
      last = static_cast<std::uint64_t>(end);
      if (first == 0) first = last;
    }
    bool none() const { return last == 0 && !at_front; }
  };
  /// Finds the ends of records in `bytes`. The caller passes the state before the bytes in `state`. Scan replaces it by
  /// the state after the bytes. Throws BadRecord.
  virtual Ends Scan(RecordSpan bytes, ScanState& state) const = 0;
  /// Learns the format of input number `input` from its first bytes, and stores it in `state`, the state at the
  /// beginning of the input. `front` has at least kFrontBytes bytes, unless the input is shorter. Throws
  /// Error(kBadInput).
  virtual void BeginInput(RecordSpan, std::uint32_t, ScanState&) const {}
  static constexpr std::size_t kFrontBytes = std::size_t{64} << 10;
  /// Describes the format of an input for --explain, if inputs of this format can differ. The arguments are those of
  /// BeginInput(), which the caller has called. Returns an empty text if there is nothing to say.
  virtual std::string DescribeInput(RecordSpan, const ScanState&) const { return {}; }
  /// Returns the state at the beginning of an input. The argument is the state at the end of the input before it.
  virtual ScanState NextInput(const ScanState&) const { return {}; }
  /// Returns true if the end of the input would make the bytes after the last complete record one more record. Returns
  /// false for formats in which the last byte of a record shows that the record ends.
  virtual bool ends_in(const ScanState&) const { return false; }
  /// Handles the end of an input. `open` is the bytes after the last complete record, and the second argument is the
  /// state after `open`. Returns the size of one more record at the beginning of `open`, or 0. The remaining bytes are
  /// the output's trailer. Throws BadRecord.
  virtual std::uint64_t Finish(RecordSpan open, const ScanState&) const {
    if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return 0;
  }
  /// Returns true if the output ends with the trailers of all inputs, false if all inputs must have the same trailer.
  virtual bool joins_trailers() const { return false; }
  /// Returns the number of values of ScanState::mode. 1: every delimiter ends a record. 0: the mode does not describe
  /// the state completely. Records are then found only by a scan from the beginning of an input.
  virtual unsigned modes() const { return 1; }
  /// SaveState returns the state between two records as text for another process. LoadState reads the text. An empty
  /// text stands for ScanState{}.
  virtual std::string SaveState(const ScanState&) const { return {}; }
  virtual ScanState LoadState(const std::string&) const { return {}; }
  /// Returns the state in which each record can be read without the records before it, in any order of the records. For
  /// formats that know no such state, returns ScanState{}. `fronts` are the states at the beginnings of all inputs.
  virtual ScanState Alone(const std::vector<ScanState>&) const { return {}; }
  /// Returns the reason why a record goes on in the given state, for the error "record too long". Empty: no reason.
  virtual std::string WhyOpen(const ScanState&) const { return {}; }

  /// The result of a scan that begins at the first newline of a block and assumes that a record ends there. This needs
  /// no earlier bytes, so several threads can scan blocks at the same time.
  struct Guess {
    std::uint64_t from = 0;  ///< offset of the byte after the newline; 0: no guess is possible
    std::uint64_t last = 0;  ///< offset of the end of the last record in the block; 0: no record ends after `from`
    ScanState at_last, state;
  };
  virtual Guess LookAhead(RecordSpan) const { return {}; }
};

/// The format of lines and of fixed records. The first `header_lines` lines of an input are its header.
class PlainFormat : public RecordFormat {
 public:
  /// `layout` is the layout of the records in the input.
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
