// sort --debug: what is doubtful about the options, in GNU's words, and every line of the result with the part of it
// that each key compared underlined.
#pragma once

#include <string>
#include <vector>

#include "key_def.hpp"
#include "lines/line_order.hpp"
#include "records/records.hpp"

namespace gpusort {

/// The order of lines as it was typed.
struct TypedOrder {
  const std::vector<KeyDef>& keys;
  const KeyOptions& ordering;
  int separator = -1;
  bool stable = false;
  bool unique = false;
};

/// In the order in which they are said. `locale_set`: setlocale took the environment's.
std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set);

/// Shows lines with what they are sorted by underlined.
class Annotator {
 public:
  /// `order` must outlive this; without `whole_line` only keys are underlined.
  Annotator(const LineOrder& order, bool whole_line) : order_(order), whole_line_(whole_line) {}
  /// Appends `line`, which has its delimiter, and a line for each key.
  void Append(RecordSpan line, std::string& out) const;

 private:
  const LineOrder& order_;
  const bool whole_line_;
};

}  // namespace gpusort
