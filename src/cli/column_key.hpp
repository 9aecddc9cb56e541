// Keys of records with columns as users write them: NAME|#N|PATH[:TYPE][:asc|desc][:nulls-first|nulls-last], the words
// behind the column in any order, each kind once. A name ends at its first colon, unless it is in double quotes, in
// which two stand for one. timestamp(FORMAT) ends at the last ')' that ends the operand or stands before a colon.
#pragma once

#include <string_view>

#include "spec/column_key.hpp"

namespace gpusort {

/// Error(kUsage) that quotes the operand. Whether its time format is one, ValueKey says.
ColumnKey ParseColumnKey(std::string_view text, char decimal_point = '.', int thousands = -1);

}  // namespace gpusort
