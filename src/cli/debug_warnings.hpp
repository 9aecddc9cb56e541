// Makes the warnings of sort --debug about doubtful options, in the words of GNU sort.
#pragma once

#include <string>
#include <vector>

#include "spec/typed_keys.hpp"

namespace gpusort {

/// The options about the order of lines, as typed.
struct TypedOrder {
  const std::vector<KeyDef>& keys;
  const KeyOptions& ordering;
  int separator = -1;
  bool stable = false;
  bool unique = false;
};

/// Returns the warnings in the order in which GNU sort prints them. `locale_set` is true if setlocale() accepted the
/// environment's locale.
std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set);

}  // namespace gpusort
