// Sizes, times and names as people read and type them: for plan, log, messages and both command lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpusort {

/// No size is larger (1 EiB), so that sums and small multiples of sizes never overflow.
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

/// Nothing if there is anything but digits, or the number is over 2^64 - 1.
std::optional<std::uint64_t> ParseDigits(std::string_view text);

/// A whole number with an optional unit (B, K, M, G, T by 1024, also KB or KiB; either case for the letter) or %.
/// A number without a unit counts `bare_unit` bytes. Throws Error(kUsage) quoting `text`.
Size ParseSize(std::string_view text, std::uint64_t bare_unit);

/// `text` for a message or a log: control characters, line and direction marks and bytes that are not UTF-8 become
/// \xNN. Never more than one line. Escaping twice changes nothing more (a backslash stays as it is).
std::string EscapeName(std::string_view text);
/// The same, with \x5c for a backslash, so that the bytes can be had back: no two texts become one.
std::string EncodeName(std::string_view text);

/// "512 B", "1.5 KiB", "8.0 GiB".
std::string FormatBytes(std::uint64_t bytes);
/// As one types it, and no less: "15.4M".
std::string SizeArgument(std::uint64_t bytes);
/// 16 digits.
std::string Hex(std::uint64_t number);
inline double InSeconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
/// "0.35 s", "12.3 s", "2 min 05 s", "3 h 07 min".
std::string FormatDuration(double seconds);

/// How many letters must be changed, left out, put in or exchanged with a neighbour to make `b` of `a`.
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace gpusort
