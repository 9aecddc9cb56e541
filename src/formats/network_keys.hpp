// Sort keys of IP addresses. ValueKey::Put describes the types.
#pragma once

#include <string_view>

#include "formats/key_bytes.hpp"

namespace gpusort::keys {

bool IsAddress(std::string_view text);
/// Appends the key of an IP address or network. The order is that of PostgreSQL's inet: the bits of the network, the
/// length of the prefix, then the bits of the host. Returns false and appends nothing if `text` is no address.
bool PutAddress(std::string_view text, KeyBytes& out);
/// Puts the key of a MAC address of six or eight bytes. The digits may stand in pairs, fours or halves between colons,
/// hyphens or points, or without any of these. Between colons and hyphens a byte may have one digit. Returns false and
/// puts nothing if `text` is no address.
bool PutMacAddress(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
