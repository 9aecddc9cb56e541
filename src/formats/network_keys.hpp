// Sort keys of IP addresses. ValueKey::Put describes the types.
#pragma once

#include <string_view>

#include "formats/key_bytes.hpp"

namespace gpusort::keys {

bool IsAddress(std::string_view text);
/// Appends the key of an IP address or network. The order is that of PostgreSQL's inet: the bits of the network, the
/// length of the prefix, then the bits of the host. Returns false and appends nothing if `text` is no address.
bool PutAddress(std::string_view text, KeyBytes& out);
/// Appends the key of a MAC address of six or eight bytes. The digits may be divided into bytes, pairs of bytes or
/// halves by colons, hyphens or points, or not at all. Between colons and hyphens a byte may have a single digit.
/// Returns false and appends nothing if `text` is no address.
bool PutMacAddress(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
