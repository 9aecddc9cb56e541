// sort --debug: every line of the result with the part of it that each key compared underlined.
#pragma once

#include <string>

#include "kernels/lines/line_order.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// Appends `line`, which has its delimiter, and a line below it for each thing that is compared.
void Annotate(RecordSpan line, const LineOrder& order, std::string& out);

}  // namespace gpusort
