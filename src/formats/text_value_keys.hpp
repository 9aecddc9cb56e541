// Sort keys of texts, words and bytes in hexadecimal digits. A function that returns bool returns false and appends
// nothing if the text is no value. ValueKey::Put describes the types.
#pragma once

#include <string_view>

#include "formats/key_bytes.hpp"

namespace gpusort::keys {

inline constexpr unsigned kFalse = 96, kTrue = 160;

bool PutBoolText(std::string_view text, KeyBytes& out);
bool PutHex(std::string_view text, KeyBytes& out);
/// Appends the key of a string of the digits 0 and 1. The digits may be written as b'0101'. Returns false and appends
/// nothing if `text` is no such string.
bool PutBits(std::string_view text, KeyBytes& out);
/// Appends the key of a level of logs, in any case: trace < debug < info < notice < warn < error < crit < alert <
/// emerg. The words of syslog, PostgreSQL, MariaDB, Java, Python, Go and Android and the usual short forms count as one
/// of these, also in brackets and with a colon after them: fatal counts as crit, and panic as emerg.
bool PutSeverity(std::string_view text, KeyBytes& out);
bool IsUuid(std::string_view text);
bool PutUuid(std::string_view text, KeyBytes& out);
/// Appends the key of a text that is ordered as sort -V orders versions. The key has two parts, as that
/// of detail::PutVersion: the text without its suffix, and then the suffix.
void PutNatural(std::string_view text, KeyBytes& out);
/// Appends the weights of strxfrm. NULs divide `text` into parts. The weights of two parts are separated by a byte that
/// is smaller than all weights.
void PutCollated(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
