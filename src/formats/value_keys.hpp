// Functions that append the sort keys of numbers, texts, words, bytes and network addresses. ValueKey::Put describes
// the types. Each function that returns bool returns false if the text is no value of its type, and then appends
// nothing. A TextReader that is passed to a function must hold the whole text of the value, without white space around
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/key_bytes.hpp"
#include "formats/text_reader.hpp"
#include "spec/column_key.hpp"

namespace gpusort::keys {

// --- Numbers (number_keys.cpp) ----------------------------------------------------------------------------------

/// Returns true if the text is a finite decimal number, with '.' as the decimal point and without separators of
/// thousands.
bool IsDecimal(TextReader reader);
/// Appends the sort key of a whole or decimal number. If `whole` is true, the text may contain only digits and a sign.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out);
/// Appends the sort key of an infinity or NaN, for a column of decimal numbers. Returns false if the text is neither.
bool PutSpecial(TextReader reader, KeyBytes& out);
/// Appends the sort key of a finite decimal number in the notations of people and reports:
/// * A currency sign before or after the number, and a % after it, are ignored. $2, 2% and 2 are equal.
/// * A number in parentheses is negative. U+2212 is a minus sign.
/// * If `rule` gives no `thousands` byte, one kind of separator may stand between groups of three digits: a comma (or a
///   point, if the decimal point is a comma), an apostrophe, an underscore or a space. With commas, all groups but the
///   last may also have two digits, as in India. 1,23 is no number.
/// * A suffix K, M, G, T, P or E multiplies by a power of 1000. A suffix Ki, Mi and so on multiplies by a power of
///   1024. K may also be a small letter. A B may follow the suffix and is ignored. After a currency sign, B alone
///   multiplies by 10^9.
bool PutLooseNumber(TextReader reader, const ValueRule& rule, KeyBytes& out);
bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out);
/// Appends the sort key of a `numeric` value of PostgreSQL, from the parts that PostgreSQL stores. The elements of
/// `digits` are digits in base 10000. The first one is multiplied by 10000^weight. Returns false if the parts are
/// invalid.
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
/// Appends the sort key of a log level: trace < debug < info < notice < warn < error < crit < alert < emerg. Upper and
/// lower case do not matter. Other words that count as one of these levels are those of syslog, PostgreSQL, MariaDB,
/// Java, Python, Go and Android, and the usual short forms. For example, fatal counts as crit, and panic as emerg. The
/// word may be in brackets, and a colon may follow it.
bool PutSeverity(std::string_view text, KeyBytes& out);
bool IsUuid(std::string_view text);
bool PutUuid(std::string_view text, KeyBytes& out);
/// Appends the sort key of a text in the order of sort -V, which compares versions. The key has two parts: the text
/// without its suffix, such as .tar.gz, and then the suffix.
void PutNatural(std::string_view text, KeyBytes& out);
/// Appends the sort key of a text in the order of the locale: the bytes that strxfrm returns. If `text` contains NULs,
/// each part between them gets its own bytes. The byte 0, which is smaller than all bytes of strxfrm, separates the
/// parts.
void PutCollated(std::string_view text, KeyBytes& out);

// --- Network addresses (network_keys.cpp) ------------------------------------------------------------------------

bool IsAddress(std::string_view text);
/// Appends the sort key of an IP address or network. The order is that of PostgreSQL's type inet: first by the bits of
/// the network, then by the length of the prefix, then by the bits of the host.
bool PutAddress(std::string_view text, KeyBytes& out);
/// Appends the sort key of a MAC address of six or eight bytes, written as hexadecimal digits. The digits can be
/// divided into groups of the same length. Points divide them into groups of two bytes. Colons or hyphens divide them
/// into groups of one byte, of two bytes, or of half an address. A group of one byte can have a single digit.
bool PutMacAddress(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
