// Keys of texts, words and bytes in hexadecimal digits. A function that returns bool returns false and puts nothing if
// the text is no value. ValueKey::Put defines the types.
#pragma once

#include <string_view>

#include "formats/key_bytes.hpp"

namespace gpusort::keys {

inline constexpr unsigned kFalse = 96, kTrue = 160;

bool PutBoolText(std::string_view text, KeyBytes& out);
bool PutHex(std::string_view text, KeyBytes& out);
bool IsUuid(std::string_view text);
bool PutUuid(std::string_view text, KeyBytes& out);
/// As detail::PutVersion, but of the second pass only what differs from the first: names that agree up to their
/// suffixes differ by those.
void PutNatural(std::string_view text, KeyBytes& out);
/// Puts the weights of the parts that NULs divide a text into, with a byte between them that is smaller than all
/// weights.
void PutCollated(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
