// Functions that append the sort keys of numbers, strings, words, bytes and network addresses.
// - A function returns false and appends nothing if the string is no value of its type.
// - A TextReader must hold the whole text of the value, without white space around it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "formats/key_bytes.hpp"
#include "formats/text_reader.hpp"
#include "spec/column_key.hpp"

namespace gpusort::keys {

// --- Numbers (number_keys.cpp) ----------------------------------------------------------------------------------

/// Returns true if the string is a finite decimal number, with '.' as the decimal point and without separators of
/// thousands.
bool IsDecimal(TextReader reader);
/// Appends the sort key of a whole or decimal number. If `whole` is true, the string may contain only digits and a
/// sign.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out);
/// Appends the sort key of an infinity or NaN, for a column of decimal numbers. Returns false if the string is neither.
bool PutSpecial(TextReader reader, KeyBytes& out);
/// Appends the sort key of a number as people write it, such as $1,234.50, -5%, (20) or 1.5K.
/// - `rule`: gives the decimal point and the separator of thousands
/// - Returns false for other strings.
bool PutLooseNumber(TextReader reader, const ValueRule& rule, KeyBytes& out);
bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out);
/// Appends the sort key of a `numeric` value of PostgreSQL: the sum of all digits[i] * 10000^(weight - i). `sign` is
/// the sign code of PostgreSQL, which also stands for NaN and infinity. Returns false if `digits` or `sign` is invalid.
bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out);
/// Appends the sort key of a floating-point number. All NaNs with the same sign have the same key.
void PutDouble(double value, KeyBytes& out);

// --- Texts, words and bytes (text_value_keys.cpp) ----------------------------------------------------------------

/// The sort keys of the truth values false and true, one byte each.
inline constexpr unsigned kFalse = 96, kTrue = 160;

bool PutBoolText(std::string_view text, KeyBytes& out);
bool PutHex(std::string_view text, KeyBytes& out);
/// Appends the sort key of a string of the digits 0 and 1, written as 0101 or b'0101'.
bool PutBits(std::string_view text, KeyBytes& out);
/// Appends the sort key of a log level: trace < debug < info < notice < warn < error < crit < alert < emerg.
/// - Also accepts other usual names. For example, FATAL has the key of crit.
/// - The word may be in brackets, and a colon may follow it.
bool PutSeverity(std::string_view text, KeyBytes& out);
/// Appends the sort key of a value of the type order(FILE): its position in the list, or the text if it has none.
void PutListed(std::optional<std::uint64_t> position, std::string_view text, KeyBytes& out);
bool IsUuid(std::string_view text);
bool PutUuid(std::string_view text, KeyBytes& out);
/// Appends the sort key of a string in the order of sort -V, which compares versions. The key has two parts. The first
/// part is for the string without its suffix, such as .tar.gz. The second part decides if the first parts are equal.
void PutNatural(std::string_view text, KeyBytes& out);
/// Appends the sort key of a string in the order of the locale: the bytes that strxfrm returns. If `text` contains
/// NULs, each part between them gets its own bytes. The byte 0, which is smaller than all bytes of strxfrm, separates
/// the parts.
void PutCollated(std::string_view text, KeyBytes& out);

// --- Network addresses (network_keys.cpp) ------------------------------------------------------------------------

bool IsAddress(std::string_view text);
/// Appends the sort key of an IP address or network. The order is that of PostgreSQL's type inet: first by the bits of
/// the network, then by the length of the prefix, then by the bits of the host.
bool PutAddress(std::string_view text, KeyBytes& out);
/// Appends the sort key of a MAC address of six or eight bytes in hexadecimal digits. Examples are 08:00:2b:01:02:03,
/// 8-0-2b-1-2-3, 0800.2b01.0203, 08002b:010203 and 08002b010203.
bool PutMacAddress(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
