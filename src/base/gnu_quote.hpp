// Quotes words and file names in messages exactly as the GNU tools do. Characters outside of ASCII are escaped unless
// the locale can print them. Start at QuoteName.
#pragma once

#include <string>
#include <string_view>

namespace gpusort {

/// Returns the string in single quotes, with escapes as in C. In a UTF-8 locale the quotation marks are curved.
std::string QuoteWord(std::string_view text);
/// Returns the first `most` bytes of `text` in single quotes, with escapes as in QuoteWord(). If `text` is longer,
/// "..." follows the quotes.
std::string QuoteFront(std::string_view text, std::size_t most);
/// Returns the string as one quoted word of a shell command.
std::string QuoteShell(std::string_view text);
/// Returns `text` unchanged if it is printable and contains neither a colon nor a character with a meaning in a shell.
/// Otherwise returns QuoteShell(text).
std::string QuoteName(std::string_view text);
/// Returns the message "WHAT: NAME: REASON". NAME is quoted by QuoteName(), and REASON is the message of the errno
/// `error`.
std::string FileMessage(std::string_view what, std::string_view name, int error);

}  // namespace gpusort
