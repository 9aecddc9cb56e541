// The format of logs, which are sorted by time. A record begins with a line that has a time at the usual place of its
// input (formats/log_times.hpp). The lines without a time after this line belong to the record, for example the lines
// of a stack trace. Lines before the first time of an input belong to the first record. With --multiline, lines without
// a time can begin records too. Such a record gets the time of the record before it. Start at LogsFormat.
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
  /// Returns a parser's state that has the forms of the times of all inputs. `fronts` are the states at the beginnings
  /// of the inputs, each with the forms of one input. With the result, the key of any single record can be computed
  /// without the records before it.
  ScanState Alone(const std::vector<ScanState>& fronts) const override;

 private:
  /// The buffers that one thread uses to read the records of a log.
  struct LogScratch : Scratch {
    LogTimeReader times;
    InnerTimes inner;
    /// The times of the current record and of the next record. `now` is the index of the current record's time in
    /// `pair`.
    std::array<LogTime, 2> pair;
    unsigned now = 0;
    /// The first line of the next record, which was read to find the end of the current record.
    std::string_view next;
    const Byte* next_end = nullptr;     ///< the end of the buffer in which `next` lies; null: no line was read
    std::optional<LogKeys> keys;        ///< finds the values of keys; used only by PutKeys()
    Zone::Span span;                    ///< the range around the last time, in which the distance to UTC is the same
    std::unique_ptr<LogScratch> alone;  ///< the buffers that RequireAlone() uses for its second reading
  };
  /// The values of ScanState::mode: where the parser is in a log.
  enum Mode : unsigned {
    kHead,    ///< at the front of a line, before the first time of the input
    kInHead,  ///< inside a line before the first time of the input
    kLine,    ///< at the front of a line
    kInLine,
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  std::unique_ptr<Scratch> MakeScratch() const override;
  /// Returns the latest time that a record of input number `input` can have: one day after the last change of the file,
  /// or after now if the input is no regular file. The day is a margin, for example for logs from another time zone.
  /// The result is in seconds since 1970-01-01 00:00:00 local time.
  std::int64_t LatestOf(std::uint64_t input) const;
  /// Returns true if `line` begins a record. Call this only after the first line of the input that has a time, because
  /// lines before it begin no record.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line) const;
  /// Returns true if `line` begins a record, and sets `time` to the time in this line. Call this only after the first
  /// line of the input that has a time.
  bool Begins(const LogState& log, LogTimeReader& times, std::string_view line, LogTime& time) const;
  /// Returns the time of `record`, which need not stand in the first line of the record, as in the output of git log
  /// (see LogTimes::start). `log` says how times are written. The records before `record` are not used.
  LogTime TakeLateTime(RecordSpan record, const LogState& log, LogScratch& scratch) const;
  /// Returns true if `line`, the beginning of a line that is not read to its end yet, is long enough to tell whether
  /// the line begins a record.
  bool IsEnough(std::string_view line) const;
  /// Returns the time of a record that begins with `line`. If the text lacks the year, the day or the time zone, takes
  /// them from the records before and from the options. `log` is the parser's state before the record, and is
  /// replaced by the state after it.
  LogTime TakeTime(std::string_view line, LogState& log, LogScratch& scratch) const {
    LogTime time = scratch.times.Read(*log.times, line);
    CompleteTime(time, log, scratch);
    return time;
  }
  /// Completes `time`, which was read from the first line of a record. If the text lacks the year, the day or the time
  /// zone, takes them from the records before and from the options. `log` is the parser's state before the record,
  /// and is replaced by the state after it.
  void CompleteTime(LogTime& time, LogState& log, LogScratch& scratch) const;
  /// Completes a time without a date (with --date), or a time without a year (with --year). `log` has the day and
  /// year of the last record; both are updated. Returns false if the resulting date does not exist.
  bool SetDate(LogTime& time, LogState& log) const;
  /// Stores `utc`, the time of a record whose text has a time zone, as local time in `log`, the parser's state. The
  /// next records are compared with this time, for example to find out their year. `span` is the range that the last
  /// call has found, in which the distance to UTC is the same. Most times are in this range.
  void SetLocalTime(std::int64_t utc, LogState& log, Zone::Span& span) const;
  /// Converts `local`, the local time of the next record, to UTC. Stores `local` in `log`, the parser's state, as the
  /// time of the last record. `span` is the range that the last call has found, as for SetLocalTime().
  std::int64_t ToUtc(std::int64_t local, LogState& log, Zone::Span& span) const;
  /// Reads the time of each record that begins in [begin, end), so that `log` becomes the parser's state at `end`.
  /// `begin` must be the beginning of a line.
  void Walk(const Byte* begin, const Byte* end, LogState& log, LogScratch& scratch) const;

  /// Checks that `record` can be read without the records before it, as another process of the same sort may have to
  /// do. Throws BadRecord if it would then have another end, or another time than `time`.
  void RequireAlone(RecordSpan record, const LogTime& time, LogScratch& scratch) const;

  const std::vector<std::string>& inputs_;
  const Zone zone_;
  const TimeWindow window_;
  ScanState alone_;            ///< the state for reading a record alone, from TableOptions::alone
  std::vector<bool> is_time_;  ///< for each key: the result of LogKeys::IsTime()
  const bool walks_;           ///< true: the time of a record can depend on all records before it
};

}  // namespace gpusort
