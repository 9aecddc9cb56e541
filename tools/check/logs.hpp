// Logs by time, for gpusort_check: reads the times of log lines, sorts the records of the inputs, and compares the
// result with the output of gpusort, byte by byte. The code follows the manual page and shares nothing with gpusort.
// Start at LogFile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace check {

/// Which lines without a time belong to the record before them: all, only lines that begin with a blank, or none.
enum class LogLines { kUntimed, kIndented, kNone };

/// The form of the times in all logs, and the parts (zone, year, day) that the times lack.
struct LogRules {
  std::vector<std::string> formats;  ///< the values of --time; empty: the forms are learnt from the logs
  std::string zone;                  ///< the zone of times without a zone; empty: TZ, or the machine's zone
  std::optional<int> year;           ///< the year of the first time of each log, if the times have no year
  /// The day of the first time of each log, if the times have no day; in days since 1970.
  std::optional<std::int64_t> date;
  LogLines lines = LogLines::kUntimed;
  std::optional<std::int64_t> since, until;  ///< only times from `since` on, and before `until`
};

/// The time of a JSON record without a time, in nanoseconds since 1970. Such records come after all others.
inline constexpr std::int64_t kNoTime = std::int64_t{0x7FFFFFFFFFFFFFFF};

struct LogRecord {
  std::int64_t time = kNoTime;
  std::uint64_t offset = 0;  ///< where the record begins in its file
  std::uint32_t bytes = 0;
  std::uint32_t file : 24 = 0;
  // True: the time has no zone, year or day. The missing part is added when the records before it are known.
  bool lacks_zone : 1 = false, lacks_year : 1 = false, lacks_day : 1 = false;
};

/// Sets the zone of TZ in the whole process, and how abbreviations of zones are read. `zone` is empty for the zone of
/// TZ or of the machine. Throws BadRule if there is no such zone.
void SetZone(const std::string& zone);

/// Returns the time of a bound of --since or --until, in nanoseconds since 1970. `text` is a day, a day and a time with
/// or without a zone, or @ and seconds since 1970. Throws BadRule if it has another form.
std::int64_t ReadBound(std::string_view text);

/// A log in memory.
class LogFile {
 public:
  std::string prefix;  ///< the bytes before each record in the output

  /// Maps a regular file, or reads a stream to its end. If `path` is "-", reads standard input. `name` is the name of
  /// the log in messages. Throws std::system_error.
  LogFile(const std::string& path, const std::string& name);
  ~LogFile();
  LogFile(const LogFile&) = delete;

  std::string_view bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  /// Returns the number of the line with the byte at `offset`, from 1.
  std::uint64_t LineAt(std::uint64_t offset) const;
  /// Returns the records in the order of the file, found on `threads` threads. Sets LogRecord::file of each record to
  /// `number`. Throws BadTable if too few lines have a time.
  std::vector<LogRecord> Records(const LogRules& rules, std::uint32_t number, unsigned threads) const;

 private:
  std::string name_;
  std::string read_;  ///< the bytes of a stream; empty for a mapped file
  std::string_view bytes_;
  void* map_ = nullptr;
  std::int64_t changed_ = 0;  ///< when the file was changed (a stream: read), in seconds since 1970
};

/// The first place where an output differs from what a sort of the inputs writes.
struct LogDifference {
  std::uint64_t record = 0;  ///< the number of the record, from 0
  std::uint64_t byte = 0;    ///< where this record begins in the output
};

/// Returns the first difference between `output` and the records, or no value if there is none. In the output every
/// record must end with an end of line.
std::optional<LogDifference> FindDifference(std::string_view output, const std::vector<std::unique_ptr<LogFile>>& files,
                                            const std::vector<LogRecord>& records, unsigned threads);

/// Returns a message that says what is wrong at a difference.
std::string Explain(const LogDifference& difference, const LogFile& output,
                    const std::vector<std::unique_ptr<LogFile>>& files, const std::vector<LogRecord>& records);

/// Returns the time in UTC, for messages.
std::string ShownTime(std::int64_t time);

}  // namespace check
