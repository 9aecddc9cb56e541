// Formats and parses sizes, times and names for people: in plans, logs, messages and command lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpusort {

/// The largest size (1 EiB). Sums and small multiples of sizes never overflow.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 60;

/// An amount of memory as typed: bytes, or a share of a limit that is not known yet.
struct Size {
  std::uint64_t value = 0;  ///< bytes, or percent (1 to 100)
  bool percent = false;

  std::uint64_t Resolve(std::uint64_t limit) const {
    return percent ? limit / 100 * value + limit % 100 * value / 100 : value;
  }
  friend bool operator==(const Size&, const Size&) = default;
};

/// Returns std::nullopt unless `text` consists of digits only and the number is below 2^64.
std::optional<std::uint64_t> ParseDigits(std::string_view text);

/// Parses a number with an optional unit (B, K, M, G, T, P or E, by 1024; also KB or KiB; in either case) or %.
/// A number without a unit counts `bare_unit` bytes. Throws Error(kUsage) that quotes `text`.
Size ParseSize(std::string_view text, std::uint64_t bare_unit);

/// Returns `text` for a message or a log, as one line: control characters, line and direction marks and bytes that are
/// not UTF-8 become \xNN. A backslash stays as it is, so that escaping an escaped text changes nothing.
std::string EscapeName(std::string_view text);
/// Returns EscapeName's text with \x5c for a backslash, so that programs can restore the bytes.
std::string EncodeName(std::string_view text);

/// Returns a text such as "512 B", "1.5 KiB" or "8.0 GiB".
std::string FormatBytes(std::uint64_t bytes);
/// Returns the size as an operand of an option, rounded up: "15.4M".
std::string SizeArgument(std::uint64_t bytes);
/// Returns 16 hexadecimal digits.
std::string Hex(std::uint64_t number);
inline double InSeconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
/// Returns a text such as "0.35 s", "12.3 s", "2 min 05 s" or "3 h 07 min".
std::string FormatDuration(double seconds);

}  // namespace gpusort
