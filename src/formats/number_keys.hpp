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
bool PutAmount(TextReader reader, const ValueRule& rule, KeyBytes& out);
bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out);
/// Appends the key of a numeric of PostgreSQL. The parameters are as in ValueKey::PutDecimal.
bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out);
/// Appends the key of a float. All NaNs with the same sign have the same key.
void PutDouble(double value, KeyBytes& out);

}  // namespace gpusort::keys
