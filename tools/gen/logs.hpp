// Records of the logs that gpusort_gen writes.
#pragma once

#include <cstdint>
#include <string>

namespace gen {

/// The times of all records lie in this number of nanoseconds after kLogBegin, which is 2026-11-02T00:00:00Z. No zone
/// changes its clock in these 20 days.
inline constexpr std::int64_t kLogBegin = 1793577600;
inline constexpr std::uint64_t kLogSpan = std::uint64_t{20} * 86400 * 1000000000;

enum class LogKind { kWeb, kSyslog, kApplication, kPostgres, kJson };
inline constexpr std::uint64_t kLogKinds = 5;

/// A record has at most so many bytes, without its stretch. A short one has no lines after its first line.
inline constexpr std::uint64_t kMostOfLog = 4096, kMostOfShortLog = 512;

/// Appends a record of a log of `kind`. Its time is `nanoseconds` after kLogBegin, in units that the log has. `id`
/// chooses everything else. The message of the record is longer by `stretch` bytes. `is_short`: as kMostOfShortLog
/// says.
void AppendLogRecord(LogKind kind, std::uint64_t nanoseconds, std::uint64_t id, std::uint64_t stretch, bool is_short,
                     std::string& to);

}  // namespace gen
