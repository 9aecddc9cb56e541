// sort --debug: what is doubtful about the options, in GNU's words.
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

/// In the order in which they are said. `locale_set`: setlocale took the environment's.
std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set);

}  // namespace gpusort
