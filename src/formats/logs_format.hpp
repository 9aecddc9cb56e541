// The format of logs, which are sorted by time. A record begins with a line that has a time, and the following lines
// without a time belong to it, such as a stack trace. LogTimes says where in a line the time is
// (formats/log_times.hpp). Lines before the first line that has a time belong to the first record. With --multiline, a
// line without a time can also begin a record, which then gets the time of the record before it. Start at LogsFormat.
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
  std::string DescribeInput(RecordSpan front, const ScanState& state) const override;
  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  bool ends_in(const ScanState&) const override { return true; }
  std::uint64_t Finish(RecordSpan open, const ScanState&) const override { return open.size(); }
  unsigned modes() const override { return 0; }
  std::string WhyOpen(const ScanState&) const override { return "no later line has a time"; }
  std::string SaveState(const ScanState& state) const override;
  ScanState LoadState(const std::string& text) const override;
  /// Returns a parser's state for computing the key of any single record without the records before it. The state has
  /// the forms of the times of all inputs. `fronts` is the states at the beginnings of the inputs.
  ScanState Alone(const std::vector<ScanState>& fronts) const override;

 private:
  /// The buffers that one thread uses to read the records of a log.
  struct LogScratch : Scratch {
    LogTimeReader times;
    std::optional<InnerTimes> inner;  ///< finds times in lines that begin no record; used only by PutKeys()
    /// The times of the current record and of the next record. `now` is the index in `pair` of the current record's
    /// time.
    std::array<LogTime, 2> pair;
    unsigned now = 0;
    /// The first line of the next record, which was read to find the end of the current record.
    std::string_view next;
    const Byte* next_end = nullptr;     ///< the end of the buffer that contains `next`; null: no line was read
    std::optional<LogKeys> keys;        ///< finds the values of keys; used only by PutKeys()
    Zone::Span span;                    ///< the range around the last time in which the offset from UTC does not change
    std::unique_ptr<LogScratch> alone;  ///< the buffers that RequireAlone() uses for its second reading
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
  /// Returns the latest time that a record of the input with the index `input` can have: one day after the last change
  /// of the file, or one day after now if the input is no regular file. The day is a margin, for example for logs from
  /// another time zone. The result is in seconds since 1970-01-01 00:00:00 local time.
  std::int64_t LatestOf(std::uint64_t input) const;
  /// Returns true if `line` begins a record. Must not be called before the first record of the input is found, unless
  /// LogTimes::start is set.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line) const;
  /// Returns true if `line` begins a record, and sets `time` to the time of this line, if it has one. Must not be
  /// called before the first record of the input is found, unless LogTimes::start is set.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line, LogTime& time) const;
  /// Returns the time of `record`. The time may be in any line of the record, as in the output of git log (see
  /// LogTimes::start). `log` says how times are written. If the year or the day is missing, takes it from the options,
  /// never from the records before.
  LogTime TakeLateTime(RecordSpan record, const LogState& log, LogScratch& scratch) const;
  /// Returns true if `line` is long enough to tell whether it begins a record. `line` is the beginning of a line that
  /// was not read to its end yet.
  bool IsEnough(std::string_view line) const;
  /// Returns the time of a record that begins with `line`. If the year, the day or the time zone is missing, takes it
  /// from the records before or from the options. On entry, `log` must be the parser's state before the record. On
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
  /// Adds the missing day to a time without a date (--date), or the missing year to a time without a year (--year).
  /// Uses log.day and log.year, and updates them. Returns false if the resulting date does not exist.
  bool SetDate(LogTime& time, LogState& log) const;
  /// Stores `utc`, the time of a record, in `log` as the local time of the last record. `span` is a cache that the
  /// function updates: a range of local times in which the offset from UTC does not change.
  void SetLocalTime(std::int64_t utc, LogState& log, Zone::Span& span) const;
  /// Converts `local`, the time of a record, to UTC. `log` must be the parser's state before the record. Stores `local`
  /// in `log` as the time of the last record. `span` is a cache: see SetLocalTime().
  std::int64_t ToUtc(std::int64_t local, LogState& log, Zone::Span& span) const;
  /// Reads the times of the records that begin in [begin, end). Updates `log` from the parser's state at `begin` to the
  /// state at `end`. `begin` must be the beginning of a line.
  void Walk(const Byte* begin, const Byte* end, LogState& log, LogScratch& scratch) const;

  /// Throws BadRecord if `record` cannot be read alone, without the lines before and after it: if it would have another
  /// beginning, another end, or a time that differs from `time`.
  void RequireAlone(RecordSpan record, const LogTime& time, LogScratch& scratch) const;

  const std::vector<std::string>& inputs_;
  const Zone zone_;
  const TimeWindow window_;
  ScanState alone_;            ///< the state for reading a record alone, from TableOptions::alone
  std::vector<bool> is_time_;  ///< for each key: the result of LogKeys::IsTime()
  const bool walks_;           ///< true: a record's time can depend on all records before it
};

}  // namespace gpusort
