// Asks nlohmann-json whether a text is JSON, as an independent reference for gpusort's JSON scanner.
#pragma once

#include <cctype>
#include <nlohmann/json.hpp>
#include <string>

namespace gpusort::testing {

/// Returns true if nlohmann-json takes the text for one JSON value. First changes the text where nlohmann-json is known
/// to differ from gpusort. It refuses numbers larger than any double and halves of surrogate pairs, so the text gets
/// fewer digits and other escapes. It skips a byte order mark and lets NUL end the text, so this function refuses both.
inline bool IsJson(const std::string& text) {
  if (text.find('\0') != std::string::npos || text.starts_with("\xef\xbb\xbf")) return false;
  std::string shown;
  bool inside = false;  // true inside a string
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    digits = !inside && std::isdigit(static_cast<unsigned char>(text[i])) != 0 ? digits + 1 : 0;
    if (digits > 2) continue;  // two digits show whether there is a leading zero
    shown += text[i];
    if (!inside || text[i] != '\\' || i + 1 == text.size()) continue;
    shown += text[++i];
    if (text[i] != 'u' || i + 2 >= text.size() || (text[i + 1] | 0x20) != 'd') continue;
    // Replaces the digit that makes the escape a surrogate.
    shown += std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0 ? '1' : 'd';
    ++i;
  }
  return nlohmann::json::accept(shown);
}

}  // namespace gpusort::testing
