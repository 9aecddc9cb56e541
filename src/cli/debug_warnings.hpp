// The warnings of sort --debug about doubtful options, in GNU sort's words.
#pragma once

#include <string>
#include <vector>

#include "spec/typed_keys.hpp"

namespace gpusort {

/// The order of lines as it was typed.
struct TypedOrder {
  const std::vector<KeyDef>& keys;
  const KeyOptions& ordering;
  int separator = -1;
  bool stable = false;
  bool unique = false;
};

/// Returns the warnings in GNU sort's order. `locale_set`: setlocale accepted the locale of the environment.
std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set);

}  // namespace gpusort
