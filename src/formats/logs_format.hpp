// Logs, ordered by time. A record begins with a line that has a time at the place where the lines of its input have one
// (formats/log_times.hpp). The lines without a time after it belong to the record, as those of a stack trace do. Lines
// before the first time of an input belong to the first record. With --multiline more lines begin records, and a record
// without a time has the time of the record before it. Start at LogsFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::string SaveState(const ScanState& state) const override;
  ScanState LoadState(const std::string& text) const override;
  /// Returns a state with the forms of all inputs.
  ScanState Alone(const std::vector<ScanState>& fronts) const override;

 private:
  /// Buffers of one thread.
  struct LogScratch : Scratch {
    LogTimeReader times;
    LogTimeReader ahead;                ///< for the lines after the next record's first line
    std::optional<LogKeys> keys;        ///< only for PutKeys()
    Zone::Span span;                    ///< of the last time
    std::unique_ptr<LogScratch> alone;  ///< for RequireAlone()
  };
  /// ScanState::mode.
  enum Mode : unsigned {
    kHead,    ///< at the front of a line, before the first time of the input
    kInHead,  ///< inside a line before the first time of the input
    kLine,    ///< at the front of a line
    kInLine,
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  std::unique_ptr<Scratch> MakeScratch() const override;
  /// Returns the latest time, as local time, that a record of the input can have: a day after the file was changed.
  std::int64_t LatestOf(std::uint64_t input) const;
  /// Returns true if the line begins a record. A line before the first time of an input does not.
  bool Begins(const LogPlace& place, LogTimeReader& times, std::string_view line) const;
  /// Returns true if the front of a line is enough to tell whether the line begins a record.
  bool IsEnough(std::string_view line) const;
  /// Completes the time of the next record: its year, its day and its zone. The record begins with `line`. `place` is
  /// the place before the record, and is replaced by the place after it.
  LogTime TakeTime(std::string_view line, LogPlace& place, LogScratch& scratch) const;
  /// Sets the date of a time without a day, or without a year if --year is given. `place` is the place before the
  /// record; its day and year are replaced. Returns false if the day does not exist.
  bool SetDate(LogTime& time, LogPlace& place) const;
  /// Sets the local time of `place` to that of `utc`, the time of a record with a zone.
  void SetPlace(std::int64_t utc, LogPlace& place, Zone::Span& span) const;
  /// Returns the UTC time of `local`, the time of the next record.
  std::int64_t ToUtc(std::int64_t local, LogPlace& place, Zone::Span& span) const;
  /// Does what TakeTime() does for each record that begins in [begin, end), which begins at the front of a line.
  void Walk(const Byte* begin, const Byte* end, LogPlace& place, LogScratch& scratch) const;

  /// Throws BadRecord unless `record`, which has the time `time`, is the same record with the same time if it is read
  /// with the forms of all inputs.
  void RequireAlone(RecordSpan record, const LogTime& time, LogScratch& scratch) const;

  const std::vector<std::string>& inputs_;
  const Zone zone_;
  const TimeWindow window_;
  ScanState alone_;   ///< TableOptions::alone
  const bool walks_;  ///< the time of a record depends on all records before it
};

}  // namespace gpusort
