// Implements --debug of sort: the output shows under each line the part that each key compares.
#pragma once

#include <string>

#include "kernels/lines/line_key.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// Appends `line` without its delimiter to `out`. Then appends one line for each sort key, which underlines the bytes
/// that the key compares.
void Annotate(RecordSpan line, const LineOrder& order, std::string& out);

}  // namespace gpusort
