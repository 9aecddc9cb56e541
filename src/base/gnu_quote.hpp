// Quotes words and file names in messages exactly as the GNU tools do. Start at QuoteName.
// Characters outside of ASCII are escaped unless the locale can print them.
#pragma once

#include <string>
#include <string_view>

namespace gpusort {

/// Returns the text in single quotes, with the escapes of C. In a UTF-8 locale the quotation marks are curved.
std::string QuoteWord(std::string_view text);
/// Returns at most `most` bytes of `text` as QuoteWord() does, with "..." after the quotes if `text` is longer.
std::string QuoteFront(std::string_view text, std::size_t most);
/// Returns the text as one quoted word of a shell command.
std::string QuoteShell(std::string_view text);
/// Returns `text` itself if it is printable and has no colon and no shell syntax. Otherwise returns QuoteShell(text).
std::string QuoteName(std::string_view text);
/// Returns "WHAT: NAME: REASON". QuoteName quotes the name, and the reason is the text of the errno `error`.
std::string FileMessage(std::string_view what, std::string_view name, int error);

}  // namespace gpusort
