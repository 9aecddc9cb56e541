#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "formats/value_keys.hpp"

namespace gpusort::keys {
namespace {

using AddressBits = unsigned __int128;
struct Address {
  unsigned size = 32;  ///< bits: 32 or 128
  unsigned prefix = 32;
  AddressBits bits = 0;
};

bool ReadAddress(std::string_view text, Address& address) {
  const std::size_t slash = text.find('/');
  const std::string_view number = text.substr(0, slash);
  char copy[INET6_ADDRSTRLEN] = {};
  if (number.empty() || number.size() >= sizeof(copy) || number.find('\0') != std::string_view::npos) return false;
  std::memcpy(copy, number.data(), number.size());
  std::array<unsigned char, 16> bytes{};
  const bool v6 = number.find(':') != std::string_view::npos;
  if (::inet_pton(v6 ? AF_INET6 : AF_INET, copy, bytes.data()) != 1) return false;
  address.size = address.prefix = v6 ? 128 : 32;
  for (unsigned i = 0; i < address.size / 8; ++i) address.bits = address.bits << 8 | bytes[i];
  if (slash == std::string_view::npos) return true;
  const std::string_view digits = text.substr(slash + 1);
  const std::optional<std::uint64_t> prefix = ParseDigits(digits);
  if (!prefix || *prefix > address.size || digits.size() > 3) return false;
  address.prefix = static_cast<unsigned>(*prefix);
  return true;
}

}  // namespace

bool IsAddress(std::string_view text) {
  Address address;
  return ReadAddress(text, address);
}

bool PutAddress(std::string_view text, KeyBytes& out) {
  Address address;
  if (!ReadAddress(text, address)) return false;
  const unsigned host_size = address.size - address.prefix;
  const AddressBits host_mask = host_size == 128 ? ~AddressBits{0} : (AddressBits{1} << host_size) - 1;
  const AddressBits host = address.bits & host_mask, network = address.bits & ~host_mask;
  const auto low = [](AddressBits bits) { return static_cast<std::uint64_t>(bits); };
  if (address.size == 32) {
    PutFixed<5>(low(network) * 33 + address.prefix, out);  // begins with 16..72
    if (host_size > 0) PutFixed<5>(low(host), out);
    return true;
  }
  out.Put(200);
  PutFixed<9>(low(network >> 64), out);
  PutFixed<9>(low(network), out);
  out.Put(kFirstDigit + address.prefix);
  if (host_size > 64) PutFixed<9>(low(host >> 64), out);
  if (host_size > 0) PutFixed<9>(low(host), out);
  return true;
}

bool PutMacAddress(std::string_view text, KeyBytes& out) {
  const std::size_t first = text.find_first_of(":-.");
  const char separator = first == std::string_view::npos ? '\0' : text[first];
  std::uint64_t address = 0;
  std::size_t digits = 0, width = 0;
  for (bool more = true; more;) {
    const std::size_t end = separator == '\0' ? text.size() : std::min(text.find(separator), text.size());
    const bool alone = end == 1 && separator != '.';
    const std::size_t size = alone ? 2 : end;
    if (width == 0) width = size;
    if (size != width || size % 2 != 0 || size == 0 || digits + size > 16) return false;
    if (alone) address <<= 4;
    for (const char c : text.substr(0, end)) {
      if (HexDigit(c) < 0) return false;
      address = address << 4 | static_cast<unsigned>(HexDigit(c));
    }
    if (alone && separator == '\0') return false;
    digits += size;
    more = end < text.size();
    text.remove_prefix(end + more);
  }
  if ((digits != 12 && digits != 16) || (separator == '.' && width != 4)) return false;
  out.Put(digits == 12 ? kText : kText + 1);
  PutFixed<9>(address, out);
  return true;
}

}  // namespace gpusort::keys
