// What nlohmann-json says of a text, where it and gpusort should agree.
#pragma once

#include <cctype>
#include <nlohmann/json.hpp>
#include <string>

namespace gpusort::testing {

/// True if the text is one JSON value. nlohmann-json differs from gpusort in these: it refuses numbers beyond a double
/// and halves of surrogate pairs, so it is shown shorter runs of digits, and other escapes; it skips a byte order mark
/// and takes NUL for the end of the text. It has no limit to the depth.
inline bool IsJson(const std::string& text) {
  if (text.find('\0') != std::string::npos || text.starts_with("\xef\xbb\xbf")) return false;
  std::string shown;
  bool inside = false;  // a string
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    digits = !inside && std::isdigit(static_cast<unsigned char>(text[i])) != 0 ? digits + 1 : 0;
    if (digits > 2) continue;  // two tell whether there is a leading zero
    shown += text[i];
    if (!inside || text[i] != '\\' || i + 1 == text.size()) continue;
    shown += text[++i];
    if (text[i] != 'u' || i + 2 >= text.size() || (text[i + 1] | 0x20) != 'd') continue;
    shown += std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0 ? '1' : 'd';  // a letter, no surrogate
    ++i;
  }
  return nlohmann::json::accept(shown);
}

}  // namespace gpusort::testing
