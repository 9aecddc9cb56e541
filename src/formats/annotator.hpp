// Implements the option --debug of sort: the output shows, under each line, the part of the line that each key
// compares.
#pragma once

#include <string>

#include "kernels/lines/line_key.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

/// Appends `line` without its delimiter to `out`, and then one line for each sort key, which underlines the part of
/// `line` that the key compares. `line` must end with its delimiter.
void Annotate(RecordSpan line, const LineOrder& order, std::string& out);

}  // namespace gpusort
