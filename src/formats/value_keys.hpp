// Functions that append the sort keys of numbers, texts, words, bytes and network addresses. ValueKey::Put describes
// the types. A function that returns bool returns false and appends nothing if the text is no value of its type. A
// parameter of type TextReader must hold the whole text of the value, without white space around it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/key_bytes.hpp"
#include "formats/text_reader.hpp"
#include "spec/column_key.hpp"

namespace gpusort::keys {

// --- Numbers (number_keys.cpp) ----------------------------------------------------------------------------------

/// Returns true if the text is a finite decimal number. The decimal point must be '.', and there are no separators of
/// thousands.
bool IsDecimal(TextReader reader);
/// Appends the key of a whole or decimal number. If `whole` is true, only digits and a sign are allowed.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out);
/// Appends the key of an infinity or NaN, for a column of decimal numbers. Returns false if the text names neither.
bool PutSpecial(TextReader reader, KeyBytes& out);
/// Appends the key of a finite decimal number that is written as people and reports write it:
/// * A currency sign before or after the number, and a % after it, are ignored. $2, 2% and 2 are equal.
/// * A number in brackets is negative. U+2212 is a minus sign.
/// * Without a `thousands` byte in `rule`, groups of three digits may be divided by one kind of separator: a comma (a
///   point if the decimal point is a comma), an apostrophe, an underscore or a space. With commas, the groups before
///   the last one may have two digits, as in India. 1,23 is no number.
/// * A suffix K, M, G, T, P or E multiplies by a power of 1000, and Ki, Mi and so on by a power of 1024. K may also be
///   a small letter. A B may follow and is ignored. After a currency sign, B alone multiplies by 10^9.
bool PutLooseNumber(TextReader reader, const ValueRule& rule, KeyBytes& out);
bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out);
/// Appends the key of a numeric of PostgreSQL, from its parts as PostgreSQL stores them. `digits` are in base 10000,
/// and the first one is multiplied by 10000^weight. Returns false if the numeric is invalid.
bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out);
/// Appends the key of a float. All NaNs with the same sign have the same key.
void PutDouble(double value, KeyBytes& out);

// --- Texts, words and bytes (text_value_keys.cpp) ----------------------------------------------------------------

/// The first bytes of the encoded keys of the truth values false and true.
inline constexpr unsigned kFalse = 96, kTrue = 160;

bool PutBoolText(std::string_view text, KeyBytes& out);
bool PutHex(std::string_view text, KeyBytes& out);
/// Appends the key of a string of the digits 0 and 1, written as 0101 or b'0101'.
bool PutBits(std::string_view text, KeyBytes& out);
/// Appends the key of a log level, in upper or lower case letters: trace < debug < info < notice < warn < error < crit
/// < alert < emerg. The words of syslog, PostgreSQL, MariaDB, Java, Python, Go and Android and the usual short forms
/// each count as one of these levels: fatal counts as crit, and panic as emerg. The word may be in brackets or before a
/// colon.
bool PutSeverity(std::string_view text, KeyBytes& out);
bool IsUuid(std::string_view text);
bool PutUuid(std::string_view text, KeyBytes& out);
/// Appends the key of a text that is ordered as sort -V orders versions. The key has two parts: the text without its
/// suffix, such as .tar.gz, and then the suffix.
void PutNatural(std::string_view text, KeyBytes& out);
/// Appends the key of a text in the order of the locale: the bytes that strxfrm returns. If `text` contains NULs, each
/// part between them gets its own bytes. Between two parts stands the byte 0, which is smaller than all bytes of
/// strxfrm.
void PutCollated(std::string_view text, KeyBytes& out);

// --- Network addresses (network_keys.cpp) ------------------------------------------------------------------------

bool IsAddress(std::string_view text);
/// Appends the key of an IP address or network. The order is that of PostgreSQL's inet: the bits of the network, the
/// length of the prefix, then the bits of the host.
bool PutAddress(std::string_view text, KeyBytes& out);
/// Appends the key of a MAC address of six or eight bytes. The digits may be divided into bytes, pairs of bytes or
/// halves by colons, hyphens or points, or not at all. Between colons and hyphens a byte may have a single digit.
bool PutMacAddress(std::string_view text, KeyBytes& out);

}  // namespace gpusort::keys
