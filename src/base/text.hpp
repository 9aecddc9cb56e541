// Formats and parses sizes, times and names for people: in plans, logs, messages and command lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// The largest size that a user may give (1 EiB), so that sums and small multiples of sizes never overflow.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 60;

/// An amount of memory as typed: a number of bytes, or a percentage of a limit that is not known yet.
struct Size {
  std::uint64_t value = 0;  ///< a number of bytes, or a percentage from 1 to 100
  bool percent = false;

  std::uint64_t Resolve(std::uint64_t limit) const {
    return percent ? limit / 100 * value + limit % 100 * value / 100 : value;
  }
  friend bool operator==(const Size&, const Size&) = default;
};

/// Returns the decimal number in `text`, or std::nullopt if `text` has a non-digit or the number is 2^64 or more.
std::optional<std::uint64_t> ParseDigits(std::string_view text);

/// Parses a size such as 4096, 64K, 1.5g, 2GiB or 50%. Units are powers of 1024. `bare_unit` is the unit, in bytes, of
/// a number without a unit. Throws Error(kUsage) with a message that quotes `text`.
Size ParseSize(std::string_view text, std::uint64_t bare_unit);

/// Decodes the UTF-8 sequence at the beginning of `text`, which must not be empty (RFC 3629: shortest form, no
/// surrogates). Returns its length, or 0 if it is not valid.
std::size_t DecodeUtf8(std::string_view text, std::uint32_t& code);

/// Returns `text` as one line for a message or a log. Control characters, line separators, marks of text direction, and
/// bytes that are not UTF-8 become \xNN. A backslash stays, so that escaping an escaped text changes nothing.
std::string EscapeName(std::string_view text);
/// Returns `text` escaped as EscapeName() does it, but with each backslash as \x5c. Programs can therefore restore the
/// original bytes.
std::string EncodeName(std::string_view text);

/// Returns `text` in single quotes, escaped by EscapeName(). If `text` has more than `most` bytes, returns the first
/// `most` bytes and "..." in quotes.
std::string InQuotes(std::string_view text, std::size_t most = std::string_view::npos);

/// Returns a size as text: "512 B", "1.5 KiB" or "8.0 GiB".
std::string FormatBytes(std::uint64_t bytes);
/// Returns a size as options such as --memory accept it, rounded up: "15.4M".
std::string SizeArgument(std::uint64_t bytes);
/// Returns the number as 16 hexadecimal digits.
std::string Hex(std::uint64_t number);
/// Returns the bytes as text, two hexadecimal digits for each byte.
std::string HexOf(std::span<const std::byte> bytes);
/// Returns the bytes from which HexOf() made `text`, or std::nullopt if `text` is not a result of HexOf().
std::optional<std::vector<std::byte>> BytesOfHex(std::string_view text);
/// Returns the current time in UTC as text. `format` is a format of strftime().
std::string UtcText(const char* format);
inline double InSeconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
/// Returns `count` and `noun`, in the plural if necessary: "1 run", "2 runs".
std::string Counted(std::uint64_t count, std::string_view noun);
/// Returns a line of a table: `name` in a column of 20 characters, then `value`.
std::string TableRow(std::string_view name, std::string_view value);
/// Returns a duration as text: "0.35 s", "12.3 s", "2 min 05 s" or "3 h 07 min".
std::string FormatDuration(double seconds);

}  // namespace gpusort
