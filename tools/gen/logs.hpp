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

/// The maximum size of a record in bytes, without `stretch` (see below). A short record has only one line.
inline constexpr std::uint64_t kMostOfLog = 4096, kMostOfShortLog = 512;

/// Appends a record of a log of `kind` to `to`. Its time is `nanoseconds` after kLogBegin, rounded down to the units of
/// the log. `id` chooses everything else. The message of the record gets `stretch` more bytes. If `is_short` is true,
/// the record has at most kMostOfShortLog bytes without these.
void AppendLogRecord(LogKind kind, std::uint64_t nanoseconds, std::uint64_t id, std::uint64_t stretch, bool is_short,
                     std::string& to);

}  // namespace gen
