// Numbers of a variable size: seven bits in each byte, the lowest first. A number below 128 takes one byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpusort {

inline void PutVarint(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(0x80 | (number & 0x7F));
  out += static_cast<char>(number);
}

/// Reads a number that PutVarint() wrote, and removes its bytes from the beginning of `from`. Returns std::nullopt if
/// the last byte is missing.
inline std::optional<std::uint64_t> TakeVarint(std::string_view& from) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from[0]);
    from.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

}  // namespace gpusort
