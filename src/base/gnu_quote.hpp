// Quotes words and file names as GNU's messages do. Start at QuoteName.
// Characters outside of ASCII stay as they are if the locale's character set has them.
#pragma once

#include <string>
#include <string_view>

namespace gpusort {

/// Returns the text in quotes, with C's escapes. UTF-8 locales have their own quotation marks.
std::string QuoteWord(std::string_view text);
/// Returns the text in quotes, as a shell reads it.
std::string QuoteShell(std::string_view text);
/// Returns the text without quotes if a shell needs none and there is no colon, and QuoteShell's text otherwise.
std::string QuoteName(std::string_view text);
/// Returns "what: name: reason". QuoteName quotes the name; `error` is an errno.
std::string FileMessage(std::string_view what, std::string_view name, int error);

}  // namespace gpusort
