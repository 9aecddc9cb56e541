// Parses a sort key of records with columns: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last], such as
// amount:decimal:desc. The type, the direction and the place of nulls may stand in any order after the column. A name
// ends at its first colon. A name in double quotes may contain colons, and a quote in it is doubled. In
// timestamp(FORMAT), FORMAT may contain colons and brackets. The bracket that closes FORMAT is the last ')' that has a
// colon or nothing after it.
//
// For lines and logs, a key can have a regular expression (~RE), a field (3) or a range of fields (3,4) instead of a
// column. A regular expression may contain colons. Known words at the end of the key, such as :int, are not part of the
// expression. All other text after the ~ is the expression.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Returns true if `text`, the operand of -k, is a regular expression (~RE) or a field or range of fields with a type
/// (3:int, 3,4:text). Returns false for a key of binary records, such as 8:i64.
bool IsTextKey(std::string_view text);

/// Parses a key that is a column or a regular expression. `thousands` is the byte between groups of digits, or -1.
/// Throws Error(kUsage); the message quotes `text`. Does not check the regular expression or the FORMAT of a time:
/// ValueKey and TextKeys check these later.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);
/// Parses a key for which IsTextKey() returns true: a regular expression, or fields with a type. `thousands` is the
/// byte between groups of digits, or -1. Throws Error(kUsage); the message quotes `text`.
ColumnKey ParseTextKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
