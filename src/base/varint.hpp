// Numbers of a variable size: seven bits in each byte, the lowest first. A number below 128 takes one byte.
#pragma once

#include <cstdint>
#include <string>

namespace gpusort {

inline void PutNumber(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(0x80 | (number & 0x7F));
  out += static_cast<char>(number);
}

/// Reads the number at `at`, and moves `at` to its end.
inline std::uint64_t TakeNumber(const std::string& from, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.at(at++));
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
}

}  // namespace gpusort
