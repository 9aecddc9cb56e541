// Keys of numbers. A function that takes a reader reads all of its text, which has no white space around it. It returns
// false and puts nothing if the text is no value. ValueKey::Put defines the types.
#pragma once

#include <cstdint>
#include <span>

#include "formats/key_bytes.hpp"
#include "formats/text_reader.hpp"
#include "spec/column_key.hpp"

namespace gpusort::keys {

/// Returns true if the text is a finite decimal, with a point and without separators of thousands.
bool IsDecimal(TextReader reader);
/// Puts the key of an int or a finite decimal. `whole`: only digits and a sign are allowed.
bool PutNumber(TextReader reader, const ValueRule& rule, bool whole, KeyBytes& out);
/// Puts the key of an infinity or NaN among decimals.
bool PutSpecial(TextReader reader, KeyBytes& out);
bool PutAmount(TextReader reader, const ValueRule& rule, KeyBytes& out);
bool PutFloatText(TextReader reader, const ValueRule& rule, KeyBytes& out);
/// See ValueKey::PutDecimal.
bool PutNumeric(std::span<const std::uint16_t> digits, int weight, unsigned sign, KeyBytes& out);
/// Puts the key of a float. All NaNs with the same sign have the same key.
void PutDouble(double value, KeyBytes& out);

}  // namespace gpusort::keys
