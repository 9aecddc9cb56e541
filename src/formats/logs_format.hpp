// Logs, ordered by time. A record begins with a line that has a time at the place where the lines of its input have one
// (formats/log_times.hpp). The lines without a time after it belong to the record, as those of a stack trace do. Lines
// before the first time of an input belong to the first record. Start at LogsFormat.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formats/log_times.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

class LogsFormat : public TableFormat {
 public:
  explicit LogsFormat(const JobSpec& spec);

  Ends Scan(RecordSpan bytes, ScanState& state) const override;
  ScanState NextInput(const ScanState& state) const override;
  bool ends_in(const ScanState&) const override { return true; }
  std::uint64_t Finish(RecordSpan open, const ScanState&) const override { return open.size(); }
  unsigned modes() const override { return 0; }

 private:
  struct LogScratch : Scratch {
    explicit LogScratch(const Zone& zone) : times(zone) {}
    LogTimeReader times;
    std::uint64_t input = ~std::uint64_t{0};
    std::shared_ptr<const LogTimes> log;  ///< the format of `input`
  };
  /// ScanState::mode. ScanState::count is the number of the input.
  enum Mode : unsigned {
    kHead,    ///< at the front of a line, before the first time of the input
    kInHead,  ///< inside a line before the first time of the input
    kLine,    ///< at the front of a line
    kInLine,
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override;
  std::unique_ptr<Scratch> MakeScratch() const override { return std::make_unique<LogScratch>(zone_); }
  /// Returns the latest time, as local time, that a record of the input can have: a day after the file was changed.
  std::int64_t LatestOf(std::uint64_t input) const;
  /// Returns the format of an input. `front` is its first bytes if nobody has asked for the format before.
  std::shared_ptr<const LogTimes> FormatOf(std::uint64_t input, std::string_view front) const;

  const std::vector<std::string>& inputs_;
  const Zone zone_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::shared_ptr<const LogTimes>> found_;  ///< by the number of the input
};

}  // namespace gpusort
