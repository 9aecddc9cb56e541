// RecordFormat divides an input into its header, its records and its trailer, which is what follows the last record.
// Lines, records of a fixed size, CSV and JSON Lines are formats. A format makes no sort keys: see
// formats/key_encoder.hpp. Start at RecordFormat.
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

struct DumpState;
struct KnownRows;
struct LogTimes;

/// The state of a log's parser between two records. It has all that earlier records tell about the time of the next
/// record, such as its year or day.
struct LogState {
  std::shared_ptr<const LogTimes> times;  ///< the forms of the times of the input; null before BeginInput()
  bool alone = false;  ///< true: no earlier record is used to complete the time of a record (see RecordFormat::Alone)
  bool local = false;  ///< true: the last record had a time, which is `at`
  bool second_pass = false;  ///< if clocks are set back, an hour occurs twice; true: `at` is in its second occurrence
  std::int64_t at = 0;       ///< the time of the last record: seconds since 1970-01-01 00:00:00 local time
  std::int64_t year = 0;     ///< with --year: the year of the last time without a year
  std::int64_t day = 0;      ///< with --date: the day of the last time without a day, days since 1970
  // With --multiline: the time of the last record that has a time, as seconds since 1970 and the digits of a fraction.
  // A record without a time gets this time. If no record had a time yet, `seconds` is kNoTime.
  static constexpr std::int64_t kNoTime = std::int64_t{1} << 62;
  std::int64_t seconds = kNoTime;
  std::string fraction;
  /// The beginning of the next record in memory, if its first line was already read to find the end of the last record.
  /// Otherwise null.
  const void* next = nullptr;
};

/// The state of the parser that finds the ends of records, at one byte of an input. ScanState{} is the state at the
/// beginning of an input.
struct ScanState {
  unsigned mode = 0;  ///< the meaning of `mode` and `count` differs between the formats
  std::uint64_t count = 0;
  std::string held;  ///< the last scanned bytes, if they are the beginning of a word or line that goes on after them
  std::shared_ptr<const DumpState> dump{};  ///< only for dumps: see formats/sql_dump_state.hpp
  /// Only for SQL dumps: `row` is the number of rows so far among those that are sorted together, and `lexer` is the
  /// parser's state inside a row.
  std::uint64_t row = 0, lexer = 0;
  LogState log{};  ///< only for logs
};

/// Thrown for a record that cannot be read. The exception knows only an offset in bytes. The caller catches it and
/// throws an Error with the name of the input and the number of the record instead.
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

/// Divides an input into its header, its records and its trailer, which is what follows the last record. Any thread may
/// call any function at any time.
class RecordFormat {
 public:
  RecordFormat() = default;
  RecordFormat(const RecordFormat&) = delete;
  RecordFormat& operator=(const RecordFormat&) = delete;
  virtual ~RecordFormat() = default;

  /// Returns true if an input may begin with a header, which is bytes before the first record.
  virtual bool has_header() const { return false; }
  /// Returns the size of the header in bytes, or std::nullopt if more bytes are needed to tell. The first argument is
  /// the beginning of an input, or the whole input if the second argument is true. Throws BadRecord.
  virtual std::optional<std::uint64_t> HeaderBytes(RecordSpan, bool) const { return 0; }
  /// Returns the number of lines of every header, if it is always the same. Returns 0 if the number can vary, because a
  /// field of a header can contain newlines.
  virtual std::uint64_t header_lines() const { return 0; }
  /// Returns true if the user gave the number of header lines by an option.
  virtual bool counts_header() const { return false; }
  /// Returns true if a header without a newline at its end must get one, so that the first record begins a new line. In
  /// most formats with columns, a header that is only a byte order mark gets none.
  virtual bool ends_header(RecordSpan) const { return true; }

  /// Returns the part of `header` that must be equal in all inputs. By default this is the whole header without a byte
  /// order mark.
  virtual RecordSpan HeaderText(RecordSpan header) const;

  /// Returns true if every record ends with a delimiter, which is usually a newline. Messages can then name a record by
  /// its line.
  virtual bool newlines() const { return true; }
  /// The largest number of bytes at the end of an input that Ending() looks at: enough for a line end and a blank line
  /// after it, CR LF CR LF.
  static constexpr std::size_t kTailBytes = 4;
  /// Returns the bytes that must be added to the end of an input to complete its last record, or an empty string.
  /// `tail` is the last kTailBytes bytes of the input, or the whole input if it is shorter.
  virtual std::string Ending(RecordSpan header, RecordSpan tail) const = 0;

  struct Ends {
    /// The offset of the end of the first record that ends in the scanned bytes, and of the last one. 0: no record ends
    /// there.
    std::uint64_t first = 0, last = 0;
    ScanState state{};  ///< the state at offset `last`; if no record ends in the bytes, the state before the bytes
    /// True if the scanned bytes show that a record ended directly before them, as a line with a time does in a log.
    /// The parser's state at that place is ScanState{}.
    bool at_front = false;
    /// Notes that the next record ends at the offset `end`.
    void Add(std::ptrdiff_t end) {
      last = static_cast<std::uint64_t>(end);
      if (first == 0) first = last;
    }
    bool none() const { return last == 0 && !at_front; }
  };
  /// Finds the ends of records in `bytes`. `state` is the parser's state before the bytes, and is replaced by the state
  /// after them. Throws BadRecord.
  virtual Ends Scan(RecordSpan bytes, ScanState& state) const = 0;
  /// Finds out how the records of an input are written, such as the form of the times in a log. The first argument is
  /// the beginning of the input: at least kFrontBytes bytes, unless the input is shorter. The second argument is the
  /// number of the input. The result becomes part of the third argument, the parser's state at the beginning of the
  /// input. Throws Error(kBadInput).
  virtual void BeginInput(RecordSpan, std::uint32_t, ScanState&) const {}
  /// The number of bytes at the beginning of an input that BeginInput() looks at. In most logs, these bytes contain the
  /// 400 lines that LearnLog() examines. A job with little memory also reads at least as many bytes at a time, so that
  /// the result does not depend on --memory.
  static constexpr std::size_t kFrontBytes = std::size_t{64} << 10;
  /// Returns a description of an input for --explain, such as the form of the times in a log. The arguments are the
  /// first bytes of the input and the state that BeginInput() has set. Returns an empty text if there is nothing to
  /// say.
  virtual std::string DescribeInput(RecordSpan, const ScanState&) const { return {}; }
  /// Returns the parser's state at the beginning of an input. The argument is the state at the end of the input before
  /// it. By default, an input is read as if there were no inputs before it.
  virtual ScanState NextInput(const ScanState&) const { return {}; }
  /// Returns true if an input that ends in the given state has a complete last record, as in a log, whose records end
  /// where the next one begins. Returns false for formats in which a certain byte, such as a newline, ends every
  /// record.
  virtual bool ends_in(const ScanState&) const { return false; }
  /// Handles the end of an input. `open` is the bytes after the last complete record, and the second argument is the
  /// state after `open`. If `open` begins with one more record, returns the size of that record, otherwise 0. The
  /// remaining bytes are the trailer: the output gets them after its last record. Throws BadRecord.
  virtual std::uint64_t Finish(RecordSpan open, const ScanState&) const {
    if (!open.empty()) throw Error(ErrorCode::kInternal, "the input ends inside a line");
    return 0;
  }
  /// Returns true if an input can have a trailer: bytes after the last record, which the output gets at its end.
  virtual bool has_trailer() const { return false; }
  /// A trailer is the bytes after the last record of an input. Returns true if the output ends with the trailers of all
  /// inputs. Returns false if all inputs must have the same trailer, which the output gets once.
  virtual bool joins_trailers() const { return false; }
  /// Returns the number of values that ScanState::mode can have. 1: every delimiter ends a record. 0: the parser's
  /// state is more than `mode`, so records can be found only by a scan from the beginning of the input.
  virtual unsigned modes() const { return 1; }
  /// SaveState() returns the parser's state between two records as text, for another process of the same job.
  /// LoadState() turns the text into the state again. An empty text stands for ScanState{}.
  virtual std::string SaveState(const ScanState&) const { return {}; }
  virtual ScanState LoadState(const std::string&) const { return {}; }
  /// Returns a state with which the key of any single record can be computed without the records before it. Returns
  /// ScanState{} for formats that cannot do this. The argument has the states at the beginnings of all inputs.
  virtual ScanState Alone(const std::vector<ScanState>&) const { return {}; }
  /// Returns true if a file can have text between two rows that keeps its place while the rows are sorted. In a dump,
  /// this can be the SQL between two INSERT statements (runs/gap_filler.hpp).
  virtual bool has_gaps() const { return false; }
  /// Returns why a record has not ended yet in the given state, for example "the quotes are not closed". The text is
  /// added to the error "record too long". It is empty if there is nothing to add.
  virtual std::string WhyOpen(const ScanState&) const { return {}; }

  /// The result of a scan of one block of bytes that does not know the bytes before the block. The scan begins at the
  /// first newline and assumes that a record ends there, which is checked later. Several threads can therefore scan
  /// blocks at the same time.
  struct Guess {
    std::uint64_t from = 0;  ///< offset of the byte after the newline; 0: no guess is possible
    std::uint64_t last = 0;  ///< offset of the end of the last record in the block; 0: no record ends after `from`
    ScanState at_last, state;
    std::shared_ptr<const KnownRows> rows{};  ///< only for SQL dumps: see formats/sql_dump_scan.cpp
  };
  virtual Guess LookAhead(RecordSpan) const { return {}; }
  /// Finds the ends of records as Scan() does, but faster if `guess`, the result of LookAhead(bytes), is right. By
  /// default, checks whether a record ends at guess.from, and then scans only the bytes before that place.
  virtual Ends ScanGuessed(RecordSpan bytes, ScanState& state, const Guess& guess) const;
};

/// The format of lines and of records of a fixed size. The first `header_lines` lines of an input are its header.
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
