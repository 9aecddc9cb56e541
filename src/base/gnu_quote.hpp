// How GNU's messages show what users typed: words in quotes, and file names as a shell would read them back. Non-ASCII
// characters show as they are where the locale's character set has them.
#pragma once

#include <string>
#include <string_view>

namespace gpusort {

/// 'text' with C's escapes; in UTF-8 locales with their own quotation marks.
std::string QuoteWord(std::string_view text);
/// Always in quotes, as a shell reads it.
std::string QuoteShell(std::string_view text);
/// As QuoteShell, but bare where a shell needs no quotes and there is no colon.
std::string QuoteName(std::string_view text);
/// "what: name: reason", the name by QuoteName, the reason by errno's number.
std::string FileMessage(std::string_view what, std::string_view name, int error);

}  // namespace gpusort
