// RecordFormat finds the header, the records and the trailer (the bytes after the last record) of an input. There is a
// format for lines, for CSV, for JSON Lines and so on. Start at RecordFormat.
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

struct KeyTally;
struct DumpState;
struct KnownRows;
struct LogTimes;

/// The state of the parser of logs between two records. A timestamp can lack a part, such as the year. The parser then
/// takes this part from the values here, which come from earlier records.
struct LogState {
  std::shared_ptr<const LogTimes> times;  ///< how timestamps are written in the input; null before BeginInput()
  bool local = false;                     ///< true: the last record had a timestamp, which is in `at`
  /// When clocks are set back, an hour of local time occurs twice. True: `at` is in the second of these two hours.
  bool second_pass = false;
  std::int64_t at = 0;    ///< the timestamp of the last record: seconds since 1970-01-01 00:00:00 local time
  std::int64_t year = 0;  ///< only with --year: the year that a timestamp without a year gets
  std::int64_t day = 0;   ///< only with --date: the day that a timestamp without a date gets, in days since 1970
  // Only with --multiline: the timestamp that a record without a timestamp gets. It is the timestamp of the last record
  // that had one: `seconds` since 1970, and the digits of the `fraction` of a second. kNoTime: no record has had a
  // timestamp yet.
  static constexpr std::int64_t kNoTime = std::int64_t{1} << 62;
  std::int64_t seconds = kNoTime;
  std::string fraction;
  /// The beginning of the next record, if its first line was already read to find the end of the previous record.
  /// Otherwise null.
  const void* next = nullptr;
};

/// The state of a RecordFormat's parser at some offset of an input. ScanState{} is the state at the beginning of an
/// input.
struct ScanState {
  unsigned mode = 0;  ///< each format gives its own meaning to `mode` and `count`
  std::uint64_t count = 0;
  std::string held;  ///< an unfinished word, number or line at the end of the scanned bytes; or empty
  std::shared_ptr<const DumpState> dump{};  ///< only for dumps: see formats/sql_dump_state.hpp
  /// Only for SQL dumps. `row`: the number of rows so far in the group of rows that are sorted together. `lexer`: the
  /// parser's state inside a row.
  std::uint64_t row = 0, lexer = 0;
  LogState log{};  ///< only for logs
};

/// Thrown for a record that cannot be read. The exception has only the offset of the wrong byte. The code that catches
/// it throws an Error with the name of the input and the number of the record instead.
class BadRecord : public Error {
 public:
  BadRecord(std::uint64_t at, const std::string& why) : Error(ErrorCode::kBadInput, why), at_(at) {}
  /// The offset in bytes of the wrong byte, counted from the first byte that the caller passed to the format.
  std::uint64_t at() const { return at_; }

 private:
  std::uint64_t at_;
};

/// Returns the first line of `records`, including the delimiter at its end. Throws Error(kInternal) if there is no
/// delimiter.
inline RecordSpan FirstLine(RecordSpan records, unsigned char delimiter) {
  const std::byte* const end = detail::FindDelimiter(records.data(), records.data() + records.size(), delimiter);
  if (end == nullptr) throw Error(ErrorCode::kInternal, "records that end inside a record");
  return records.first(static_cast<std::size_t>(end - records.data()) + 1);
}

/// The lines at the beginning of an input that begin with a prefix from --header-prefix. The output begins with them.
struct PrefixedLines {
  std::vector<std::string> prefixes;
  unsigned char delimiter = '\n';

  /// Returns the size in bytes of the lines at the beginning of `front` that begin with one of `prefixes`.
  /// - `front`: the beginning of an input, without a byte order mark
  /// - `all`: true if `front` is the whole input
  /// - Returns std::nullopt if more bytes are needed to tell.
  std::optional<std::uint64_t> BytesOf(RecordSpan front, bool all) const;
};

/// Finds the parts of an input: the header, the records, and the trailer (the bytes after the last record). Any thread
/// may call any function at any time.
class RecordFormat {
 public:
  RecordFormat() = default;
  RecordFormat(const RecordFormat&) = delete;
  RecordFormat& operator=(const RecordFormat&) = delete;
  virtual ~RecordFormat() = default;

  /// Returns true if an input may begin with a header, which is bytes before the first record.
  virtual bool has_header() const { return false; }
  /// Returns the size of the header in bytes, or std::nullopt if more bytes are needed to tell. The first argument is
  /// the beginning of an input, or the whole input if the second argument is true. Throws BadRecord if the header
  /// cannot be read.
  virtual std::optional<std::uint64_t> HeaderBytes(RecordSpan, bool) const { return 0; }
  /// Returns the number of lines of the header if none of its fields contains a newline. Returns 0 if the number is not
  /// known, for example because comment lines may come before the header.
  virtual std::uint64_t header_lines() const { return 0; }
  /// Returns true if an option, such as --header 2, says how many lines the header has.
  virtual bool counts_header() const { return false; }
  /// Returns true if a header must end with a newline. A missing newline is then added. The argument is the header.
  virtual bool ends_header(RecordSpan) const { return true; }

  /// Returns the part of `header` that must be equal in all inputs. By default, this is `header` without a byte order
  /// mark.
  virtual RecordSpan HeaderText(RecordSpan header) const;
  /// Returns how the headers of two inputs differ, for a message, or "" if the bytes say it.
  virtual std::string WhyDiffers(RecordSpan, RecordSpan) const { return {}; }
  /// Adds what the output needs of `header`, the header of a further input, to `known`, the header of the inputs
  /// before. Does not write to `known` if there is nothing to add.
  virtual void JoinHeader(std::vector<std::byte>&, RecordSpan) const {}
  /// Returns the header of the output. `header` is that of the inputs. By default, both are equal.
  virtual std::vector<std::byte> OutputHeader(RecordSpan header) const { return {header.begin(), header.end()}; }
  /// Returns the lines of `header` that begin as --header-prefix says. They may differ between inputs.
  RecordSpan PrefixedHeader(RecordSpan header) const;

  /// Returns true if every record ends with a delimiter, which is usually a newline. Messages can then give the line
  /// number of a record.
  virtual bool newlines() const { return true; }
  /// Returns true if messages give the offset of a record in the input. Returns false if a module makes the bytes of
  /// the records, so that the offset means nothing to a user.
  virtual bool has_offsets() const { return true; }
  /// The number of bytes at the end of an input that Ending() needs. They are enough for a line end and a blank line
  /// after it: CR LF CR LF.
  static constexpr std::size_t kTailBytes = 4;
  /// Returns the bytes that must be added to the end of an input to complete its last record, or an empty string.
  /// `tail` is the last kTailBytes bytes of the input, or the whole input if it is shorter.
  virtual std::string Ending(RecordSpan header, RecordSpan tail) const = 0;

  struct Ends {
    /// The offsets in the scanned bytes where the first record ends and where the last record ends. Both are 0 if no
    /// record ends in these bytes.
    std::uint64_t first = 0, last = 0;
    ScanState state{};  ///< the parser's state at offset `last`
    /// True: the previous record ended just before the scanned bytes.
    bool at_front = false;
    /// Adds the end of a record, at offset `end`. Call this in the order of the records.
    void Add(std::ptrdiff_t end) {
      last = static_cast<std::uint64_t>(end);
      if (first == 0) first = last;
    }
    bool none() const { return last == 0 && !at_front; }
  };
  /// Finds the ends of records in `bytes`. On entry, `state` must be the parser's state before `bytes`. On return, it
  /// is the state after `bytes`. Throws BadRecord.
  virtual Ends Scan(RecordSpan bytes, ScanState& state) const = 0;
  /// Finds out how the records of an input are written, such as the format of the timestamps in a log. Throws
  /// Error(kBadInput).
  /// - first argument: the beginning of the input, at least kFrontBytes bytes or the whole input
  /// - second argument: the index of the input
  /// - third argument: the parser's state, which is updated
  virtual void BeginInput(RecordSpan, std::uint32_t, ScanState&) const {}
  /// Returns true if BeginInput() has an effect.
  virtual bool learns() const { return false; }
  /// The number of bytes at the beginning of an input that BeginInput() examines.
  static constexpr std::size_t kFrontBytes = std::size_t{256} << 10;
  /// Returns a description of an input for --explain, such as the format of the timestamps in a log. The arguments are
  /// the first bytes of the input and the state that BeginInput() has set. Returns an empty string if there is nothing
  /// to say.
  virtual std::string DescribeInput(RecordSpan, const ScanState&) const { return {}; }
  /// Returns the columns that are needed to make keys, in ascending order, if the module that decodes the records may
  /// keep the rest of them (RowStore). Returns std::nullopt if it must not. Call this after the header was read.
  virtual std::optional<std::vector<std::uint32_t>> KeptColumns() const { return std::nullopt; }
  /// Returns a description of the keys for --explain, after the header was read. Returns an empty string if the keys as
  /// typed say all.
  virtual std::string DescribeKeys() const { return {}; }
  /// Returns the parser's state at the beginning of an input. The argument is the state at the end of the previous
  /// input. By default, the result does not depend on the previous input.
  virtual ScanState NextInput(const ScanState&) const { return {}; }
  /// The argument is the parser's state at the end of an input. Returns true if the end of the input also ends the last
  /// record, as in a log. Returns false if a certain byte, such as a newline, ends every record.
  virtual bool ends_in(const ScanState&) const { return false; }
  /// Handles the end of an input. Throws BadRecord.
  /// - `open`: the bytes after the last record that Scan() has found
  /// - second argument: the parser's state after `open`
  /// - Returns the size of one more record at the beginning of `open`, or 0.
  virtual std::uint64_t Finish(RecordSpan open, const ScanState&) const {
    if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return 0;
  }
  /// For SQL dumps: adds a last statement without a semicolon to the tally. Call this at the end of an input.
  virtual void NoteEnd(const ScanState&, KeyTally&) const {}
  /// Returns true if an input can have a trailer: bytes after the last record, which the output gets at its end.
  virtual bool has_trailer() const { return false; }
  /// Returns true if the output ends with the trailers of all inputs. (A trailer is the bytes after the last record of
  /// an input.) Returns false if all inputs must have the same trailer. The output then gets this trailer once.
  virtual bool joins_trailers() const { return false; }
  /// Returns how many different values ScanState::mode can have. Two results have a special meaning:
  /// - 1: every delimiter ends a record.
  /// - 0: `mode` alone does not describe the state of the parser. Records can then be found only by a scan from the
  ///   beginning of the input.
  virtual unsigned modes() const { return 1; }
  /// SaveState() returns the parser's state between two records as a string, for another process of the same job.
  /// LoadState() turns the string into the state again. An empty string stands for ScanState{}.
  virtual std::string SaveState(const ScanState&) const { return {}; }
  virtual ScanState LoadState(const std::string&) const { return {}; }
  /// Returns true if a file can have bytes between two rows that stay in their place while the rows are sorted. In a
  /// dump, this can be the SQL between two INSERT statements (runs/gap_filler.hpp).
  virtual bool has_gaps() const { return false; }
  /// Returns the reason why a record has not ended yet, for example "the quotes are not closed". The argument is the
  /// parser's state inside the record. The result is added to the error "record too long", and may be empty.
  virtual std::string WhyOpen(const ScanState&) const { return {}; }
  /// Returns how many bytes of a record that has not ended yet are still to come, or 0 if that is not known.
  virtual std::uint64_t OpenBytes(const ScanState&) const { return 0; }

  /// The result of scanning a block of bytes without knowing the bytes before it. The scan begins after the first
  /// newline of the block. It assumes that a record ends there, which is checked later. Several threads can therefore
  /// scan blocks at the same time.
  struct Guess {
    std::uint64_t from = 0;  ///< offset of the byte after the first newline; 0: no guess is possible
    std::uint64_t last = 0;  ///< offset where the last record in the block ends; 0: no record ends after `from`
    ScanState at_last, state;
    std::shared_ptr<const KnownRows> rows{};  ///< only for SQL dumps: see formats/sql_dump_scan.cpp
  };
  virtual Guess LookAhead(RecordSpan) const { return {}; }
  /// Returns the same as Scan(bytes, state). `guess` must be the result of LookAhead(bytes). If the guess is right, the
  /// function is faster than Scan().
  virtual Ends ScanGuessed(RecordSpan bytes, ScanState& state, const Guess& guess) const;

 protected:
  /// Returns the size of the byte order mark at the beginning of an input. `front` is the beginning of the input, or
  /// the whole input if `all` is true. Returns std::nullopt if more bytes are needed to tell.
  static std::optional<std::uint64_t> ByteOrderMark(RecordSpan front, bool all);

  PrefixedLines prefixed_;  ///< the lines of the header that begin with a string of --header-prefix
};

/// The format of lines and of records of a fixed size. The first `header_lines` lines of an input are its header.
class PlainFormat : public RecordFormat {
 public:
  /// `layout` is the layout of the records in the input.
  explicit PlainFormat(const RecordLayout& layout, std::uint64_t header_lines = 0,
                       const std::vector<std::string>& header_prefixes = {})
      : layout_(layout), header_lines_(header_lines) {
    prefixed_ = {header_prefixes, layout.delimiter};
  }

  bool has_header() const override { return header_lines_ > 0 || !prefixed_.prefixes.empty(); }
  bool counts_header() const override { return header_lines_ > 0; }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override;
  bool newlines() const override { return !layout_.fixed(); }
  std::string Ending(RecordSpan header, RecordSpan tail) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;

 private:
  const RecordLayout layout_;
  const std::uint64_t header_lines_;
};

/// The format of the inputs of a job with Source::keyed and without a table. Each line of the inputs is a sort key,
/// followed by a record of a dump.
class KeyedRunFormat : public PlainFormat {
 public:
  using PlainFormat::PlainFormat;
  bool has_gaps() const override { return true; }
};

}  // namespace gpusort
