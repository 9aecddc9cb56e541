#include "base/gnu_quote.hpp"

#include <fmt/core.h>
#include <langinfo.h>

#include <cstring>
#include <cwchar>
#include <cwctype>

namespace gpusort {
namespace {

constexpr std::string_view kNamed = "\a\b\f\n\r\t\v";
constexpr std::string_view kNames = "abfnrtv";

/// Returns the size of the printable character at the beginning of `text`, or 0 if there is none.
std::size_t PrintableBytes(std::string_view text) {
  if (const auto byte = static_cast<unsigned char>(text[0]); byte < 0x80) return byte >= ' ' && byte <= '~' ? 1 : 0;
  std::mbstate_t state{};
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return 0;
  return std::iswprint(static_cast<std::wint_t>(character)) != 0 ? bytes : 0;
}

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = PrintableBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void AppendEscape(std::string& out, char c) {
  if (const std::size_t name = kNamed.find(c); name != std::string_view::npos) {
    out += {'\\', kNames[name]};
    return;
  }
  const auto byte = static_cast<unsigned char>(c);
  out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
          static_cast<char>('0' + (byte & 7))};
}

bool NeedsShellQuotes(std::string_view text) {
  if (text.empty()) return true;
  if (text.find_first_of(" !\"$&'()*:;<=>?[\\^`|") != std::string_view::npos) return true;
  return text[0] == '#' || text[0] == '~' || text == "{" || text == "}";
}

}  // namespace

std::string QuoteWord(std::string_view text) {
  const bool utf8 = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  std::string quoted = utf8 ? "\xE2\x80\x98" : "'";
  while (!text.empty()) {
    std::size_t bytes = PrintableBytes(text);
    if (text[0] == '\\' || (text[0] == '\'' && !utf8)) quoted += '\\';
    if (bytes > 0) {
      quoted += text.substr(0, bytes);
    } else {
      AppendEscape(quoted, text[0]);
      bytes = 1;
    }
    text.remove_prefix(bytes);
  }
  return quoted + (utf8 ? "\xE2\x80\x99" : "'");
}

std::string QuoteFront(std::string_view text, std::size_t most) {
  return QuoteWord(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

std::string QuoteShell(std::string_view text) {
  // A text with a single quote is in double quotes, unless it has a character that is special in double quotes.
  if (text.find('\'') != text.npos && text.find_first_of("\"$\\`! ") == text.npos && IsPrintable(text)) {
    return fmt::format("\"{}\"", text);
  }
  std::string quoted = "'";
  bool escaped = false;  // within $'...'
  while (!text.empty()) {
    const std::size_t bytes = PrintableBytes(text);
    if (bytes == 0) {
      if (!escaped) quoted += "'$'";
      escaped = true;
      AppendEscape(quoted, text[0]);
      text.remove_prefix(1);
      continue;
    }
    if (escaped) quoted += text[0] == '\'' ? "'" : "''";
    if (text[0] == '\'') {
      quoted += escaped ? "\\''" : "'\\''";
    } else {
      quoted += text.substr(0, bytes);
    }
    escaped = false;
    text.remove_prefix(bytes);
  }
  return quoted + "'";
}

std::string QuoteName(std::string_view text) {
  return NeedsShellQuotes(text) || !IsPrintable(text) ? QuoteShell(text) : std::string(text);
}

std::string FileMessage(std::string_view what, std::string_view name, int error) {
  return fmt::format("{}: {}: {}", what, QuoteName(name), std::strerror(error));
}

}  // namespace gpusort
