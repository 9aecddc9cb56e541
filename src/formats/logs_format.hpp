// The format of logs, which are sorted by timestamp. A record begins with a line that has a timestamp. The following
// lines without a timestamp, such as a stack trace, belong to it. Start at LogsFormat.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/inner_times.hpp"
#include "formats/log_fields.hpp"
#include "formats/log_times.hpp"
#include "formats/table_format.hpp"
#include "formats/time_window.hpp"
#include "formats/zone.hpp"

namespace gpusort {

class LogsFormat : public TableFormat {
 public:
  explicit LogsFormat(const JobSpec& spec);

  void BeginInput(RecordSpan front, std::uint32_t input, ScanState& state) const override;
  bool learns() const override { return true; }
  std::string DescribeInput(RecordSpan front, const ScanState& state) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  bool ends_in(const ScanState&) const override { return true; }
  std::uint64_t Finish(RecordSpan open, const ScanState&) const override { return open.size(); }
  unsigned modes() const override { return 0; }
  std::string WhyOpen(const ScanState&) const override { return "no later line has a time"; }
  std::string SaveState(const ScanState& state) const override;
  ScanState LoadState(const std::string& text) const override;

 private:
  /// The buffers that one thread uses to read the records of a log.
  struct LogScratch : Scratch {
    LogTimeReader times;
    std::optional<InnerTimes> inner;  ///< finds timestamps in lines that begin no record; used only by PutKeys()
    /// The timestamps of the current record and of the next record. `now` is the index in `pair` of the current
    /// record's timestamp.
    std::array<LogTime, 2> pair;
    unsigned now = 0;
    /// The first line of the next record, which was read to find the end of the current record.
    std::string_view next;
    const Byte* next_end = nullptr;  ///< the end of the buffer that contains `next`; null: no line was read
    std::optional<LogKeys> keys;     ///< finds the values of keys; used only by PutKeys()
    Zone::Span span;                 ///< a range around the last timestamp with one offset from UTC
  };
  /// The values of ScanState::mode: the place of the parser in a log.
  enum Mode : unsigned {
    kHead,    ///< at the beginning of a line, before the first record was found
    kInHead,  ///< inside a line, before the first record was found
    kLine,    ///< at the beginning of a line
    kInLine,
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  std::unique_ptr<Scratch> MakeScratch() const override;
  /// Returns the latest timestamp that a record can have, in seconds since 1970-01-01 00:00:00 local time.
  /// - `input`: the index of the record's input
  std::int64_t LatestOf(std::uint64_t input) const;
  /// Returns true if `line` begins a record. Must not be called before the first record of the input is found, unless
  /// LogTimes::start is set.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line) const;
  /// Returns true if `line` begins a record, and sets `time` to the timestamp of this line, if it has one. Must not be
  /// called before the first record of the input is found, unless LogTimes::start is set.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line, LogTime& time) const;
  /// Returns the timestamp of `record`. The timestamp may be in any line of the record, as in the output of git log
  /// (see LogTimes::start). `log` says how timestamps are written. If the year or the day is missing, takes it from the
  /// options, never from the records before.
  LogTime TakeLateTime(RecordSpan record, const LogState& log, LogScratch& scratch) const;
  /// Returns true if `line` is long enough to tell whether it begins a record. `line` is the beginning of a line that
  /// was not read to its end yet.
  bool IsEnough(std::string_view line, const LogTimes& times) const;
  /// Returns the timestamp of a record that begins with `line`. If the year, the day or the time zone is missing, takes
  /// it from the records before or from the options. On entry, `log` must be the parser's state before the record. On
  /// return, it is the state after the record.
  LogTime TakeTime(std::string_view line, LogState& log, LogScratch& scratch) const {
    LogTime time = scratch.times.Read(*log.times, line);
    CompleteTime(time, log, scratch);
    return time;
  }
  /// Completes `time`, which was read from the first line of a record. If the year, the day or the time zone is
  /// missing, takes it from the records before or from the options. On entry, `log` must be the parser's state before
  /// the record. On return, it is the state after the record.
  void CompleteTime(LogTime& time, LogState& log, LogScratch& scratch) const;
  /// Adds the missing day to a timestamp without a date (--date), or the missing year to a timestamp without a year
  /// (--year). Uses log.day and log.year, and updates them. Returns false if the resulting date does not exist.
  bool SetDate(LogTime& time, LogState& log) const;
  /// Stores the timestamp of the last record in `log`. `utc` is converted to local time first.
  /// - `span`: a cache that the caller keeps between calls
  void SetLocalTime(std::int64_t utc, LogState& log, Zone::Span& span) const;
  /// Converts `local`, the local time of the next record, to UTC.
  /// - `log`: the parser's state, which is updated
  /// - `span`: a cache that the caller keeps between calls
  std::int64_t ToUtc(std::int64_t local, LogState& log, Zone::Span& span) const;
  /// Reads the timestamps of the records that begin in [begin, end). Updates `log` from the parser's state at `begin`
  /// to the state at `end`. `begin` must be the beginning of a line.
  void Walk(const Byte* begin, const Byte* end, LogState& log, LogScratch& scratch) const;

  const std::vector<std::string>& inputs_;
  const Zone& zone_;
  const TimeWindow window_;
  std::vector<bool> is_time_;  ///< for each key: the result of LogKeys::IsTime()
  const bool walks_;           ///< true: a record's timestamp can depend on all records before it
};

}  // namespace gpusort
