// Finds the values of sort keys in the records of logs. A key is a named field such as status or level, a field by its
// number, or the match of a regular expression. The format of a line, such as syslog or JSON, decides which named
// fields the line has. Start at LogKeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_record.hpp"
#include "formats/log_times.hpp"
#include "formats/text_keys.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// Returns true if `word` is a usual name of a log level, such as ERROR or warning.
bool IsLevelWord(std::string_view word);

/// Finds the values of sort keys in the records of logs. A sort key is a field or a regular expression.
/// - For each record, call Begin() first, and then Find() for each key.
/// - Only one thread at a time may use an object.
class LogKeys {
 public:
  /// Throws Error(kUsage) if a key is invalid. `table` must outlive this object.
  explicit LogKeys(const TableOptions& table);

  /// Returns true if the sort key `key` is the timestamp of a record. This class does not find the timestamp:
  /// LogTimeReader does.
  static bool IsTime(const ColumnKey& key);
  /// Returns true if the job has a key other than the timestamp.
  bool any() const { return any_; }
  /// Returns true if a key is a regular expression that is matched against all lines of a record, and not only against
  /// the line that has the timestamp.
  bool in_record() const { return in_record_; }

  /// Sets the record that Find() searches. `line` is the line with the record's timestamp. `record` is the whole
  /// record; it is used only if in_record() is true. Both must stay valid until the next Begin().
  void Begin(const LogTimes& log, std::string_view line, std::string_view record);
  /// Returns the names of the fields of the line that was passed to Begin(). Empty if this line is JSON.
  std::vector<std::string> Names();
  /// Returns the value of the sort key with the index `key` in the current record, or std::nullopt if the record has
  /// none. The result is valid until the next Begin(). It is empty for a JSON null, and for "-" in the access log of a
  /// web server.
  std::optional<std::string_view> Find(std::size_t key);
  /// If the current line is JSON: returns the offset of a repeated member (see JsonRecords::repeated). Call Find()
  /// before.
  std::optional<std::size_t> repeated() const { return form_ == kJson ? json_.repeated() : std::nullopt; }

 private:
  enum Form : std::uint8_t { kUnread, kJson, kWeb, kSyslog, kLogfmt, kOther };
  /// The fields of log lines that a sort key can name. The fields of web servers' access logs come first. kAnother
  /// stands for any other name.
  enum Name : std::uint8_t {
    kVhost,
    kHost,
    kClient,
    kIdent,
    kUser,
    kRequest,
    kMethod,
    kPath,
    kProtocol,
    kStatus,
    kBytes,
    kReferer,
    kAgent,
    kProgram,
    kPid,
    kMessage,
    kPriority,
    kFacility,
    kSeverity,
    kLevel,
    kAnother,
  };
  /// The paths to try for each sort key in lines of JSON. A key can have several paths, because programs give the same
  /// field different names. The key with the index K has the paths all[first[K]] to all[first[K + 1] - 1].
  struct Paths {
    std::vector<JsonPath> all;
    /// The index of the first path that belongs to a column of --sum; all later paths do, too.
    std::size_t single = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> first;
  };
  static Name NameOf(std::string_view name);
  static Paths PathsOf(const TableOptions& table);

  /// Parses the fields of the current line.
  void ReadLine();
  void ReadJson();
  /// Stores the fields of the current line in found_ if the line is from the access log of a web server. Otherwise
  /// returns false. `time_end` is the offset of the end of the timestamp in the line.
  bool ReadWeb(std::size_t time_end);
  /// Stores the fields of a line of syslog in found_. `rest` is the part of the line after the timestamp. If `always`
  /// is false, the fields are stored only if the line looks like syslog.
  void ReadSyslog(std::string_view rest, bool always);
  void ReadLogcat(std::string_view rest);
  std::optional<std::string_view> FindMember(std::size_t key) const;

  const TableOptions& table_;
  const TextKeys text_;
  bool any_ = false, in_record_ = false;
  std::vector<Name> names_;  ///< the field of each key
  const Paths paths_;
  JsonRecords json_;
  std::vector<JsonValue> values_;  ///< the values at paths_.all in the current line

  const LogTimes* log_ = nullptr;
  std::string_view line_, record_;
  Form form_ = kUnread;
  /// The values of the fields of the current line, indexed by Name. Not used if the line is JSON.
  std::optional<std::string_view> found_[kAnother];
};

/// Returns advice that is appended to the error "no record has a value for this key". `record` is an example of a
/// record. The advice lists the fields of `record`.
std::string LogHint(const std::string& key, const std::string& record);

}  // namespace gpusort
