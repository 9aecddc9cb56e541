// Parses a sort key of records with columns: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. The type, the
// direction and the place of nulls may stand in any order after the column. A name ends at its first colon. A name in
// double quotes may contain colons and doubled quotes. timestamp(FORMAT) ends at the last ')' before a colon or the
// end.
//
// A key of text has ~RE, N or N,M instead of a column. A regular expression may contain colons. Only known words such
// as :int are taken off the end of the key; the rest is the expression.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Returns true if the operand `text` of -k is a key of text. Such a key is a regular expression, which begins with ~,
/// or typed fields, which begin with digits and a colon (3:int, 3,4:text). A key of binary records (8:i64) is not a key
/// of text.
bool IsTextKey(std::string_view text);

/// Parses a key that is a column or a regular expression. Throws Error(kUsage); the message quotes `text`. Does not
/// check the FORMAT of a time or the regular expression. ValueKey and TextKeys check them later.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);
/// Parses a key of text, for which IsTextKey() returns true. Errors are those of ParseColumnKey().
ColumnKey ParseTextKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
