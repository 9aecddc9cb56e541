// Parses a sort key of records with columns: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. The words after
// the column may have any order, but no kind may occur twice. A name ends at its first colon. A name in double quotes
// may contain colons and doubled quotes. timestamp(FORMAT) ends at the last ')' before a colon or the end.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Parses `text`, the operand of -k. Throws Error(kUsage) that quotes `text`. Does not check FORMAT: ValueKey does.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
