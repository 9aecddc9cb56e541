// Parses a sort key of records with columns: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. The words after
// the column may have any order, but no kind may occur twice. A name ends at its first colon. A name in double quotes
// may contain colons and doubled quotes. timestamp(FORMAT) ends at the last ')' before a colon or the end.
//
// A key of text has ~RE, N or N,M instead of a column. A regular expression may contain colons: the words are taken off
// the end of the key for as long as they are known.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Returns true if the operand `text` of -k is a key of text: a regular expression, which begins with ~, or typed
/// fields, which begin with digits and a colon (3:int, 3,4:text). The key of binary records (8:i64) is none.
bool IsTextKey(std::string_view text);

/// Parses a key that is a column or a regular expression. Throws Error(kUsage); the message quotes `text`. Does not
/// check the FORMAT of a time and the regular expression: ValueKey and TextKeys do.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);
/// Parses a key of text, for which IsTextKey() returns true. Errors are those of ParseColumnKey().
ColumnKey ParseTextKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
