// Parses a sort key. For records with columns, a key is NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last], such
// as amount:decimal:desc. The parts after the column may stand in any order. A NAME that contains colons must be in
// double quotes, such as "a:b". A double quote inside the quotes is doubled. In the type timestamp(FORMAT), FORMAT may
// contain colons and brackets.
//
// For lines and logs, a key can have a regular expression (~RE), a field (3) or a range of fields (3,4) instead of a
// column. A regular expression may contain colons: the key ~id:([0-9]+):int is the expression id:([0-9]+) with the type
// int.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Returns true if `text`, the operand of -k, is a regular expression (~RE) or a field or range of fields with a type
/// (3:int, 3,4:text). Returns false for a key of binary records, such as 8:i64.
bool IsTextKey(std::string_view text);

/// Parses a key that is a column or a regular expression. `thousands` is the byte between groups of digits, or -1.
/// Throws Error(kUsage); the message quotes `text`. Does not check the regular expression or the FORMAT of a timestamp:
/// ValueKey and TextKeys check these later.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);
/// Parses a key for which IsTextKey() returns true: a regular expression, or fields with a type. `thousands` is the
/// byte between groups of digits, or -1. Throws Error(kUsage); the message quotes `text`.
ColumnKey ParseTextKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
