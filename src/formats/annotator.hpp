// sort --debug: every line of the result with the part of it that each key compared underlined.
#pragma once

#include <string>

#include "data/formatter.hpp"
#include "lines/line_order.hpp"

namespace gpusort {

/// Shows lines with what they are sorted by underlined.
class Annotator : public Formatter {
 public:
  /// `order` must outlive this; without `whole_line` only keys are underlined.
  Annotator(const LineOrder& order, bool whole_line) : order_(order), whole_line_(whole_line) {}
  /// Appends `line`, which has its delimiter, and a line for each key.
  void Append(RecordSpan line, std::string& out) const override;

 private:
  const LineOrder& order_;
  const bool whole_line_;
};

}  // namespace gpusort
