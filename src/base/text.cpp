#include "base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <system_error>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Fail(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

/// Returns whether the code point can move the cursor, end the line or change the direction of text.
bool Unprintable(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F || code == 0x061C ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::size_t DecodeUtf8(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  code = byte(0);
  if (code < 0x80) return 1;
  const std::size_t length = code >= 0xF0 ? 4 : code >= 0xE0 ? 3 : 2;
  if (code < 0xC2 || code > 0xF4 || text.size() < length) return 0;
  code &= 0x7Fu >> length;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kLeast[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? length : 0;
}

namespace {}  // namespace

std::optional<std::uint64_t> ParseDigits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Size ParseSize(std::string_view text, std::uint64_t bare_unit) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  const auto fail = [&]() {
    Fail(InQuotes(text) +
         " is not a size: give a whole number, or one with K, M, G, T, P or E (powers of 1024) or % after it, or a "
         "fraction of such a unit (1.5G)");
  };
  if (digits == 0) fail();
  std::string_view suffix = text.substr(digits), fraction;
  if (suffix.starts_with('.')) {
    const std::size_t end = std::min(suffix.find_first_not_of(kDigits, 1), suffix.size());
    fraction = suffix.substr(1, end - 1);
    suffix.remove_prefix(end);
    if (fraction.empty() || suffix.empty() || suffix == "%" || suffix == "B" || suffix == "b") fail();
  }
  const auto too_large = [&] { Fail(InQuotes(text) + " is too large: no size is over 1 EiB (1048576T)"); };
  const std::optional<std::uint64_t> number = ParseDigits(text.substr(0, digits));
  if (suffix == "%") {
    if (!number || *number == 0 || *number > 100) Fail(InQuotes(text) + " is not a share from 1% to 100%");
    return {*number, true};
  }
  std::uint64_t unit = bare_unit;
  if (!suffix.empty()) {
    unit = 1;
    constexpr std::string_view kUnits = "KMGTPEkmgtpe";
    if (const std::size_t at = kUnits.find(suffix[0]); at != std::string_view::npos) {
      unit <<= 10 * (at % 6 + 1);
      suffix.remove_prefix(1);
      if (!suffix.empty() && suffix != "B" && suffix != "iB") fail();
    } else if (suffix != "B" && suffix != "b") {
      fail();
    }
  }
  if (!number || *number > kMaxSize / unit) too_large();
  // Digits after the 18th are worth less than a byte.
  unsigned __int128 parts = 0, whole = 1;
  for (const char digit : fraction.substr(0, 18)) {
    parts = 10 * parts + static_cast<unsigned>(digit - '0');
    whole *= 10;
  }
  const std::uint64_t bytes = *number * unit + static_cast<std::uint64_t>(parts * unit / whole);
  if (bytes > kMaxSize) too_large();
  return {bytes, false};
}

namespace {

std::string Escaped(std::string_view text, bool backslash) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = DecodeUtf8(text, code);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (length != 0 && !Unprintable(code) && !(backslash && code == '\\')) {
      out += text.substr(0, taken);
    } else {
      for (const char c : text.substr(0, taken)) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::string EscapeName(std::string_view text) { return Escaped(text, false); }
std::string EncodeName(std::string_view text) { return Escaped(text, true); }

std::string InQuotes(std::string_view text, std::size_t most) {
  return fmt::format("'{}{}'", EscapeName(text.substr(0, most)), text.size() > most ? "..." : "");
}

std::string SizeArgument(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "KMGTPE";
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= std::uint64_t{1024} << 10 * (unit + 1)) ++unit;
  const std::uint64_t size = std::uint64_t{1} << 10 * (unit + 1);
  const std::uint64_t whole = bytes / size;
  const std::uint64_t tenths = (bytes % size * 10 + size - 1) / size;
  const std::uint64_t all = 10 * whole + tenths;
  return all % 10 == 0 ? fmt::format("{}{}", all / 10, kUnits[unit])
                       : fmt::format("{}.{}{}", all / 10, all % 10, kUnits[unit]);
}

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be rounded to 1024.0.
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Hex(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::string HexOf(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

std::optional<std::vector<std::byte>> BytesOfHex(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::string UtcText(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 40> text{};
  if (::gmtime_r(&now, &utc) != nullptr) std::strftime(text.data(), text.size(), format, &utc);
  return text.data();
}

std::string Counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string TableRow(std::string_view name, std::string_view value) { return fmt::format("{:<20}{}\n", name, value); }

std::string FormatDuration(double seconds) {
  if (seconds < 9.995) return fmt::format("{:.2f} s", std::max(seconds, 0.0));
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::uint64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

}  // namespace gpusort
