// Values that are found by regular expressions, as gpusort's manual page describes them: numbers as people write them,
// times of day, intervals, addresses of hardware, bits and levels of logs. Start at ReadWrittenValue.
#pragma once

#include <string_view>

#include "check/value.hpp"

namespace check {

/// Returns the value of a text without white space around it, or Null if the text is no value of the type. The type is
/// kNumber, kTime, kInterval, kMacAddress, kBits or kSeverity. For kNumber, the result is a number. For the other
/// types, it is a string whose bytes sort as the values do.
Value ReadWrittenValue(const Rule& rule, std::string_view text);

}  // namespace check
