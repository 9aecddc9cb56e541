// Sort keys of numbers. A function with a TextReader reads all of its text, which must have no white space around it.
// The function returns false and appends nothing if the text is no value. ValueKey::Put describes the types.
#pragma once

#include <cstdint>
#include <span>

#include "formats/key_bytes.hpp"
#include "formats/text_reader.hpp"
#include "spec/column_key.hpp"

namespace gpusort::keys {

/// Returns true if the text is a finite decimal number. The decimal point must be '.', and there are no separators of
/// thousands.
bool IsDecimal(TextReader reader);
/// Appends the key of an int or a finite decimal. If `whole` is true, only digits and a sign are allowed.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out);
/// Appends the key of an infinity or NaN, as it sorts among decimals.
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
/// Appends the key of a numeric of PostgreSQL. The parameters are as in ValueKey::PutDecimal.
bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out);
/// Appends the key of a float. All NaNs with the same sign have the same key.
void PutDouble(double value, KeyBytes& out);

}  // namespace gpusort::keys
