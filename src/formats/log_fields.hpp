// Finds the values of keys in the records of logs: named fields, such as status or level, fields by number, and matches
// of regular expressions. The form of a line tells which fields it has. Start at LogKeys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_record.hpp"
#include "formats/log_times.hpp"
#include "formats/text_keys.hpp"
#include "spec/column_key.hpp"

namespace gpusort {

/// Finds the values of the keys of a job in one record after the other. One thread at a time may use an object.
///
/// The fields by name are:
/// * Access logs of web servers: host (also client), ident, user, request, method, path, protocol, status, bytes,
///   referer, agent, and vhost if the line begins with it. Such a line has a request in quotes after a time in
///   brackets.
/// * Error logs of web servers: client.
/// * syslog (RFC 3164, RFC 5424, and with the times of ISO 8601): host, program, pid, message; if the line begins with
///   <N>, also priority, facility and severity as numbers.
/// * JSON: the path of any member. level, message, host, program and pid also stand for other usual names.
/// * All lines but access logs and JSON: level and message. The level is the first word that is usual for a level, or
///   the letter of glog and logcat. The message is the text after the time.
/// * All lines but JSON: any other name is that of a value in the line, NAME=VALUE or NAME="VALUE".
class LogKeys {
 public:
  /// Throws Error(kUsage) if a key is invalid. `table` must outlive this object.
  explicit LogKeys(const TableOptions& table);

  /// Returns true if the key is the time of a record, which this class does not find.
  static bool IsTime(const ColumnKey& key);
  /// Returns true if some key is another field than the time.
  bool any() const { return any_; }
  /// Returns true if some key is looked for in the whole record instead of its line with the time.
  bool in_record() const { return in_record_; }

  /// Goes to the next record. `line` is the line with its time. If in_record() is true, `record` is the whole record.
  void Begin(const LogTimes& log, std::string_view line, std::string_view record);
  /// Returns the names of the fields of the current line, unless it is JSON.
  std::vector<std::string> Names();
  /// Returns the value of key number `key` in the record, or std::nullopt if there is none. The value may lie in this
  /// object until the next call of Begin(). It is empty for a null value of JSON and for "-" in the log of a server.
  std::optional<std::string_view> Find(std::size_t key);

 private:
  enum Form : std::uint8_t { kUnread, kJson, kWeb, kSyslog, kLogfmt, kOther };
  /// The names of fields. The fields of access logs come first.
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
  /// The paths of the keys in JSON. Key number K has the paths all[first[K]] to all[first[K + 1] - 1].
  struct Paths {
    std::vector<JsonPath> all;
    std::vector<std::size_t> first;
  };
  static Name NameOf(std::string_view name);
  static Paths PathsOf(const TableOptions& table);

  /// Sets form_, and found_ or values_, for the current line.
  void ReadLine();
  void ReadJson();
  /// Sets the fields of a line of a web server. `time_end` is the end of its time. Returns false for any other line.
  bool ReadWeb(std::size_t time_end);
  /// Sets the fields of a line of syslog. `rest` is the text after its time. If `always` is false, the line may be one
  /// of another program.
  void ReadSyslog(std::string_view rest, bool always);
  void ReadLogcat(std::string_view rest);
  std::optional<std::string_view> FindMember(std::size_t key) const;

  const TableOptions& table_;
  const TextKeys text_;
  bool any_ = false, in_record_ = false;
  std::vector<Name> names_;  ///< by the number of the key
  const Paths paths_;
  JsonRecords json_;
  std::vector<JsonValue> values_;  ///< of paths_

  const LogTimes* log_ = nullptr;
  std::string_view line_, record_;
  Form form_ = kUnread;
  std::optional<std::string_view> found_[kAnother];  ///< the fields of a line that is no JSON
};

/// Returns a hint for the error "no record has" the value of a key: the fields that `record`, a line of a log, has.
std::string LogHint(const std::string& key, const std::string& record);

}  // namespace gpusort
