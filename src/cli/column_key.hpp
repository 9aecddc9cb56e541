// Keys of records with columns as users write them: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last]. The words
// after the column may have any order, and each kind occurs once. A name ends at its first colon. A name in double
// quotes may hold colons, and a quote in it is doubled. timestamp(FORMAT) ends at the last ')' that ends the operand
// or precedes a colon.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Throws Error(kUsage) that quotes the operand. Does not check a time format: ValueKey does.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
